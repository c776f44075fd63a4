"""What public functions are given: a tensor, an integer, an option where they say so; or one line that names what is not. Where
torch fails, tensors of a kind that it has few operations for, of 8 bits or sparse, are named.

A package says ``check_arguments(__name__)`` once, behind its names. Only calls from outside are checked: within a package,
functions call each other as they are. Under the compiler, options alone are checked.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from types import FunctionType, NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, Unpack, get_args, get_origin, get_type_hints

import torch
from torch import Tensor, nn

from impl import _refuse


class Kind(NamedTuple):
    """What is expected of an argument: in words, or as the options that it has; and whether a value is that."""

    words: str
    fits: Callable[[object], bool]
    options: tuple[object, ...] = ()

    def refusal(self, told: str, name: str, given: object) -> Exception:
        """The error for a value that is not of the kind."""
        if self.options:
            return _refuse.option(told, name, self.options, given)
        if _refuse.is_long(given) and self.words.startswith((INTEGER.words, NUMBER.words)):
            return ValueError(str(_refuse.kind(told, name, f"{self.words} of 63 bits at most", given)))
        return _refuse.kind(told, name, self.words, given)


UNMAPPED = "vmap: It looks like", "vmap: We do not support batching operators that can output dynamic shape"
"""How torch's errors begin where vmap has no values to look at."""
INTEGER = Kind(
    "an integer",
    lambda value: (type(value) is int or _refuse.is_integer(value)) and not _refuse.is_long(value),
)
NUMBER = Kind(
    "a number",
    lambda value: type(value) is float or (_refuse.is_number(value) and not _refuse.is_long(value)),
)


def check_arguments(package: str) -> None:
    """Have what ``package`` names in ``__all__``, functions and classes, refuse arguments of the wrong kind: TypeError."""
    module = sys.modules[package]
    for name in module.__all__:
        public, told = getattr(module, name), f"{package.removeprefix('impl.')}.{name}"
        if isinstance(public, FunctionType):
            checked = _checked(public, told)
            setattr(module, name, checked)
            setattr(sys.modules[public.__module__], public.__name__, checked)  # where pickle looks for it
        elif isinstance(public, type) and not (issubclass(public, tuple) or is_dataclass(public)):
            ours = [vars(base) for base in reversed(public.__mro__) if base.__module__.startswith("impl.")]
            for attribute, method in {name: x for own in ours for name, x in own.items()}.items():
                if isinstance(method, FunctionType) and (attribute == "__init__" or attribute[0] != "_"):
                    setattr(public, attribute, _checked(method, told))


def _checked(function: Callable[..., Any], told: str) -> Callable[..., Any]:
    """The function, refusing arguments that are not of their kind."""
    kinds: dict[str, Kind | None] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        hint = parameter.annotation
        # What a typed dictionary holds is given by name, as if each entry were a parameter.
        packed = get_type_hints(get_args(hint)[0]) if get_origin(hint) is Unpack else {parameter.name: hint}
        kinds |= {name: _kind(own) for name, own in packed.items()}
    placed = list(kinds.items())
    named_by_callers = [name for name in kinds if name != "self"]

    @functools.wraps(function)
    def checked(*args: Any, **named: Any) -> Any:
        if not torch.compiler.is_compiling():
            for (name, kind), value in zip(placed, args, strict=False):
                if kind is not None and not kind.fits(value):
                    raise kind.refusal(told, name, value)
        for name, value in named.items():
            if name not in kinds and "options" not in kinds:  # **options are another function's
                raise TypeError(
                    f"{told}: expected no argument {name!r}; it has {', '.join(named_by_callers)}"
                )
            kind = kinds.get(name)
            if (
                kind is not None
                and (kind.options or not torch.compiler.is_compiling())
                and not kind.fits(value)
            ):
                raise kind.refusal(told, name, value)
        try:
            return function(*args, **named)
        except RuntimeError as error:
            if str(error).startswith(UNMAPPED):  # torch says at length which of its own functions
                raise RuntimeError(f"{told}: vmap cannot follow it: it looks at values") from error
            unusual = _refuse_unusual(told, dict(zip(kinds, args, strict=False)) | named)
            if unusual is not None:
                raise unusual from error
            raise

    # The compiler counts how often it compiles one code: each function has its own.
    checked.__code__ = checked.__code__.replace(co_name=function.__name__)  # type: ignore[attr-defined]
    return checked


def _refuse_unusual(told: str, given: Mapping[str, object]) -> TypeError | None:
    """The error for a tensor, also of a module or a named tuple, that torch has few operations for: of 8 bits, or sparse."""
    tensors = dict[str, object]()
    for name, value in given.items():
        own = dict(value.named_parameters()) if isinstance(value, nn.Module) else {name: value}
        tensors |= value._asdict() if hasattr(value, "_asdict") else own
    for name, x in tensors.items():
        if isinstance(x, Tensor) and x.is_floating_point() and x.dtype.itemsize < 2:
            return _refuse.dtypes(told, f"a floating {name} of 16 bits or more", **{name: x})
        if isinstance(x, Tensor) and x.layout != torch.strided:
            return TypeError(f"{told}: expected a dense tensor as {name}; got {x.layout}")
    return None


def _kind(hint: Any) -> Kind | None:
    """The kind that an annotation asks for; None where it leaves more than one open."""
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        return Kind("one of several", lambda value: isinstance(value, str) and value in choices, choices)
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    wanted = [getattr(option, "array_type", option) for option in options if option is not NoneType]
    if set(wanted) == {int, float}:
        wanted = [float]
    if len(wanted) != 1 or not isinstance(wanted[0], type) or getattr(wanted[0], "_is_protocol", False):
        return None
    (kind,) = wanted
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return Kind(kind.__name__, lambda value: getattr(value, "_fields", None) == kind._fields)
    if kind in (bool, str, inspect.Parameter.empty) or issubclass(kind, (tuple, nn.Module)):
        return None  # a module may be compiled, or wrapped by another
    known = {int: INTEGER, float: NUMBER, Tensor: Kind("a tensor", lambda value: isinstance(value, Tensor))}
    torchs = "torch." if kind.__module__.startswith("torch") else ""
    other = Kind(f"a {torchs}{kind.__name__}", lambda value: isinstance(value, kind))
    words, fits, _ = known.get(kind) or other
    if NoneType in options:
        return Kind(f"{words} or None", lambda value: value is None or fits(value))
    return Kind(words, fits)
