"""The places in a claim where a formula is applied: their arguments gathered, and something called in the formula's place.

Two things can stand there: a callable (:class:`CallableApplications`), and the statement's own results at the arguments that the
callable met (:class:`Replay`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch

from spec.language.calls import Call, Pullback
from spec.language.evaluation.interpreter import Evaluator
from spec.language.evaluation.numbers import Num
from spec.language.formula import Formula
from spec.language.known import known
from spec.language.proving.evaluating.applying import Applications, plain_reader, sizes_in
from spec.language.theorem import Claim
from verify.faults import Fault
from verify.inputs.examples import Example, rounded
from verify.inputs.ranges import Outside
from verify.oracle import Question, content
from verify.properties.gradients import expected_gradients, expected_gradients_at, gradient_question
from verify.properties.values import Judge, Reals
from verify.subject.caller import Caller
from verify.subject.returned import values

_T = TypeVar("_T")


class NotRunnable(Exception):  # noqa: N818 said in notes as it stands
    """A theorem that cannot be run on a callable; the message says why."""


def shared(formula: Formula, judge: Judge) -> dict[str, str]:
    """The judge's choice of the conventions that another formula has, too."""
    offered = {c.name for c in formula.conventions}
    return {name: option for name, option in judge.conventions.items() if name in offered}


@dataclass
class Kept:
    """What a callable returned to the claims of a theorem, by the content of its arguments: a rehearsed call is made once.

    A fault is kept, too: a callable that fails now and then may not fail a second time. ``arguments`` are those that a claim
    passes at an example, by the claim and the example, and then by the call and the indices around it.
    """

    results: dict[Any, list[tuple[Any, str]] | Fault] = field(default_factory=dict)
    gradients: dict[Any, Reals | Fault] = field(default_factory=dict)
    arguments: dict[Any, dict[Any, list[dict[str, Any]]]] = field(default_factory=dict)

    def once(self, found: dict[Any, _T | Fault], key: Any, make: Callable[[], _T]) -> _T:
        """What was found under a key, made where it was not; a fault is raised again."""
        if key not in found:
            try:
                found[key] = make()
            except Fault as fault:
                found[key] = fault
        result = found[key]
        if isinstance(result, Fault):
            raise result
        return result


class CallableApplications(Applications):
    """First pass: calls. It keeps what the statement says at the same arguments for the second pass.

    In a rehearsal (``questions`` given) the statement is not asked: what will be asked of it is put down.
    """

    def __init__(
        self,
        judge: Judge,
        caller: Caller,
        dtype: str,
        generator_seed: int | None,
        kept: Kept | None = None,
        questions: list[Question] | None = None,
    ) -> None:
        super().__init__()
        self.formula = judge.formula
        self.judge, self.caller, self.dtype, self.seed = judge, caller, dtype, generator_seed
        self.kept, self.questions = Kept() if kept is None else kept, questions
        self.met: dict[Any, list[dict[str, Any]]] = {}
        self.nested = False
        self.oracle: list[Any] = []
        self.latest: tuple[bytes, list[Any], list[torch.Tensor]] | None = None
        self.asked = False  # whether the callable itself has been called

    def real(self, inner: Evaluator, number: Any) -> Any:
        """The float64 value, rounded to the type under check."""
        return rounded(number.floats(), self.dtype)

    def about(self, claim: Claim, example: Example) -> CallableApplications:
        """The applications in a claim at an example, whose arguments are gathered once."""
        self.met = self.kept.arguments.setdefault((claim, id(example)), self.met)
        return self

    def everywhere(
        self, evaluator: Evaluator, node: Call | Pullback, arguments: list[Any], outer: list[Any]
    ) -> list[dict[str, Any]]:
        """Gathered once, for the rehearsal and for the judgement; but those that hold what another call returns in each."""
        if self.depth:
            self.nested = True
            return super().everywhere(evaluator, node, arguments, outer)
        key = (node, *(tuple(evaluator.ranges[s]) for s in outer))
        if key not in self.met:
            self.nested = False
            found = super().everywhere(evaluator, node, arguments, outer)
            if self.nested:
                return found
            self.met[key] = found
        return [dict(found) for found in self.met[key]]

    def judging(self, formula_id: str) -> Judge:
        """The judge of a formula that is applied."""
        if formula_id == self.formula.id:
            return self.judge
        other = known(formula_id)
        return self.judge.beside(other, shared(other, self.judge))

    def announced(self, node: Call | Pullback, every: list[dict[str, Any]]) -> None:
        """The statement is evaluated at all of them together."""
        judge, output = self.judging(node.formula_id), node.output
        if (
            (self.questions is not None and judge is self.judge)
            or len(every) < 2
            or output not in {tensor.name for tensor in judge.flat.outputs}
        ):
            return
        if isinstance(node, Call):
            judge.expect_all(every, self.dtype, rigorous=False)
        else:
            points = [
                ({k: v for k, v in given.items() if k != "seed"}, {output: given["seed"]}) for given in every
            ]
            expected_gradients_at(judge, points, [node.wrt], self.dtype)

    def apply(self, node: Call | Pullback, arguments: dict[str, Any]) -> tuple[Any, Any, Any]:
        """What the callable returns, the bound there, and what the statement says there."""
        formula_id, output = node.formula_id, node.output
        own = formula_id == self.formula.id
        judge = self.judging(formula_id)
        if own and self.caller.sizes and not self.caller.sizes.fits(sizes_in(self.formula, arguments)):
            raise NotRunnable(f"it applies the formula where not {self.caller.sizes}")
        if own and not self.caller.sizes.takes(
            self.formula, arguments, lambda x: float(rounded(x, self.dtype))
        ):
            raise NotRunnable(f"it applies the formula where not {self.caller.sizes}")
        if own and isinstance(node, Pullback) and node.wrt in dict(self.caller.sizes.fixed):
            raise NotRunnable(f"{node.wrt} is fixed")
        if own and self.caller.sizes.within is not None and not self.caller.sizes.within.holds(arguments):
            raise Outside
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
        if own and self.questions is not None and judge.real:
            self.asked = True
            got, _ = self.returned(arguments)[place]
            self.questions.append((judge.flat, arguments))
            return got, np.zeros(np.shape(got)), got
        expected = judge.expect(arguments, self.dtype, rigorous=False)[place]
        if not own:
            return expected.value, expected.bound, expected.value
        self.asked = True
        got, returned = self.returned(arguments)[place]
        if not judge.real:
            expected = judge.expect(arguments, returned, rigorous=False)[place]
        return got, expected.bound, expected.value

    def returned(self, arguments: dict[str, Any]) -> list[tuple[Any, str]]:
        """What the callable returns: values, and the type they came in."""

        def call() -> list[tuple[Any, str]]:
            passed = self.caller.arguments(arguments, self.dtype, generator_seed=self.seed)
            kind = self.dtype if self.judge.real else None
            got = self.caller.results(passed, sizes_in(self.formula, arguments), (), kind)
            return [(values(x), str(x.dtype).removeprefix("torch.")) for x in got]

        key = content(self.judge.flat, arguments), self.seed
        return self.kept.once(self.kept.results, key, call)

    def pullback(
        self, node: Pullback, judge: Judge, arguments: dict[str, Any], own: bool, place: int
    ) -> tuple[Any, Any, Any]:
        """As :meth:`apply`, for a gradient: what autograd finds, the bound, and the derived gradient."""
        seed = arguments.pop("seed")
        output, wrt = node.output, node.wrt
        if own and self.questions is not None:
            self.questions.append(gradient_question(judge, arguments, {output: seed}, [wrt]))
            got = self.slope(judge, arguments, seed, place, wrt)
            return got, np.zeros(got.shape), got
        derived = expected_gradients(judge, arguments, {output: seed}, [wrt], self.dtype)[wrt]
        value, bound = derived.value, derived.bound
        if not own:
            return value, bound, value
        return self.slope(judge, arguments, seed, place, wrt), bound, value

    def slope(self, judge: Judge, arguments: dict[str, Any], seed: Any, place: int, wrt: str) -> Reals:
        """The gradient that autograd finds, 0 where it finds no path."""
        self.asked = True

        def call() -> Reals:
            passed, outputs = self.called(arguments)
            out = outputs[place]
            leaf = dict(zip((str(i) for i in self.formula.inputs), passed, strict=False))[wrt]
            if not out.requires_grad:
                raise NotRunnable("the output carries no gradient")
            tensor = judge.flat.outputs[place]
            grad = self.caller.guarded(
                lambda: torch.autograd.grad(
                    out,
                    leaf,
                    self.caller.tensor(tensor, seed, self.dtype),
                    retain_graph=True,
                    allow_unused=True,
                )[0],
                passed,
            )
            return np.zeros(np.shape(arguments[wrt])) if grad is None else values(grad)

        key = (content(judge.flat, arguments), self.seed, np.asarray(seed).tobytes(), place, wrt)
        return self.kept.once(self.kept.gradients, key, call)

    def called(self, arguments: dict[str, Any]) -> tuple[list[Any], list[torch.Tensor]]:
        """One call with inputs that require a gradient; a claim asks for many gradients of the same one."""
        key = content(self.judge.flat, arguments)
        if self.latest is None or self.latest[0] != key:
            passed = self.caller.arguments(arguments, self.dtype, grad=True, generator_seed=self.seed)
            outputs = self.caller.results(passed, sizes_in(self.formula, arguments), (), self.dtype)
            self.latest = key, passed, outputs
        return self.latest[1:]

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
