"""Theorems as properties: evaluated with the callable in the formula's place, and, to guard the theorem, with the oracle there.

Both sides of a claim are evaluated by the interpreter of statements; wherever the formula is applied, the callable is called with
the arguments of that place, rounded to the type under check. The tolerance is both sides' bounds at the inputs actually passed,
plus what the statement itself says the two sides differ by at those same inputs. So a theorem is never asked of rounded inputs
for which it does not hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import flint
import numpy as np
import sympy
import torch
from sympy.core.basic import Basic

from spec.language.balls import BallArithmetic
from spec.language.binding import Bindings, bind
from spec.language.calls import ABSENT, Call, Comprehension, Pullback
from spec.language.evaluate import run
from spec.language.expr import Literal, Tensor, free_symbols
from spec.language.flatten import chosen
from spec.language.formula import Formula, known
from spec.language.gradients import pull_back, vjp
from spec.language.interpreter import Evaluator
from spec.language.numbers import Num
from spec.language.precision import FORMATS
from spec.language.theorem import Claim, Theorem
from spec.language.walk import Walk
from verify.calling import Caller, Fault, values, whole
from verify.judging import Judge, Outcome
from verify.sampling import Example, rounded

REAL = ("real", "positive", "nonnegative")


class NotRunnable(Exception):
    """A theorem that cannot be run on a callable; the message says why."""


class Applications:
    """Evaluates the calls inside a claim: gathers their arguments, applies, and reads the entries asked for.

    Arguments that depend on indices around the call are gathered for each value of these. Subclasses apply.
    """

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self.depth = 0

    def __call__(self, evaluator: Evaluator, node: Call | Pullback) -> Any:
        arguments = list(node.arguments if isinstance(node, Call) else (*node.call.arguments, node.seed))
        used = set().union(*(free_symbols(a) for a in arguments))
        outer = [s for s in evaluator.scope if s in used and s in evaluator.ranges]
        ranges = [evaluator.ranges[s] for s in outer]
        parts = []
        for at in product(*ranges):
            self.depth += 1
            try:
                inner = _inside(evaluator, dict(zip(outer, (int(v) for v in at), strict=True)))
                gathered = self.gathered(inner, node, arguments)
            finally:
                self.depth -= 1
            parts.append(self.apply(node, gathered))
        lead = tuple(len(r) for r in ranges)
        index = (*(s - int(r[0]) if len(r) else s for s, r in zip(outer, ranges, strict=True)), *node.index)
        return self.entries(evaluator, parts, lead, index)

    def gathered(self, inner: Evaluator, node: Call | Pullback, arguments: list[Basic]) -> dict[str, Any]:
        """The arguments as arrays, by the name of the input (the seed of a pullback under ``seed``)."""
        callee = known(str(node.args[0]))
        found: dict[str, Any] = {}
        for item, value in zip(callee.inputs, arguments, strict=False):
            found[str(item)] = self.argument(inner, item, value)
        if isinstance(node, Pullback):
            output = next(t for t in callee.outputs if t.name == str(node.args[1]))
            found["seed"] = self.argument(inner, output, arguments[-1])
        return found

    def argument(self, inner: Evaluator, item: Tensor | sympy.Symbol, value: Basic) -> Any:
        """One argument, in the arithmetic of the evaluation."""
        if value == ABSENT:
            return None
        if isinstance(item, sympy.Symbol):
            return int(inner.index(value.value if isinstance(value, Literal) else value).item())
        if isinstance(value, Tensor):
            if item.domain == "boolean":
                return inner.booleans[value.name]
            if item.domain in ("integer", "permutation"):
                return inner.integers[value.name]
            return self.real(inner, inner.tensors[value.name])
        spans: list[tuple[Any, Any, Any]] = []
        if isinstance(value, Comprehension):
            spans = [(var, 0, size - 1) for var, size in zip(value.vars, value.shape, strict=True)]
            value = value.body
        with inner.within(spans, None):
            extent = tuple(len(inner.ranges[s]) for s in inner.scope)
            if item.domain == "boolean":
                return np.array(np.broadcast_to(inner.condition(value), extent))
            if item.domain in ("integer", "permutation"):
                return np.array(np.broadcast_to(inner.index(value), extent))
            number = inner.value(value)
            return self.real(inner, inner.arithmetic.view(number, lambda part: np.broadcast_to(part, extent)))

    def real(self, inner: Evaluator, number: Any) -> Any:
        """A real argument, from a number of the arithmetic."""
        raise NotImplementedError

    def apply(self, node: Call | Pullback, arguments: dict[str, Any]) -> Any:
        """The whole output (or gradient) at these arguments."""
        raise NotImplementedError

    def entries(self, evaluator: Evaluator, parts: list[Any], lead: tuple[int, ...], index: tuple[Any, ...]) -> Any:
        """The entries asked for, from the results for each value of the outer indices."""
        raise NotImplementedError


def _inside(evaluator: Evaluator, at: Mapping[sympy.Symbol, int]) -> Evaluator:
    inner = Evaluator(evaluator.arithmetic, Bindings(), evaluator.families, evaluator.on_call)
    inner.sizes = {**evaluator.sizes, **at}
    inner.integers, inner.booleans, inner.tensors = evaluator.integers, evaluator.booleans, evaluator.tensors
    return inner


# With a callable in the formula's place -----------------------------------------------------------------------------------


class _Callable(Applications):
    """First pass: calls. It keeps what the statement says at the same arguments for the second pass."""

    def __init__(self, judge: Judge, caller: Caller, dtype: str, generator_seed: int | None) -> None:
        super().__init__(judge.formula)
        self.judge, self.caller, self.dtype, self.seed = judge, caller, dtype, generator_seed
        self.oracle: list[Any] = []

    def real(self, inner: Evaluator, number: Any) -> Any:
        return rounded(number.floats(), self.dtype)

    def apply(self, node: Call | Pullback, arguments: dict[str, Any]) -> tuple[Any, Any, Any]:
        """What the callable returns, the bound there, and what the statement says there."""
        formula_id, output = str(node.args[0]), str(node.args[1])
        own = formula_id == self.formula.id
        judge = self.judge if own else Judge(known(formula_id), _shared(known(formula_id), self.judge))
        if own and not self.caller.takes_mask:
            for item in self.formula.inputs:
                mask = arguments.get(str(item))
                if self.formula.is_mask(item) and mask is not None and not np.all(mask):
                    raise NotRunnable("the callable takes no mask")
        if isinstance(node, Pullback):
            return self.pullback(node, judge, arguments, own)
        place = next(k for k, t in enumerate(judge.flat.outputs) if t.name == output)
        expected = judge.expect(arguments, self.dtype, rigorous=False)[place]
        if not own:
            return expected.value, expected.bound, expected.value
        passed = self.caller.arguments(arguments, self.dtype, generator_seed=self.seed)
        kind = self.dtype if judge.real else None
        got = self.caller.results(passed, sizes_in(self.formula, arguments), (), kind)[place]
        if not judge.real:
            returned = str(got.dtype).removeprefix("torch.")
            expected = judge.expect(arguments, returned, rigorous=False)[place]
        return values(got), expected.bound, expected.value

    def pullback(self, node: Pullback, judge: Judge, arguments: dict[str, Any], own: bool) -> tuple[Any, Any, Any]:
        seed = arguments.pop("seed")
        output, wrt = str(node.args[1]), node.wrt
        found = pull_back(judge.formula, arguments, {output: seed}, [wrt], judge.conventions, self.dtype)[wrt]
        value, bound = found[0], np.where(np.isfinite(found[0]), found[1], np.inf)
        if not own:
            return value, bound, value
        passed = self.caller.arguments(arguments, self.dtype, grad=True, generator_seed=self.seed)
        place = next(k for k, t in enumerate(judge.flat.outputs) if t.name == output)
        out = self.caller.results(passed, sizes_in(self.formula, arguments), (), self.dtype)[place]
        leaf = dict(zip((str(i) for i in self.formula.inputs), passed, strict=False))[wrt]
        if not out.requires_grad:
            raise NotRunnable("the output carries no gradient")
        tensor = judge.flat.outputs[place]
        grad = self.caller.guarded(
            lambda: torch.autograd.grad(out, leaf, self.caller.tensor(tensor, seed, self.dtype), allow_unused=True)[0],
            passed,
        )
        return (np.zeros(value.shape) if grad is None else values(grad)), bound, value

    def entries(self, evaluator: Evaluator, parts: list[Any], lead: tuple[int, ...], index: tuple[Any, ...]) -> Any:
        got, bound, said = (
            np.stack([np.asarray(p[k], dtype=np.float64) for p in parts]).reshape(*lead, *np.shape(parts[0][k]))
            for k in range(3)
        )
        lost = ~np.isfinite(bound) | ~np.isfinite(said)
        places = evaluator._places(index, got.shape) if index else evaluator_scalar(evaluator)
        kept = np.where(lost, 0.0, bound)
        number = Num(np.where(lost & ~np.isfinite(got), 0.0, got), kept, lost=lost if lost.any() else None)
        own = Num(np.where(lost, 0.0, said), np.zeros_like(kept), lost=number.lost)
        if not self.depth:  # a call inside another's arguments is not met again: those arguments are kept
            self.oracle.append(own.view(places))
        return number.view(places)


def evaluator_scalar(evaluator: Evaluator) -> Any:
    """How to read an array without axes."""
    ones = (1,) * len(evaluator.scope)
    return lambda part: np.asarray(part).reshape(ones)


class _Replay:
    """Second pass: the statement's own entries, in the order in which the first pass met them."""

    def __init__(self, kept: list[Any]) -> None:
        self.kept = iter(kept)

    def __call__(self, evaluator: Evaluator, node: Call | Pullback) -> Any:
        return next(self.kept)


def _shared(formula: Formula, judge: Judge) -> dict[str, str]:
    offered = {c.name for c in formula.conventions}
    return {name: option for name, option in judge.conventions.items() if name in offered}


def sizes_in(formula: Formula, inputs: Mapping[str, Any]) -> dict[sympy.Symbol, int]:
    """The sizes at which a formula is applied, read off its arguments."""
    return bind(formula.flat(None), inputs).sizes


def runnable(theorem: Theorem, judge: Judge) -> str:
    """Why a theorem cannot be run on a callable; empty if it can."""
    if not theorem.runs:
        return "not a property of a callable"
    if theorem.exists:
        return "existential"
    for name, option in theorem.conventions.items():
        if judge.conventions.get(name, option) != option:
            return f"stated under {name}={option}"
    return ""


def judge_theorem(judge: Judge, caller: Caller, theorem: Theorem, example: Example) -> Outcome:
    """Run every claim on the callable at an example.

    Raises:
        NotRunnable: a part of a claim that a callable has no place in.
    """
    outcome = Outcome()
    for claim in theorem.claims:
        outcome = outcome.worse(_judge_claim(judge, caller, theorem, claim, example))
    return outcome


def _judge_claim(judge: Judge, caller: Caller, theorem: Theorem, claim: Claim, example: Example) -> Outcome:
    calls = _Callable(judge, caller, example.dtype, example.generator_seed)
    bindings = bound_inputs(judge.formula, theorem, example)
    arithmetic = Walk(FORMATS["float64"])
    try:
        claim = settled(claim, judge)
        left, right, where = sides(claim, Evaluator(arithmetic, bindings, None, calls))
        true_left, true_right, _ = sides(claim, Evaluator(arithmetic, bindings, None, _Replay(calls.oracle)))
    except Fault as fault:
        return Outcome(ratio=np.inf, message=str(fault), violates=theorem.title)
    except (TypeError, KeyError, IndexError, NotImplementedError, StopIteration) as error:
        raise NotRunnable(f"{type(error).__name__}: {error}") from error
    with np.errstate(all="ignore"):
        gap, true_gap = left.floats() - right.floats(), true_left.floats() - true_right.floats()
        tolerance = left.bounds() + right.bounds()
        if claim.relation == "<=":
            error, extra = np.maximum(gap, 0.0), np.maximum(true_gap, 0.0)
        else:
            error, extra = np.abs(gap), np.abs(true_gap)
        tolerance = np.where(np.isfinite(true_gap), tolerance + extra, np.inf)
        error, tolerance, where = np.broadcast_arrays(error, tolerance, where)
        ratio = np.where(error == 0, 0.0, error / tolerance)
        ratio = np.where(np.isnan(ratio), np.inf, ratio)
        ratio = np.where(np.isinf(tolerance) | ~where, 0.0, ratio)
    sound = np.isfinite(tolerance) & where
    outcome = Outcome(effective=bool(sound.any()), what=str(claim.left), violates=f"{theorem.title}")
    if ratio.size:
        at = int(np.argmax(ratio))
        place = tuple(int(x) for x in np.unravel_index(at, ratio.shape))
        outcome.ratio, outcome.index = float(ratio.flat[at]), place
        outcome.got = float(np.broadcast_to(left.floats(), ratio.shape).flat[at])
        outcome.expected = float(np.broadcast_to(right.floats(), ratio.shape).flat[at])
        outcome.tolerance = float(tolerance.flat[at])
    if outcome.fails:
        symbols = ", ".join(f"{s}={k}" for (s, _), k in zip(claim.over, outcome.index or (), strict=False))
        sign = "=" if claim.relation == "=" else "≤"
        outcome.message = (
            f"{judge.formula.id}: {caller.name}: not {claim.left} {sign} {claim.right}"
            f"{' at ' + symbols if symbols else ''}: {outcome.got:.9g} against {outcome.expected:.9g} "
            f"± {outcome.tolerance:.2g} in {example.dtype}"
        )
    return outcome


def settled(claim: Claim, judge: Judge) -> Claim:
    """The claim with every convention's choice made."""
    made = (chosen(part, judge.conventions) for part in (claim.left, claim.right, claim.where))
    left, right, where = made
    return Claim(left, right, claim.over, where, claim.relation)


def sides(claim: Claim, evaluator: Evaluator) -> tuple[Any, Any, Any]:
    """Both sides of a claim over its indices, and where it is claimed."""
    spans = [(symbol, 0, size - 1) for symbol, size in claim.over]
    with np.errstate(all="ignore"), evaluator.within(spans, claim.where) as where:
        left, right = evaluator.value(claim.left), evaluator.value(claim.right)
    return left, right, np.array(True) if where is None else where


# Drawing ------------------------------------------------------------------------------------------------------------------


def sizes_needed(formula: Formula, theorem: Theorem) -> list[sympy.Symbol]:
    """The sizes to draw for a theorem: those of the formula that it keeps, and its own."""
    found: dict[sympy.Symbol, None] = {}

    def note(expr: Any) -> None:
        for symbol in sorted(free_symbols(expr), key=str):
            if symbol.is_positive and symbol.is_integer:
                found.setdefault(symbol)

    for item in (*formula.inputs, *theorem.given):
        for size in (*item.shape, item.below) if isinstance(item, Tensor) else (item,):
            note(size)
    for claim in theorem.claims:
        for part in (claim.left, claim.right, claim.where, *(size for _, size in claim.over)):
            note(part)
    for size in theorem.sizes.values():
        note(size)
    return [s for s in found if s not in theorem.sizes]


def draw_theorem(
    formula: Formula, theorem: Theorem, make: Any, recipe: Any, sizes: Mapping[sympy.Symbol, int], dtype: str
) -> Example:
    """An example for a theorem: the formula's inputs at these sizes, and what the theorem quantifies over besides."""
    every = dict(sizes)
    for symbol, expr in theorem.sizes.items():
        every[symbol] = whole(expr, sizes)
    example: Example = make(recipe, dtype, sizes=every)
    random = np.random.default_rng([recipe.seed, 5])
    for tensor in theorem.given:
        shape = tuple(whole(size, every) for size in tensor.shape)
        example.inputs[tensor.name] = given_value(tensor, shape, every, random, dtype)
    for tensor, fixed in theorem.at.items():
        shape = tuple(whole(size, every) for size in tensor.shape)
        example.inputs[tensor.name] = np.full(shape, float(fixed)) if shape else float(fixed)
    return example


def given_value(
    tensor: Tensor, shape: tuple[int, ...], sizes: Mapping[sympy.Symbol, int], random: np.random.Generator, dtype: str
) -> Any:
    """A value for a tensor that a theorem quantifies over."""
    if tensor.domain == "permutation":
        return random.permutation(shape[0])
    if tensor.domain == "integer":
        below = whole(tensor.below, sizes) if tensor.below != 0 else 6
        return random.integers(0, max(below, 1), shape)
    if tensor.domain == "boolean":
        return random.random(shape) < 0.6
    drawn = random.standard_normal(shape) * 10.0 ** int(random.integers(-1, 2))
    if tensor.domain != "real":
        drawn = np.abs(drawn) + 2.0**-10
    return np.asarray(rounded(drawn, dtype))


def bound_inputs(formula: Formula, theorem: Theorem, example: Example) -> Bindings:
    """The inputs and what the theorem quantifies over, bound for evaluation."""
    bindings = Bindings(sizes=dict(example.sizes))
    for item in (*formula.inputs, *theorem.given):
        if isinstance(item, Tensor):
            value = example.inputs.get(item.name)
            if value is None and item.role != "mask":
                continue
            bindings.tensor(formula.id, item, value)
    for tensor, constant in formula.constants.items():
        number = sympy.Rational(constant)
        bindings.rationals[tensor.name] = (int(number.p), int(number.q))
    return bindings


def assumed(formula: Formula, theorem: Theorem, example: Example) -> bool:
    """Whether the theorem's assumptions hold at an example."""
    if not theorem.assuming:
        return True
    evaluator = Evaluator(Walk(), bound_inputs(formula, theorem, example))
    return all(bool(np.all(evaluator.condition(condition))) for condition in theorem.assuming)


# With the oracle in the formula's place: guarding the theorem ----------------------------------------------------------------


class _Oracle(Applications):
    """Applies the statement itself, in balls."""

    def __init__(self, judge: Judge) -> None:
        super().__init__(judge.formula)
        self.judge = judge

    def real(self, inner: Evaluator, number: Any) -> Any:
        return np.array(number, dtype=object)

    def apply(self, node: Call | Pullback, arguments: dict[str, Any]) -> Any:
        callee = known(str(node.args[0]))
        conventions = _shared(callee, self.judge)
        if isinstance(node, Pullback):
            seed = arguments.pop("seed")
            gradient = vjp(callee, [node.wrt], conventions)
            seeds = {
                t.name: seed if name == str(node.args[1]) else np.zeros(()) for name, t in gradient.seeds.items()
            }
            done = run(gradient.flat, BallArithmetic(), bind(gradient.flat, {**arguments, **seeds}))
            return done.tensors[gradient.gradients[node.wrt].name]
        flat = callee.flat(conventions)
        return run(flat, BallArithmetic(), bind(flat, arguments)).tensors[str(node.args[1])]

    def entries(self, evaluator: Evaluator, parts: list[Any], lead: tuple[int, ...], index: tuple[Any, ...]) -> Any:
        whole_array = np.empty((len(parts), *np.shape(parts[0])), dtype=object)
        for place, part in enumerate(parts):
            whole_array[place] = part
        whole_array = whole_array.reshape(*lead, *np.shape(parts[0]))
        places = evaluator._places(index, whole_array.shape) if index else evaluator_scalar(evaluator)
        return places(whole_array)


@dataclass(frozen=True)
class Guarded:
    """What guarding a theorem saw: examples, entries compared (those left out were undefined), and the first violation."""

    examples: int
    entries: int
    undefined: int
    violation: str = ""
    example: Example | None = None

    @property
    def holds(self) -> bool:
        """Whether the theorem held wherever it says something, and it said something."""
        return not self.violation and self.entries > 0


def guard_theorem(
    theorem: Theorem, formula: Formula, examples: int = 60, seed: int = 0, bits: int = 192
) -> Guarded:
    """Evaluate a theorem with the oracle in the formula's place, in balls, degenerate regimes included.

    A claim fails where the balls of its sides are disjoint (for ``≤``: where left is certainly larger).
    """
    from verify.properties import theorem_examples

    judge = Judge(formula, {k: v for k, v in theorem.conventions.items()})
    entries = undefined = count = 0
    saved = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        for example in theorem_examples(judge, theorem, "float64", examples, seed):
            count += 1
            for claim in theorem.claims:
                bindings = bound_inputs(formula, theorem, example)
                evaluator = Evaluator(BallArithmetic(), bindings, None, _Oracle(judge))
                left, right, where = sides(settled(claim, judge), evaluator)
                left, right, where = np.broadcast_arrays(left, right, where)
                for place in np.ndindex(*where.shape):
                    if not where[place]:
                        continue
                    gap = left[place] - right[place]
                    if not gap.is_finite():
                        undefined += 1
                        continue
                    entries += 1
                    wrong = gap > 0 if claim.relation == "<=" else not gap.contains(0)
                    if wrong:
                        said = f"{claim.left} = {left[place]} but {claim.right} = {right[place]} at {place} ({example.regime})"
                        return Guarded(count, entries, undefined, said, example)
    finally:
        flint.ctx.prec = saved
    return Guarded(count, entries, undefined)


__all__ = [
    "Guarded",
    "NotRunnable",
    "assumed",
    "bound_inputs",
    "draw_theorem",
    "guard_theorem",
    "judge_theorem",
    "runnable",
    "sizes_needed",
]
