"""How a callable takes the inputs of a formula: by position, in declared order; an optional mask also by its name.

A generator is left out where it draws from the global ones.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import torch

from spec.language.formula import Formula
from verify.faults import Unusable

MASKS = ("mask", "attn_mask", "attention_mask")
"""Names of the parameter that takes the mask, wherever it stands among the others."""
NO_MASKS = frozenset(
    {
        "scale",
        "scaling",
        "dropout",
        "causal",
        "block",
        "chunk",
        "tile",
        "window",
        "size",
        "eps",
        "epsilon",
        "temperature",
        "tau",
        "heads",
        "head",
        "generator",
        "seed",
        "training",
        "dtype",
        "device",
        "backend",
        "out",
        "cache",
        "alpha",
    }
)
"""Words in names of optional parameters that are something else, though they stand where the mask would."""
GENERATORS = ("generator", "gen", "rng", "prng")
"""Words in names of optional parameters that take a generator of random numbers."""
SEEDED = "it takes no generator: the global ones are seeded before each call, from that of the example"


@dataclass(frozen=True)
class CallForm:
    """Which inputs a callable takes, and how.

    Attributes:
        left_out: the inputs that it does not take: fixed ones, those that no line reads, and the generator.
        mask: whether it takes the optional mask.
        by_name: the parameter that the mask is passed to by its name; empty where it is passed by position.
        said: how the mask is passed, in a few words, where that is worth telling.
    """

    left_out: frozenset[str] = frozenset()
    mask: bool = False
    by_name: str = ""
    said: str = ""


def read_signature(
    fn: Callable[..., Any], formula: Formula, fixed: Collection[str], name: str, unread: Collection[str] = ()
) -> CallForm:
    """Read from a callable's signature how it takes the inputs; ``fixed`` ones and ``unread`` ones may be left out.

    Raises:
        Unusable: it cannot be called with the inputs.
    """
    inputs = [str(item) for item in formula.inputs]
    masked = bool(inputs) and formula.is_mask(formula.inputs[-1])
    try:
        signature = signature_of(fn)
    except (ValueError, TypeError):  # builtins that tell nothing about themselves: the first call shows
        return CallForm(mask=masked)
    generator = frozenset(t.name for t in formula.tensors if t.role == "generator")
    spare = [frozenset(fixed), *(frozenset([each]) for each in unread), generator]
    offered = {
        frozenset[str]().union(*some): 0 for r in range(len(spare) + 1) for some in combinations(spare, r)
    }
    known = {*fixed, *unread, *generator}
    ways = [way for left_out in offered if (way := _way(signature, inputs, left_out, known, masked))]
    if ways:  # that in which least stands instead of something else
        found = min(ways, key=lambda way: way[0])[1]
        seeded = SEEDED if generator & found.left_out else ""
        return replace(found, said="; ".join(filter(None, (found.said, seeded))))
    names = ", ".join(
        each + (" (optional)" if masked and place == len(inputs) - 1 else "")
        for place, each in enumerate(inputs)
    )
    raise Unusable(
        f"{formula.id} is called positionally with ({names}); {name}{signature} cannot be called so"
        + (
            "; verify.adapt.module says where its weights are"
            if isinstance(fn, torch.nn.Module)
            else _suggest_wrapper(signature, inputs, name) or "; verify.adapt.function says how it is called"
        )
    )


def _suggest_wrapper(signature: inspect.Signature, inputs: Sequence[str], name: str) -> str:
    """How to call by position what takes some arguments by keyword alone; empty where that is not the matter."""
    every = signature.parameters.values()
    first = [each for each in every if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    rest, named = inputs[len(first) :], [each for each in every if each.kind is each.KEYWORD_ONLY]
    pairs = {each.name: each.name for each in named if each.name in rest}
    if "mask" in rest:
        pairs |= zip(["mask"], (each.name for each in named if each.name in MASKS), strict=False)
    needed = [each.name for each in named if each.default is _EMPTY and each.name not in pairs.values()]
    pairs |= zip((each for each in rest if each not in pairs), needed, strict=False)
    passed = [each for each in inputs if each in pairs or each in inputs[: len(first)]]
    left = [each for each in inputs if each not in passed and each != "mask"]
    if not named or left or not name.isidentifier():
        return ""
    given = [f"{pairs[each]}={each}" if each in pairs else each for each in passed]
    return f"; by keyword alone, in a wrapper: lambda {', '.join(passed)}: {name}({', '.join(given)})"


def signature_of(fn: Callable[..., Any]) -> inspect.Signature:
    """The parameters of a callable: of a module those of its forward pass, of what was scripted those of its schema.

    Raises:
        ValueError, TypeError: it tells nothing about itself.
    """
    if isinstance(fn, torch.nn.Module):
        return inspect.signature(fn.forward)
    if isinstance(fn, functools.partial) and isinstance(fn.func, torch.nn.Module):
        return inspect.signature(functools.partial(fn.func.forward, *fn.args, **fn.keywords))
    if isinstance(fn, torch.jit.ScriptFunction):
        schema: Any = fn.schema  # a property, whatever its stub says
        kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        return inspect.Signature(
            [
                inspect.Parameter(
                    part.name, kinds[part.kwarg_only], default=None if part.has_default_value() else _EMPTY
                )
                for part in schema.arguments
            ]
        )
    return inspect.signature(fn)


def matched(fn: Callable[..., Any], passed: Sequence[str]) -> str:
    """Which parameter each input is passed to, where their names differ; empty where they do not, or nothing is known."""
    fn = getattr(fn, "inner", fn)
    try:
        bound = signature_of(fn).bind(*passed).arguments
    except (ValueError, TypeError):
        return ""
    pairs = {name: value for name, value in bound.items() if isinstance(value, str)}
    if hasattr(fn, "adapted") or all(name == value for name, value in pairs.items()):
        return ""
    said = ", ".join(f"{name}={value}" for name, value in pairs.items())
    return f"it was given {said}; verify.adapt.function says how else it is called"


_EMPTY = inspect.Parameter.empty


def _way(
    signature: inspect.Signature,
    inputs: Sequence[str],
    left_out: frozenset[str],
    optional: Collection[str],
    masked: bool,
) -> tuple[int, CallForm] | None:
    """How the inputs but these are passed, and how many then stand instead of something else; None where they cannot be.

    ``optional``: those of which a parameter's name says whether it takes them.
    """
    passed = [name for name in inputs if name not in left_out]
    last = len(passed) - 1
    bound = _try_bind(signature, len(passed))
    known = [name for name in MASKS if name in signature.parameters] if masked else []
    at_home = bound is not None and any(bound.arguments.get(name) == last for name in known)
    named = "" if at_home else next((name for name in known if _try_bind(signature, last, name)), "")
    found = CallForm(left_out, masked)
    if named:
        bound = _try_bind(signature, last, named)
        found = CallForm(left_out, True, named, f"the mask is passed by its name, {named}")
    elif bound is None and masked:
        bound, found = _try_bind(signature, last), CallForm(left_out)
    if bound is None:
        return None
    places = _places(signature, bound)
    if found.mask and not named and _no_mask(signature.parameters.get(places.get(last, ""))):
        said = f"{places[last]} keeps its default"
        bound, found = _try_bind(signature, last), CallForm(left_out, said=said)
        if bound is None:
            return None
    if found.mask and not named and "mask" not in places.get(last, "mask"):
        found = replace(found, said=f"the mask is passed as {places[last]}")
    strange = [
        name
        for place, name in enumerate(passed)
        if name in optional and not _is_called(name, places.get(place, name))
    ]
    return len(strange) + bool(known and not (named or at_home)), found


def _is_called(name: str, parameter: str) -> bool:
    """Whether a parameter's name says that it takes an input."""
    words = parameter.lower().split("_")
    return (
        name in parameter or parameter in name or (name in GENERATORS and not {*GENERATORS}.isdisjoint(words))
    )


def _no_mask(parameter: inspect.Parameter | None) -> bool:
    """Whether an optional parameter that stands where the mask would is something else, by its default or by its name."""
    if parameter is None or "mask" in parameter.name.lower():
        return False
    return parameter.default is not None or not NO_MASKS.isdisjoint(parameter.name.lower().split("_"))


def _places(signature: inspect.Signature, bound: inspect.BoundArguments) -> dict[int, str]:
    """The parameter with a default in which each input stands; those that have to be given may be called as they like."""
    return {
        value: name
        for name, value in bound.arguments.items()
        if isinstance(value, int) and signature.parameters[name].default is not _EMPTY
    }


def _try_bind(signature: inspect.Signature, count: int, *names: str) -> inspect.BoundArguments | None:
    """Numbers of so many inputs bound by position, others by name; None where that is no call."""
    try:
        return signature.bind(*range(count), **dict.fromkeys(names))
    except TypeError:
        return None


def in_place(fn: Callable[..., Any], count: int, name: str) -> Callable[..., Any]:
    """``fn``, whose last of so many inputs is passed by its name, as a callable that takes all of them by position."""

    def call(*inputs: Any) -> Any:
        named = {name: inputs[count - 1]} if len(inputs) == count else {}
        return fn(*inputs[: count - 1], **named)

    call.inner = fn  # type: ignore[attr-defined]
    return call


__all__ = ["MASKS", "CallForm", "in_place", "matched", "read_signature"]
