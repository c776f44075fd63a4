"""The places in a claim where a formula is applied: their arguments gathered, and something called in the formula's place.

Three things can stand there: a callable (:class:`CallableApplications`), the statement's own results at the arguments that the
callable met (:class:`Replay`), and the statement in balls (:class:`OracleApplications`).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import torch

from spec.language.arrays import Comprehension, Tensor
from spec.language.calls import ABSENT, Call, Pullback
from spec.language.differentiation.gradients import vjp
from spec.language.evaluation.balls import BallArithmetic
from spec.language.evaluation.binding import Bindings, bind
from spec.language.evaluation.dimensions import Size, is_size
from spec.language.evaluation.evaluate import run
from spec.language.evaluation.interpreter import Evaluator
from spec.language.evaluation.numbers import Num
from spec.language.expr import Literal
from spec.language.formula import Formula
from spec.language.known import known
from spec.language.trees import free_symbols
from verify.calling import Caller, values
from verify.gradients import expected_gradients
from verify.judging import Judge
from verify.sampling import rounded


class NotRunnable(Exception):  # noqa: N818 said in notes as it stands
    """A theorem that cannot be run on a callable; the message says why."""


class Applications:
    """Evaluates the calls inside a claim: gathers their arguments, applies, and reads the entries asked for.

    Arguments that depend on indices around the call are gathered for each value of these. Subclasses apply.
    """

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self.depth = 0

    def __call__(self, evaluator: Evaluator, node: Call | Pullback) -> Any:
        """The numbers of one application, one axis for each index in scope."""
        arguments = list(node.arguments if isinstance(node, Call) else (*node.call.arguments, node.seed))
        used = set().union(*(free_symbols(a) for a in arguments))
        outer = [s for s in evaluator.scope if s in used and s in evaluator.ranges]
        ranges = [evaluator.ranges[s] for s in outer]
        parts = []
        for at in product(*ranges):
            self.depth += 1
            try:
                inner = inside(evaluator, dict(zip(outer, (int(v) for v in at), strict=True)))
                gathered = self.gathered(inner, node, arguments)
            finally:
                self.depth -= 1
            parts.append(self.apply(node, gathered))
        lead = tuple(len(r) for r in ranges)
        index = (*(s - int(r[0]) if len(r) else s for s, r in zip(outer, ranges, strict=True)), *node.index)
        return self.entries(evaluator, parts, lead, index)

    def gathered(self, inner: Evaluator, node: Call | Pullback, arguments: list[Any]) -> dict[str, Any]:
        """The arguments as arrays, by the name of the input (the seed of a pullback under ``seed``)."""
        callee = known(str(node.args[0]))
        found: dict[str, Any] = {}
        for item, value in zip(callee.inputs, arguments, strict=False):
            found[str(item)] = self.argument(inner, item, value)
        if isinstance(node, Pullback):
            output = next(t for t in callee.outputs if t.name == str(node.args[1]))
            found["seed"] = self.argument(inner, output, arguments[-1])
        return found

    def argument(self, inner: Evaluator, item: Tensor | Size, value: Any) -> Any:
        """One argument, in the arithmetic of the evaluation."""
        if value == ABSENT or (isinstance(item, Tensor) and item.role == "generator"):
            return None
        if is_size(item):
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

    def entries(
        self, evaluator: Evaluator, parts: list[Any], lead: tuple[int, ...], index: tuple[Any, ...]
    ) -> Any:
        """The entries asked for, from the results for each value of the outer indices."""
        raise NotImplementedError


def inside(evaluator: Evaluator, at: Mapping[Size, int]) -> Evaluator:
    """An evaluator of the same tensors outside all indices, those in ``at`` fixed."""
    inner = Evaluator(evaluator.arithmetic, Bindings(), evaluator.families, evaluator.on_call)
    inner.sizes = {**evaluator.sizes, **at}
    inner.integers, inner.booleans, inner.tensors = evaluator.integers, evaluator.booleans, evaluator.tensors
    inner.undecided = evaluator.undecided
    return inner


def shared(formula: Formula, judge: Judge) -> dict[str, str]:
    """The judge's choice of the conventions that another formula has, too."""
    offered = {c.name for c in formula.conventions}
    return {name: option for name, option in judge.conventions.items() if name in offered}


def sizes_in(formula: Formula, inputs: Mapping[str, Any]) -> dict[Size, int]:
    """The sizes at which a formula is applied, read off its arguments."""
    return bind(formula.flat(None), inputs).sizes


def plain_reader(evaluator: Evaluator) -> Any:
    """How to read an array without axes."""
    ones = (1,) * len(evaluator.scope)
    return lambda part: np.asarray(part).reshape(ones)


class CallableApplications(Applications):
    """First pass: calls. It keeps what the statement says at the same arguments for the second pass."""

    def __init__(self, judge: Judge, caller: Caller, dtype: str, generator_seed: int | None) -> None:
        super().__init__(judge.formula)
        self.judge, self.caller, self.dtype, self.seed = judge, caller, dtype, generator_seed
        self.oracle: list[Any] = []
        self.asked = False  # whether the callable itself has been called

    def real(self, inner: Evaluator, number: Any) -> Any:
        """The float64 value, rounded to the type under check."""
        return rounded(number.floats(), self.dtype)

    def apply(self, node: Call | Pullback, arguments: dict[str, Any]) -> tuple[Any, Any, Any]:
        """What the callable returns, the bound there, and what the statement says there."""
        formula_id, output = str(node.args[0]), str(node.args[1])
        own = formula_id == self.formula.id
        judge = self.judge if own else Judge(known(formula_id), shared(known(formula_id), self.judge))
        if own and self.caller.sizes and not self.caller.sizes.fits(sizes_in(self.formula, arguments)):
            raise NotRunnable(f"it applies the formula where not {self.caller.sizes}")
        if own and not self.caller.takes_mask:
            for item in self.formula.inputs:
                mask = arguments.get(str(item))
                if self.formula.is_mask(item) and mask is not None and not np.all(mask):
                    raise NotRunnable("the callable takes no mask")
        place = next((k for k, t in enumerate(judge.flat.outputs) if t.name == output), None)
        if isinstance(node, Pullback):
            if place is None:
                raise NotRunnable(f"a callable does not return {output}")
            return self.pullback(node, judge, arguments, own, place)
        if place is None:  # a line inside: the statement's own
            line = judge.line(arguments, self.dtype, output)
            return line.value, line.bound, line.value
        expected = judge.expect(arguments, self.dtype, rigorous=False)[place]
        if not own:
            return expected.value, expected.bound, expected.value
        self.asked = True
        passed = self.caller.arguments(arguments, self.dtype, generator_seed=self.seed)
        kind = self.dtype if judge.real else None
        got = self.caller.results(passed, sizes_in(self.formula, arguments), (), kind)[place]
        if not judge.real:
            returned = str(got.dtype).removeprefix("torch.")
            expected = judge.expect(arguments, returned, rigorous=False)[place]
        return values(got), expected.bound, expected.value

    def pullback(
        self, node: Pullback, judge: Judge, arguments: dict[str, Any], own: bool, place: int
    ) -> tuple[Any, Any, Any]:
        """As :meth:`apply`, for a gradient: what autograd finds, the bound, and the derived gradient."""
        seed = arguments.pop("seed")
        output, wrt = str(node.args[1]), node.wrt
        derived = expected_gradients(judge, arguments, {output: seed}, [wrt], self.dtype)[wrt]
        value, bound = derived.value, derived.bound
        if not own:
            return value, bound, value
        self.asked = True
        passed = self.caller.arguments(arguments, self.dtype, grad=True, generator_seed=self.seed)
        out = self.caller.results(passed, sizes_in(self.formula, arguments), (), self.dtype)[place]
        leaf = dict(zip((str(i) for i in self.formula.inputs), passed, strict=False))[wrt]
        if not out.requires_grad:
            raise NotRunnable("the output carries no gradient")
        tensor = judge.flat.outputs[place]
        grad = self.caller.guarded(
            lambda: torch.autograd.grad(
                out, leaf, self.caller.tensor(tensor, seed, self.dtype), allow_unused=True
            )[0],
            passed,
        )
        return (np.zeros(value.shape) if grad is None else values(grad)), bound, value

    def entries(
        self, evaluator: Evaluator, parts: list[Any], lead: tuple[int, ...], index: tuple[Any, ...]
    ) -> Any:
        """As numbers with bounds; what the statement says there is kept for the second pass."""
        got, bound, said = (
            np.stack([np.asarray(p[k], dtype=np.float64) for p in parts]).reshape(
                (*lead, *np.shape(parts[0][k]))
            )
            for k in range(3)
        )
        lost = ~np.isfinite(bound) | ~np.isfinite(said)
        places = evaluator._places(index, got.shape) if index else plain_reader(evaluator)
        kept = np.where(lost, 0.0, bound)
        number = Num(np.where(lost & ~np.isfinite(got), 0.0, got), kept, lost=lost if lost.any() else None)
        own = Num(np.where(lost, 0.0, said), np.zeros_like(kept), lost=number.lost)
        if not self.depth:  # a call inside another's arguments is not met again: those arguments are kept
            self.oracle.append(own.view(places))
        return number.view(places)


class Replay:
    """Second pass: the statement's own entries, in the order in which the first pass met them."""

    def __init__(self, kept: list[Any]) -> None:
        self.kept = iter(kept)

    def __call__(self, evaluator: Evaluator, node: Call | Pullback) -> Any:
        """The next of them."""
        return next(self.kept)


class OracleApplications(Applications):
    """Applies the statement itself, in balls."""

    def __init__(self, judge: Judge) -> None:
        super().__init__(judge.formula)
        self.judge = judge

    def real(self, inner: Evaluator, number: Any) -> Any:
        """The balls themselves."""
        return np.array(number, dtype=object)

    def apply(self, node: Call | Pullback, arguments: dict[str, Any]) -> Any:
        """The statement's output or gradient, enclosed."""
        callee = known(str(node.args[0]))
        conventions = shared(callee, self.judge)
        if isinstance(node, Pullback):
            seed = arguments.pop("seed")
            gradient = vjp(callee, [node.wrt], conventions)
            seeds = gradient.seeded({str(node.args[1]): seed}, sizes_in(callee, arguments))
            done = run(gradient.flat, BallArithmetic(), bind(gradient.flat, {**arguments, **seeds}))
            return done.tensors[gradient.gradients[node.wrt].name]
        flat = callee.flat(conventions)
        return run(flat, BallArithmetic(), bind(flat, arguments)).tensors[str(node.args[1])]

    def entries(
        self, evaluator: Evaluator, parts: list[Any], lead: tuple[int, ...], index: tuple[Any, ...]
    ) -> Any:
        """As balls."""
        whole_array = np.empty((len(parts), *np.shape(parts[0])), dtype=object)
        for place, part in enumerate(parts):
            whole_array[place] = part
        whole_array = whole_array.reshape((*lead, *np.shape(parts[0])))
        places = evaluator._places(index, whole_array.shape) if index else plain_reader(evaluator)
        return places(whole_array)
