"""The oracle of a check: what statements say at inputs, found for many inputs of equal shapes at once, and remembered.

A check knows most of its examples before it calls anything. It announces them (:meth:`Oracle.ahead`); the first question about
one of them is answered for others of the same shapes, too. How many, grows with the questions: the first counterexample must not
wait.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, TypeAlias

import numpy as np

from spec.language.arrays import Tensor
from spec.language.evaluation.balls import BallArithmetic, midpoints, precision, radii
from spec.language.evaluation.batching import batched, bind_all
from spec.language.evaluation.evaluate import run
from spec.language.evaluation.expected import expected
from spec.language.evaluation.precision import Precision
from spec.language.evaluation.running_error import RunningError
from spec.language.flatten import Flat
from spec.language.formula import Formula
from verify import closed_arrays
from verify.extents import MOST, together
from verify.remembered import Answer, Key, Reals, Shelf, label, shelf

Asked: TypeAlias = Mapping[str, Any]
Question: TypeAlias = tuple[Flat, Asked]
"""A statement, and the inputs at which it is asked for."""

SAME, SAME_BOUND = 1e-10, 1e-3
"""How far apart values, and bounds, of two evaluations in float64 may be, as shares of the largest entry: where examples are
evaluated together, sums are added in another order. No verdict stands on it: what is farther apart is thrown away."""
BITS = 128
"""Bits of balls."""
REMEMBERED, WIDER, WIDE = 6_000_000, 6_000_000, 20_000
"""Numbers in the answers that are kept, 48 megabytes, and as many in those that are wider than so many numbers. A few wide ones
alone would fill it, and what the next implementation is asked, too, would be gone."""
SMALL = 1024
"""Bytes that are read through as quickly as it is found out whether they were read before."""
SEVERAL = 16_000_000
"""Numbers in the wider answers that are kept where a second implementation is checked: all are asked for in turn, so that either
all have room or none is there when it is asked for again."""


@dataclass(frozen=True)
class Arithmetic:
    """In which arithmetic a question is answered: for a precision, in balls (rigorous), or in plain float64 (neither)."""

    precision: Precision | None = None
    balls: bool = False


PLAIN, BALLS = Arithmetic(), Arithmetic(balls=True)


class Answers:
    """Answers that are kept, up to so many numbers in all; those that were asked for longest ago go first."""

    def __init__(self, most: int) -> None:
        self.most, self.numbers = most, 0
        self.found: OrderedDict[Any, tuple[Answer, int]] = OrderedDict()
        self.told: Callable[[Any, Answer, int], None] | None = None
        """What is told of every answer that is kept."""

    def get(self, key: Any) -> Answer | None:
        """The answer, if it is kept."""
        found = self.found.get(key)
        if found is None:
            return None
        self.found.move_to_end(key)
        return found[0]

    def keep(self, key: Any, answer: Answer, numbers: int) -> None:
        """Keep an answer, which holds so many numbers."""
        self.found[key] = answer, numbers
        self.numbers += numbers
        if self.told is not None:
            self.told(key, answer, numbers)
        while self.numbers > self.most and len(self.found) > 1:
            self.numbers -= self.found.popitem(last=False)[1][1]


class Oracle:
    """Answers to questions about statements."""

    def __init__(self, shelf: Shelf | None = None) -> None:
        self.answers, self.wide = Answers(REMEMBERED), Answers(WIDER)
        self.shelf = shelf
        """What former runs have left; None where nothing is kept from run to run."""
        self.foreseen: dict[str, Answer] = {}
        """What another process has found for this run, by name, until it is asked for (:mod:`verify.foreseen`)."""
        self.looked_at: set[Any] = set()
        """Statements, with an arithmetic, of which one of the answers that they left was found anew."""
        self.waiting: dict[Any, list[tuple[bytes, Asked]]] = {}
        self.told: dict[int, tuple[Asked, Flat, bytes]] = {}
        """What was announced, as the object that it is: asked for as such, it need not be read through again."""
        self.turn = 0
        self.evaluations = 0
        self.unread: dict[Any, Any] = {}
        """Which slots are not read at some inputs, as :func:`verify.properties.leaks.unread` found."""

    def anew(self) -> None:
        """Begin another check: what was announced is forgotten, and the first question is answered alone; answers stay."""
        if self.wide.found:
            self.wide.most = SEVERAL
        self.waiting, self.told, self.turn = {}, {}, 0
        if self.shelf is not None:
            self.shelf.used = 0

    def leave(self) -> int:
        """Leave what was found to the next run; how many answers of this check came from former ones."""
        if self.shelf is None:
            return 0
        self.shelf.leave(self.named())
        return self.shelf.used

    def named(self) -> dict[str, Answer]:
        """All that it remembers, by the names under which it is kept between runs."""
        every = (self.wide, self.answers)
        return {label(key): answer for kept in every for key, (answer, _) in kept.found.items()}

    def ahead(self, questions: Iterable[tuple[Flat, Asked, str]], more: bool = False) -> None:
        """Announce what will be asked soon: statement, inputs, and the type's name; ``more`` of it, or in place of the former.

        Inputs that were announced are not changed any more.
        """
        if not more:
            self.waiting, self.told = {}, {}
        for flat, inputs, dtype in questions:
            group, digest = (flat, dtype, shapes(flat, inputs)), content(flat, inputs)
            self.waiting.setdefault(group, []).append((digest, inputs))
            self.told[id(inputs)] = inputs, flat, digest

    def ask(self, flat: Flat, every: Sequence[Asked], arithmetic: Arithmetic, dtype: str) -> list[Answer]:
        """What a statement says at each of these inputs.

        Raises:
            ValueError: inputs that do not fit the statement; and whatever else their evaluation raises.
        """
        digests = [self._digest(flat, inputs) for inputs in every]
        groups: dict[Any, list[tuple[bytes, Asked]]] = {}
        found: dict[bytes, Answer] = {}
        for digest, inputs in zip(digests, every, strict=True):
            known = self._known((flat, arithmetic, digest), inputs)
            if known is not None:
                found[digest] = known
            else:
                groups.setdefault(shapes(flat, inputs), []).append((digest, inputs))
        for shared, missing in groups.items():
            wanted = dict(missing)
            others = self._others(flat, arithmetic, (flat, dtype, shared), wanted)
            found |= self._answered(flat, arithmetic, wanted, others)
        return [found[digest] for digest in digests]

    def error(
        self, flat: Flat, inputs: Asked, precision: Precision, samples: int, seed: int
    ) -> tuple[tuple[Reals, Reals], ...]:
        """For each output its value and the expected error of careful arithmetic."""
        key = (flat, (precision, samples, seed), content(flat, inputs))
        known = self._known(key, inputs)
        if known is None:
            with self._timed():
                known = list(expected(flat, inputs, precision, samples, seed))
            self._keep(key, known)
        return tuple(known)

    def _digest(self, flat: Flat, inputs: Asked) -> bytes:
        """As :func:`content`."""
        told = self.told.get(id(inputs))
        return (
            told[2] if told is not None and told[0] is inputs and told[1] is flat else content(flat, inputs)
        )

    def _others(
        self, flat: Flat, arithmetic: Arithmetic, group: Any, wanted: Mapping[bytes, Asked]
    ) -> dict[bytes, Asked]:
        """Announced questions that may be answered together with those asked, more of them from turn to turn."""
        self.turn += 1
        room = min(MOST, 2 ** (self.turn - 1)) - len(wanted)
        waiting = [
            (digest, inputs)
            for digest, inputs in self.waiting.get(group, ())
            if digest not in wanted and self._known((flat, arithmetic, digest), inputs) is None
        ]
        return dict(waiting[: max(room, 0)])

    def _answered(
        self, flat: Flat, arithmetic: Arithmetic, wanted: Mapping[bytes, Asked], others: Mapping[bytes, Asked]
    ) -> dict[bytes, Answer]:
        every = [*wanted.items(), *others.items()]
        many = together(flat, every[0][1])
        found: dict[bytes, Answer] = {}
        for first in range(0, len(every), many):
            part = every[first : first + many]
            if first >= len(wanted) and first:  # the others are answered along with those asked, or later
                break
            try:
                answers = self._evaluated(flat, arithmetic, [inputs for _, inputs in part])
            except (ArithmeticError, LookupError, ValueError):
                if len(part) == 1:
                    raise
                # One of them cannot be evaluated, and must not speak for the others.
                part = [(digest, inputs) for digest, inputs in part if digest in wanted]
                answers = [self._evaluated(flat, arithmetic, [inputs])[0] for _, inputs in part]
            for (digest, _), answer in zip(part, answers, strict=True):
                found[digest] = answer
                self._keep((flat, arithmetic, digest), answer)
        return found

    def _known(self, key: Key, inputs: Asked) -> Answer | None:
        """The answer, if this run has found it, or a former one."""
        known = self.answers.get(key)
        known = self.wide.get(key) if known is None else known
        if known is None and self.foreseen:
            known = self.foreseen.pop(label(key), None)
            if known is not None:
                self._keep(key, known)
        if known is None and self.shelf is not None:
            known = self.shelf.get(key)
            if known is not None and key[:2] not in self.looked_at:
                known = self._looked_at(key, inputs, known)
            if known is not None:
                self._keep(key, known)
        return known

    def _looked_at(self, key: Key, inputs: Asked, known: Answer) -> Answer | None:
        """The first answer about a statement that a former run has left, found anew; if that is another, none of them counts."""
        flat, arithmetic, _ = key
        self.looked_at.add(key[:2])
        if isinstance(arithmetic, Arithmetic):
            (found,) = self._worked_out(flat, arithmetic, [inputs])
        else:
            found = list(expected(flat, inputs, *arithmetic))
        if len(found) == len(known) and all(map(_alike, known, found)):
            return known
        self.shelf, self.answers, self.wide = None, Answers(REMEMBERED), Answers(WIDER)
        return None

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """What is evaluated meanwhile is new."""
        began = time.perf_counter()
        try:
            yield
        finally:
            if self.shelf is not None:
                self.shelf.seconds += time.perf_counter() - began

    def _keep(self, key: Any, answer: Answer) -> None:
        numbers = sum(value.size + far.size for value, far in answer)
        (self.wide if numbers > WIDE else self.answers).keep(key, answer, numbers)

    def _evaluated(self, flat: Flat, arithmetic: Arithmetic, every: list[Asked]) -> list[Answer]:
        self.evaluations += 1
        with self._timed():
            return self._worked_out(flat, arithmetic, every)

    def _worked_out(self, flat: Flat, arithmetic: Arithmetic, every: list[Asked]) -> list[Answer]:
        statement, bindings = batched(flat), bind_all(flat, every)
        outputs: list[tuple[Reals, Reals]] = []
        if arithmetic.balls:
            with precision(BITS):
                done = run(statement, BallArithmetic(), bindings, every=False)
            outputs = [(midpoints(b), radii(b)) for b in (done.tensors[t.name] for t in statement.outputs)]
        else:
            model = arithmetic.precision
            formats = (None, None) if model is None else (model.operations, model.storage)
            done = run(statement, RunningError(formats[0]), bindings, formats[1], every=False)
            with np.errstate(all="ignore"):  # what does not fit into float64 is infinite, that is unjudged
                for number in (done.tensors[t.name] for t in statement.outputs):
                    value = number.floats()
                    far = np.zeros(()) if model is None else np.broadcast_to(number.bounds(), value.shape)
                    outputs.append((value, far))
        return [
            [(value[place], far[place] if far.ndim else far) for value, far in outputs]
            for place in range(len(every))
        ]


@lru_cache(maxsize=1)
def oracle_for(formula: Formula) -> Oracle:
    """The oracle of the formula that is checked: what one implementation was held to, the next one is, too."""
    return Oracle(shelf(formula.id))


def _alike(one: tuple[Reals, Reals], other: tuple[Reals, Reals]) -> bool:
    """Whether value and bound of an output are the same, but for the order in which float64 was rounded."""
    return all(_same(*pair) for pair in zip(one, other, (SAME, SAME_BOUND), strict=True))


def _same(one: Reals, other: Reals, share: float) -> bool:
    if one.shape != other.shape:
        return False
    finite = np.isfinite(one) & np.isfinite(other)
    if not np.array_equal(one[~finite], other[~finite], equal_nan=True):
        return False
    largest = np.abs(other[finite]).max(initial=0.0)
    return bool((np.abs(one[finite] - other[finite]) <= share * largest).all())


@lru_cache(maxsize=512)
def _items(flat: Flat) -> tuple[tuple[str, bool, bool], ...]:
    """What is read of inputs: each one's name, whether it is a tensor, and whether it is an optional mask."""
    return tuple(
        (item.name, isinstance(item, Tensor), isinstance(item, Tensor) and item.role == "mask")
        for item in flat.inputs
        if not (isinstance(item, Tensor) and item.role == "generator")
    )


def shapes(flat: Flat, inputs: Asked) -> tuple[Any, ...]:
    """What inputs must share to be evaluated together: shapes and sizes."""
    return tuple(
        [
            None if inputs.get(name) is None else np.shape(inputs[name]) if tensor else int(inputs[name])
            for name, tensor, mask in _items(flat)
            if not mask
        ]
    )


def content(flat: Flat, inputs: Asked) -> bytes:
    """What tells inputs from others: names, shapes and every entry."""
    said: list[Any] = []
    parts: list[Any] = []
    for name, _, _ in _items(flat):
        value = inputs.get(name)
        if isinstance(value, np.ndarray):
            said.append((value.shape, value.dtype.char))
            if value.size:
                told = closed_arrays.digest if value.nbytes > SMALL else closed_arrays.content
                parts.append(told(value))
        else:
            said.append((name, value))
    made = sha256(repr(said).encode())
    for part in parts:
        made.update(part)
    return made.digest()


__all__ = [
    "BALLS",
    "PLAIN",
    "Answer",
    "Arithmetic",
    "Oracle",
    "content",
    "oracle_for",
    "shapes",
]
