"""What a check will ask its statement, found by a process of its own while torch is still being imported.

Examples depend on the statement, on what is asked for and on the seed; on a callable hardly, and on torch not at all, the import
of which takes longer than a small check. So a process that is branched off before makes the searches, and draws what is graded,
with nobody to call, and leaves what the statement says there. It is at its end before anything of a user's is imported.

An answer is found by all that it depends on (:func:`verify.remembered.label`): what was foreseen and is not asked is no matter.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from typing import Any

from threadpoolctl import threadpool_limits

from spec.language.differentiation.gradients import vjp
from spec.language.evaluation.batching import batched
from spec.language.evaluation.compiled.program import compiled
from spec.language.evaluation.precision import Precision
from spec.language.formula import Formula
from spec.language.procedure import Procedure
from verify.accuracy.gradable import expected_at
from verify.accuracy.graded_examples import DEFAULT, GRADING, samples
from verify.board import Board
from verify.edges import split, split_auto
from verify.inputs.examples import Example
from verify.inputs.kinds import DEFAULT_TYPES, to_grade
from verify.inputs.ranges import Ranges
from verify.inputs.size_rules import Supported
from verify.oracle import Oracle, Question, oracle_for
from verify.properties.judge import Judge
from verify.properties.large_scenarios import large_examples
from verify.properties.outcome import Outcome
from verify.properties.slopes import (
    JUDGED,
    differentiable,
    expected_batch,
    gradient_question,
    unsaid,
    with_cotangents,
)
from verify.remembered import Answer, Key, label
from verify.search.drawing import Drawing
from verify.search.search import Clock
from verify.search.searches import gradient_search, value_search
from verify.search.unsaid_sizes import where_something_is_said
from verify.subject.branch import Branch, branch

MOST, ROOM = 4_000_000, 40 << 20
"""Numbers that are foreseen at most, 32 megabytes, and bytes in which they are left."""


@dataclass
class Nobody:
    """In the callable's place: it takes what the statement takes."""

    takes_mask: bool
    sizes: Supported


@dataclass
class Foreseen:
    """What was found: answers by name, and the seconds that they took."""

    answers: dict[str, Answer] = field(default_factory=dict)
    seconds: float = 0.0

    def hand_to(self, oracle: Oracle) -> None:
        """Let an oracle know it."""
        oracle.foreseen, self.answers = self.answers, {}
        if oracle.shelf is not None:
            oracle.shelf.seconds += self.seconds


@contextmanager
def foreseeing(formula: Formula | Procedure, possible: bool = True, **asked: Any) -> Iterator[Foreseen]:
    """Find what a check will ask, as long as this lasts, in a process of its own; nothing where there can be none, where there is
    nothing to wait for, where former runs have left it, or where what is ``asked`` is not to be had, which the check will say.

    Args:
        formula: what will be checked.
        possible: whether a second process is allowed.
        asked: arguments of :func:`verify.check`.
    """
    found = Foreseen()
    idle = sys.platform == "linux" and asked.get("device", "cpu") == "cpu" and "torch" not in sys.modules
    if not (possible and idle and isinstance(formula, Formula) and formula.law is None) or _known(formula):
        yield found
        return

    def work(board: Board) -> None:
        with threadpool_limits(1, user_api="blas"):
            _foresee(formula, asked, board)

    with branch(work, ROOM) as made:
        try:
            yield found
        finally:
            if made is not None:
                made.end()
                _read(made, found)


def prepare(formula: Formula | Procedure, asked: Mapping[str, Any]) -> None:
    """Flatten a statement, differentiate it and compile both, while others foresee: each process of the check would do so. What
    is ``asked`` and is not to be had, and what cannot be compiled, the check will say.
    """
    if not isinstance(formula, Formula) or formula.law is not None:
        return
    with suppress(ArithmeticError, LookupError, TypeError, ValueError):
        judge = _judge(formula, asked)
        compiled(batched(judge.flat))
        if names := differentiable(judge):
            compiled(batched(vjp(formula, names, judge.conventions).flat))
        str(formula.fingerprint)  # kept


def _judge(formula: Formula, asked: Mapping[str, Any]) -> Judge:
    """What judges under the conventions that are asked for.

    Raises:
        ValueError: there are none such.
    """
    named, _ = split_auto(asked.get("conventions"))
    return Judge(formula, split(named or {})[1])


def _known(formula: Formula) -> bool:
    """Whether former runs have left what the statement says: most of it is what will be asked."""
    shelf = oracle_for(formula).shelf
    return shelf is not None and bool(shelf.found)


def _read(made: Branch, found: Foreseen) -> None:
    """Take over what it has left."""
    try:
        for each in made.board.found().values():
            answers, found.seconds = each
            found.answers |= answers
    except Exception:  # it is not what was left
        found.answers, found.seconds = {}, 0.0


class _Left:
    """What was found and not left yet."""

    def __init__(self, oracle: Oracle, board: Board) -> None:
        self.oracle, self.board = oracle, board
        self.new: dict[str, Answer] = {}
        self.numbers = self.times = 0
        oracle.wide.told = oracle.answers.told = self._found

    def _found(self, key: Key, answer: Answer, numbers: int) -> None:
        name = label(key)
        if self.oracle.shelf is None or name not in self.oracle.shelf.found:
            self.new[name] = answer
            self.numbers += numbers

    def leave(self) -> None:
        """Leave what is new.

        Raises:
            IndexError: there is no room for more.
        """
        if self.numbers > MOST:
            raise IndexError("no room is left")
        if self.new:
            shelf = self.oracle.shelf
            self.board.leave(self.times, (self.new, 0.0 if shelf is None else shelf.seconds))
            self.times, self.new = self.times + 1, {}


def _foresee(formula: Formula, asked: Mapping[str, Any], board: Board) -> None:
    """Ask what the check will ask. What takes longest is first, then what each of its two processes asks in turn: neither is to
    wait for the other, however much of it is found.
    """
    judge = _judge(formula, asked)
    rules = (asked.get("sizes"), asked.get("fixed"))
    supported = where_something_is_said(
        judge, Supported.of(formula, *rules, few=bool(asked.get("few_shapes")))
    )
    within = Ranges.of(formula, asked.get("ranges"), judge.conventions)
    kinds, graded = list(asked.get("dtypes") or DEFAULT_TYPES), to_grade(asked.get("dtypes"))
    masked = bool(formula.inputs) and formula.is_mask(formula.inputs[-1])
    nobody = Nobody(masked, replace(supported, within=within))
    drawing = Drawing(judge, nobody, asked["seed"], asked["max_examples"], Clock(None))
    left, slopes = _Left(judge.oracle, board), [kind for kind in kinds if kind in JUDGED]
    if not differentiable(judge):
        slopes = []

    def value(example: Example) -> Outcome:
        judge.expect_batch(example, rigorous=False)
        left.leave()
        return Outcome(effective=True)

    def gradient(example: Example) -> Outcome:
        if not unsaid(judge, example):
            expected_batch(judge, example, differentiable(judge))
        left.leave()
        return Outcome(effective=True)

    def grades(kinds: Sequence[str]) -> None:
        for kind in kinds if judge.real else ():
            for each in ("value", *(["gradient"] if differentiable(judge) else [])):
                _grades(drawing, kind, each, left)

    rest = large_examples(judge, drawing.space(moderate=True), drawing.seed, kinds, slopes)
    turns = cycle((False, True))

    def in_turn(example: Example) -> Outcome:
        """A gradient, which one of the processes asks for, and with every other an example of large sizes, for the other one."""
        found = gradient(example)
        if next(turns):
            large(islice(rest, 1))
        return found

    def large(examples: Iterable[Example]) -> None:
        for example in examples:
            (gradient if example.cotangents else value)(example)

    grades(graded)
    for kind in kinds if judge.real else kinds[:1]:
        value_search(drawing, kind, value)
    for kind in slopes:
        gradient_search(drawing, kind, in_turn)
    large(rest)


def _grades(drawing: Drawing, dtype: str, kind: str, left: _Left) -> None:
    """The errors that are expected at the examples graded in a type, of values or of gradients."""
    judge = drawing.judge
    for name, examples in GRADING.items():
        for example in examples(drawing, dtype, kind):
            question: Question = judge.flat, example.inputs
            if kind == "gradient":
                example = with_cotangents(judge, example, drawing.seed)
                if unsaid(judge, example):
                    continue
                wrt = differentiable(judge)
                question = gradient_question(judge, example.inputs, example.cotangents, wrt)
            many = samples(drawing, kind, name != DEFAULT)[0]
            judge.oracle.error(*question, Precision.of(dtype), many, drawing.seed)
            if name == DEFAULT:
                expected_at(judge, example, dtype, kind)
            left.leave()


__all__ = ["Foreseen", "foreseeing", "prepare"]
