"""Shrinking: from an example that fails to a small one that fails in the same way, under a budget of time and calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from spec.language.arrays import WHOLE, Tensor
from spec.language.evaluation.dimensions import Size, symbols_in, whole
from spec.language.formula import Formula
from verify.faults import Unsupported
from verify.inputs import mask_kinds
from verify.inputs.examples import Example, members, rounded
from verify.inputs.size_rules import EVERY_SIZE, Supported
from verify.properties.outcome import Outcome

SECONDS, CALLS = 2.0, 500
CLEAR = 10.0
"""A shrunk example must still fail by this factor, if the first one did: no borderline cases."""
ENTRIES = 80
"""Arrays up to this many entries are simplified entry by entry."""
ALONE = 16
"""So many members of a batch are tried alone, the one that was worst first: of a large one each would take all the calls."""

Probe = Callable[[Example], Outcome]


class Shrinker:
    """Greedy: the first simplification that still fails is kept, and all are tried again."""

    def __init__(
        self,
        example: Example,
        outcome: Outcome,
        probe: Probe,
        declared: Mapping[str, Tensor],
        fixed: set[Size],
        seconds: float = SECONDS,
        supported: Supported = EVERY_SIZE,
    ) -> None:
        self.example, self.outcome, self.probe = example, outcome, probe
        self.declared, self.fixed, self.supported = declared, fixed, supported
        self.least = min(CLEAR, outcome.ratio)
        self.faulty = outcome.got is None
        self.end, self.left = time.monotonic() + seconds, CALLS

    def run(self) -> tuple[Example, Outcome]:
        """The smallest failing example found, and its outcome."""
        for stage in (self._unbatched, self._fewer, self._unmasked, self._smaller, self._opened):
            while any(self._keep(candidate) for candidate in stage()):
                pass
        for candidate in self._plainer():  # reads the example anew for each candidate
            self._keep(candidate)
        return self.example, self.outcome

    def _keep(self, candidate: Example) -> bool:
        if self.left <= 0 or time.monotonic() > self.end:
            return False
        self.left -= 1
        try:
            outcome = self.probe(candidate)
        except (Unsupported, ValueError, IndexError):  # no example any more
            return False
        if not outcome.fails or outcome.ratio < self.least or (outcome.got is None) != self.faulty:
            return False
        self.example, self.outcome = candidate, outcome
        return True

    # Candidates ----------------------------------------------------------------------------------------------------------

    def _batched(self, tensor: Tensor) -> bool:
        return tensor.role in ("data", "mask")

    def _unbatched(self) -> Iterator[Example]:
        example = self.example
        if not example.batch:
            return
        worst = (self.outcome.index or ())[: len(example.batch)]  # of a parameter's gradient it is no member
        every = dict.fromkeys(members(example.batch))
        first = [worst] if worst in every else []
        for place in islice(dict.fromkeys((*first, *every)), ALONE):
            inputs = {
                name: value[place]
                if isinstance(value, np.ndarray) and self._batched(self.declared[name])
                else value
                for name, value in example.inputs.items()
            }
            cotangents = {name: value[place] for name, value in example.cotangents.items()}
            yield replace(example, inputs=inputs, cotangents=cotangents, batch=())

    def _fewer(self) -> Iterator[Example]:
        """The first members of a batch: half, three quarters, all but one."""
        example = self.example
        if len(example.batch) != 1:
            return
        (count,) = example.batch
        for fewer in dict.fromkeys((count // 2, 3 * count // 4, count - 1)):
            if not 0 < fewer < count:
                continue
            inputs = {
                name: value[:fewer]
                if isinstance(value, np.ndarray) and self._batched(self.declared[name])
                else value
                for name, value in example.inputs.items()
            }
            cotangents = {name: value[:fewer] for name, value in example.cotangents.items()}
            yield replace(example, inputs=inputs, cotangents=cotangents, batch=(fewer,))

    def _unmasked(self) -> Iterator[Example]:
        for name, tensor in self.declared.items():
            value = self.example.inputs.get(name)
            if (
                tensor.role == "mask"
                and value is not None
                and mask_kinds.fits(self.example.supported.masks, None)
            ):
                yield self.example.changed(**{name: None})
                hidden = ~value.any(-1, keepdims=True)
                if hidden.any():  # a row that sees nothing is a corner of its own
                    yield self.example.changed(**{name: value | hidden})

    def _opened(self) -> Iterator[Example]:
        """One more slot that may be read."""
        for name, tensor in self.declared.items():
            value = self.example.inputs.get(name)
            if tensor.role != "mask" or value is None or value.size > ENTRIES:
                continue
            for place in zip(*np.nonzero(~value), strict=True):
                opened = np.array(value)
                opened[place] = True
                yield self.example.changed(**{name: opened})

    def _smaller(self) -> Iterator[Example]:
        for symbol, size in list(self.example.sizes.items()):
            if symbol in self.fixed:
                continue
            for smaller in dict.fromkeys((1, 2, size // 2, size - 1)):
                if not 0 < smaller < size:
                    continue
                if str(symbol) in self.supported.symbols:
                    yield from self._settled(symbol, smaller)
                    continue
                yield self._cut({symbol: smaller})
                if str(symbol) not in self.example.inputs:
                    yield self._cut({symbol: smaller}, at_end=True)

    def _settled(self, symbol: Size, smaller: int) -> Iterator[Example]:
        """Smaller sizes that the rules allow: those that follow from this one become smaller with it."""
        now = self.example.sizes
        sizes = self.supported.settled({**now, symbol: smaller})
        changed = {other: value for other, value in sizes.items() if value != now[other]}
        if (
            changed
            and self.supported.fits(sizes)
            and not self.fixed & set(changed)
            and all(value < now[other] for other, value in changed.items())
        ):
            yield self._cut(changed)

    def _cut(self, smaller: Mapping[Size, int], at_end: bool = False) -> Example:
        example = self.example
        sizes = {**example.sizes, **smaller}

        def cut(name: str, value: Any) -> Any:
            tensor = self.declared.get(name)
            if not isinstance(value, np.ndarray):
                if (
                    isinstance(tensor, Tensor)
                    and tensor.domain in WHOLE
                    and smaller.keys() & symbols_in(tensor.below)
                ):
                    return min(value, max(whole(tensor.below, sizes) - 1, 0))
                return next((size for symbol, size in smaller.items() if name == str(symbol)), value)
            if tensor is None or value.ndim < len(tensor.shape):
                return value
            if smaller.keys() & symbols_in(tensor.below):
                value = np.minimum(
                    value, max(whole(tensor.below, sizes) - 1, 0)
                )  # a label that is none stays so
            index: Any = (..., *(cut_axis(axis) for axis in tensor.shape))
            return value[index]

        def cut_axis(axis: Any) -> slice:
            if not smaller.keys() & symbols_in(axis):
                return slice(None)
            old, new = whole(axis, example.sizes), whole(axis, sizes)
            return slice(old - new, old) if at_end and axis in smaller else slice(new)

        inputs = {name: cut(name, value) for name, value in example.inputs.items()}
        for name, tensor in self.declared.items():
            if tensor.role == "mask" and inputs.get(name) is not None:
                kind = example.supported.masks
                inputs[name] = mask_kinds.settled(kind, inputs[name], inputs[name].shape)
        return replace(
            example,
            inputs=inputs,
            cotangents={name: cut(name, value) for name, value in example.cotangents.items()},
            sizes=sizes,
        )

    def _plainer(self) -> Iterator[Example]:
        for group in ("cotangents", "inputs"):
            for name in list(getattr(self.example, group)):
                value = getattr(self.example, group)[name]
                if name in dict(self.example.supported.fixed) and group == "inputs":
                    continue
                if isinstance(value, np.ndarray) and value.dtype == np.float64:
                    yield from self._plain_array(group, name)

    def _plain_array(self, group: str, name: str) -> Iterator[Example]:
        def put(array: Any) -> Example:
            made = {**getattr(self.example, group), name: rounded(array, self.example.dtype)}
            if group == "inputs":
                return replace(self.example, inputs=made)
            return replace(self.example, cotangents=made)

        def now() -> Any:
            return getattr(self.example, group)[name]

        tensor = self.declared.get(name)
        lowest = tensor is not None and tensor.domain == "positive"
        for constant in (1.0,) if lowest else (0.0, 1.0):
            if not (now() == constant).all():
                yield put(np.full_like(now(), constant))
        for digits in (0, 1, 2, 3):
            simple = significant(now(), digits)
            if not (simple == now()).all() and not (lowest and (simple <= 0).any()):
                yield put(simple)
        if now().size > ENTRIES:
            return
        for place in np.ndindex(*now().shape):
            held = float(now()[place])
            options = (1.0,) if lowest else (0.0, 1.0, -1.0)
            for option in (*options, *(float(significant(np.array(held), digits)) for digits in (0, 1, 2))):
                if (
                    float(now()[place]) in (0.0, 1.0, -1.0)
                    or option == float(now()[place])
                    or (lowest and option <= 0)
                ):
                    continue
                changed = np.array(now())
                changed[place] = option
                yield put(changed)


def significant(values: Any, digits: int) -> Any:
    """Values with so many digits after the first."""
    values = np.asarray(values, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        place = np.where(values == 0, 0, np.floor(np.log10(np.abs(values)))) - digits
        scale = 10.0 ** np.abs(place)
        result = np.where(place >= 0, np.round(values / scale) * scale, np.round(values * scale) / scale)
    return np.where(np.isfinite(result), result, values)


def declarations(formula: Formula, *more: Tensor) -> dict[str, Tensor]:
    """The declared tensors by name."""
    return {t.name: t for t in (*formula.tensors, *formula.outputs, *more)}
