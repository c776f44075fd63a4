"""A claim at one place as text of Python: what it says of entries of results, with numbers in the place of all else.

What the callable has no part in is evaluated: entries of inputs, of the statement's own lines, conditions, ranges of sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from spec.language.binders import MaxOf, SumOf
from spec.language.calls import Call, Pullback
from spec.language.evaluation.batching import EXAMPLE
from spec.language.evaluation.evaluator import Evaluator
from spec.language.evaluation.precision import FORMATS
from spec.language.evaluation.running_error import RunningError
from spec.language.expr import Always, Case, Condition, Func, Minus, Negative, Node, Over, Plus, Power, Times
from spec.language.theorem import Claim, Theorem
from spec.language.trees import walk
from verify.inputs.examples import Example
from verify.properties.judge import Judge
from verify.properties.outcome import Outcome
from verify.properties.substitutions import CallableApplications, Kept
from verify.properties.theorems import about_examples, bound_together, judge_theorem, settled
from verify.report import Played
from verify.scripting.literals import number
from verify.scripting.naming import Unwritten
from verify.subject.caller import Caller
from verify.subject.playing import recorded, recording
from verify.subject.recording import Recorder

ALONE = ((EXAMPLE, 0, 0),)
"""The one example."""
SIGNS: dict[type, str] = {Plus: "+", Minus: "-", Times: "*", Over: "/", Power: "**"}
FUNCTIONS = {
    "exp": "math.exp({})",
    "log": "math.log({})",
    "sqrt": "math.sqrt({})",
    "sin": "math.sin({})",
    "cos": "math.cos({})",
    "tanh": "math.tanh({})",
    "erf": "math.erf({})",
    "sigmoid": "torch.tensor({}, dtype=torch.float64).sigmoid().item()",
    "abs": "abs({})",
    "round": "round({})",
}


class Relation:
    """The sides of a claim at one place; the calls that they need are made, and so recorded."""

    def __init__(
        self, judge: Judge, recorder: Recorder, theorem: Theorem, claim: Claim, example: Example, at: Any
    ) -> None:
        self.judge, self.recorder, self.example = judge, recorder, example
        bindings, given = bound_together(judge, theorem, [example])
        self.calls = CallableApplications(judge, recorder.caller, [example], given, Kept())
        self.root = Evaluator(RunningError(FORMATS["float64"]), bindings, self.calls)
        self.claim = about_examples(claim, judge.formula)
        self.place = dict(zip((symbol for symbol, _ in claim.over), at, strict=True))
        self.made: dict[Any, str] = {}

    def sides(self) -> tuple[str, str]:
        """Both sides as text."""
        return self.text(self.claim.left, self.place), self.text(self.claim.right, self.place)

    def asks(self, node: Any) -> bool:
        """Whether a part of a tree is a result of the callable."""
        outputs = {tensor.name for tensor in self.judge.flat.outputs}
        return any(
            isinstance(part, Call | Pullback)
            and part.formula_id == self.judge.formula.id
            and part.output in outputs
            for part in walk(node)
        )

    def text(self, node: Any, at: Mapping[Any, int]) -> str:
        """A value, with these indices at these places."""
        if not self.asks(node):
            return self._number(node, at)
        if isinstance(node, Call | Pullback) and node.formula_id == self.judge.formula.id:
            return self._entry(node, at)
        if isinstance(node, Negative):
            return f"-{self.text(node.args[0], at)}"
        if type(node) in SIGNS:
            left, right = (self.text(part, at) for part in node.args)
            return f"({left} {SIGNS[type(node)]} {right})"
        if isinstance(node, Func):
            return FUNCTIONS[node.name].format(self.text(node.args[1], at))
        if isinstance(node, Case):
            return self.text(node.args[1 if self._holds(node.args[0], at) else 2], at)
        if isinstance(node, SumOf | MaxOf):
            first, last = (self._whole(end, at) for end in (node.first, node.last))
            places = ({**at, node.var: value} for value in range(first, last + 1))
            parts = [self.text(node.body, inner) for inner in places if self._holds(node.where, inner)]
            if isinstance(node, MaxOf):
                return f"max([{', '.join(parts)}])"
            return f"({' + '.join(parts)})" if parts else "0.0"
        raise Unwritten

    def _entry(self, node: Call | Pullback, at: Mapping[Any, int]) -> str:
        """An entry of a result, or of a gradient: of the call that was made with the same arguments before, if there was one."""
        slope = isinstance(node, Pullback)
        (given,) = self.root.at(at).arguments(node, ALONE)
        outputs = [tensor.name for tensor in self.judge.flat.outputs]
        place = outputs.index(node.output)
        seed = given.pop("seed", None)
        self.calls.permitted(node, given)
        key: tuple[Any, ...] = (self.calls.key(given, self.example), slope)
        if slope:
            key = *key, np.asarray(seed).tobytes(), place, node.wrt
        if key not in self.made:
            if slope:
                self.calls.slope(self.judge, given, seed, place, node.wrt, self.example)
            else:
                self.calls.returned(given, self.example)
            self.made[key] = self.recorder.latest
        index = tuple(self._whole(part, at) for part in node.index)
        return f"{self.made[key]}[{0 if slope else place}][{', '.join(map(str, index)) or '()'}].item()"

    def _number(self, node: Any, at: Mapping[Any, int]) -> str:
        over = self.root.at(at).values([node], ALONE)
        assert over is not None
        found = float(np.ravel(over.values[0].floats())[0])
        said = number(found)
        return f"({said})" if found < 0 else said

    def _whole(self, index: Any, at: Mapping[Any, int]) -> int:
        if isinstance(index, Node) and self.asks(index):
            raise Unwritten
        return int(np.ravel(self.root.at(at).index(index, ALONE))[0])

    def _holds(self, condition: Any, at: Mapping[Any, int]) -> bool:
        if isinstance(condition, Always):
            return True
        if isinstance(condition, Condition) and self.asks(condition):
            raise Unwritten
        return bool(np.ravel(self.root.at(at).condition(condition, ALONE))[0])


def played_theorem(judge: Judge, caller: Caller, theorem: Theorem, example: Example) -> Played | None:
    """What a theorem says at an example, in lines, if it can be written."""

    def written(seed: int | None) -> Played | None:
        with recording(caller, seed) as recorder:
            outcome = judge_theorem(judge, caller, theorem, example)
        if outcome.got is None or not outcome.fails:
            return recorder.played(True, only_last=True) if outcome.fails else None
        try:
            return _related(judge, caller, theorem, example, outcome, seed)
        except Unwritten:  # one of its calls is wrong by itself, or the sides would not be so far apart
            return recorder.played(True, short=True)

    return recorded(caller, written)


def _related(
    judge: Judge, caller: Caller, theorem: Theorem, example: Example, outcome: Outcome, seed: int | None
) -> Played | None:
    assert outcome.claim is not None
    claim = settled(theorem.claims[outcome.claim], judge)
    with recording(caller, seed) as recorder:
        left, right = Relation(judge, recorder, theorem, claim, example, outcome.index or ()).sides()
    tolerance = number(float(outcome.tolerance or 0.0))
    most = "=" if claim.relation == "=" else "<="
    lines = [f"left = {left}", f"right = {right}", f"related(left, {most!r}, right, {tolerance})"]
    return recorder.played(True, lines)


__all__ = ["Relation", "played_theorem"]
