"""A claim judged by evaluation alone: both sides in balls at many points, and what was certainly violated there.

Nothing of what decides proofs is used, and no point that the guard draws. Every tensor gets a name of its own first, so that two
tensors of one name stay two, and sizes are put in as numbers, so that ``x**n`` is a whole power. Expectations are taken over
every outcome of a two-point law.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import flint
import numpy as np
import sympy

from spec.language.arrays import WHOLE, Tensor
from spec.language.binders import Expectation
from spec.language.elaboration import elaborate
from spec.language.evaluation.arithmetic import Undecided
from spec.language.evaluation.balls import BallArithmetic, precision
from spec.language.evaluation.binding import Bindings
from spec.language.expr import TRUE, Literal, Node, Power, Ref, case, lift
from spec.language.flatten import apply_conventions
from spec.language.formula import Formula
from spec.language.proving.evaluating.points import BallApplications
from spec.language.proving.proof import conventions_of
from spec.language.symbols import Letter
from spec.language.theorem import Claim, Theorem
from spec.language.trees import free_symbols, substitute, transform, walk
from tests.attack.board import FalseClaim
from tests.attack.points import Point, points
from tests.spec.language.evaluation.interpreter import Interpreter

BITS = 256
ENOUGH = 5
"""Places at which a claim has to hold, for an existential claim of the contrary to count as refuted."""
MOST_RANDOM = 6
"""Random entries over whose outcomes an expectation is taken at most: 2⁶ evaluations."""
LAWS = (((-1.0, (1, 2)), (1.0, (1, 2))), ((2.0, (1, 5)), (-0.5, (4, 5))))
"""Two-point laws with mean 0 and variance 1: a symmetric one, and a skew one."""


class Meaningless(ArithmeticError):  # noqa: N818  (what is found, not a fault)
    """At this point the claim cannot be evaluated: an index out of its range, an outcome too many."""


@dataclass
class Verdict:
    """What evaluation found: where the claim is violated, where a side has no value, and at how many points it was met."""

    violated: str = ""
    undefined: str = ""
    met: int = 0
    tried: int = 0
    problems: set[str] = field(default_factory=set)


def judged(
    theorem: Theorem,
    formula: Formula,
    seed: int = 0,
    tries: int = 250,
    undefined: bool = False,
    one: bool = False,
) -> Verdict:
    """Search for a point at which a claim of the theorem fails; ``undefined`` also ends at one where a side has no value.

    ``one`` says that a letter that is free in an assumption stands for some one index.
    """
    verdict = Verdict()
    for conventions in conventions_of(theorem, formula):
        judges = [_Judge(theorem, formula, claim, conventions, one) for claim in theorem.claims]
        for point in points(judges[0].sizes, judges[0].tensors, theorem, seed, tries):
            verdict.tried += 1
            for judge in judges:
                judge.at(point, verdict)
            if verdict.violated or (undefined and verdict.undefined):
                return verdict
    return verdict


def refuted(one: FalseClaim, theorem: Theorem) -> str:
    """Why evaluation calls a written claim false; empty if it does not. An existential one is false where no point shows it."""
    if one.meant:
        theorem = replace(theorem, claims=tuple(replace(c, relation=one.meant) for c in theorem.claims))
    tries = 60 if theorem.exists else 250
    verdict = judged(theorem, one.formula, tries=tries, undefined=one.undefined, one=one.one)
    if theorem.exists:
        enough = verdict.met >= ENOUGH or one.vacuous
        return f"holds at {verdict.met} places" if enough and not verdict.violated else ""
    if one.vacuous and not verdict.tried:
        return "there is no such size"
    if one.meaningless and not verdict.met:
        return "; ".join(sorted(verdict.problems))
    return verdict.violated or (verdict.undefined if one.undefined else "")


class _Judge:
    """One claim under one choice of conventions."""

    def __init__(
        self, theorem: Theorem, formula: Formula, claim: Claim, conventions: Mapping[str, str], one: bool
    ) -> None:
        self.one = one
        self.formula, self.claim, self.theorem = formula, claim, theorem
        self.conventions = formula.choose(conventions)
        self.names: dict[Tensor, Tensor] = {}
        self.fixed = dict(theorem.at)
        self.trees = [
            self._read(tree) for other in theorem.claims for tree in (other.left, other.right, other.where)
        ]
        self.left, self.right, self.where = map(self._read, (claim.left, claim.right, claim.where))
        self.assumed = [self._read(tree) for tree in theorem.assuming]
        everything = [*self.trees, *self.assumed]
        declared = [*formula.tensors, *theorem.given]
        for tensor in declared:
            self._own(tensor)
        self.tensors = {new: old for old, new in self.names.items() if old not in formula.constants}
        shapes = [s for t in declared for s in (*t.shape, t.below)] + [s for t in self.names for s in t.shape]
        inner = [s for tree in everything for s in free_symbols(tree)]
        spans = [size for other in theorem.claims for _, size in other.over]
        letters = {s for other in theorem.claims for s, _ in other.over}
        free = {s for s in (*inner, *shapes, *spans, *theorem.sizes.values()) for s in free_symbols(s)}
        free |= {s for s in formula.inputs if isinstance(s, sympy.Symbol)}
        self.over = dict(claim.over)
        for symbol in sorted(free - letters, key=str):
            if isinstance(symbol, Letter) and symbol.size is not None:
                self.over.setdefault(symbol, symbol.size)
                free |= free_symbols(symbol.size)
        self.sizes = sorted(
            (s for s in free - letters - set(self.over) if not isinstance(s, Letter)), key=str
        )

    # Trees --------------------------------------------------------------------------------------------------------------

    def _read(self, tree: Node) -> Node:
        tree = apply_conventions(elaborate(tree, self.formula), self.conventions)
        return transform(tree, lambda part: self._own(part) if isinstance(part, Tensor) else None)

    def _own(self, tensor: Tensor) -> Tensor:
        if tensor not in self.names:
            role = "constant" if tensor in self.formula.constants else "given"
            role = tensor.role if tensor.role in ("mask", "generator") else role
            name = f"t{len(self.names)}"
            self.names[tensor] = Tensor(name, tensor.shape, tensor.domain, role, tensor.below)
        return self.names[tensor]

    # One point ------------------------------------------------------------------------------------------------------------

    def at(self, point: Point, verdict: Verdict) -> None:
        """Evaluate the claim at a point."""
        relation = self.claim.relation
        try:
            with precision(BITS):
                if not all(self._holds(tree, point) for tree in self.assumed):
                    return
                for place, left, right in self._sides(point):
                    verdict.met += 1
                    where = f"{point} at {place}: {_shown(left)} {relation} {_shown(right)}"
                    if not (left.is_finite() and right.is_finite()):
                        verdict.undefined = verdict.undefined or where
                    elif _violates(relation, left, right):
                        verdict.violated = where
                        return
        except (
            Meaningless,
            IndexError,
            KeyError,
            ValueError,
            Undecided,
            TypeError,
            ZeroDivisionError,
            RecursionError,
        ) as error:
            if len(verdict.problems) < 3:
                verdict.problems.add(f"{type(error).__name__}: {error}"[:200])
            if isinstance(error, IndexError) or "zoo" in str(error) or "nan" in str(error):
                verdict.undefined = verdict.undefined or f"{point}: {error}"

    def _holds(self, condition: Node, point: Point) -> bool:
        loose = [s for s in free_symbols(condition) if isinstance(s, Letter) and s.size is not None]
        over = {s: self.over.get(s, s.size) for s in sorted(loose, key=str)}
        if condition == TRUE:
            return True
        (value,) = self._values((case(condition, 1),), over, point)
        held = [bool(x == 1) for x in value.flat]
        return any(held) if self.one and over else all(held)

    def _sides(self, point: Point) -> Iterator[tuple[str, Any, Any]]:
        guarded = [side if self.where == TRUE else case(self.where, side) for side in (self.left, self.right)]
        held = case(self.where, 1) if self.where != TRUE else lift(1)
        both = (*guarded, held)
        numbers = {s: sympy.Integer(point.sizes[s]) for s in self.sizes if s in point.sizes}
        pinned = any(_hard(part) for tree in both for part in walk(tree))
        if not pinned:
            left, right, held = self._values(both, self.over, point)
            for place in np.ndindex(left.shape):
                if held[place] == 1:
                    yield _place(self.over, place), left[place], right[place]
            return
        extents = [int(substitute(sympy.sympify(size), numbers)) for size in self.over.values()]
        for place in product(*map(range, extents)):
            at = {s: sympy.Integer(v) for s, v in zip(self.over, place, strict=True)}
            left, right, held = self._values(tuple(substitute(tree, at) for tree in both), {}, point)
            if held[()] == 1:
                yield _place(self.over, place), left[()], right[()]

    # Values -------------------------------------------------------------------------------------------------------------

    def _values(self, trees: tuple[Node, ...], over: Mapping[Any, Any], point: Point) -> list[Any]:
        """The values of some trees over indices, as arrays of balls."""
        numbers: dict[Any, Any] = {s: sympy.Integer(v) for s, v in point.sizes.items()} | point.reals
        extents = {s: int(substitute(sympy.sympify(size), numbers)) for s, size in over.items()}
        if any(extent < 1 for extent in extents.values()):
            return [np.zeros(tuple(max(v, 0) for v in extents.values()), dtype=object) for _ in trees]
        arrays = dict(point.arrays)
        trees = tuple(self._without_expectations(tree, extents, point, arrays) for tree in trees)
        bindings = self._bindings(point, arrays)
        evaluator = Interpreter(BallArithmetic(), bindings, on_call=BallApplications(self.conventions))
        found = []
        spans = [(s, sympy.S.Zero, sympy.Integer(v - 1)) for s, v in {_ALONE: 1, **extents}.items()]
        with np.errstate(all="ignore"), evaluator.within(spans, None):
            for tree in trees:
                value = np.asarray(evaluator.value(substitute(tree, numbers)), dtype=object)
                found.append(np.broadcast_to(_ENTRIES(value), (1, *extents.values()))[0, ...])
        return found

    def _bindings(self, point: Point, arrays: Mapping[Tensor, Any]) -> Bindings:
        out = Bindings(sizes=dict(point.sizes))
        for tensor, value in arrays.items():
            if tensor.domain == "boolean":
                out.booleans[tensor.name] = value
            elif tensor.domain in WHOLE:
                out.integers[tensor.name] = value
            else:
                out.reals[tensor.name] = value
        for tensor, value in self.formula.constants.items():
            number = sympy.Rational(value)
            out.rationals[self._own(tensor).name] = (int(number.p), int(number.q))
        return out

    def _without_expectations(
        self, tree: Node, extents: Mapping[Any, int], point: Point, arrays: dict[Tensor, Any]
    ) -> Node:
        if not any(isinstance(part, Expectation) for part in walk(tree)):
            return tree
        if isinstance(tree, Expectation):
            return self._mean(tree, extents, point, arrays)
        children = [
            self._without_expectations(child, extents, point, arrays) if isinstance(child, Node) else child
            for child in tree.args
        ]
        return tree.func(*children)

    def _mean(
        self, node: Expectation, extents: Mapping[Any, int], point: Point, arrays: dict[Tensor, Any]
    ) -> Node:
        numbers = {s: sympy.Integer(v) for s, v in point.sizes.items()}
        letters = sorted(
            (s for s in free_symbols(node.body) if isinstance(s, Letter) and s not in point.sizes), key=str
        )
        sizes = [extents[s] if s in extents else int(substitute(s.size, numbers)) for s in letters]
        random = [t for t in node.random if isinstance(t, Tensor)]
        shapes = [tuple(int(substitute(size, numbers)) for size in t.shape) for t in random]
        entries = sum(int(np.prod(shape)) for shape in shapes)
        if entries > MOST_RANDOM:
            raise Meaningless(f"{entries} random entries")
        total: Any = np.full(sizes, flint.arb(0), dtype=object)
        for outcome in product(LAWS[point.number % 2], repeat=entries):
            weight, drawn, at = flint.arb(1), dict(arrays), 0
            for _, chance in outcome:
                weight *= flint.arb(flint.fmpq(*chance))
            for tensor, shape in zip(random, shapes, strict=True):
                size = int(np.prod(shape))
                values = np.array([value for value, _ in outcome[at : at + size]]).reshape(shape)
                drawn[tensor] = values if tensor.domain == "real" else np.abs(values)
                at += size
            here = Point(point.sizes, drawn, point.reals, point.number, point.names)
            (value,) = self._values((node.body,), dict(zip(letters, sizes, strict=True)), here)
            total = total + weight * value
        mean = Tensor(f"mean{len(arrays)}", tuple(map(sympy.Integer, sizes)))
        arrays[mean] = total
        return Ref(mean, *letters)


_ALONE = sympy.Dummy("alone", integer=True)
"""An index of one value around everything: so no array is without axes."""
_ENTRIES = np.frompyfunc(lambda entry: entry.item() if isinstance(entry, np.ndarray) else entry, 1, 1)
"""Balls out of arrays without axes, as which single entries may come."""


def _hard(part: Any) -> bool:
    """Whether indices have to be put in as numbers: for a whole power, for a quotient that is rounded."""
    if isinstance(part, sympy.floor | sympy.ceiling):
        return True
    return isinstance(part, Power) and not (
        isinstance(part.args[1], Literal) and part.args[1].value.is_Rational
    )


def _violates(relation: str, left: Any, right: Any) -> bool:
    gap = right - left
    return bool(
        {
            "=": gap > 0 or gap < 0,
            "<=": gap < 0,
            "<": gap <= 0,
            ">=": gap > 0,
            ">": gap >= 0,
            "!=": gap == 0,
        }[relation]
    )


def _place(over: Mapping[Any, Any], place: tuple[int, ...]) -> str:
    return ", ".join(f"{s} = {k}" for s, k in zip(over, place, strict=True)) or "it"


def _shown(ball: Any) -> str:
    return f"{float(ball.mid()):.6g}" if ball.is_finite() else "no value"
