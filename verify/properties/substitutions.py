"""The places in a claim where a formula is applied: their arguments gathered, and something called in the formula's place.

A claim is evaluated for many examples at once, by one index more. By another index it is evaluated with what the callable returns
in the formula's place, and with what the statement says at the arguments that the callable met.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch

from spec.language.calls import Call, Pullback
from spec.language.evaluation.numbers import Num
from spec.language.formula import Formula
from spec.language.known import get_formula
from spec.language.proving.evaluating.points import sizes_in
from spec.language.symbols import make_unnamed_index
from verify.faults import Fault
from verify.inputs.examples import Example, round_to
from verify.inputs.ranges import Outside
from verify.oracle import content
from verify.properties.arguments import OfExamples
from verify.properties.judge import Expected, Judge, Reals
from verify.properties.slopes import expect_gradients_at
from verify.search.property import NotRunnable
from verify.subject.caller import Caller
from verify.subject.returned import values

_T = TypeVar("_T")
VERSION = make_unnamed_index("version")
"""The index that is 0 for what the callable returns, and 1 for what the statement says there."""


def share_conventions(formula: Formula, judge: Judge) -> dict[str, str]:
    """The judge's choice of the conventions that another formula has, too."""
    offered = {c.name for c in formula.conventions}
    return {name: option for name, option in judge.conventions.items() if name in offered}


@dataclass
class CallCache:
    """The results of a callable in the claims of a theorem, by the content of its arguments, so that each call is made once.

    A fault is kept, too: a callable that fails now and then may not fail a second time.
    """

    results: dict[Any, list[tuple[Any, str]] | Fault] = field(default_factory=dict)
    gradients: dict[Any, Reals | Fault] = field(default_factory=dict)

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


class CallableApplications(OfExamples):
    """Calls, for each of some examples of equal sizes, and asks the statement at the same arguments.

    ``read_argument`` holds what each example gives for a tensor, by name.
    """

    beside = (VERSION,)

    def __init__(
        self,
        judge: Judge,
        caller: Caller,
        examples: Sequence[Example],
        given: Mapping[str, Sequence[Any]],
        kept: CallCache,
    ) -> None:
        super().__init__(examples, given)
        self.formula = judge.formula
        self.judge, self.caller, self.kept = judge, caller, kept
        self.latest: tuple[Any, list[Any], list[torch.Tensor]] | None = None
        self.asked = False  # whether the callable itself has been called

    def get_judge(self, formula_id: str) -> Judge:
        """The judge of a formula that is applied."""
        if formula_id == self.formula.id:
            return self.judge
        other = get_formula(formula_id)
        return self.judge.beside(other, share_conventions(other, self.judge))

    def apply_all(self, node: Call | Pullback, every: list[dict[str, Any]]) -> list[tuple[Any, Any, Any]]:
        """At each of these arguments what the callable returns, the bound there, and what the statement says there."""
        judge, own, output = self.get_judge(node.formula_id), node.formula_id == self.formula.id, node.output
        if own:
            for arguments in every:
                self.check_permitted(node, arguments)
        place = next((k for k, t in enumerate(judge.flat.outputs) if t.name == output), None)
        each = len(every) // len(self.examples)
        examples = [example for example in self.examples for _ in range(each)]
        if isinstance(node, Pullback):
            if place is None:
                raise NotRunnable(f"a callable does not return {output}")
            return self.pullbacks(node, judge, every, examples, own, place)
        dtypes = [example.dtype for example in examples]
        if place is None:  # a line inside: the statement's own
            lines = self.ask_by_type(every, dtypes, lambda asked, dtype: judge.lines(asked, dtype, output))
            return [(line.value, line.bound, line.value) for line in lines]
        got: list[Any] = [None] * len(every)
        if own:
            self.asked = True
            returned = [self.call_for_values(*one)[place] for one in zip(every, examples, strict=True)]
            got = [value for value, _ in returned]
            dtypes = dtypes if judge.real else [dtype for _, dtype in returned]
        said = self.ask_by_type(
            every,
            dtypes,
            lambda asked, dtype: [e[place] for e in judge.expect_all(asked, dtype, rigorous=False)],
        )
        return [
            (value if own else line.value, line.bound, line.value)
            for value, line in zip(got, said, strict=True)
        ]

    @staticmethod
    def ask_by_type(
        every: Sequence[_T], dtypes: Sequence[str], ask: Callable[[list[_T], str], list[Expected]]
    ) -> list[Expected]:
        """Evaluate the statement at all of these arguments, once for each type."""
        found: dict[int, Expected] = {}
        for dtype in dict.fromkeys(dtypes):
            here = [k for k, own in enumerate(dtypes) if own == dtype]
            found |= zip(here, ask([every[k] for k in here], dtype), strict=True)
        return [found[k] for k in range(len(every))]

    def check_permitted(self, node: Call | Pullback, arguments: dict[str, Any]) -> None:
        """Whether the callable may be called so.

        Raises:
            NotRunnable: it never may.
            Outside: not at this example.
        """
        sizes = self.caller.sizes
        if sizes:
            fits = sizes.fits(sizes_in(self.formula, arguments))
            for dtype in {example.dtype for example in self.examples}:
                fits = fits and sizes.takes(self.formula, arguments, partial(_in_type, dtype))
            if not fits:
                raise NotRunnable(f"it applies the formula where not {sizes}")
        if isinstance(node, Pullback) and node.wrt in dict(sizes.fixed):
            raise NotRunnable(f"{node.wrt} is fixed")
        if sizes.within is not None and not sizes.within.holds(arguments):
            raise Outside
        if not self.caller.takes_mask:
            for item in self.formula.inputs:
                mask = arguments.get(str(item))
                if self.formula.is_mask(item) and mask is not None and not np.all(mask):
                    raise NotRunnable("the callable takes no mask")

    def call_for_values(self, arguments: dict[str, Any], example: Example) -> list[tuple[Any, str]]:
        """Call the callable, and return its values and their types."""

        def call() -> list[tuple[Any, str]]:
            passed = self.caller.arguments(arguments, example.dtype, generator_seed=example.generator_seed)
            kind = example.dtype if self.judge.real else None
            got = self.caller.results(passed, sizes_in(self.formula, arguments), (), kind)
            # It is kept: what a callable writes into the same memory later is another result.
            return [(values(x, copy=True), str(x.dtype).removeprefix("torch.")) for x in got]

        return self.kept.once(self.kept.results, self.key(arguments, example), call)

    def key(self, arguments: dict[str, Any], example: Example) -> tuple[Any, ...]:
        """What tells a call from others."""
        return content(self.judge.flat, arguments), example.dtype, example.generator_seed

    def pullbacks(
        self,
        node: Pullback,
        judge: Judge,
        every: list[dict[str, Any]],
        examples: list[Example],
        own: bool,
        place: int,
    ) -> list[tuple[Any, Any, Any]]:
        """As :meth:`apply_all`, for gradients: what autograd finds, the bound, and the derived gradient."""
        output, wrt = node.output, node.wrt
        points = [
            ({k: v for k, v in given.items() if k != "seed"}, {output: given["seed"]}) for given in every
        ]

        def ask(asked: list[Any], dtype: str) -> list[Expected]:
            return [found[wrt] for found in expect_gradients_at(judge, asked, [wrt], dtype)]

        got: list[Any] = [None] * len(every)
        if own:
            got = [
                self.slope(judge, inputs, seeds[output], place, wrt, example)
                for (inputs, seeds), example in zip(points, examples, strict=True)
            ]
        derived = self.ask_by_type(points, [example.dtype for example in examples], ask)
        return [
            (slope if own else line.value, line.bound, line.value)
            for slope, line in zip(got, derived, strict=True)
        ]

    def slope(
        self, judge: Judge, arguments: dict[str, Any], seed: Any, place: int, wrt: str, example: Example
    ) -> Reals:
        """The gradient that autograd finds, 0 where it finds no path."""
        self.asked = True
        key = self.key(arguments, example)

        def call() -> Reals:
            passed, outputs = self.call_with_gradients(arguments, example, key)
            out = outputs[place]
            leaf = dict(zip((str(i) for i in self.formula.inputs), passed, strict=False))[wrt]
            if not out.requires_grad:
                raise NotRunnable("the output carries no gradient")
            tensor = judge.flat.outputs[place]
            given = self.caller.tensor(tensor, seed, example.dtype)
            grad = self.caller.gradients([out], [given], {wrt: leaf}, passed, again=True)[wrt]
            shape = np.shape(arguments[wrt])
            return np.zeros(shape) if grad is None else values(grad, copy=True)

        return self.kept.once(self.kept.gradients, (key, np.asarray(seed).tobytes(), place, wrt), call)

    def call_with_gradients(
        self, arguments: dict[str, Any], example: Example, key: Any
    ) -> tuple[list[Any], list[torch.Tensor]]:
        """Call the callable once with inputs that require a gradient; a claim asks for many gradients of one call."""
        if self.latest is None or self.latest[0] != key:
            passed = self.caller.arguments(
                arguments, example.dtype, grad=True, generator_seed=example.generator_seed
            )
            outputs = self.caller.results(passed, sizes_in(self.formula, arguments), (), example.dtype)
            self.latest = key, passed, outputs
        return self.latest[1:]

    def join_results(self, parts: list[Any], lead: tuple[int, ...], beside: bool) -> Num:
        """Join results as numbers with bounds, of both versions; within another call those of the callable alone."""
        got, bound, said = (
            np.stack([np.asarray(p[k], dtype=np.float64) for p in parts]).reshape(
                (*lead, *np.shape(parts[0][k]))
            )
            for k in range(3)
        )
        lost = ~np.isfinite(bound) | ~np.isfinite(said)
        got, bound = np.where(lost & ~np.isfinite(got), 0.0, got), np.where(lost, 0.0, bound)
        if beside:
            got = np.stack([got, np.where(lost, 0.0, said)])
            bound, lost = np.stack([bound, np.zeros_like(bound)]), np.stack([lost, lost])
        return Num(got, bound, lost=lost if lost.any() else None)


def _in_type(dtype: str, value: float) -> float:
    return float(round_to(value, dtype))
