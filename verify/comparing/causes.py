"""What explains results that are wrong. A sentence is said only if it is a fact about what was returned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import torch

from verify.comparing.cases import BLOCKS, alternatives, disturbed
from verify.comparing.judging import (
    GRADIENT,
    Expectation,
    Expecting,
    Grade,
    Inputs,
    NotJudged,
    Results,
    is_same,
)
from verify.report import CONFORMS, FALSIFIED


class Kind(IntEnum):
    """Kinds of causes, those first that say most: what is done besides, what only looks like a result, what hangs on earlier
    calls, on sizes, on where an entry is, on digits.
    """

    CONDUCT, SHAM, STATE, SIZES, PLACE, DIGITS = range(6)


FEW = 3
"""So many entries or fewer have anything in common."""
EXPLAINED = 1e-3
"""The share of an error that other inputs leave unexplained, at most, if it comes of them."""


class Cause(NamedTuple):
    """What explains something that is wrong."""

    kind: Kind
    said: str


class Reach(NamedTuple):
    """Which entries a change of the inputs moves by more than rounding, and which at all."""

    moved: torch.Tensor
    touched: torch.Tensor


@dataclass
class Trial:
    """A call of the candidate: what it was called with and returned, what was expected, and how to call it with other inputs."""

    names: Sequence[str]
    inputs: Inputs
    got: Results
    expected: Expectation
    expecting: Expecting
    again: Callable[[Inputs], Results] | None = None

    def agrees(self, name: str, values: torch.Tensor) -> bool:
        """Whether a result is near other values."""
        return not bool(
            self.expecting.apart({name: self.got[name]}, {name: values}, self.expected)[name].any()
        )

    def stems_from(self, name: str, inputs: Inputs) -> bool:
        """Whether a result is what the reference says of other inputs, by all but a thousandth of its error."""
        try:
            value = self.expecting.value_at(inputs)[name]
        except (NotJudged, KeyError):
            return False
        x, where = self.got[name], self.expected.where(name)
        cut = value[tuple(map(slice, x.shape))] if value.ndim == x.ndim else value
        if cut.shape != x.shape or not x.is_floating_point():
            return False
        left, whole = ((x - each)[where].norm() for each in (cut, self.expected.values[name]))
        return bool(left <= EXPLAINED * whole)


def explain(trial: Trial, grade: Grade) -> Cause | None:
    """What the wrong results of a case are, or come from: the first that is a fact; None where nothing is seen."""
    name, got, inputs, again, expected = grade.what, trial.got, trial.inputs, trial.again, trial.expected
    said = look_at(trial, name)
    if said is not None or again is None or name.startswith(GRADIENT):
        return said
    second = again(inputs)
    if not is_same(got, second) and not trial.agrees(name, second[name]):
        return Cause(Kind.STATE, "gives other results when it is called again with equal inputs")
    for kind, told, other in alternatives(trial.names, inputs):
        if trial.stems_from(name, other):
            return Cause(Kind.SIZES if kind == "padded" else Kind.PLACE, f"{name} is as if {told}")
    if end := find_end(grade.wrong[name], name):
        return Cause(Kind.PLACE, end)
    for told, size, changed in disturbed(trial.names, inputs):
        ours, theirs = (
            Reach(trial.expecting.apart(a, b, expected)[name], a[name] != b[name])
            for a, b in ((again(changed), got), (trial.expecting.own_at(changed), expected.own))
        )
        if reach := compare_reach(ours, theirs, size):
            return Cause(Kind.PLACE, f"{told} reaches {name} {reach}")
    return None


def look_at(trial: Trial, name: str) -> Cause | None:
    """What a wrong result is, by itself; None where nothing is seen."""
    x, value, where = trial.got[name], trial.expected.values[name], trial.expected.where(name)
    if bool((x == x.reshape(-1)[0]).all()) and bool((value != value.reshape(-1)[0]).any()):
        one = float(x.reshape(-1)[0])
        return Cause(Kind.SHAM, f"{name} is all zeros" if one == 0 else f"{name} is the constant {one:.6g}")
    for called, given in zip(trial.names, trial.inputs, strict=False):
        if isinstance(given, torch.Tensor) and given.shape == x.shape and torch.equal(given, x):
            return Cause(Kind.SHAM, f"{name} is the input {called}, handed back")
    if not x.is_floating_point():
        return None
    if count := int((~torch.isfinite(x) & where).sum()):
        told = f"NaN or infinite in {count} of {x.numel()} entries where the reference is finite"
        return Cause(Kind.PLACE, f"{name} is {told}")
    if x.numel() > FEW:
        flat = int(torch.where(where, value.abs(), 0).argmax())
        times = float(x.reshape(-1)[flat]) / float(value.reshape(-1)[flat])
        if trial.agrees(name, times * value):
            return Cause(Kind.PLACE, f"{name} is {times:.6g} times what is expected")
        ranked = value.new_empty(x.numel()).scatter_(
            0, x.reshape(-1).argsort(), value.reshape(-1).sort().values
        )
        if bool(where.all()) and trial.agrees(name, ranked.view(x.shape)):
            return Cause(Kind.PLACE, f"{name} holds what is expected in another order")
    return None


def find_end(wrong: torch.Tensor, name: str) -> str:
    """From which index of one axis on results are wrong, at least half of them, where all before are right."""
    for axis in reversed(range(wrong.ndim)):
        along = wrong.movedim(axis, 0).reshape(wrong.shape[axis], -1)
        first = int(along.any(1).to(torch.uint8).argmax())
        rest = along[first:]
        many = FEW < rest.numel() < along.numel() - FEW and 2 * int(rest.sum()) > rest.numel()
        if first and many and bool(rest.any(1).all()):
            blocks = [block for block in BLOCKS if first % block == 0]
            whole = f", {first // blocks[-1]} × {blocks[-1]}" if blocks else ""
            return f"{name} is wrong from index {first} of axis {axis} on{whole}, and right before"
    return ""


def compare_reach(mine: Reach, theirs: Reach, size: int) -> str:
    """Which indices of an axis as long as the changed one a change reaches in the candidate, and which in the reference; empty
    where no index is reached in one, by more than rounding, and not at all in the other.
    """
    for axis in range(mine.moved.ndim):
        if mine.moved.shape[axis] != size:
            continue
        a, a_touched, b, b_touched = (x.movedim(axis, 0).reshape(size, -1).any(1) for x in (*mine, *theirs))
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
    wrong, right = (
        sorted(size for size, each in verdicts.items() if each == verdict)
        for verdict in (FALSIFIED, CONFORMS)
    )
    for block in reversed(BLOCKS) if right and len(wrong) > 1 else ():
        if not any(size % block for size in right) and all(size % block for size in wrong):
            told = ", ".join(map(str, wrong[:4])) + ", …" * (len(wrong) > 4)
            return f"wrong at {name} = {told}: at all sizes tried that are no multiple of {block}, and fill a block in part"
    return ""


__all__ = ["Cause", "Kind", "Trial", "explain", "find_block"]
