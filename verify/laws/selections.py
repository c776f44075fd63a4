"""Laws that select positions: rows of different kinds, what the statement says of them, and the trial that draws them.

A layout is a batch of different rows (designs), each repeated, so that the statement's distribution is evaluated once a
design. Nothing here knows masking: inputs, outcomes and probabilities all come from the formula and its law.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

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
from verify.laws.causes import JOINED, SHARES, selection_cause
from verify.laws.selection_tests import (
    Layout,
    Sample,
    apart,
    count_free_draws,
    count_pooled,
    counts,
    independence,
    outcomes,
    rates,
    selection,
    words,
)
from verify.laws.statistics import ALPHA, POWER, Bools, Ints, Reals, Tally, region, sample_size
from verify.laws.trial import CORRELATION, HEADLINE, SHIFT, Finding, Trial, law_of, share
from verify.report import Reason

ALONE, ONE = (1, 9), (4, 7, 10)
"""Rows in which every position is a group of its own, and rows that are a single one, but for what parts it."""

SLACK = 1e-9
"""How far apart two probabilities are at most that are the same but for roundings."""

STEP = 1e-4
"""How finely the rate is sought that all draws together tell from the statement's."""
RANDOM_WORDS = 7_000
"""Random words in the large vocabulary, about: a word that is selected and then replaced by any other."""
CALLS = 1_000
"""Calls with one short row: a rate of 20.5 % instead of 15 % takes 620 of them to be seen with the stated power."""
COUNTED = 900_000
"""Positions drawn for their number alone: with those of the other layouts a rate of 15.23 % is seen with the stated power."""
LEAST = 600_000
"""Free positions drawn in the main layout at least."""


def designs(formula: Formula, layout: Layout, seed: int) -> list[dict[str, Any]]:
    """The rows of a layout: inputs by name. Boolean inputs hold True nowhere, at the ends, in a tail, …, everywhere; those that
    only say what goes together (:func:`find_joining_inputs`) hold it inside of groups of 1 to 4, also where no group can go on.
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
    apart = find_joining_inputs(formula)
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


def find_joining_inputs(formula: Formula) -> set[str]:
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


def read_results(formula: Formula, result: Any, like: Sequence[Any]) -> list[Ints]:
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


def join_calls(made: Sequence[tuple[list[Any], list[Ints]]]) -> tuple[list[Any], list[Ints]]:
    """Several calls' arguments and results as those of one call of a larger batch."""
    if len(made) == 1:
        return made[0]
    joined = zip(*(each for each, _ in made), strict=True)
    inputs = [torch.cat(x) if isinstance(x[0], torch.Tensor) else x[0] for x in joined]
    return inputs, [np.concatenate(parts) for parts in zip(*(found for _, found in made), strict=True)]


def name_arrays(formula: Formula, inputs: Sequence[Any], results: Sequence[Ints]) -> dict[str, Any]:
    """Tensors passed and returned, as flat arrays by name."""
    made: dict[str, Any] = {
        str(item): value.detach().cpu().numpy().reshape(-1)
        for item, value in zip(formula.inputs, inputs, strict=True)
        if isinstance(value, torch.Tensor)
    }
    for tensor, value in zip(law_of(formula).returns, results, strict=True):
        made[tensor.name] = value.reshape(-1)
    return made


def plan(formula: Formula, conventions: Mapping[str, str] | None) -> tuple[Layout, ...]:
    """The layouts, the main one large enough for the stated power, computed from the statement's own probabilities."""
    trial = Layout("main", 48, 1009, 0, 64)
    _, rate, given, level, values = statement(formula, conventions, designs(formula, trial, 0))
    usual = float(rate[0].mean())  # of a row without any marked position
    shares = [
        float(given[0, 0][level[0, 0] == each].sum())
        for each in range(len(values))
        if (level[0, 0] == each).any()
    ]
    headline = ALPHA / 2 / max(HEADLINE, len(values) + 2)
    joint = usual * usual
    least = usual * min(shares)
    free = max(
        sample_size(usual, usual - SHIFT, headline, POWER),
        sample_size(usual, usual + SHIFT, headline, POWER),
        math.ceil(sample_size(min(shares), min(shares) - SHIFT, headline, POWER) / usual * 1.03),
        3 * sample_size(joint, joint + CORRELATION * usual * (1 - usual), headline, POWER),
        LEAST,
    )
    return (
        Layout("main", 48, 1009, free, 64),
        Layout("small vocabulary", 48, 8, 60_000, 32),
        # Where a random word is the original, or [MASK], with a probability that shows.
        Layout("two words", 48, 2, 60_000, 32),
        Layout("three words", 48, 3, 60_000, 32),
        # Past 2^15, with enough random words that halves and quarters show a bias of 20 % against 15 %, as modulo brings it.
        Layout("large vocabulary", 8, 40_961, math.ceil(RANDOM_WORDS / least), 256),
        Layout("long rows", 521, 31, 60_000, 8, rows=(0, 4)),
        # Uniform numbers of eight bits, as bfloat16 has them, select 39/256 instead of 15 %: counted, and little else.
        Layout("many draws", 48, 2, COUNTED, 1024, rows=(0,)),
        # A call of its own for each row: what is drawn again where nothing was selected shows.
        Layout("one short row", 8, 31, 8 * CALLS, 1, rows=(0,), at_once=CALLS),
    )


class SelectionTrial(Trial[Layout, Sample]):
    """What is drawn by a callable that selects positions of rows, and changes what stands there."""

    plans = "layouts"
    tests: ClassVar = dict(zip(SHARES, (selection, counts, independence, outcomes, words), strict=True))

    @cached_property
    def independent(self) -> bool:
        """Whether each position is selected by itself."""
        return self.law.selects_freely(self.formula.choose(self.conventions))

    def plan(self) -> tuple[Layout, ...]:
        """The layouts."""
        return plan(self.formula, self.conventions)

    def pace(self) -> float:
        """The share, told by calls of the main layout."""
        main = self.planned[0]
        rows, generator = designs(self.formula, main, self.seed), self.generator()

        def once(copies: int) -> int:
            self.caller(*arguments(self.formula, rows, copies, generator, self.device))
            return copies * len(rows) * main.length

        return share(once, [layout.plan_calls(len(rows)) for layout in self.planned], 1)

    def draw(self, plan: Layout) -> Sample:
        """The sample of a layout.

        Raises:
            Fault: results that cannot be a sample.
        """
        formula = self.formula
        rows = designs(formula, plan, self.seed)
        P, rate, given, level, values = statement(formula, self.conventions, rows)
        joined = together(formula, self.conventions, rows)
        if (joined[:, 1:] & (abs(rate[:, 1:] - rate[:, :-1]) > SLACK)).any():
            raise ValueError(
                f"{formula.id}: what is selected together is stated to have different probabilities"
            )
        rate = np.where(joined, 0.0, rate)
        calls = max(2, -(-plan.tokens // (int((rate > 0).sum()) * plan.copies)))
        generator = self.generator()
        chosen, words_ = [], []
        for first in range(0, calls, plan.at_once):
            made = []
            for _ in range(first, min(calls, first + plan.at_once)):
                inputs = arguments(formula, rows, plan.copies, generator, self.device)
                passed = [
                    x.clone() if isinstance(x, torch.Tensor) else x for x in inputs
                ]  # it may write to it
                made.append((inputs, read_results(formula, self.caller(*passed), inputs)))
            inputs, results = join_calls(made)
            at = Pointwise(formula, rows[0], name_arrays(formula, inputs, results))
            self.hold(at, f"call {first}", inputs, results)
            shape = (plan.copies * len(made), len(rows), plan.length)
            words_.append(at.whole(self.law.outcome[0]).reshape(shape))
            chosen.append(at.whole(self.law.outcome[-1]).reshape(shape) != 0)
        name = next(t.name for t in formula.tensors if t.domain == "integer" and t.shape)
        ids = np.stack([row[name] for row in rows])
        drawn = np.concatenate(chosen), np.concatenate(words_)
        return Sample(plan, ids, *drawn, plan.copies, P, rate, given, level, values, joined, self.independent)

    def hold(self, at: Pointwise, call: str, inputs: list[Any], results: list[Ints]) -> None:
        """Hold the results of a call to every axiom."""
        for axiom in self.law.axioms:
            held = at.holds(axiom.condition)
            self.axiom_counts[axiom.name] += held.size
            if axiom.name not in self.violations and not held.all():
                where = self.place(inputs, results, held)
                self.violations[axiom.name] = f"violated: {axiom.sentence}; {call}, {where}"

    def place(self, inputs: list[Any], results: list[Ints], held: Bools) -> str:
        """The first position at which something does not hold, and what stands there."""
        place = int(np.argmin(held))
        first = next(x for x in inputs if isinstance(x, torch.Tensor))
        row, column = divmod(place, first.shape[-1])
        values = name_arrays(self.formula, inputs, results)
        said = ", ".join(f"{name} {value[place]}" for name, value in values.items())
        return f"row {row}, position {column}: {said}"

    def misuses(self, samples: Sequence[Sample]) -> list[str]:
        """What is wrong with the use of the generator, in rows of all kinds."""
        formula, rows = (
            self.formula,
            designs(self.formula, Layout("generator", 48, 1009, 0, 8), self.seed + 1),
        )
        return self.misuses_in(
            lambda generator: arguments(formula, rows, 8, generator, self.device),
            lambda inputs: read_results(formula, self.caller(*inputs), inputs),
        )

    def further_questions(self) -> dict[str, Callable[[], Finding | None]]:
        """Also whether what goes together is selected together."""
        joined = {JOINED: lambda: Finding.exact(self.total, self.torn())}
        return {**(joined if self.law.together else {}), **super().further_questions()}

    def torn(self) -> str:
        """Where what goes together was not selected together; the statement gives this probability 0."""
        for sample in self.samples:
            found = apart(sample)
            if found is not None and self.law.together is not None:
                t, r, i = found
                one, other = (i, i - 1) if sample.chosen[found] else (i - 1, i)
                return (
                    f"the {self.law.together.member}s of a {self.law.together.group} are not selected together; "
                    f"{sample.layout.name}, design {r}, repetition {t}: position {one} is selected, {other} is not: "
                    "the statement gives this probability 0"
                )
        return ""

    def test(self, name: str, tally: Tally) -> None:
        """The tests of every sample; of the rate also those of all samples together."""
        super().test(name, tally)
        if self.tests[name] is selection:
            count_pooled(self.samples, tally)

    def find_frequencies(self, name: str) -> Finding:
        """Of the rate also what all draws together see."""
        found = super().find_frequencies(name)
        if self.tests[name] is selection and self.independent:
            found.message += f"; all draws: power ≥ {POWER} against {100 * self.nearest():.3g} %"
        return found

    def nearest(self) -> float:
        """The least rate above the statement's that all draws see with the stated power, at a headline test's least level."""
        count, (_, high) = count_free_draws(self.samples), rates(self.samples)
        test = region(count, high, ALPHA / 2 / (HEADLINE + len(self.samples)))
        return next((p for p in np.arange(high, 1, STEP) if test.power(float(p)) >= POWER), 1.0)

    def main_test(self) -> tuple[int, float, int]:
        """How often positions of the main layout are selected."""
        main = self.samples[:1]
        return count_free_draws(main), rates(main)[1], HEADLINE + len(main)

    def explain(self, failed: Mapping[str, str]) -> tuple[str, Reason]:
        """Which shares are off, or what the first check says."""
        rows = [designs(self.formula, sample.layout, self.seed)[0] for sample in self.samples]
        return selection_cause(self.formula, self.samples, rows, failed)
