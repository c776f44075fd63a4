"""How a function says that it cannot use its inputs: one line with the formula, what it expected, and what it got.

The checks themselves stand in the functions, as bare comparisons: they run on every call, these lines only on refusal.
"""

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import TypeVar

import torch
from torch import Tensor

from impl._transforms import readable

Layers = TypeVar("Layers", bound=tuple[Tensor, ...])


def shapes(formula: str, expected: str, **given: Tensor) -> ValueError:
    """The error for shapes that do not fit ``expected``, for instance ``"q (... n d_k), k (... m d_k)"``."""
    got = ", ".join(f"{name} {tuple(x.shape)}" for name, x in given.items())
    return ValueError(f"{formula}: expected {expected}; got {got}")


def dtypes(formula: str, expected: str, **given: Tensor) -> TypeError:
    """The error for element types that do not fit ``expected``, for instance ``"one floating dtype"``."""
    got = ", ".join(f"{name} {str(x.dtype).removeprefix('torch.')}" for name, x in given.items())
    return TypeError(f"{formula}: expected {expected}; got {got}")


def kind(formula: str, name: str, expected: str, given: object) -> TypeError:
    """The error for an argument that is not ``expected``, for instance "a tensor"."""
    if isinstance(given, int) and is_long(given):
        got = f"an integer of {given.bit_length()} bits"  # its digits may be more than Python writes
    else:
        plain = given is None or isinstance(given, (bool, int, float, str))
        got = repr(given) if plain else type(given).__name__
    return TypeError(f"{formula}: expected {expected} as {name}; got {got}")


def option(formula: str, name: str, options: Sequence[object], given: object) -> ValueError:
    """The error for what is not one of the ``options`` that an argument has."""
    *others, last = map(repr, options)
    return ValueError(f"{formula}: {name} is {', '.join(others)} or {last}; got {given!r}")


def check_integers(formula: str, what: str, **given: Tensor) -> None:
    """Refuse tensors that are not of integers: "integer ids"."""
    if any(x.is_floating_point() or x.is_complex() or x.dtype == torch.bool for x in given.values()):
        raise dtypes(formula, what, **given)


def check_floating(formula: str, **given: Tensor) -> None:
    """Refuse tensors that are not all of one floating dtype (autocast may mix them: it casts them itself)."""
    first, *rest = given.values()
    alike = all(x.dtype == first.dtype for x in rest) or torch.is_autocast_enabled(first.device.type)
    if not (alike and all(x.is_floating_point() for x in given.values())):
        raise dtypes(formula, "one floating dtype", **given)


def check_lead(formula: str, vectors: Mapping[str, Tensor] | None = None, /, **given: Tensor) -> torch.Size:
    """The leading dimensions that ``vectors`` (each ... c) and the tensors (each ... r c) broadcast to; refuse them if
    there are none.
    """
    vectors = vectors or {}
    leads = [*(x.shape[:-1] for x in vectors.values()), *(x.shape[:-2] for x in given.values())]
    try:
        return broadcast_shapes(*leads)
    except RuntimeError:
        raise shapes(formula, "leading dimensions that broadcast", **vectors, **given) from None


def check_belonging(formula: str, lead: torch.Size, axes: int, **given: Tensor) -> torch.Size:
    """The leading dimensions of data and of what belongs to them, such as a mask, whose own ``axes`` come last; refuse what has
    more of them than the data, which would give a result of another shape, and what does not broadcast.
    """
    try:
        whole = broadcast_shapes(lead, *(x.shape[: x.ndim - axes] for x in given.values()))
    except RuntimeError:
        whole = None
    if whole is None or len(whole) != len(lead):
        names = " and ".join(given)
        raise shapes(
            formula, f"leading dimensions of {names} that broadcast to {tuple(lead)}, the data's", **given
        )
    return whole


def layers(formula: str, weights: Layers) -> Iterator[Layers]:
    """The weights of each layer, of a named tuple of stacked ones; refuse stacks that are not of equally many layers."""
    for name, part in zip(weights._fields, weights, strict=True):  # type: ignore[attr-defined]
        if not isinstance(part, Tensor):
            raise kind(formula, name, "a tensor", part)
    found = [tuple(part.shape) for part in weights]
    if () in found or len({height for height, *_ in found}) != 1:
        got = ", ".join(map(str, found))
        raise ValueError(f"{formula}: expected parameters of as many layers each, L first; got {got}")
    return map(type(weights)._make, zip(*weights, strict=True))  # type: ignore[attr-defined]


def list_ids(formula: str, ids: Iterable[int] | Tensor, size: int) -> list[int]:
    """Ids as a list; refuse what holds anything but integers, and integers that are not in 0..size − 1."""
    given = ids.tolist() if isinstance(ids, Tensor) else ids
    if not isinstance(given, Iterable):
        raise kind(formula, "ids", "a sequence of integers", given)
    found = list(given)
    if strange := [each for each in found if not is_integer(each)]:
        raise TypeError(f"{formula}: expected integers as ids; got {strange[0]!r}")
    if strange := [each for each in found if not 0 <= each < size]:
        raise IndexError(f"{formula}: expected ids in 0..{size - 1}; got {strange[0]}")
    return [int(each) for each in found]


def encode_text(formula: str, text: object) -> bytes:
    """A text in UTF-8; refuse what is no string, and a lone surrogate, which stands for no character."""
    if not isinstance(text, str):
        raise TypeError(f"{formula}: expected a string; got {text!r}")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        found = f"U+{ord(text[error.start]):04X} at {error.start}"
        raise ValueError(f"{formula}: expected characters; got the lone surrogate {found}") from None


def is_integer(value: object) -> bool:
    """Whether a value is a whole number, of NumPy or torch, too; not a bool."""
    try:
        operator.index(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError):
        return False
    return not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether a value is a real number, of NumPy, too; not a bool."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_long(value: object) -> bool:
    """Whether a value is an integer of more than 63 bits and a sign, which torch does not take."""
    return isinstance(value, int) and value.bit_length() > 63


def broadcast_shapes(*shapes: Sequence[int]) -> torch.Size:
    """The shape that all of these broadcast to; RuntimeError if there is none.

    What ``torch.broadcast_shapes`` says: its first call imports the compiler's symbols, which takes 40 ms, and each takes longer
    than a small product. A compiler, to which sizes may be such symbols, is left to it.
    """
    if torch.compiler.is_compiling():
        found: torch.Size = torch.broadcast_shapes(*shapes)
        return found
    whole = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for place, size in enumerate(shape, len(whole) - len(shape)):
            if size != 1:
                if whole[place] not in (1, size):
                    raise RuntimeError(
                        f"expected shapes that broadcast; got {', '.join(map(str, map(tuple, shapes)))}"
                    )
                whole[place] = size
    return torch.Size(whole)


def check_range(formula: str, name: str, ids: Tensor, size: int, besides: int | None = None) -> None:
    """Refuse integers that are neither in 0..size − 1 nor ``besides``, where looking at them is free."""
    if readable(ids) and ids.numel():
        low, high = ids.aminmax()
        if (low < 0 or high >= size) and _outside(ids, size, besides).any():
            raise out_of_range(formula, name, ids, size, besides)


def out_of_range(formula: str, name: str, ids: Tensor, size: int, besides: int | None = None) -> IndexError:
    """The error for integers that are neither in 0..size − 1 nor ``besides``: it names the first, and where it stands."""
    expected = f"{formula}: expected {name} in 0..{size - 1}, below {size}"
    if besides is not None:
        expected += f", or {besides}"
    if not readable(ids):
        return IndexError(expected)
    place = _outside(ids, size, besides).nonzero()[0].tolist()
    at, value = f"[{', '.join(map(str, place))}]" if place else "", ids[tuple(place)].item()
    return IndexError(f"{expected}; got {name}{at} = {value}")


def _outside(ids: Tensor, size: int, besides: int | None) -> Tensor:
    outside = (ids < 0) | (ids >= size)
    return outside if besides is None else outside & (ids != besides)
