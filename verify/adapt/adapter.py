"""An adapter: what a formula's inputs are to a callable of somebody else's, and what of its results are the formula's outputs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import torch
from torch import Tensor

from spec.language import arrays
from spec.language.arrays import WHOLE
from spec.language.evaluation.dimensions import WrongSize, is_size, solved_all
from spec.language.formula import Formula
from verify.adapt import expressions
from verify.adapt.layout import Layout
from verify.adapt.masks import FOR_ALL_HEADS, MaskForm
from verify.faults import Unusable

SEPARATELY = 0
"""As ``batch``: each member of a batch by itself."""


class Runner(Protocol):
    """What is called: a module that holds weights, or a function of some library."""

    title: str

    def default_call(self, data: Sequence[str], every: Sequence[str]) -> Sequence[str]:
        """Which inputs it takes, in order, where nothing is said."""

    def prepare(
        self,
        names: Mapping[str, Any],
        letters: Mapping[str, Tensor],
        used: set[str],
        like: Tensor | None,
        first: Callable[[], Any],
    ) -> Any:
        """What a call needs that is not judged: something built, once for each size; ``first`` gives the arguments of a call."""

    def run(
        self, prepared: Any, letters: Mapping[str, Tensor], names: Mapping[str, Any], given: Any, named: Any
    ) -> Any:
        """Call it."""


@dataclass(frozen=True)
class Adapter:
    """A callable of somebody else's under a description; made by the functions of :mod:`verify.adapt`.

    Attributes:
        runner: what is called.
        call: its arguments, in the language of :mod:`verify.adapt.expressions`.
        layout: where the batch, the heads and the sequence are.
        mask: how masks are passed.
        pick: what of the result are the outputs.
        sizes: the sizes it supports, as :func:`verify.check` takes them.
        fixed: the numbers it has built in.
        few_shapes: whether each new shape is dear to it.
    """

    runner: Any
    call: str | None = None
    layout: Layout = field(default_factory=Layout)
    mask: MaskForm | None = None
    pick: int | str | Sequence[int] = 0
    sizes: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, float] = field(default_factory=dict)
    few_shapes: bool = False

    @property
    def __name__(self) -> str:
        return str(self.runner.title)

    def for_formula(self, formula: Formula | str) -> Bound:
        """The callable for a formula, called with its inputs in their order."""
        if isinstance(formula, str):
            from spec.language.registry import find

            formula = find(formula)
        return Bound(self, formula)

    def masks_for(self, formula: Formula) -> str:
        """The kind of masks that is drawn for it."""
        masked = any(t.role == "mask" for t in formula.tensors)
        return "every" if self.mask is None or not masked else self.mask.kind

    def restricted(self, **changes: Any) -> Adapter:
        """The same with something else said."""
        return replace(self, **changes)

    def __call__(self, *arguments: Any) -> Any:
        """Refused: without a formula it is not known what the arguments are."""
        raise Unusable(f"{self.__name__} is an adapter; call what its for_formula(…) gives, or check it")


class Bound:
    """An adapter bound to a formula's inputs: an ordinary callable."""

    adapted = True

    def __init__(self, adapter: Adapter, formula: Formula) -> None:
        self.adapter, self.formula, self.runner = adapter, formula, adapter.runner
        self.inputs = tuple(str(item) for item in formula.inputs)
        self.tensors = {t.name: t for t in formula.tensors}
        self._declared = [
            (name, item if is_size(item) else None, () if is_size(item) else item.shape)
            for name, item in zip(self.inputs, formula.inputs, strict=True)
        ]
        self.letters = [t.name for t in formula.tensors if t.role == "parameter"]
        self.batched = [t.name for t in formula.tensors if t.role in ("data", "mask") and t.role != "mask"]
        masks = [t.name for t in formula.tensors if t.role == "mask"]
        self.masked = masks[-1] if masks else ""
        self._leading = [(name, len(self.tensors[name].shape)) for name in (*self.batched, *masks[-1:])]
        self._mask_axes = [str(size) for size in self.tensors[self.masked].shape] if masks else []
        self.__name__ = self.__qualname__ = adapter.__name__
        self.__module__ = ""
        said = adapter.call is None or "mask" in expressions.names_in(adapter.call)
        self.form = adapter.mask or MaskForm(form="bnm" if self.masked and said else "none")
        if adapter.mask is not None and not self.masked and self.form.passed:
            raise Unusable(f'{formula.id} has no mask; {self.__name__} can have mask="none" only')
        self.takes_mask = bool(self.masked) and self.form.form != "none"
        # What says the same to every head cannot say what examples say of each: they have one head.
        single = self.takes_mask and self.form.form in FOR_ALL_HEADS
        self.layout = replace(adapter.layout, single=single)
        self._known: dict[Any, dict[str, int]] = {}
        self._all_used()

    def _all_used(self) -> None:
        """What nothing uses would be ignored without a word."""
        expressions.listed(self.call, f"call of {self.__name__}")
        if self.takes_mask and self.form.passed and "mask" not in self.spoken:
            raise Unusable(f'the call of {self.__name__} says no mask: "{self.call}"; or say mask="none"')
        numbers = [t.name for t in self.formula.tensors if t.role == "number"]
        for name in (*self.batched, *numbers):
            if name not in self.spoken and name not in self.adapter.fixed:
                built_in = f'; if it has {name} built in, say which: fixed={{"{name}": …}} or --set {name}=…'
                raise Unusable(
                    f'{self.__name__} is given no {name} (its call is "{self.call}")'
                    + (built_in if name in numbers else "")
                )

    @cached_property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_ONLY
        made = []
        for name in self.inputs:
            if name == self.masked:
                if self.takes_mask:
                    made.append(inspect.Parameter("mask", kind, default=None))
            elif name not in self.adapter.fixed or name in self.spoken:
                made.append(inspect.Parameter(f"i{len(made)}", kind))
        return inspect.Signature(made)

    @cached_property
    def call(self) -> str:
        """The arguments of the call, as they are said or as they usually are."""
        if self.adapter.call is not None:
            return self.adapter.call
        every = [name for name in self.inputs if name != self.masked]
        taken = list(self.runner.default_call(self.batched, every))
        if self.takes_mask and self.form.passed:
            taken.append("mask")
        return ", ".join(taken)

    @cached_property
    def spoken(self) -> set[str]:
        """The names that the call speaks of, and what is built by them."""
        pick = self.adapter.pick if isinstance(self.adapter.pick, str) else ""
        said = expressions.names_in(self.call) | expressions.names_in(pick)
        return said | set(getattr(self.runner, "built_by", ()))

    # The call ----------------------------------------------------------------------------------------------------------

    def _given(self, arguments: Sequence[Any]) -> dict[str, Any]:
        taken = [
            name
            for name in self.inputs
            if name != self.masked and (name not in self.adapter.fixed or name in self.spoken)
        ]
        given = dict(zip(taken, arguments, strict=False))
        for name, value in self.adapter.fixed.items():
            given.setdefault(name, value)
        if self.masked:
            given[self.masked] = arguments[len(taken)] if len(arguments) > len(taken) else None
        return given

    def sizes(self, given: Mapping[str, Any]) -> dict[str, int]:
        """The sizes, read off the inputs; those of data behind their leading dimensions."""
        shapes, known = [], {}
        for name, size, declared in self._declared:
            value = given.get(name)
            if size is not None:
                known[size] = int(value)  # type: ignore[arg-type]
            elif declared and isinstance(value, Tensor):
                shapes.append((declared, tuple(value.shape)[-len(declared) :]))
        key = tuple(own for _, own in shapes), tuple(known.values())
        if key not in self._known:
            pairs = [pair for declared, own in shapes for pair in zip(declared, own, strict=True)]
            try:
                found = solved_all(pairs, known)
            except WrongSize as error:
                raise Unusable(f"{self.formula.id}: {self.__name__}: {error}") from None
            self._known[key] = {str(size): int(value) for size, value in found.items()}
        return self._known[key]

    def _lead(self, given: Mapping[str, Any]) -> tuple[int, ...]:
        shapes = {
            tuple(given[name].shape)[: given[name].ndim - own]
            for name, own in self._leading
            if isinstance(given.get(name), Tensor)
        }
        if len(shapes) > 1:
            return tuple(torch.broadcast_shapes(*shapes))
        return next(iter(shapes), ())

    def _letters(self, given: Mapping[str, Any]) -> dict[str, Tensor]:
        return {name: given[name] for name in self.letters if isinstance(given.get(name), Tensor)}

    def _names(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {**self.sizes(given), **{name: given[name] for name in given if name != self.masked}}

    def prepare(self, arguments: Sequence[Any]) -> Callable[[], Any]:
        """Build what the call needs. It is kept, and no part of what is judged; what is returned is the call.

        Raises:
            Unusable: it cannot be built, or the weights do not fit; one line.
        """
        given = self._given(arguments)
        names, lead = self._names(given), self._lead(given)
        like = next((v for v in given.values() if isinstance(v, Tensor) and v.is_floating_point()), None)
        prepared = self.runner.prepare(
            names, self._letters(given), self.spoken, like, lambda: self._arguments(given, names, lead)
        )
        if self.layout.batch == SEPARATELY or self.form.form == "nm":
            return lambda: self._each(prepared, given, names, lead)
        return lambda: self._one(prepared, given, names, lead)

    def __call__(self, *arguments: Any) -> Any:
        """Call with the formula's inputs, batched or not."""
        return self.prepare(arguments)()

    def _each(
        self, prepared: Any, given: dict[str, Any], names: dict[str, Any], lead: tuple[int, ...]
    ) -> Any:
        """Every member by itself."""
        flat = {
            name: self.layout.flat(given[name], lead, len(self.tensors[name].shape))
            for name in (*self.batched, self.masked)
            if isinstance(given.get(name), Tensor)
        }
        results = []
        for place in range(math.prod(lead)):
            member = {**given, **{name: value[place] for name, value in flat.items()}}
            own = {name: member[name] for name in flat if name != self.masked}
            found = self._one(prepared, member, {**names, **own}, ())
            results.append(found if isinstance(found, tuple) else (found,))
        stacked = tuple(
            torch.stack(parts).reshape((*lead, *parts[0].shape)) for parts in zip(*results, strict=True)
        )
        return stacked if len(stacked) > 1 else stacked[0]

    def _one(self, prepared: Any, given: dict[str, Any], names: dict[str, Any], lead: tuple[int, ...]) -> Any:
        layout = self.layout
        names, positional, named = self._arguments(given, names, lead)
        result = self.runner.run(prepared, self._letters(given), names, positional, named)
        picked = self._picked(result, names)
        outputs = [
            layout.outward(value, lead, len(item.shape), item.domain in WHOLE)
            if isinstance(value, Tensor)
            else value
            for item, value in zip(self.returned, picked, strict=False)
        ]
        return tuple(outputs) if len(outputs) > 1 else outputs[0]

    def _arguments(
        self, given: dict[str, Any], names: Mapping[str, Any], lead: tuple[int, ...]
    ) -> tuple[dict[str, Any], list[Any], dict[str, Any]]:
        """What the call may speak of, and its arguments."""
        names = dict(names)
        for name in self.batched:
            item = self.tensors[name]
            if isinstance(given.get(name), Tensor):
                names[name] = self.layout.inward(given[name], lead, len(item.shape), item.domain in WHOLE)
        if self.takes_mask:
            names["mask"] = self._mask(given, lead, names)
        return names, *expressions.arguments(self.call, names, f"call of {self.__name__}")

    def _mask(self, given: Mapping[str, Any], lead: tuple[int, ...], names: Mapping[str, Any]) -> Any:
        mask, axes = given.get(self.masked), self._mask_axes
        like = next(v for v in given.values() if isinstance(v, Tensor) and v.is_floating_point())
        queries = names[axes[-2]] if len(axes) > 1 else 0
        if mask is not None:
            mask = self.layout.flat(mask, lead, len(axes))
        sizes = queries, names[axes[-1]], names.get("h", 1)
        made = self.form.made(mask, math.prod(lead), sizes, like)
        return made if made is None or self.form.form == "nm" else self.layout.led(made, lead)

    @property
    def returned(self) -> tuple[arrays.Tensor, ...]:
        """What it has to return: the outputs, or what is drawn."""
        law = self.formula.law
        return self.formula.outputs if law is None else law.returns

    def _picked(self, result: Any, names: Mapping[str, Any]) -> list[Any]:
        """The outputs among what was returned."""
        pick, count = self.adapter.pick, len(self.returned)
        if isinstance(pick, str):
            found = expressions.value(pick, {**names, "out": result}, f"pick of {self.__name__}")
            return list(found) if isinstance(found, tuple | list) else [found]
        alone = isinstance(result, Tensor) or not hasattr(result, "__getitem__")
        if alone and pick in (0, [0], (0,)):
            return [result]
        places = [pick + k for k in range(count)] if isinstance(pick, int) else list(pick)
        try:
            if alone or not places:
                raise TypeError
            return [result[place] for place in places]
        except (IndexError, KeyError, TypeError):
            what = f"a {type(result).__name__}"
            if not alone and hasattr(result, "__len__"):
                what += f" of {len(result)}"
            taken = f"takes the place {places[-1]}" if places else "takes nothing"
            raise Unusable(
                f"{self.__name__} returns {what}; pick={pick!r} {taken} of it; "
                'expected places, or an expression such as pick="out[0], out[1][0]"'
            ) from None


Fn = Callable[..., Any]

__all__ = ["SEPARATELY", "Adapter", "Bound", "Runner"]
