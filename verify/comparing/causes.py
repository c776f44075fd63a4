"""What explains results that are wrong. A sentence is said only if it is a fact about what was returned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch

from verify.comparing.cases import BLOCKS
from verify.comparing.judging import GRADIENT, Expectation, Grade, Results
from verify.comparing.report import first_words
from verify.report import CONFORMS, FALSIFIED

CONDUCT, SHAM, STATE, SIZES, PLACE, DIGITS = range(6)
"""Kinds of causes, those first that say most: what is done besides, what only looks like a result, what hangs on earlier calls,
on sizes, on where an entry is, on digits.
"""


class Cause(NamedTuple):
    """What explains something that is wrong."""

    kind: int
    said: str


def describe_grade(grade: Grade) -> str:
    """Where the largest error is, in a line."""
    at = f"[{', '.join(map(str, grade.index))}]" if grade.index else ""
    size = f"{grade.sigma:.2g} σ" if grade.sigma < float("inf") else "not to be measured"
    return (
        f"{grade.what}{at} is {grade.got:.9g}; expected {grade.expected:.9g} ± {grade.spread:.2g} (σ): {size}"
    )


def explain_results(
    got: Results, expected: Expectation, grade: Grade, inputs: Mapping[str, object]
) -> Cause | None:
    """What the wrong results of one case are; None where nothing is seen."""
    name = grade.what
    if name not in got or name.startswith(GRADIENT):
        return None
    x, value = got[name], expected.values[name]
    if x.numel() and bool((x == x.reshape(-1)[0]).all()) and bool((value != value.reshape(-1)[0]).any()):
        one = float(x.reshape(-1)[0])
        return Cause(SHAM, f"{name} is all zeros" if one == 0 else f"{name} is the constant {one:.6g}")
    for called, given in inputs.items():
        if isinstance(given, torch.Tensor) and given.shape == x.shape and torch.equal(given, x):
            return Cause(SHAM, f"{name} is the input {called}, handed back")
    if x.is_floating_point():
        bad = ~torch.isfinite(x) & expected.where(name)
        if bool(bad.any()):
            said = f"{name} is NaN or infinite in {int(bad.sum())} of {x.numel()} entries where the reference is finite"
            return Cause(PLACE, said)
    said = find_end(grade.wrong[name], name)
    return Cause(PLACE, said) if said else None


def find_end(wrong: torch.Tensor, name: str) -> str:
    """From which index of one axis on results are wrong, where all before are right."""
    for axis in reversed(range(wrong.ndim)):
        others = [each for each in range(wrong.ndim) if each != axis]
        along = wrong.any(others) if others else wrong
        first = int(along.to(torch.uint8).argmax())
        if first and bool(along[first:].all()):
            blocks = [block for block in BLOCKS if first % block == 0]
            whole = f", {first // blocks[-1]} × {blocks[-1]}" if blocks else ""
            return f"{name} is wrong from index {first} of axis {axis} on{whole}, and right before"
    return ""


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


def is_same(a: Results, b: Results) -> bool:
    """Whether two results are the same to the last bit."""
    return a.keys() == b.keys() and all(
        a[name].shape == b[name].shape and torch.equal(a[name], b[name]) for name in a
    )


__all__ = [
    "CONDUCT",
    "DIGITS",
    "PLACE",
    "SHAM",
    "SIZES",
    "STATE",
    "Cause",
    "describe_grade",
    "explain_results",
    "find_block",
    "find_end",
    "is_same",
]
