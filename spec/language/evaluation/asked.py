"""What a user asks of a formula: inputs that it has, numbers that they may be. The evaluation itself takes them as they come."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from spec.language.arrays import WHOLE, Tensor
from spec.language.evaluation.binding import bind
from spec.language.evaluation.dimensions import whole
from spec.language.formula import Formula

DOMAINS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "positive": ("positive", lambda x: x > 0),
    "nonnegative": ("no less than 0", lambda x: x >= 0),
    "share": ("from 0 to 1", lambda x: (x >= 0) & (x <= 1)),
}
"""What numbers of a domain are, in words and as a condition; NaN is asked nothing."""


def asked(formula: Formula, inputs: Any, conventions: Any = None) -> dict[str, Any]:
    """Inputs by name, each of which the formula has, of its domain.

    Raises:
        ValueError: one line that names the formula, the input, what was expected and what was given.
    """
    if conventions is not None and not isinstance(conventions, Mapping):
        raise ValueError(f"{formula.id}: conventions map names to options; got {conventions!r}")
    known = {str(item): item for item in formula.inputs}
    if isinstance(inputs, Mapping):
        found = dict(inputs)
    elif isinstance(inputs, Sequence) and not isinstance(inputs, str | bytes):
        if len(inputs) > len(known):
            raise ValueError(
                f"{formula.id} has {len(known)} inputs ({', '.join(known)}); {len(inputs)} were given"
            )
        found = dict(zip(known, inputs, strict=False))
    else:
        raise ValueError(
            f"{formula.id}: inputs are given by name, or as a list in declared order; got {inputs!r}"
        )
    for name, value in found.items():
        if name not in known:
            raise ValueError(f"{formula.id} has no input {name!r}; it has: {', '.join(known)}")
        item = known[name]
        if isinstance(item, Tensor):
            _of_its_domain(formula, item, value)
        elif not _is_whole(value) or value < 0:
            raise ValueError(
                f"{formula.id}: the size {name} must be a whole number of at least 0; {value!r} was given"
            )
    sizes = bind(formula.flat(conventions), found).sizes
    for name, item in known.items():
        if (
            isinstance(item, Tensor)
            and item.domain in WHOLE
            and item.below != 0
            and found.get(name) is not None
        ):
            _below(formula, item, np.asarray(found[name]), whole(item.below, sizes))
    return found


def seeded(formula: Formula, seeds: Any) -> dict[str, Any]:
    """Gradients by outputs, each of which the formula has; one that stands alone is that by the first.

    Raises:
        ValueError: one that it does not have; one line.
    """
    names = [output.name for output in formula.outputs]
    if not isinstance(seeds, Mapping):
        seeds = {names[0]: seeds}
    for name in seeds:
        if name not in names:
            raise ValueError(f"{formula.id} has no output {name!r}; it has: {', '.join(names)}")
    return dict(seeds)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)


def _of_its_domain(formula: Formula, item: Tensor, value: Any) -> None:
    if value is None or item.role == "generator" or item.domain == "boolean" or item.domain in WHOLE:
        return
    try:
        array = np.asarray(value)
    except Exception as error:  # a tensor of a type that NumPy has not, say
        said = str(error).splitlines()[0]
        raise ValueError(f"{formula.id}: {item.name} must be an array of numbers; {said}") from None
    if array.dtype == object:  # balls
        return
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{formula.id}: {item.name} must hold real numbers; {array.dtype} was given")
    said, holds = DOMAINS.get(item.domain, ("", None))
    if holds is not None and not (np.isnan(array) | holds(array)).all():
        worst = array[~(np.isnan(array) | holds(array))].flat[0]
        raise ValueError(f"{formula.id}: {item.name} must be {said}; {worst:g} was given")


def _below(formula: Formula, item: Tensor, array: Any, below: int) -> None:
    """Labels may say that nothing is asked, by a negative number."""
    label = item.domain == "label"
    beyond = array[(array >= below) | ((array < 0) & (not label))]
    if beyond.size:
        least = "" if label else ", and none below 0"
        raise ValueError(
            f"{formula.id}: {item.name} must hold numbers below {below}{least}; {beyond.flat[0]} was given"
        )


__all__ = ["asked", "seeded"]
