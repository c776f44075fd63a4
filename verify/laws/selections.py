"""Laws that select positions: batches of rows of different kinds, what is drawn of them, and what the statement says of that.

A layout is a batch of different rows (designs), each repeated, so that the statement's distribution is evaluated once a
design. Nothing here knows masking: inputs, outcomes and probabilities all come from the formula and its law.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from spec.language.arrays import Tensor
from spec.language.binders import Bound
from spec.language.evaluation.binding import Bindings, bind
from spec.language.evaluation.dimensions import Size, is_size, whole
from spec.language.evaluation.evaluate import evaluate, run
from spec.language.evaluation.evaluator import Evaluator
from spec.language.evaluation.running_error import RunningError
from spec.language.expr import Node
from spec.language.formula import Formula
from spec.language.trees import refs, walk
from verify.faults import Fault
from verify.laws.statistics import Bools, Ints, Reals
from verify.laws.trial import law_of

ALONE, ONE = (1, 9), (4, 7, 10)
"""Rows in which every position is a group of its own, and rows that are a single one, but for what parts it."""


@dataclass(frozen=True)
class Layout:
    """Rows of ``length`` over a vocabulary of ``words``; ``tokens`` free positions in all, ``copies`` of each design a call.

    ``rows``: which of the designs; all where not given. ``at_once``: of how many calls the results are looked at together.
    """

    name: str
    length: int
    words: int
    tokens: int
    copies: int
    rows: tuple[int, ...] = ()
    at_once: int = 1

    def paced(self, part: float) -> Layout:
        """The layout with a share of its positions, in calls that are smaller; as it is where the share is 1."""
        copies = max(1, min(self.copies, round(4 * part * self.copies)))
        return self if part >= 1 else replace(self, tokens=math.ceil(part * self.tokens), copies=copies)

    def planned(self, designs: int) -> tuple[int, int]:
        """How many calls, about, and how many positions in each; ``designs`` where all of them are drawn."""
        positions = (len(self.rows) or designs) * self.length * self.copies
        return max(2, -(-self.tokens // positions)), positions


def designs(formula: Formula, layout: Layout, seed: int) -> list[dict[str, Any]]:
    """The rows of a layout: inputs by name. Boolean inputs hold True nowhere, at the ends, in a tail, …, everywhere; those that
    only say what goes together (:func:`joining`) hold it inside of groups of 1 to 4, also where no group can go on.
    """
    law = law_of(formula)
    rng = np.random.default_rng((seed, layout.length, layout.words))
    n = layout.length
    marks = [np.zeros(n, bool) for _ in range(12)]
    if n >= 16:
        marks[1][[0, -1]] = True
        marks[2][0] = True
        marks[3][n - n // 4 :] = True
        marks[4][rng.permutation(n)[: n // 6]] = True
        marks[5][rng.permutation(n)[: n // 2]] = True
        marks[6][1::3] = True
        marks[7][n - n // 5 :] = True
        marks[8][10:] = True  # 10 and 30 free positions: 15 % of them is a tie between two whole counts
        marks[9][rng.permutation(n)[: max(0, n - 30)]] = True
        marks[10][:] = True
        marks[10][n // 3] = False
        marks[11][:] = True
    sizes: dict[Size, int] = {law.over[-1][1]: n}
    constant: dict[str, Any] = {}
    for item in formula.inputs:
        if is_size(item):
            constant[str(item)] = sizes[item] = layout.words
    rows = []
    apart = joining(formula)
    for place in layout.rows or range(len(marks)):
        mark, row = marks[place], dict(constant)
        for item in formula.tensors:
            if item.name in apart:
                row[item.name] = _inside(place, n, rng)
            elif item.domain == "boolean":
                row[item.name] = mark.copy()
            elif item.domain == "integer" and item.shape:
                below = _below(item, sizes)
                values = rng.integers(0, below, n)
                # Marked positions hold few words, as [CLS], [SEP] and padding do.
                row[item.name] = np.where(mark, values % max(1, below // 4), values)
            elif item.domain == "integer":
                below = _below(item, sizes)
                row[item.name] = constant.setdefault(item.name, int(below // 2))
        rows.append(row)
    return rows


def joining(formula: Formula) -> set[str]:
    """The boolean inputs that say what goes together with the one before it, and nothing else."""
    together = law_of(formula).together
    if together is None:
        return set()
    here, elsewhere = set[Tensor](), set[Tensor]()
    for line in formula.definitions:
        read = {part for part in walk(line.right) if isinstance(part, Tensor)}
        (here if line.left.tensor == together.joins else elsewhere).update(read)
    return {t.name for t in formula.tensors if t.domain == "boolean" and t in here - elsewhere}


def _inside(place: int, n: int, rng: np.random.Generator) -> Bools:
    """Where a group goes on: in some rows nowhere, in some everywhere, else in groups of 1 to 4, the first at times cut off."""
    if place in ALONE:
        return np.zeros(n, bool)
    if place in ONE:
        return np.ones(n, bool)
    ends = rng.integers(1, 5, n).cumsum() - rng.integers(0, 4)
    inside = np.ones(n, bool)
    inside[ends[(ends >= 0) & (ends < n)]] = False
    inside[0] |= place % 2 == 0
    return inside


def _below(item: Tensor, sizes: Mapping[Size, int]) -> int:
    return whole(item.below, sizes) if item.below != 0 else 1


SLACK = 1e-9
"""How far apart two probabilities are at most that are the same but for roundings."""


@dataclass
class Sample:
    """What was drawn: ``chosen[t, r, i]`` (the last component of the outcome) and ``word[t, r, i]`` (the first).

    ``t`` counts repetitions of the designs ``r``, ``per_call`` of them in one call. ``rate[r, i]`` is the statement's
    probability of being chosen by itself, ``given[r, i, w]`` that of word w where chosen, ``level`` its level set (−1:
    impossible). ``joined[r, i]``: it is chosen just where the position before it is, and its rate is 0.
    ``independent``: whether all others are chosen by themselves.
    """

    layout: Layout
    ids: Ints
    chosen: Bools
    word: Ints
    per_call: int
    probability: Reals
    rate: Reals
    given: Reals
    level: Ints
    values: Reals
    joined: Bools
    independent: bool = True

    @property
    def total(self) -> int:
        """How many positions were drawn."""
        return int(self.word.size)

    @property
    def times(self) -> int:
        """How often every design was drawn."""
        return int(self.chosen.shape[0])

    @property
    def first(self) -> Ints:
        """The position at which the group of each position begins: its own where nothing is chosen together."""
        places = np.where(self.joined, 0, np.arange(self.joined.shape[1]))
        first: Ints = np.maximum.accumulate(places, axis=1)
        return first

    def impossible(self) -> str:
        """The first outcome that has probability 0 in the statement, with its place."""
        R, n, V = self.probability.shape[:3]
        r, i = np.meshgrid(np.arange(R), np.arange(n), indexing="ij")
        p = self.probability[r, i, np.clip(self.word, 0, V - 1), self.chosen.astype(np.int64)]
        wrong = np.argwhere((self.word < 0) | (self.word >= V) | (p <= 0))
        if not wrong.size:
            return ""
        t, r, i = (int(x) for x in wrong[0])
        return (
            f"{self.layout.name}: id {self.ids[r, i]} at position {i} became word {self.word[t, r, i]}, "
            f"{'selected' if self.chosen[t, r, i] else 'not selected'}: the statement gives this probability 0"
        )


def arguments(
    formula: Formula, rows: Sequence[Mapping[str, Any]], copies: int, generator: torch.Generator, device: str
) -> list[Any]:
    """One call's arguments in declared order: every row ``copies`` times, interleaved, as one batch."""
    made: list[Any] = []
    for item in formula.inputs:
        if isinstance(item, Tensor) and item.role == "generator":
            made.append(generator)
        elif isinstance(item, Tensor) and item.shape:
            made.append(
                torch.tensor(np.stack([row[item.name] for row in rows]), device=device).repeat(copies, 1)
            )
        else:
            made.append(rows[0][str(item)])
    return made


def returned(formula: Formula, result: Any, like: Sequence[Any]) -> list[Ints]:
    """An implementation's results as integer arrays.

    Raises:
        Fault: not as many tensors as the law returns, of another shape or kind, or not on the inputs' device.
    """
    law = law_of(formula)
    names = ", ".join(t.name for t in law.returns)
    first = next(x for x in like if isinstance(x, torch.Tensor))
    if not isinstance(result, tuple | list) or len(result) != len(law.returns):
        got = f"{len(result)} values" if isinstance(result, tuple | list) else type(result).__name__
        raise Fault(f"{formula.id} returns ({names}); expected {len(law.returns)} tensors, got {got}")
    out = []
    for tensor, value in zip(law.returns, result, strict=True):
        if not isinstance(value, torch.Tensor):
            raise Fault(f"{formula.id}: {tensor.name} must be a tensor; got {type(value).__name__}")
        if value.shape != first.shape:
            raise Fault(
                f"{formula.id}: {tensor.name} has shape {tuple(value.shape)}; expected {tuple(first.shape)}"
            )
        if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
            raise Fault(f"{formula.id}: {tensor.name} must hold integers; got {value.dtype}")
        if value.device.type != first.device.type:
            raise Fault(f"{formula.id}: {tensor.name} is on {value.device}; the inputs are on {first.device}")
        out.append(value.detach().cpu().to(torch.int64).numpy())
    return out


class Pointwise:
    """Evaluates conditions and outcomes of a law at every position of a batch at once.

    They may refer to their own position only (``labels[i]``), so a batch is read as one long row.
    """

    def __init__(self, formula: Formula, row: Mapping[str, Any], given: Mapping[str, Ints | Bools]) -> None:
        law = law_of(formula)
        (self.symbol, size) = law.over[-1]
        total = next(iter(given.values())).size
        bindings = Bindings(sizes={size: total})
        for item in (*formula.inputs, *law.returns):
            name = str(item)
            if is_size(item):
                bindings.sizes[item] = int(row[name])
            elif item.role == "generator":
                continue
            else:
                value = np.asarray(given[name]).reshape(-1) if name in given else np.asarray(row[name])
                (bindings.booleans if item.domain == "boolean" else bindings.integers)[name] = value
        self.spans = ((self.symbol, 0, size - 1),)
        self.evaluator = Evaluator(RunningError(), bindings)

    def holds(self, condition: Node) -> Bools:
        """Where a condition holds."""
        require_pointwise(condition, self.symbol)
        return self.evaluator.condition(condition, self.spans)

    def whole(self, node: Node) -> Ints:
        """A component of the outcome, as integers."""
        require_pointwise(node, self.symbol)
        if isinstance(node, Tensor) or (getattr(node, "tensor", None) is not None):
            return self.evaluator.index(node, self.spans)
        over = self.evaluator.values([node], self.spans)
        assert over is not None
        return np.broadcast_to(over.values[0].floats().astype(np.int64), over.extent)


def require_pointwise(node: Node, symbol: Size) -> None:
    """Refuse a condition that looks at other positions than its own.

    Raises:
        NotImplementedError: such a condition, which would have to be evaluated row by row.
    """
    if any(isinstance(part, Bound) for part in walk(node)) or any(
        r.index not in ((symbol,), ()) for r in refs(node)
    ):
        raise NotImplementedError(f"{node} looks at other positions than {symbol}")


def statement(
    formula: Formula, conventions: Mapping[str, str] | None, rows: Sequence[Mapping[str, Any]]
) -> tuple[Reals, Reals, Reals, Ints, Reals]:
    """Probability, rate, conditional distribution, level sets and level values of every design, from the lines."""
    flat = formula.flat(conventions)
    names = [t.name for t in flat.outputs]
    which = names.index(law_of(formula).probability.name)
    keys = {str(i) for i in formula.inputs}
    P = np.stack([evaluate(flat, {k: v for k, v in row.items() if k in keys})[which] for row in rows])
    return P, *conditional(P)


def conditional(P: Reals) -> tuple[Reals, Reals, Ints, Reals]:
    """Of probabilities (r i word chosen): the rate of being chosen, the words' distribution then, its levels, their values."""
    rate = P[..., 1].sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        given = np.where(rate[..., None] > 0, P[..., 1] / rate[..., None], 0.0)
    values = np.unique(np.round(given[given > 0], 9))
    level = np.where(given > 0, np.searchsorted(values, np.round(given, 9)), -1)
    return rate, given, level.astype(np.int64), values.astype(np.float64)


def together(
    formula: Formula, conventions: Mapping[str, str] | None, rows: Sequence[Mapping[str, Any]]
) -> Bools:
    """Where in each design a position is chosen just where the one before it is, from the lines."""
    law, flat = law_of(formula), formula.flat(conventions)
    if law.together is None:
        (_, length) = law.over[-1]
        shape = next(np.shape(rows[0][t.name]) for t in formula.tensors if t.shape == (length,))
        return np.zeros((len(rows), *shape), bool)
    name = law.together.joins.name
    found: Bools = np.stack([run(flat, RunningError(), bind(flat, row)).booleans[name] for row in rows])
    if found[:, 0].any():
        raise ValueError(f"{formula.id}: {name} holds at the first position, which has none before it")
    return found


def joined_calls(made: Sequence[tuple[list[Any], list[Ints]]]) -> tuple[list[Any], list[Ints]]:
    """Several calls' arguments and results as those of one call of a larger batch."""
    if len(made) == 1:
        return made[0]
    joined = zip(*(each for each, _ in made), strict=True)
    inputs = [torch.cat(x) if isinstance(x[0], torch.Tensor) else x[0] for x in joined]
    return inputs, [np.concatenate(parts) for parts in zip(*(found for _, found in made), strict=True)]


def named(formula: Formula, inputs: Sequence[Any], results: Sequence[Ints]) -> dict[str, Any]:
    """Tensors passed and returned, as flat arrays by name."""
    made: dict[str, Any] = {
        str(item): value.detach().cpu().numpy().reshape(-1)
        for item, value in zip(formula.inputs, inputs, strict=True)
        if isinstance(value, torch.Tensor)
    }
    for tensor, value in zip(law_of(formula).returns, results, strict=True):
        made[tensor.name] = value.reshape(-1)
    return made


def apart(sample: Sample) -> tuple[int, int, int] | None:
    """The first (t, design, position) that is chosen where the one before it, with which it goes, is not, or the other way."""
    wrong = sample.joined[:, 1:] & (sample.chosen[..., 1:] != sample.chosen[..., :-1])
    if not wrong.any():
        return None
    t, row, position = (int(x) for x in np.argwhere(wrong)[0])
    return t, row, position + 1


__all__ = [
    "Layout",
    "Pointwise",
    "Sample",
    "apart",
    "arguments",
    "designs",
    "joined_calls",
    "joining",
    "named",
    "returned",
    "statement",
    "together",
]
