"""The guard: what is found proved is evaluated as well, by compiled programs, which share nothing with the rules.

Both sides of every claim, and every line between them, are enclosed in balls at small and unequal sizes, past every constant,
at inputs with ties, zeros and both signs, under every choice of conventions. Where the balls contradict the claim, or a line of
its derivation, it is not proved, whatever the rules say.

Without a derivation, a claim is refuted at one point (:class:`Numeric`), or both sides are enclosed at many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import inf
from types import MappingProxyType
from typing import Any

import flint
import numpy as np
import sympy

from spec.language.arrays import NO_LABEL, Tensor
from spec.language.binders import Expectation
from spec.language.calls import Call, Pullback
from spec.language.differentiation.gradients import vjp
from spec.language.elaboration import elaborate
from spec.language.evaluation.arithmetic import Truth
from spec.language.evaluation.balls import BallArithmetic, precision
from spec.language.evaluation.binding import Bindings, bind, sizes_at
from spec.language.evaluation.compiled.applications import Applications
from spec.language.evaluation.dimensions import Size, WrongSize, whole
from spec.language.evaluation.evaluate import run
from spec.language.evaluation.evaluator import Evaluator
from spec.language.evaluation.indexing import is_inexact
from spec.language.expr import Compare
from spec.language.flatten import Flat, apply_conventions
from spec.language.formula import Formula
from spec.language.known import get_formula
from spec.language.proving.deciding.derivations import CheckedClaim, conventions_of
from spec.language.theorem import Assurance, Claim, Theorem
from spec.language.trees import free_symbols, refs, walk
from spec.language.wellformed.letters import is_size

DISTRIBUTIONS = (
    ((flint.fmpq(-1), flint.fmpq(1, 2)), (flint.fmpq(1), flint.fmpq(1, 2))),
    ((flint.fmpq(-1, 2), flint.fmpq(4, 5)), (flint.fmpq(2), flint.fmpq(1, 5))),
)
"""Values with their probabilities: mean 0 and variance 1 both, the second one skewed and with another fourth moment."""


def sizes_in(formula: Formula, inputs: Mapping[str, Any]) -> dict[Size, int]:
    """The sizes at which a formula is applied, read off its arguments."""
    return dict(sizes_at(formula.flat(None), inputs))


class WatchedArithmetic(BallArithmetic):
    """Balls that notice where numbers that are compared may be equal: a derivative by branches says nothing there."""

    met = False

    def compare(self, relation: str, a: Any, b: Any) -> Truth:
        """As balls are."""
        self.met |= any(gap.contains(0) for gap in np.ravel(a - b))
        return super().compare(relation, a, b)


@lru_cache(maxsize=256)
def turns(flat: Flat, wrt: str) -> bool:
    """Whether a condition compares numbers that depend on an input."""
    depending, before = {wrt}, 0
    while len(depending) > before:
        before = len(depending)
        depending |= {
            line.name for line in flat.lines if depending & {r.tensor.name for r in refs(line.right)}
        }
    compared = (part for line in flat.lines for part in walk(line.right) if isinstance(part, Compare))
    return any(
        depending & {r.tensor.name for r in refs(node)} and any(map(is_inexact, node.args[1:]))
        for node in compared
    )


class BallApplications(Applications):
    """Applies the statement itself, in balls."""

    def __init__(
        self,
        conventions: Mapping[str, str],
        most: float = inf,
        fixed: Mapping[Tensor, Any] = MappingProxyType({}),
    ) -> None:
        self.conventions, self.most, self.fixed = conventions, most, fixed

    def real(self, number: Any) -> Any:
        """The balls themselves."""
        return np.array(number, dtype=object)

    def apply_all(self, node: Call | Pullback, every: list[dict[str, Any]]) -> list[Any]:
        """The statement's outputs or gradients, enclosed."""
        return [self.apply(node, arguments) for arguments in every]

    def apply(self, node: Call | Pullback, arguments: dict[str, Any]) -> Any:
        """The statement's output or gradient at one place."""
        callee = get_formula(node.formula_id)
        offered = {c.name for c in callee.conventions}
        conventions = {name: option for name, option in self.conventions.items() if name in offered}
        if isinstance(node, Pullback):
            seed = arguments.pop("seed")
            gradient = vjp(callee, [node.wrt], conventions)
            seeds = gradient.fill_cotangents({node.output: seed}, sizes_in(callee, arguments))
            arithmetic = WatchedArithmetic()
            done = run(gradient.flat, arithmetic, self._bind(callee, gradient.flat, {**arguments, **seeds}))
            found = done.tensors[gradient.gradients[node.wrt].name]
            if arithmetic.met and turns(gradient.flat, node.wrt):
                return np.full_like(found, arithmetic.undefined()[()])
            return found
        flat = callee.flat(conventions)
        return run(flat, BallArithmetic(), self._bind(callee, flat, arguments)).tensors[node.output]

    def _bind(self, callee: Formula, flat: Flat, arguments: Mapping[str, Any]) -> Bindings:
        """The arguments, and constants as the theorem fixes them."""
        bindings = bind(flat, arguments)
        for tensor, value in self.fixed.items():
            if tensor in callee.constants:
                number = sympy.Rational(value)
                bindings.rationals[tensor.name] = (int(number.p), int(number.q))
        return bindings

    def join_results(self, parts: list[Any], lead: tuple[int, ...], beside: bool) -> Any:
        """As balls."""
        whole = np.empty((len(parts), *np.shape(parts[0])), dtype=object)
        for place, part in enumerate(parts):
            whole[place] = part if np.ndim(part) else part.item()
        return whole.reshape((*lead, *np.shape(parts[0])))


BITS = 256
"""The precision of the balls."""
MOST_PLACES = 64
"""At how many values of the indices around it a formula is applied at most."""
Side = tuple[tuple[int, ...], Any, Any]
"""Where a claim is made, and its two sides there."""


def contradicts(relation: str, left: Any, right: Any) -> bool:
    """Whether the balls of two sides contradict what is said of them: they are apart, or the left one is larger."""
    gap = left - right
    return bool({"=": not gap.contains(0), "<=": gap > 0, "<": gap >= 0}[relation])


class Unfit(ValueError):  # noqa: N818  (what is found, not a fault)
    """A point that is none of the theorem's; the message says why."""


def sizes_of(theorem: Theorem, formula: Formula) -> tuple[Size, ...]:
    """Every size that a theorem speaks of, those apart that it replaces."""
    found: set[Any] = {item for item in formula.inputs if isinstance(item, sympy.Symbol)}
    trees = [size for t in (*formula.tensors, *theorem.given) for size in (*t.shape, t.below)]
    trees += [*theorem.sizes.values(), *theorem.assuming]
    for claim in theorem.claims:
        trees += [claim.left, claim.right, claim.where, *(size for _, size in claim.over)]
    found = found.union(*(free_symbols(sympy.sympify(tree)) for tree in trees))
    return tuple(sorted((s for s in found if is_size(s) and s not in theorem.sizes), key=str))


@dataclass(frozen=True)
class Point:
    """Sizes and inputs by name, at which a theorem is evaluated under a choice of conventions."""

    theorem: Theorem
    formula: Formula
    conventions: Mapping[str, str]
    given: Mapping[str, Any]

    def make_evaluator(self) -> Evaluator:
        """An evaluator of the theorem's trees at the point.

        Raises:
            Unfit: something is missing, or not of its domain, or a hypothesis does not hold.
        """
        calls = BallApplications(self.conventions, MOST_PLACES, self.theorem.at)
        evaluator = Evaluator(BallArithmetic(), self._bind(), calls)
        evaluator.outcomes = DISTRIBUTIONS[0]
        for assumption in self.theorem.assuming:
            if not evaluator.truth(self._expand(assumption)).surely.all():
                raise Unfit(f"the hypothesis {assumption} does not hold at the point")
        return evaluator

    def _bind(self) -> Bindings:
        theorem, formula = self.theorem, self.formula
        items = (*formula.tensors, *theorem.given)
        sizes = (*sizes_of(theorem, formula), *theorem.sizes)
        named = {str(item) for item in (*items, *sizes)}
        for name in self.given:
            if name not in named:
                raise Unfit(f"the theorem speaks of no {name}")
        bindings = Bindings(sizes={s: int(self.given[str(s)]) for s in sizes if str(s) in self.given})
        for item in items:
            if item in theorem.at or item.role == "generator":
                continue
            if item.name not in self.given and not self._uses(item):
                continue
            if item.name not in self.given:
                raise Unfit(f"{item.name} is missing")
            bindings.tensor(formula.id, item, self.given[item.name])
        bindings.settle()
        for size, value in theorem.sizes.items():
            number = whole(sympy.sympify(value), bindings.sizes)
            if bindings.sizes.setdefault(size, number) != number:
                raise Unfit(
                    f"{size} is {bindings.sizes[size]} at the point, but the theorem has {size} = {value}"
                )
        for size in sizes:
            if bindings.sizes.get(size, 1 if not self._uses(size) else 0) < 1:
                raise Unfit(f"the size {size} is missing, or less than 1")
        for item in items:
            _check_domain(item, bindings)
        self._fix(bindings)
        return bindings

    def _fix(self, bindings: Bindings) -> None:
        """Bind what the theorem fixes, and the constants of the formula."""
        theorem, formula = self.theorem, self.formula
        for tensor, value in theorem.at.items():
            if not self._uses(tensor):
                continue
            number = sympy.Rational(value)
            shape = tuple(whole(size, bindings.sizes) for size in tensor.shape)
            ball = flint.arb(flint.fmpq(int(number.p), int(number.q)))
            if tensor.name in self.given and not np.all(np.asarray(self.given[tensor.name]) == float(number)):
                raise Unfit(f"{tensor.name} is fixed to {value} by the theorem")
            bindings.reals[tensor.name] = np.full(shape, ball, dtype=object)
        for tensor, value in formula.constants.items():
            if tensor not in theorem.at:
                number = sympy.Rational(value)
                bindings.rationals[tensor.name] = (int(number.p), int(number.q))

    def _uses(self, item: Tensor | Size) -> bool:
        """Whether some tree of the theorem speaks of an input or a size, in what its letters mean."""
        return item in self._parts

    @cached_property
    def _parts(self) -> frozenset[Any]:
        trees: list[Any] = [*self.theorem.assuming]
        for claim in self.theorem.claims:
            trees += [claim.left, claim.right, claim.where, *(size for _, size in claim.over)]
        return frozenset(part for tree in trees for part in walk(self._expand(tree)))

    def _expand(self, tree: Any) -> Any:
        return apply_conventions(elaborate(tree, self.formula), self.formula.choose(self.conventions))

    def sides(self, claim: Claim, evaluator: Evaluator) -> Iterator[Side]:
        """Both sides of a claim wherever it is made, under each distribution of what is random."""
        for at, (left, right) in self.along(claim, (claim.left, claim.right), evaluator):
            yield at, left, right

    def along(
        self, claim: Claim, trees: tuple[Any, ...], evaluator: Evaluator
    ) -> Iterator[tuple[tuple[int, ...], list[Any]]]:
        """The values of trees wherever a claim is made, under each distribution of what is random."""
        where, *meant_ = (self._expand(part) for part in (claim.where, *trees))
        spans = tuple((symbol, sympy.S.Zero, size - 1) for symbol, size in claim.over)
        random = any(isinstance(part, Expectation) for tree in meant_ for part in walk(tree))
        for distribution in DISTRIBUTIONS[: 2 if random else 1]:
            evaluator.outcomes = distribution
            if (found := evaluator.values(meant_, spans, where)) is None:
                return
            counts = np.broadcast_to(True if found.where is None else found.where.surely, found.extent)
            values = [np.broadcast_to(value, found.extent) for value in found.values]
            for at in np.ndindex(*found.extent):
                if counts[at]:
                    yield at, [value[at] for value in values]


def _check_domain(tensor: Tensor, bindings: Bindings) -> None:
    """Refuse values outside the domain of a tensor."""
    name, domain = tensor.name, tensor.domain
    if name in bindings.integers:
        values = bindings.integers[name]
        below = whole(tensor.shape[0] if domain == "permutation" else tensor.below, bindings.sizes)
        if domain == "label":
            values = values[values != NO_LABEL]
        if (values < 0).any() or (values >= below).any():
            raise Unfit(f"{name} holds integers from 0 to {below - 1}; the point has others")
        if domain == "permutation" and len(set(values.tolist())) < below:
            raise Unfit(f"{name} is a permutation; the point has none")
    elif name in bindings.reals:
        for value in bindings.reals[name].flat:
            if not flint.arb(value).is_finite():
                raise Unfit(f"{name} holds numbers; the point has {value}")
            if domain != "real" and not (value > 0 if domain == "positive" else value >= 0):
                raise Unfit(f"{name} is {domain}; the point has {value}")
            if domain == "share" and not value <= 1:
                raise Unfit(f"{name} is at most 1; the point has {value}")


SIZES = (1, 2, 3, 5, 7)
FARTHEST = 64
"""The largest constant that sizes are drawn past."""
LARGEST = 600
"""Entries that the tensors may have together."""
REGIMES = ("plain", "ties", "zeros", "large", "hidden", "plain", "ties", "plain")
"""What entries are like, by turns; in the fifth every condition of a mask fails."""


def constants_of(theorem: Theorem) -> set[int]:
    """The whole numbers that the claims and hypotheses of a theorem write."""
    trees: list[Any] = [*theorem.assuming, *theorem.sizes.values()]
    for claim in theorem.claims:
        trees += [claim.left, claim.right, claim.where, *(size for _, size in claim.over)]
    parts = (part for tree in trees for part in walk(sympy.sympify(tree)))
    return {abs(int(number)) for part in parts if part.is_Rational for number in (part.p, part.q)}


def ladders(theorem: Theorem, formula: Formula) -> Iterator[dict[Size, int]]:
    """Sizes: all alike, all unlike, past every constant, at each and just before; those left out at which a tensor would be too
    large.
    """
    symbols = sizes_of(theorem, formula)
    least = max((k for k in constants_of(theorem) if k <= FARTHEST), default=0)
    count, number = len(SIZES), len(symbols)
    unlike = [
        [SIZES[(step * place + shift) % count] for place in range(number)]
        for step in (1, 2, 4)
        for shift in (1, 0, 2, 3, 4)
    ]
    past = [[least + 1 if place == far else 2 for place in range(number)] for far in range(number)]
    rows = [[1] * number, [2] * number, unlike[0], *past, [3] * number, *unlike[1:]]
    rows += [[least + 1] * number, [least + 2] * number]
    named = {k + more for k in constants_of(theorem) if k <= FARTHEST for more in (-1, 0, 1)}
    for size in sorted(named - {0, -1}):
        alone = [[size if place == far else 2 for place in range(number)] for far in range(number)]
        rows += [row for row in ([size] * number, *alone) if row not in rows]
    for row in rows:
        sizes = dict(zip(symbols, row, strict=True))
        every = {**sizes, **{s: whole(sympy.sympify(v), sizes) for s, v in theorem.sizes.items()}}
        tensors = (*formula.tensors, *theorem.given)
        if sum(np.prod([whole(size, every) for size in t.shape], dtype=float) for t in tensors) <= LARGEST:
            yield sizes


def draw_point(
    theorem: Theorem, formula: Formula, conventions: Mapping[str, str], sizes: Mapping[Size, int], turn: int
) -> Point:
    """A point at these sizes; the same for the same turn."""
    random = np.random.default_rng([11, turn])
    every = {**sizes, **{s: whole(sympy.sympify(v), sizes) for s, v in theorem.sizes.items()}}
    given: dict[str, Any] = {str(s): k for s, k in sizes.items()}
    for tensor in (*formula.tensors, *theorem.given):
        if tensor in theorem.at or tensor.role == "generator":
            continue
        shape = tuple(whole(size, every) for size in tensor.shape)
        given[tensor.name] = _entries(tensor, shape, every, REGIMES[turn % len(REGIMES)], random)
    return Point(theorem, formula, conventions, given)


def _entries(
    tensor: Tensor,
    shape: tuple[int, ...],
    sizes: Mapping[Size, int],
    regime: str,
    random: np.random.Generator,
) -> Any:
    if tensor.domain == "boolean":
        share = {"plain": 0.6, "zeros": 1.0, "hidden": 0.0}.get(regime, 0.4)
        return np.asarray(random.random(shape) < share)
    if tensor.domain == "permutation":
        return random.permutation(shape[0])
    if tensor.domain in ("integer", "label"):
        found = random.integers(0, whole(tensor.below, sizes), shape)
        share = {"plain": 0.3, "hidden": 1.0}.get(regime, 0.0) if tensor.domain == "label" else 0.0
        return np.where(random.random(shape) < share, NO_LABEL, found) if share else found
    if regime == "ties":
        values = random.integers(-1, 2, shape).astype(float)
    elif regime == "zeros":
        values = np.zeros(shape)
    else:
        values = np.round(random.standard_normal(shape) * (6 if regime == "large" else 1), 6)
    if tensor.domain == "real":
        return values
    if tensor.domain == "share":
        return np.minimum(np.abs(values) / 2, 1)
    return np.abs(values) + (0.125 if tensor.domain == "positive" else 0)


def points(
    theorem: Theorem, formula: Formula, conventions: Mapping[str, str], turns: int, enough: int = 0
) -> Iterator[tuple[Point, Evaluator]]:
    """Points that meet the hypotheses, each with its evaluator: at every ladder of sizes, ``turns`` draws of inputs.

    With ``enough``, no more draws at a ladder once so many met the hypotheses there.
    """
    for rung, sizes in enumerate(ladders(theorem, formula)):
        met = 0
        for turn in range(turns):
            point = draw_point(theorem, formula, conventions, sizes, rung + 97 * turn)
            try:
                evaluator = point.make_evaluator()
            except Unfit:
                continue
            yield point, evaluator
            met += 1
            if met == enough:
                break


DIGITS = 30
"""Decimal digits to which an equality is enclosed; the balls have 77."""
DRAWS = 8
"""Points that are drawn at each choice of sizes; those that meet the hypotheses are evaluated."""
FEWEST = 5
"""Points at which a claim has to say something, for an enclosure to mean anything."""


class Numeric:
    """Judges a claim in balls."""

    def __init__(self, theorem: Theorem, formula: Formula, claim: Claim) -> None:
        self.theorem, self.formula, self.claim = theorem, formula, claim
        self.note = ""

    def witness(self, given: Mapping[str, Any], conventions: Mapping[str, str]) -> str:
        """Why the point given does not refute the claim; empty if it does.

        An equality is refuted where its sides differ, ``≤`` where the left side is larger, ``<`` where it is not smaller.

        Raises:
            ValueError: the point is none of the theorem's.
        """
        with precision(BITS):
            point = Point(self.theorem, self.formula, conventions, given)
            for at, left, right in point.sides(self.claim, point.make_evaluator()):
                if (left - right).is_finite() and contradicts(self.claim.relation, left, right):
                    place = ", ".join(f"{s} = {k}" for (s, _), k in zip(self.claim.over, at, strict=True))
                    self.note = f"{f'at {place}: ' if place else ''}{_digits(left)} against {_digits(right)}"
                    return ""
        asked = {
            "=": "the two sides agree",
            "<=": "the left side is not larger",
            "<": "the left side is smaller",
        }
        return f"at the point given {asked[self.claim.relation]}, as far as the enclosures tell"

    def enclose(self, conventions: Mapping[str, str]) -> str:
        """Why random points speak against the claim, or too few speak of it; empty if neither."""
        beyond = [k for k in constants_of(self.theorem) if k > FARTHEST]
        if beyond:
            return f"an enclosure draws no sizes past {beyond[0]}, which the theorem speaks of"
        seen = 0
        with precision(BITS):
            for point, evaluator in points(self.theorem, self.formula, conventions, DRAWS):
                found = list(point.sides(self.claim, evaluator))
                seen += bool(found)
                for at, left, right in found:
                    gap = right - left
                    close = abs(gap) < flint.arb(10) ** -DIGITS * (1 + abs(left))
                    if not {"=": close, "<=": close or gap >= 0, "<": gap > 0}[self.claim.relation]:
                        return f"at a random point, index {at}: {_digits(left)} against {_digits(right)}"
        if seen < FEWEST:
            return f"an enclosure needs points where something is claimed: there are {seen} of them"
        self.note = f"enclosed to {DIGITS} digits at {seen} random points"
        return ""


def _digits(ball: Any) -> str:
    return str(float(ball.mid()))[:12]


POINTS = 24
"""Points at which a theorem is evaluated, over all choices of conventions together; at least three for each."""
ENTRIES = 800
"""Entries that the inputs at these points may have, all together: what an evaluation costs."""
TURNS = 6
"""Draws of inputs at one choice of sizes, until one meets the hypotheses."""
MOST_TRIES = 8
"""How many times as many points are tried at most, where a claim says nothing at most of them."""
LEAST = 3
"""Points at which a claim has to say something, so that having evaluated it means something."""


@dataclass(frozen=True)
class ClaimEvaluation:
    """What evaluating a claim found: points at which it says something, points at which it cannot be evaluated and why, and
    what contradicts it.
    """

    points: int = 0
    failures: int = 0
    missing: str = ""
    violation: str = ""

    @property
    def settled(self) -> bool:
        """Whether further points are not needed."""
        return bool(self.violation) or max(self.points, self.failures) >= LEAST

    @property
    def refusal(self) -> str:
        """Why the claim is not to be called proved; empty if it was evaluated often enough to mean something."""
        if self.violation or self.points >= LEAST:
            return self.violation
        said = self.missing or f"it says something at {self.points} of the points tried"
        return f"evaluation cannot confirm it: {said}"


def evaluate_claims(
    theorem: Theorem, formula: Formula, checked: tuple[CheckedClaim, ...] = ()
) -> tuple[ClaimEvaluation, ...]:
    """Every claim of a theorem evaluated, and the lines of its derivation where they are given.

    Under each choice of conventions it has to be evaluated often enough; what is returned is the choice that says least for it.
    """
    checked = checked or tuple(CheckedClaim(claim, Assurance.TESTED) for claim in theorem.claims)
    choices = list(conventions_of(theorem, formula))
    each, share = max(LEAST, POINTS // len(choices)), ENTRIES // len(choices)
    worst = [ClaimEvaluation(points=POINTS) for _ in theorem.claims]
    with precision(BITS):
        for conventions in choices:
            found, entries = [ClaimEvaluation() for _ in theorem.claims], 0
            for count, (point, evaluator) in enumerate(points(theorem, formula, conventions, TURNS, 1), 1):
                for place, claim in enumerate(checked):
                    if not found[place].violation:
                        found[place] = _add_point(found[place], point, evaluator, claim)
                entries += sum(np.size(value) for value in point.given.values())
                enough = count >= each or entries > share
                if enough and (count >= MOST_TRIES * each or all(one.settled for one in found)):
                    break
            worst = [
                min(pair, key=lambda one: (not one.violation, one.points))
                for pair in zip(worst, found, strict=True)
            ]
    return tuple(worst)


def _add_point(
    before: ClaimEvaluation, point: Point, evaluator: Evaluator, checked: CheckedClaim
) -> ClaimEvaluation:
    """What one point adds."""
    claim = checked.claim
    entries, violation, missing = _compare_lines(
        point, evaluator, checked, (claim.left, claim.right), (claim.relation,)
    )
    if missing or violation:
        return replace(before, violation=violation, missing=missing, failures=before.failures + bool(missing))
    steps = checked.steps
    if len(steps) > 1:
        lines = (claim.left, *(step.right for step in steps))
        _, violation, _ = _compare_lines(
            point, evaluator, checked, lines, tuple(step.relation for step in steps)
        )
    return replace(before, points=before.points + bool(entries), violation=violation)


def _compare_lines(
    point: Point,
    evaluator: Evaluator,
    checked: CheckedClaim,
    lines: tuple[Any, ...],
    relations: tuple[str, ...],
) -> tuple[int, str, str]:
    """Entries at which lines, each against the next, say something; what contradicts them; what could not be evaluated."""
    entries = 0
    try:
        for at, values in point.along(checked.claim, lines, evaluator):
            for place, relation in enumerate(relations):
                left, right = values[place : place + 2]
                if not (left - right).is_finite():  # undefined there, or not decided by the precision
                    continue
                entries += 1
                if contradicts(relation, left, right):
                    sizes = ", ".join(f"{s} = {k}" for s, k in evaluator.sizes.items())
                    which = f" in step {place + 1}" if len(relations) > 1 else ""
                    numbers = f"{float(left.mid()):.9g} against {float(right.mid()):.9g}"
                    return entries, f"evaluation contradicts it{which}: {numbers} at {at}, where {sizes}", ""
    except (
        ArithmeticError,
        KeyError,
        IndexError,
        NotImplementedError,
        RecursionError,
        StopIteration,
        TypeError,
        ValueError,
        WrongSize,
    ) as error:
        return entries, "", " ".join(f"{type(error).__name__}: {error}".split())
    return entries, "", ""
