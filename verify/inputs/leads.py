"""What an example is about: its data in some regime, one parameter at a special value, or a model as fresh as it is initialised.

Which parameters are biases and which are gains is read off the statement: a bias is a term of a sum and nothing else, a gain a
factor outside of every sum. Whatever is not named by a lead is drawn as usual.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from spec.language.arrays import Tensor
from spec.language.binders import Bound
from spec.language.expr import Case, Choice, Minus, Negative, Over, Plus, Ref, Times
from spec.language.flatten import Flat
from spec.language.formula import Formula
from verify.inputs import regimes
from verify.inputs.regimes import Regime

ALL_DATA, ALL = "*", "all data"
"""Stands for all data inputs together, and is said of them."""
REAL = ("real", "positive", "nonnegative")


@dataclass(frozen=True)
class Lead:
    """A name, and the regime of each input that it is about."""

    name: str
    draws: Mapping[str, Regime]

    def regime(self, name: str, role: str) -> Regime | None:
        """The regime of an input, if the lead has one for it."""
        return self.draws.get(name) or (self.draws.get(ALL_DATA) if role == "data" else None)


def leads(formula: Formula, data_regimes: Sequence[Regime], fixed: Container[str] = ()) -> tuple[Lead, ...]:
    """Every lead of a formula, the most telling first: all data in each regime, fresh parameters, young ones, each parameter 0,
    the rest.

    None is about a parameter that is ``fixed``.
    """
    data = [t.name for t in formula.tensors if t.role == "data" and t.domain in REAL]
    parameters = [
        t.name for t in formula.tensors if t.role == "parameter" and t.domain in REAL and t.name not in fixed
    ]
    found = [_one(ALL_DATA, regime, ALL) for regime in data_regimes if data]
    found += _fresh(formula)
    found += _young(formula, parameters)
    found += [_one(name, regimes.ZEROS) for name in parameters]
    for turn in range(len(regimes.PARAMETER)):  # after one round each parameter had its turn, and each regime
        for place, name in enumerate(parameters):
            found.append(_one(name, regimes.PARAMETER[(place + turn) % len(regimes.PARAMETER)]))
    for turn in range(len(data) if len(data) > 1 else 0):
        for place, regime in enumerate(data_regimes):
            found.append(_one(data[(place + turn) % len(data)], regime))
    return tuple(found) or (Lead("", {}),)


def _one(name: str, regime: Regime, said: str = "") -> Lead:
    return Lead(f"{said or name}: {regime.name}", {name: regime})


def far_out(formula: Formula, fixed: Container[str] = ()) -> tuple[Lead, ...]:
    """Each parameter by itself at a scale at which types differ in what they can hold."""
    names = [
        t.name for t in formula.tensors if t.role == "parameter" and t.domain in REAL and t.name not in fixed
    ]
    return tuple(_one(name, regimes.FAR_OUT) for name in names)


def _fresh(formula: Formula) -> list[Lead]:
    """All biases 0, and all gains 1: as a model is before its first step. One of a single parameter is a lead of its own."""
    biases, gains = roles(formula)
    drawn = {**dict.fromkeys(biases, regimes.ZEROS), **dict.fromkeys(gains, regimes.ONES)}
    said = [words for words, names in (("biases 0", biases), ("gains 1", gains)) if names]
    return [Lead(f"fresh: {', '.join(said)}", drawn)] if len(drawn) > 1 else []


YOUNG = "young: weights slight, gains near 1"
"""Of a deep model, most can be said at such parameters: errors of a layer are not made larger by those behind it."""


def _young(formula: Formula, parameters: Sequence[str]) -> list[Lead]:
    """Weights and biases of about 0.1, gains of about 1: as a model is in its first steps."""
    _, gains = roles(formula)
    drawn = {name: regimes.NEAR_ONE if name in gains else regimes.SLIGHT for name in parameters}
    return [Lead(YOUNG, drawn)] if drawn else []


def roles(formula: Formula) -> tuple[list[str], list[str]]:
    """The parameters that are biases, and those that are gains."""
    seen: dict[str, set[str]] = {
        t.name: set() for t in formula.tensors if t.role == "parameter" and t.domain in REAL
    }
    for line in formula.flat(None).lines:
        for name, role in _occurrences(line.right, "other"):
            if name in seen:
                seen[name].add(role)
    return [n for n, r in seen.items() if r == {"bias"}], [n for n, r in seen.items() if r == {"gain"}]


@lru_cache(maxsize=64)
def find_added_numbers(flat: Flat) -> frozenset[str]:
    """The positive numbers that are only added to something, as what keeps a divisor away from 0 is: usually they are small."""
    seen: dict[str, set[str]] = {
        t.name: set()
        for t in flat.inputs
        if isinstance(t, Tensor) and t.role == "number" and t.domain == "positive"
    }
    for line in flat.lines:
        for name, role in _occurrences(line.right, "other"):
            if name in seen:
                seen[name].add(role)
    return frozenset(name for name, roles in seen.items() if roles == {"bias"})


def _occurrences(node: Any, role: str, summed: bool = False) -> Iterable[tuple[str, str]]:
    """Every reference below a node, and what it is there; ``role``: what it would be here, ``summed``: inside a sum."""
    if isinstance(node, Ref):
        yield node.tensor.name, role
    inside = summed or isinstance(node, Bound)
    for place, child in enumerate(node.args):
        if isinstance(node, Plus | Minus | Negative):
            below = "bias"
        elif isinstance(node, Times) or (isinstance(node, Over) and place == 0):
            below = "other" if summed else "gain"
        else:
            below = role if isinstance(node, Case | Choice) else "other"
        yield from _occurrences(child, below, inside)


__all__ = ["ALL", "ALL_DATA", "Lead", "YOUNG", "find_added_numbers", "far_out", "leads", "roles"]
