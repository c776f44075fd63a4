"""An adapter: what a formula's inputs are to a callable of somebody else's, and what of its results are the formula's outputs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypedDict, Unpack

import torch
from torch import Tensor

from spec.language import arrays
from spec.language.arrays import WHOLE
from spec.language.evaluation.dimensions import WrongSize, is_size, solve_sizes
from spec.language.formula import Formula
from verify.adapt.layout import Layout
from verify.adapt.masks import FOR_ALL_HEADS, MaskForm
from verify.faults import Unusable, complaint

SEPARATELY = 0
"""As ``batch``: each member of a batch by itself."""

Names = Mapping[str, Any]
"""What a description may name: letters, sizes, numbers and the mask."""
Call = Callable[[Any], Any]
"""Calls what it is given, with the arguments of one example."""
Pick = int | str | Sequence[int | str] | Callable[..., Any]

INSTEAD = {
    "build": "the module's class, or a function of sizes: lambda d_model, h: nn.MultiheadAttention(d_model, h)",
    "weights": 'a function from letters to the module\'s parameters: lambda W, b: {"weight": W.T, "bias": b}',
    "call": "a function of what is called and of letters: lambda attend, x, y, mask: attend(x, y, y, attn_mask=mask)",
    "pick": "a place, a key, several of them, or a function of what is returned: lambda out: (out[0], out[1][0])",
    "arguments": "gone: build is a function of sizes, lambda d_model, h: nn.MultiheadAttention(d_model, h, bias=False)",
    "method": "gone: call is a function of the module, lambda module, x: module.encode(x)",
}
"""How each part of a description is written; what was text until 0.1 says so."""


def require_function(name: str, given: Any) -> None:
    """Refuse what is no function, with a line that says what to write.

    Raises:
        Unusable: text or a table, as descriptions were written until 0.1.
    """
    if given is not None and not callable(given):
        raise Unusable(f"{name} is {INSTEAD[name]}; got {given!r}")


class ByName:
    """A function of a description, which is called with what its parameters name.

    ``first`` of its parameters are no names: they are passed by position. One with ``**`` takes all letters that are not named.
    """

    def __init__(self, function: Callable[..., Any], what: str, first: int = 0) -> None:
        self.function, self.what = function, what
        try:
            parameters = list(inspect.signature(function).parameters.values())[first:]
        except (ValueError, TypeError):  # a class of C tells nothing about itself
            parameters = []
        plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        named = [each for each in parameters if each.kind in plain]
        self.required = [each.name for each in named if each.default is each.empty]
        self.optional = [each.name for each in named if each.default is not each.empty]
        self.takes_letters = any(each.kind is each.VAR_KEYWORD for each in parameters)

    def names(self, letters: Sequence[str]) -> frozenset[str]:
        """The names that it takes, where these are the formula's letters."""
        return frozenset((*self.required, *self.optional, *(letters if self.takes_letters else ())))

    def __call__(self, names: Names, letters: Sequence[str], *first: Any) -> Any:
        """Call it.

        Raises:
            Unusable: it names what there is not.
        """
        lacking = [name for name in self.required if name not in names]
        if lacking:
            raise Unusable(
                f"{self.what} takes {', '.join(lacking)}, which is nothing here; there are: {', '.join(names)}"
            )
        taken = [name for name in sorted(self.names(letters)) if name in names]
        return self.function(*first, **{name: names[name] for name in taken})


class Subject:
    """What is called: a function of torch, or anything that is called. Modules and functions of arrays are subclasses."""

    built_by: frozenset[str] = frozenset()
    """The names that it is built by."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.title: str = getattr(fn, "__name__", type(fn).__name__)

    def default_call(self, data: Sequence[str], every: Sequence[str]) -> Sequence[str]:
        """Which inputs it takes, in order, where no call is given: all of them."""
        return every

    def can_take(self, count: int) -> bool:
        """Whether it can be called with so many arguments, as far as it tells."""
        try:
            inspect.signature(self.fn).bind(*range(count))
        except TypeError:
            return False
        except ValueError:  # it tells nothing about itself
            return True
        return True

    def prepare(self, names: Names, letters: Sequence[str], used: frozenset[str], call: Call) -> Any:
        """Make what calls need that is not judged, such as a module of these sizes; ``call`` is that of this example.

        ``letters`` are those that the example has a tensor for, ``used`` what the call names.
        """

    def run(self, prepared: Any, names: Names, letters: Sequence[str], call: Call) -> Any:
        """Call it, with what was prepared."""
        return call(self.fn)


@dataclass(frozen=True)
class Adapter:
    """A callable of somebody else's under a description; made by the functions of :mod:`verify.adapt`.

    Attributes:
        subject: what is called.
        call: calls it, with what its parameters name.
        layout: where the batch, the heads and the sequence are.
        mask: how masks are passed.
        pick: what of the result are the outputs.
        sizes: the sizes it supports, as :func:`verify.check` takes them.
        fixed: the numbers it has built in; None where no line reads an input, which it may take or leave.
        few_shapes: whether each new shape is costly to it.
    """

    subject: Subject
    call: Callable[..., Any] | None = None
    layout: Layout = field(default_factory=Layout)
    mask: MaskForm | None = None
    pick: Pick = 0
    sizes: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    few_shapes: bool = False

    @property
    def __name__(self) -> str:
        return self.subject.title

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

    def with_changes(self, **changes: Any) -> Adapter:
        """Return the adapter with some fields of its description replaced."""
        return replace(self, **changes)

    def __call__(self, *arguments: Any) -> Any:
        """Refused: without a formula it is not known what the arguments are."""
        raise Unusable(f"{self.__name__} is an adapter; call what its for_formula(…) gives, or check it")


class Bound:
    """An adapter bound to a formula's inputs: an ordinary callable."""

    adapted = True

    def __init__(self, adapter: Adapter, formula: Formula) -> None:
        self.adapter, self.formula, self.subject = adapter, formula, adapter.subject
        self.inputs = tuple(str(item) for item in formula.inputs)
        self.tensors = {t.name: t for t in formula.tensors}
        self.letters = [t.name for t in formula.tensors if t.role == "parameter"]
        self.data = [t.name for t in formula.tensors if t.role == "data"]
        self.generators = [t.name for t in formula.tensors if t.role == "generator"]
        masks = [t.name for t in formula.tensors if t.role == "mask"]
        self.masked = masks[-1] if masks else ""
        self._mask_axes = [str(size) for size in self.tensors[self.masked].shape] if masks else []
        self._leading = [(name, len(self.tensors[name].shape)) for name in (*self.data, *masks[-1:])]
        self.__name__ = self.__qualname__ = adapter.__name__
        self.__module__ = ""
        self.call = None if adapter.call is None else ByName(adapter.call, f"the call of {self.__name__}", 1)
        self.pick = ByName(adapter.pick, f"pick of {self.__name__}", 1) if callable(adapter.pick) else None
        takes = self.call is None or "mask" in self.call.names(())
        self.form = adapter.mask or MaskForm(form="bnm" if self.masked and takes else "none")
        if adapter.mask is not None and not self.masked and self.form.passed:
            raise Unusable(f'{formula.id} has no mask; {self.__name__} can have mask="none" only')
        self.takes_mask = bool(self.masked) and self.form.form != "none"
        # What says the same to every head cannot say what examples say of each: they have one head.
        single = self.takes_mask and self.form.form in FOR_ALL_HEADS
        self.layout = replace(adapter.layout, single=single)
        self._known: dict[Any, dict[str, int]] = {}
        self._require_use()

    def _require_use(self) -> None:
        """Refuse a description that leaves an input out: it would be ignored without a word."""
        if self.takes_mask and self.form.passed and "mask" not in self.used_names:
            raise Unusable(f'the call of {self.__name__} takes no mask; name it, or say mask="none"')
        numbers = [t.name for t in self.formula.tensors if t.role == "number"]
        for name in (*self.data, *numbers):
            if name not in self.used_names and name not in self.adapter.fixed:
                instead = self._instead_of(name)
                taken = self.default_call if self.call is None else sorted(self.call.names(self.letters))
                takes = f"its call takes {', '.join(taken) or 'nothing'}"
                raise Unusable(f"{self.__name__} is given no {name} ({takes}){instead}")

    def _instead_of(self, name: str) -> str:
        """What to say of an input that it is not given, where it may do without."""
        item = self.tensors[name]
        same = [
            each for each in self.data if each != name and len(self.tensors[each].shape) == len(item.shape)
        ]
        if item.role == "number":
            return f'; if it has {name} built in, say which: fixed={{"{name}": …}} or --set {name}=…'
        if item.domain in WHOLE or not same:
            return (
                f'; if it counts {name} itself, say from where: fixed={{"{name}": "0.."}} or --set {name}=0..'
            )
        return f'; if {same[0]} is its {name}, too, say so: fixed={{"{name}": "{same[0]}"}} or --set {name}={same[0]}'

    @cached_property
    def unread_letters(self) -> frozenset[str]:
        """The parameters that no line reads: passed, for a module may have them, but not asked for."""
        return frozenset(name for name in self.letters if self.adapter.fixed.get(name, 0) is None)

    @cached_property
    def passed_inputs(self) -> list[str]:
        """The inputs that it is called with, but for the mask: what is fixed, and a generator, where it names them."""
        spare = {*self.adapter.fixed, *self.generators} - self.unread_letters
        return [
            name
            for name in self.inputs
            if name != self.masked and (name not in spare or name in self.used_names)
        ]

    @cached_property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_ONLY
        made = []
        for name in self.inputs:
            if name == self.masked:
                if self.takes_mask:
                    made.append(inspect.Parameter("mask", kind, default=None))
            elif name in self.passed_inputs:
                made.append(inspect.Parameter(f"i{len(made)}", kind))
        return inspect.Signature(made)

    @cached_property
    def default_call(self) -> list[str]:
        """The names of the arguments where no call is given."""
        every = [name for name in self.inputs if name != self.masked]
        taken = list(self.subject.default_call(self.data, every))
        if not self.subject.can_take(len(taken) + (self.takes_mask and self.form.passed)):
            taken = [name for name in taken if name not in self.generators]
        return [*taken, "mask"] if self.takes_mask and self.form.passed else taken

    @cached_property
    def used_names(self) -> frozenset[str]:
        """The names that the call, the pick and the building take."""
        parts = [each.names(self.letters) for each in (self.call, self.pick) if each is not None]
        default = self.default_call if self.call is None else ()
        return self.subject.built_by.union(default, *parts)

    # The call ----------------------------------------------------------------------------------------------------------

    def _name_arguments(self, arguments: Sequence[Any]) -> dict[str, Any]:
        given = dict(zip(self.passed_inputs, arguments, strict=False))
        for name, value in self.adapter.fixed.items():
            given.setdefault(name, value)
        if self.masked:
            given[self.masked] = (
                arguments[len(self.passed_inputs)] if len(arguments) > len(self.passed_inputs) else None
            )
        return given

    def sizes(self, given: Names) -> dict[str, int]:
        """The sizes, read off the inputs; those of data behind their leading dimensions."""
        shapes, known = [], {}
        for name, item in zip(self.inputs, self.formula.inputs, strict=True):
            value = given.get(name)
            if is_size(item):
                if value is not None:
                    known[item] = int(value)
            elif item.shape and isinstance(value, Tensor):
                shapes.append((item.shape, tuple(value.shape)[-len(item.shape) :]))
        key = tuple(own for _, own in shapes), tuple(known.values())
        if key not in self._known:
            pairs = [pair for declared, own in shapes for pair in zip(declared, own, strict=True)]
            try:
                found = solve_sizes(pairs, known)
            except WrongSize as error:
                raise Unusable(f"{self.formula.id}: {self.__name__}: {error}") from None
            self._known[key] = {str(size): int(value) for size, value in found.items()}
        return self._known[key]

    def _find_lead(self, given: Names) -> tuple[int, ...]:
        shapes = {
            tuple(given[name].shape)[: given[name].ndim - own]
            for name, own in self._leading
            if isinstance(given.get(name), Tensor)
        }
        if len(shapes) > 1:
            return tuple(torch.broadcast_shapes(*shapes))
        return next(iter(shapes), ())

    def prepare(self, arguments: Sequence[Any]) -> Callable[[], Any]:
        """Build what the call needs. It is kept, and no part of what is judged; what is returned is the call.

        Raises:
            Unusable: it cannot be built, or the weights do not fit; one line.
        """
        given = self._name_arguments(arguments)
        lead = self._find_lead(given)
        names = {**self.sizes(given), **{name: given[name] for name in given if name != self.masked}}
        letters = [name for name in self.letters if isinstance(given.get(name), Tensor)]

        def first(subject: Any) -> Any:
            return self._invoke(self._lay_out(given, names, lead))(subject)

        prepared = self.subject.prepare(names, letters, self.used_names | self.unread_letters, first)
        if self.layout.batch == SEPARATELY or self.form.form == "nm":
            return lambda: self._call_each(prepared, given, names, lead)
        return lambda: self._call_once(prepared, given, names, lead)

    def __call__(self, *arguments: Any) -> Any:
        """Call with the formula's inputs, batched or not."""
        return self.prepare(arguments)()

    def _call_each(self, prepared: Any, given: Names, names: Names, lead: tuple[int, ...]) -> Any:
        """Call it with every member by itself."""
        flat = {
            name: self.layout.flat(given[name], lead, len(self.tensors[name].shape))
            for name in (*self.data, self.masked)
            if isinstance(given.get(name), Tensor)
        }
        results = []
        for place in range(math.prod(lead)):
            member = {**given, **{name: value[place] for name, value in flat.items()}}
            own = {name: member[name] for name in flat if name != self.masked}
            found = self._call_once(prepared, member, {**names, **own}, ())
            results.append(found if isinstance(found, tuple) else (found,))
        stacked = tuple(
            torch.stack(parts).reshape((*lead, *parts[0].shape)) for parts in zip(*results, strict=True)
        )
        return stacked if len(stacked) > 1 else stacked[0]

    def _call_once(self, prepared: Any, given: Names, names: Names, lead: tuple[int, ...]) -> Any:
        names = self._lay_out(given, names, lead)
        letters = [name for name in self.letters if isinstance(given.get(name), Tensor)]
        result = self.subject.run(prepared, names, letters, self._invoke(names))
        outputs = [
            self.layout.outward(value, lead, len(item.shape), item.domain in WHOLE)
            if isinstance(value, Tensor)
            else value
            for item, value in zip(self.returned_tensors, self._pick_outputs(result, names), strict=False)
        ]
        return tuple(outputs) if len(outputs) > 1 else outputs[0]

    def _invoke(self, names: Names) -> Call:
        """The call with these names."""
        call = self.call
        if call is None:
            values = [names[name] for name in self.default_call]
            return lambda subject: subject(*values)
        return lambda subject: call(names, self.letters, subject)

    def _lay_out(self, given: Names, names: Names, lead: tuple[int, ...]) -> dict[str, Any]:
        """The names with data and the mask as they are passed."""
        names = dict(names)
        for name in self.data:
            item = self.tensors[name]
            if isinstance(given.get(name), Tensor):
                names[name] = self.layout.inward(given[name], lead, len(item.shape), item.domain in WHOLE)
        if self.takes_mask:
            names["mask"] = self._make_mask(given, lead, names)
        return names

    def _make_mask(self, given: Names, lead: tuple[int, ...], names: Names) -> Any:
        mask, axes = given.get(self.masked), self._mask_axes
        like = next(v for v in given.values() if isinstance(v, Tensor) and v.is_floating_point())
        queries = names[axes[-2]] if len(axes) > 1 else 0
        if mask is not None:
            mask = self.layout.flat(mask, lead, len(axes))
        sizes = queries, names[axes[-1]], names.get("h", 1)
        made = self.form.make(mask, math.prod(lead), sizes, like)
        return made if made is None or self.form.form == "nm" else self.layout.expand_mask(made, lead)

    @property
    def returned_tensors(self) -> tuple[arrays.Tensor, ...]:
        """What it has to return: the outputs, or what is drawn."""
        law = self.formula.law
        return self.formula.outputs if law is None else law.returns

    def _pick_outputs(self, result: Any, names: Names) -> list[Any]:
        pick, count = self.adapter.pick, len(self.returned_tensors)
        if self.pick is not None:
            try:
                found = self.pick(names, self.letters, result)
            except Unusable:
                raise
            except Exception as error:
                raise Unusable(
                    f"pick of {self.__name__} fails where it returns {_describe(result)}: {complaint(error)}"
                ) from error
            return list(found) if isinstance(found, tuple | list) else [found]
        assert not callable(pick)
        alone = isinstance(result, Tensor) or not hasattr(result, "__getitem__")
        if alone and pick in (0, [0], (0,)):
            return [result]
        places: list[Any] = [pick] if isinstance(pick, str) else []
        places = places or ([pick + k for k in range(count)] if isinstance(pick, int) else list(pick))
        try:
            if alone or not places:
                raise TypeError
            return [result[place] for place in places]
        except (IndexError, KeyError, TypeError):
            taken = f"takes {places[-1]!r}" if places else "takes nothing"
            raise Unusable(
                f"{self.__name__} returns {_describe(result)}; pick={pick!r} {taken} of it; expected {INSTEAD['pick']}"
            ) from None


def _describe(result: Any) -> str:
    what = f"a {type(result).__name__}"
    if isinstance(result, Mapping):
        return f"{what} with {', '.join(map(repr, list(result)[:8]))}"
    return (
        what if isinstance(result, Tensor) or not hasattr(result, "__len__") else f"{what} of {len(result)}"
    )


class Description(TypedDict, total=False):
    """What every adapter may say; see :func:`verify.adapt.module`."""

    mask: str | None
    pick: Pick
    batch: int | None
    seq_first: bool
    heads_axis: int | None
    sizes: Mapping[str, Any] | None
    fixed: Mapping[str, float | str] | None
    few_shapes: bool


def describe(subject: Subject, call: Callable[..., Any] | None, **how: Unpack[Description]) -> Adapter:
    """An adapter of a subject under a description.

    Raises:
        Unusable: text where a function is expected, or words of a mask that are none.
    """
    for name in how.keys() - Description.__annotations__.keys():
        known = f"no part of a description; expected {', '.join(Description.__annotations__)}"
        raise Unusable(f"{name} is {INSTEAD.get(name, known)}")
    require_function("call", call)
    words = how.get("mask")
    return Adapter(
        subject,
        call,
        Layout(how.get("batch"), how.get("seq_first", False), how.get("heads_axis")),
        None if words is None else MaskForm.of(words),
        how.get("pick", 0),
        dict(how.get("sizes") or {}),
        dict(how.get("fixed") or {}),
        how.get("few_shapes", False),
    )


def function(
    fn: Callable[..., Any], call: Callable[..., Any] | None = None, **how: Unpack[Description]
) -> Adapter:
    """A function of torch as it is: its arguments, its masks, its results.

    Where no ``call`` is given it takes all inputs in the statement's order; else ``call`` is given the function and what its
    other parameters name, ``lambda attend, q, k, v, mask: attend(q, k, v, attn_mask=mask)[0]``. The rest is as in
    :func:`module`, but that ``batch`` is any unless it is given.
    """
    return describe(Subject(fn), call, **how)


__all__ = [
    "Adapter",
    "Bound",
    "ByName",
    "Call",
    "Description",
    "Names",
    "Subject",
    "describe",
    "function",
]
