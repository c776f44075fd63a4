"""What explains results that are wrong. A sentence is said only if it is a fact about what was returned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch

from verify.comparing.cases import BLOCKS
from verify.comparing.judging import Expectation, Grade, Results
from verify.comparing.report import first_words
from verify.report import CONFORMS, FALSIFIED

CONDUCT, SHAM, STATE, SIZES, PLACE, DIGITS = range(6)
"""Kinds of causes, those first that say most: what is done besides, what only looks like a result, what hangs on earlier calls,
on sizes, on where an entry is, on digits.
"""


FEW = 3
"""So many entries or fewer have anything in common."""


class Cause(NamedTuple):
    """What explains something that is wrong."""

    kind: int
    said: str


class Reach(NamedTuple):
    """Which entries a change of the inputs moves by more than rounding, and which at all."""

    moved: torch.Tensor
    touched: torch.Tensor


def describe_grade(grade: Grade) -> str:
    """Where the largest error is, in a line."""
    at = f"[{', '.join(map(str, grade.index))}]" if grade.index else ""
    size = f"{grade.sigma:.2g} σ" if grade.sigma < float("inf") else "not to be measured"
    return (
        f"{grade.what}{at} is {grade.got:.9g}; expected {grade.expected:.9g} ± {grade.spread:.2g} (σ): {size}"
    )


def explain_result(
    name: str,
    got: Results,
    expected: Expectation,
    inputs: Mapping[str, object],
    agrees: Callable[[torch.Tensor], bool],
) -> Cause | None:
    """What a wrong result is; None where nothing is seen. ``agrees`` tells whether it is near other values."""
    x, value, where = got[name], expected.values[name], expected.where(name)
    if bool((x == x.reshape(-1)[0]).all()) and bool((value != value.reshape(-1)[0]).any()):
        one = float(x.reshape(-1)[0])
        return Cause(SHAM, f"{name} is all zeros" if one == 0 else f"{name} is the constant {one:.6g}")
    for called, given in inputs.items():
        if isinstance(given, torch.Tensor) and given.shape == x.shape and torch.equal(given, x):
            return Cause(SHAM, f"{name} is the input {called}, handed back")
    if x.is_floating_point():
        bad = ~torch.isfinite(x) & where
        if bool(bad.any()):
            said = f"{name} is NaN or infinite in {int(bad.sum())} of {x.numel()} entries where the reference is finite"
            return Cause(PLACE, said)
        flat = int(torch.where(where, value.abs(), 0).argmax())
        times = float(x.reshape(-1)[flat]) / float(value.reshape(-1)[flat])
        if x.numel() > FEW and agrees(times * value):
            return Cause(PLACE, f"{name} is {times:.6g} times what is expected")
        order = value.new_empty(x.numel()).scatter_(
            0, x.reshape(-1).argsort(), value.reshape(-1).sort().values
        )
        if x.numel() > FEW and bool(where.all()) and agrees(order.view(x.shape)):
            return Cause(PLACE, f"{name} holds what is expected in another order")
    return None


def find_end(wrong: torch.Tensor, name: str) -> str:
    """From which index of one axis on results are wrong, at least half of them, where all before are right."""
    for axis in reversed(range(wrong.ndim)):
        others = [each for each in range(wrong.ndim) if each != axis]
        along = wrong.any(others) if others else wrong
        first = int(along.to(torch.uint8).argmax())
        rest = wrong.narrow(axis, first, len(along) - first)
        seen = (
            rest.numel() > FEW and wrong.numel() - rest.numel() > FEW and 2 * int(rest.sum()) > rest.numel()
        )
        if first and seen and bool(along[first:].all()):
            blocks = [block for block in BLOCKS if first % block == 0]
            whole = f", {first // blocks[-1]} × {blocks[-1]}" if blocks else ""
            return f"{name} is wrong from index {first} of axis {axis} on{whole}, and right before"
    return ""


def compare_reach(mine: Reach, theirs: Reach, size: int) -> str:
    """Which indices of an axis as long as the changed one a change reaches in the candidate, and which in the reference; empty
    where no index is reached in one, by more than rounding, and not at all in the other.
    """
    for axis in range(mine.moved.ndim):
        others = [each for each in range(mine.moved.ndim) if each != axis]
        if mine.moved.shape[axis] != size:
            continue
        a, a_touched, b, b_touched = (x.any(others) if others else x for x in (*mine, *theirs))
        if bool(((a & ~b_touched) | (b & ~a_touched)).any()):
            near = ": off by one" if int((a ^ b).sum()) == 1 and bool(a.any() and b.any()) else ""
            return f"{_name_indices(a)} of axis {axis}, in the reference {_name_indices(b)}{near}"
    return ""


def _name_indices(which: torch.Tensor) -> str:
    found = which.nonzero().flatten().tolist()
    if not found:
        return "at no index"
    whole = len(found) == found[-1] - found[0] + 1
    told = f"{found[0]} to {found[-1]}" if len(found) > 1 else f"{found[0]}"
    return f"at {told}" if whole else f"at {len(found)} indices of {told}"


def find_block(verdicts: Mapping[int, str], name: str) -> str:
    """At which sizes results are wrong, where that is a matter of whole blocks."""
    wrong = sorted(size for size, verdict in verdicts.items() if verdict == FALSIFIED)
    right = sorted(size for size, verdict in verdicts.items() if verdict == CONFORMS)
    for block in reversed(BLOCKS):
        if (
            right
            and len(wrong) > 1
            and all(size % block == 0 for size in right)
            and all(size % block for size in wrong)
        ):
            return (
                f"right at {name} = {first_words(right)}, wrong at {first_words(wrong)}: at all sizes tried that are no "
                f"multiple of {block}, where a block is filled in part"
            )
    return ""


__all__ = [
    "CONDUCT", "DIGITS", "PLACE", "SHAM", "SIZES", "STATE", "Cause", "Reach", "compare_reach", "describe_grade", "explain_result",
    "find_block", "find_end",
]  # fmt: skip
