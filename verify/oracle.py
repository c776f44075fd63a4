"""The oracle of a check: evaluates statements at inputs, those of equal shapes together, and remembers the answers.

A check knows most of its examples before it calls anything. It announces them (:meth:`Oracle.announce`), and the first question
about one of them is answered for others of the same shapes, too. How many grows with the questions, since the first
counterexample must not wait.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from spec.language.arrays import Tensor
from spec.language.binders import Bound
from spec.language.evaluation.balls import BallArithmetic, midpoints, precision, radii
from spec.language.evaluation.batching import add_example_axis, bind_all
from spec.language.evaluation.binding import sizes_at
from spec.language.evaluation.dimensions import symbols_in
from spec.language.evaluation.evaluate import run
from spec.language.evaluation.expected import estimate_errors
from spec.language.evaluation.precision import Precision
from spec.language.evaluation.running_error import RunningError
from spec.language.flatten import Flat
from spec.language.formula import Formula
from spec.language.trees import free_symbols, walk

Reals: TypeAlias = npt.NDArray[np.float64]
Answer: TypeAlias = Sequence[tuple[Reals, Reals]]
"""For each output its value, and how far from it a right value may be."""
Inputs: TypeAlias = Mapping[str, Any]
Question: TypeAlias = tuple[Flat, Inputs]
"""A statement, and the inputs at which it is asked for."""

BITS = 128
"""Bits of balls."""
ROOM = 16_000_000
"""Numbers in the answers that are remembered, 128 megabytes."""
EXAMPLES, ENTRIES = 24, 1 << 19
"""Examples that are evaluated together at most, and about how many entries their largest array then has."""


@dataclass(frozen=True)
class Arithmetic:
    """In which arithmetic a question is answered: for a precision, in balls (rigorous), or in plain float64 (neither)."""

    precision: Precision | None = None
    balls: bool = False


PLAIN, BALLS = Arithmetic(), Arithmetic(balls=True)


class Memory:
    """Answers by their keys, up to so many numbers in all; the one asked for longest ago is forgotten first."""

    def __init__(self, room: int) -> None:
        self.room, self.taken = room, 0
        self.answers: OrderedDict[Any, Answer] = OrderedDict()

    def get(self, key: Any) -> Answer | None:
        """The answer, if it is remembered."""
        found = self.answers.get(key)
        if found is not None:
            self.answers.move_to_end(key)
        return found

    def keep(self, key: Any, answer: Answer) -> None:
        """Remember an answer."""
        self.answers[key] = answer
        self.taken += _numbers(answer)
        while self.taken > self.room and len(self.answers) > 1:
            self.taken -= _numbers(self.answers.popitem(last=False)[1])


class Oracle:
    """Answers questions about statements."""

    def __init__(self) -> None:
        self.memory = Memory(ROOM)
        self.waiting: dict[Any, dict[bytes, Inputs]] = {}
        """Inputs that were announced, by statement, type and shapes."""
        self.turn = 0
        self.evaluations = 0
        self.unread: dict[Any, Any] = {}
        """Which slots are not read at some inputs, as :func:`verify.properties.leaks.unread` found."""

    def anew(self) -> None:
        """Begin another check: forget what was announced, and answer its first question alone; answers stay."""
        self.waiting, self.turn = {}, 0

    def announce(self, questions: Iterable[tuple[Flat, Inputs, str]], more: bool = False) -> None:
        """Announce what will be asked soon: statement, inputs, and the type's name; ``more`` of it, or in place of the former."""
        if not more:
            self.waiting = {}
        for flat, inputs, dtype in questions:
            group = self.waiting.setdefault((flat, dtype, shapes(flat, inputs)), {})
            group[content(flat, inputs)] = inputs

    def ask(self, flat: Flat, every: Sequence[Inputs], arithmetic: Arithmetic, dtype: str) -> list[Answer]:
        """What a statement says at each of these inputs.

        Raises:
            ValueError: inputs that do not fit the statement; and whatever else their evaluation raises.
        """
        digests = [content(flat, inputs) for inputs in every]
        found: dict[bytes, Answer] = {}
        missing: dict[Any, dict[bytes, Inputs]] = {}
        for digest, inputs in zip(digests, every, strict=True):
            known = self.memory.get((flat, arithmetic, digest))
            if known is not None:
                found[digest] = known
            else:
                missing.setdefault(shapes(flat, inputs), {})[digest] = inputs
        for shared, wanted in missing.items():
            self.turn += 1
            room = min(EXAMPLES, 2 ** (self.turn - 1)) - len(wanted)
            announced = self.waiting.get((flat, dtype, shared), {})
            unanswered = {
                digest: inputs
                for digest, inputs in announced.items()
                if digest not in wanted and self.memory.get((flat, arithmetic, digest)) is None
            }
            found |= self._answer(flat, arithmetic, wanted, dict([*unanswered.items()][: max(room, 0)]))
        return [found[digest] for digest in digests]

    def error(
        self, flat: Flat, inputs: Inputs, precision: Precision, samples: int, seed: int
    ) -> tuple[tuple[Reals, Reals], ...]:
        """For each output its value and the expected error of careful arithmetic."""
        key = (flat, (precision, samples, seed), content(flat, inputs))
        known = self.memory.get(key)
        if known is None:
            known = list(estimate_errors(flat, inputs, precision, samples, seed))
            self.memory.keep(key, known)
        return tuple(known)

    def _answer(
        self,
        flat: Flat,
        arithmetic: Arithmetic,
        wanted: Mapping[bytes, Inputs],
        others: Mapping[bytes, Inputs],
    ) -> dict[bytes, Answer]:
        """Answer all that are wanted, and with them as many others of the same shapes as still fit into an evaluation."""
        every = [*wanted.items(), *others.items()]
        many = examples_at_once(flat, every[0][1])
        found: dict[bytes, Answer] = {}
        for first in range(0, len(wanted), many):
            part = every[first : first + many]
            try:
                answers = self._evaluate(flat, arithmetic, [inputs for _, inputs in part])
            except (ArithmeticError, LookupError, ValueError):
                if len(part) == 1:
                    raise
                # One of them cannot be evaluated, and must not speak for the others.
                part = [(digest, inputs) for digest, inputs in part if digest in wanted]
                answers = [self._evaluate(flat, arithmetic, [inputs])[0] for _, inputs in part]
            for (digest, _), answer in zip(part, answers, strict=True):
                found[digest] = answer
                self.memory.keep((flat, arithmetic, digest), answer)
        return found

    def _evaluate(self, flat: Flat, arithmetic: Arithmetic, every: list[Inputs]) -> list[Answer]:
        """Evaluate a statement at inputs of equal shapes, all at once."""
        self.evaluations += 1
        statement, bindings = add_example_axis(flat), bind_all(flat, every)
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
    """The oracle of the formula that is checked: the next implementation is asked about the same examples."""
    return Oracle()


def examples_at_once(flat: Flat, inputs: Inputs) -> int:
    """How many examples of these sizes are evaluated at once at most."""
    return max(1, min(EXAMPLES, ENTRIES // _largest(flat, tuple(sizes_at(flat, inputs).items()))))


@lru_cache(maxsize=512)
def _largest(flat: Flat, sizes: tuple[tuple[Any, int], ...]) -> int:
    """About how many entries the largest array has that an evaluation at these sizes may form."""
    known = {symbol: max(1, value) for symbol, value in sizes}
    return max((math.prod(known.get(size, 1) for size in over) for over in _extents(flat)), default=1)


@lru_cache(maxsize=512)
def _extents(flat: Flat) -> frozenset[tuple[Any, ...]]:
    """For each array that an evaluation may form, a line or the terms of a sum, the sizes whose product are its entries."""
    found = set()
    for line in flat.lines:
        own = {symbol: last - first + 1 for symbol, first, last in line.ranges}
        arrays = [[*own.values()]]
        for node in walk(line.right):
            if isinstance(node, Bound):
                used = free_symbols(node)
                indices = [extent for symbol, extent in own.items() if symbol in used]
                arrays.append([*indices, node.last - node.first + 1])
        found |= {tuple(size for extent in extents for size in symbols_in(extent)) for extents in arrays}
    return frozenset(found)


def _numbers(answer: Answer) -> int:
    return sum(value.size + far.size for value, far in answer)


@lru_cache(maxsize=512)
def _items(flat: Flat) -> tuple[tuple[str, bool, bool], ...]:
    """The inputs that are read: each one's name, whether it is a tensor, and whether it is an optional mask."""
    return tuple(
        (item.name, isinstance(item, Tensor), isinstance(item, Tensor) and item.role == "mask")
        for item in flat.inputs
        if not (isinstance(item, Tensor) and item.role == "generator")
    )


def shapes(flat: Flat, inputs: Inputs) -> tuple[Any, ...]:
    """What inputs must share to be evaluated together: shapes and sizes."""
    return tuple(
        [
            None if inputs.get(name) is None else np.shape(inputs[name]) if tensor else int(inputs[name])
            for name, tensor, mask in _items(flat)
            if not mask
        ]
    )


def content(flat: Flat, inputs: Inputs) -> bytes:
    """A hash of the inputs: of names, shapes and every entry."""
    made = sha256()
    for name, _, _ in _items(flat):
        value = inputs.get(name)
        if isinstance(value, np.ndarray):
            made.update(f"{name} {value.shape} {value.dtype.char} ".encode())
            if value.size:
                plain = value.flags.c_contiguous and value.dtype != object
                made.update(value.data if plain else value.tobytes())
        else:
            made.update(f"{name} {value!r} ".encode())
    return made.digest()


__all__ = [
    "BALLS",
    "PLAIN",
    "Answer",
    "Arithmetic",
    "Oracle",
    "content",
    "examples_at_once",
    "oracle_for",
    "shapes",
]
