"""What is done with a callable while it is judged, written down as lines that need torch and the callable alone.

Every call, with its arguments as they were handed over: values, type, how they are stored, whether they require a gradient, which
of them are one tensor or share memory, and what was written to them since the call before. Every backward pass; and which
entries of which result were held to what.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from spec.language.evaluation.dimensions import Size, whole
from verify.report import Played
from verify.scripting.literals import number
from verify.scripting.naming import Unwritten
from verify.subject.layouts import Literals, content, stored
from verify.subject.returned import identical

if TYPE_CHECKING:
    from verify.subject.caller import Caller

ENTRIES = 16
"""Of a result, so many entries are looked at at most: the worst ones."""


SOWN: dict[str, tuple[Callable[[int], Any], str]] = {
    "torch's global random state": (torch.manual_seed, "torch.manual_seed({})"),
    "NumPy's global random state": (np.random.seed, "numpy.random.seed({})"),
    "Python's global random state": (random.seed, "random.seed({})"),
}
"""How each of them is set, and how that is written."""


@dataclass
class _Memory:
    """A storage: the first tensor that lay in it, and what it held when it was last seen."""

    owner: torch.Tensor
    name: str
    held: torch.Tensor
    version: int


@dataclass
class _Look:
    """A comparison: after which line it was read, as what; ``text`` makes it; whether it failed."""

    place: int
    text: str
    ratio: float


class Recorder:
    """The lines of what is done with a caller."""

    def __init__(self, caller: Caller, seed: int | None = None) -> None:
        self.caller, self.literals, self.seed = caller, Literals(), seed
        self.lines: list[str] = []
        self.looks: list[_Look] = []
        self.functions: dict[str, str] = {}
        self.faulty = self.lost = self.closed = False
        self.latest = ""
        self.before: Callable[[Sequence[str]], Sequence[str]] = lambda names: ()
        self._taken = {str(item) for item in caller.formula.inputs}
        self._used: set[str] = set()
        self._calls = self._slopes = self._begun = 0
        self._names: dict[int, tuple[Any, str]] = {}
        self._memories: dict[int, _Memory] = {}
        self._states: dict[int, torch.Tensor] = {}
        self._results: dict[int, tuple[Any, str]] = {}
        self._unconnected: dict[str, str] = {}
        self._reads: dict[int, tuple[Any, str, int]] = {}

    # Arguments -----------------------------------------------------------------------------------------------------------

    def passed(self, name: str, value: Any) -> str:
        """How an argument is called in the lines; what makes it, or brings it up to date, is added to them."""
        if isinstance(value, torch.Generator):
            return self._generator(name, value)
        if not isinstance(value, torch.Tensor):
            return number(value) if isinstance(value, float) else repr(value)
        if value.numel():
            self._written(value)
        if id(value) in self._names:
            return self._names[id(value)][1]
        mine, leaf = self._fresh(name), ".requires_grad_()" if value.requires_grad else ""
        memory = self._memories.get(value.untyped_storage().data_ptr()) if value.numel() else None
        if memory is None:
            self.lines.append(f"{mine} = {stored(value, self.literals)}{leaf}")
            if value.numel():
                made = _Memory(value, mine, content(value), value._version)
                self._memories[value.untyped_storage().data_ptr()] = made
        else:
            same = (value.shape, value.stride(), value.storage_offset()) == (
                memory.owner.shape, memory.owner.stride(), memory.owner.storage_offset(),
            )  # fmt: skip
            view = f"{tuple(value.shape)}, {value.stride()}, {value.storage_offset()}"
            self.lines.append(f"{mine} = {memory.name}.data{'' if same else f'.as_strided({view})'}{leaf}")
        self._names[id(value)] = value, mine
        return mine

    def _written(self, value: torch.Tensor) -> None:
        """What was written to the memory of a tensor since it was last seen."""
        memory = self._memories.get(value.untyped_storage().data_ptr())
        if memory is None or identical(content(value), memory.held):
            return
        owner = memory.owner
        through = "" if owner._version != memory.version and not owner.requires_grad else ".data"
        self.lines.append(f"{memory.name}{through}.copy_({self.literals.of(owner)})")
        memory.held, memory.version = content(value), owner._version

    def _generator(self, name: str, value: torch.Generator) -> str:
        seed, state = value.initial_seed(), value.get_state()
        known, held = self._names.get(id(value)), self._states.get(id(value))
        if held is None or not torch.equal(state, held):
            if not torch.equal(state, torch.Generator().manual_seed(seed).get_state()):
                raise Unwritten
            mine = self._fresh(name) if known is None else known[1]
            made = f"{mine} = torch.Generator()" if known is None else mine
            self.lines.append(f"{made}.manual_seed({seed})")
            self._names[id(value)] = value, mine
        return self._names[id(value)][1]

    def _fresh(self, name: str) -> str:
        """The name, or with a number behind it that no input has."""
        found, count = name, 1
        while found in self._used or (count > 1 and found in self._taken):
            count += 1
            found = f"{name}_{count}"
        self._used.add(found)
        return found

    def _settled(self) -> None:
        """What the callable itself wrote to its inputs ends the record: what comes after it is not as it was meant."""
        for memory in self._memories.values():
            if not identical(content(memory.owner), memory.held):
                before = f"{memory.name}_before"
                self.lines.insert(len(self.lines) - 1, f"{before} = {memory.name}.detach().clone()")
                said = untouched(memory.name, before)
                self.looks.append(_Look(len(self.lines), said, np.inf))
                self.closed = True
            memory.held, memory.version = content(memory.owner), memory.owner._version
        for value, _ in self._names.values():
            if isinstance(value, torch.Generator):
                self._states[id(value)] = value.get_state()

    # Calls ---------------------------------------------------------------------------------------------------------------

    def calls(
        self, arguments: Sequence[Any], sizes: Mapping[Size, int], batch: tuple[int, ...], dtype: str | None
    ) -> None:
        """A call is made. Once one has failed, those that follow are not needed."""
        self.closed |= self.faulty
        if self.closed:
            return
        self._calls, self._begun = self._calls + 1, len(self.lines)
        self.latest, inputs = f"result_{self._calls}", self.caller.formula.inputs
        names = [self.passed(str(item), value) for item, value in zip(inputs, arguments, strict=False)]
        wanted = []
        for tensor in self.caller.returns:
            kind = f"torch.{dtype}" if dtype else '"numbers"'
            kind = {"integer": '"integers"', "boolean": "torch.bool"}.get(tensor.domain, kind)
            shape = (*batch, *(whole(size, sizes) for size in tensor.shape))
            wanted.append(f"({shape}, {kind})")
        self.lines += self.before(
            [name for name, a in zip(names, arguments, strict=False) if isinstance(a, torch.Tensor)]
        )
        if self.seed is not None:
            for item in self.caller.offences["generator"].items:
                sow, said = SOWN[item]
                sow(self.seed)
                self.lines.append(said.format(self.seed))
        parts = [self._function(arguments), f"[{', '.join(wanted)}]", *names]
        call = f"called({', '.join(parts)})"
        served = "inference_mode" if torch.is_inference_mode_enabled() else "no_grad"
        off = "" if torch.is_grad_enabled() else f"with torch.{served}():\n    "
        self.lines.append(f"{off}{self.latest} = {call}")
        self.faulty = True  # until it has returned what it should

    def _function(self, arguments: Sequence[Any]) -> str:
        """The callable; one that is adapted needs more than lines of torch."""
        fn = self.caller.fn
        if not hasattr(getattr(fn, "inner", fn), "adapted"):
            return "function"
        raise Unwritten

    def returned(self, outputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The call has returned, as it should: its results, as something new where a call before has returned the same."""
        if self.closed:
            return list(outputs)
        self.faulty, found = False, []
        for place, output in enumerate(outputs):
            found.append(output.view_as(output) if id(output) in self._results else output)
            self._results[id(found[-1])] = found[-1], f"{self.latest}[{place}]"
        self._settled()
        return found

    def overwrites(self, output: torch.Tensor) -> None:
        """A result was written to; it may lie where an argument does."""
        if self.closed:
            return
        change = "logical_not_()" if output.dtype == torch.bool else "add_(1)"
        self.lines.append(f"{self._results[id(output)][1]}.detach().{change}")
        for memory in self._memories.values():
            memory.held, memory.version = content(memory.owner), memory.owner._version

    def goes_back(
        self,
        outputs: Sequence[torch.Tensor],
        seeds: Sequence[torch.Tensor],
        leaves: Mapping[str, torch.Tensor],
    ) -> None:
        """A backward pass is made from these results to these arguments."""
        self.closed |= self.faulty
        if self.closed:
            return
        self._slopes += 1
        of = [self._results[id(output)][1] for output in outputs]
        given = [self.passed(f"g_{self._slopes}", seed) for seed in seeds]
        wrt = [self._names[id(leaf)][1] for leaf in leaves.values()]
        lists = ", ".join(f"[{', '.join(part)}]" for part in (of, given, wrt))
        self.latest = f"slope_{self._slopes}"
        self.lines.append(f"{self.latest} = slopes({lists})")
        self.faulty = True

    def went_back(self, found: Mapping[str, Any]) -> None:
        """What it gave, by input."""
        if self.closed:
            return
        self.faulty, self._unconnected = False, {}
        for place, (name, gradient) in enumerate(found.items()):
            text = f"{self.latest}[{place}]"
            self._unconnected[name] = text
            if gradient is not None:
                self._results[id(gradient)] = gradient, text
        self._settled()

    # What is looked at ---------------------------------------------------------------------------------------------------

    def reads(self, result: Any, array: Any) -> None:
        """A result is read into an array; ``result`` is the name of an input for a gradient that has no path."""
        unconnected = self._unconnected.get(result) if isinstance(result, str) else None
        text = unconnected or self._results.get(id(result), (None, ""))[1]
        if text:
            self._reads[id(array)] = array, text, len(self.lines)

    def compares(self, name: str, got: Any, expected: Any, bound: Any, ratio: Any) -> None:
        """An array that was read is held to another, within a bound."""
        if id(got) not in self._reads:
            self.lost |= not self.closed
            return
        _, text, place = self._reads[id(got)]
        value, bound, ratio = np.broadcast_arrays(expected, bound, ratio)
        judged = np.flatnonzero(np.isfinite(bound))
        judged = judged[np.argsort(-ratio.flat[judged], kind="stable")][:ENTRIES]
        if not judged.size:
            return
        entries = [
            f"{tuple(int(part) for part in np.unravel_index(at, ratio.shape))}: "
            f"({number(float(value.flat[at]))}, {number(float(bound.flat[at]))})"
            for at in judged
        ]
        row = ", ".join(entries)
        row = row if len(entries) == 1 else "\n    " + ",\n    ".join(entries) + ",\n"
        said = f"look({name!r}, {text}, {{{row}}})"
        self.looks.append(_Look(place, said, float(ratio.flat[judged[0]])))

    def alike(self, name: str, one: torch.Tensor, other: torch.Tensor, same: bool) -> None:
        """Two results are held to be equal."""
        if self.closed:
            return
        parts = ", ".join(self._results[id(part)][1] for part in (one, other))
        self.looks.append(_Look(len(self.lines), f"same({name!r}, {parts})", 0.0 if same else np.inf))

    def typed(self, name: str, result: torch.Tensor, dtype: torch.dtype) -> None:
        """A result is held to be of a type."""
        if self.closed:
            return
        said = f"typed({name!r}, {self._results[id(result)][1]}, {dtype})"
        self.looks.append(_Look(len(self.lines), said, 0.0 if result.dtype == dtype else np.inf))

    def played(
        self, fails: bool, end: Sequence[str] = (), only_last: bool = False, short: bool = False
    ) -> Played | None:
        """All lines; ``end`` is what is looked at in the place of what was compared.

        None where something that ``fails`` is not among them. ``only_last``: the lines of the last call. ``short``: up to the
        worst; else all that was done, since what a callable keeps from call to call may show elsewhere the next time.
        """
        first = self._begun if only_last else 0
        looks, lines = [look for look in self.looks if look.place > first and not end], self.lines[first:]
        worst = max(looks, key=lambda look: look.ratio, default=None)
        failing = worst is not None and worst.ratio > 1
        shown = self.faulty or failing or bool(end)
        if not lines or (self.lost and not end) or not (shown or (looks and not fails)):
            return None
        if worst is not None and failing and short:
            looks = looks[: looks.index(worst) + 1]
            lines = lines[: max(look.place for look in looks) - first]
        made: list[str] = []
        for place in range(len(lines) + 1):
            made += [look.text for look in looks if look.place == first + place]
            made += lines[place : place + 1]
        written, given = self.literals.settled([*made, *end])
        return Played([*given, *written], list(self.functions))


def untouched(name: str, before: str) -> str:
    """A line that holds an input to what it was before the call."""
    return f'same({name!r}, {before}, {name}, "the call")'


__all__ = ["Recorder", "untouched"]
