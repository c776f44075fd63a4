"""A formula some of whose inputs are given: one that is another of them (self-attention: ``y=x``), or that counts (``pos=0..``).

What is left is a formula of its own, which applies the first: it has the other inputs, and no theorems.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from spec.language.arrays import Tensor, each
from spec.language.evaluation.dimensions import Size, is_size, solve_size
from spec.language.expr import lift
from spec.language.formula import Formula
from spec.language.lines import define
from spec.language.symbols import indices
from spec.language.trees import free_symbols, substitute
from verify.faults import Unusable

COUNTING = re.compile(r"\s*(\d+)\s*\.\.\s*")
"""``0..``: the entries of a row are 0, 1, 2, …"""


def implied_sizes(formula: Formula, words: Mapping[str, str]) -> dict[str, str]:
    """The rules that counting implies: a table has a row for each of the positions."""
    found = {}
    for item in formula.tensors:
        if (first := COUNTING.fullmatch(words.get(item.name, ""))) and is_size(item.below):
            more = int(first[1]) - 1  # so many rows stand before the first
            found[str(item.below)] = f"{item.shape[-1]} + any" + (
                f" + {more}" if more > 0 else " - 1" * (more < 0)
            )
    return found


def given_words(formula: Formula, fixed: Any) -> dict[str, str]:
    """Those of what is fixed that are words about an array, not numbers: the name of another input, or ``0..``."""
    arrays = {t.name for t in formula.tensors if t.role in ("data", "parameter")}
    every = fixed.items() if isinstance(fixed, Mapping) else ()
    return {
        name: value.strip()
        for name, value in every
        if name in arrays and isinstance(value, str) and not _is_number(value)
    }


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def with_given(formula: Formula, words: Mapping[str, str]) -> Formula:
    """The formula whose named inputs are what the words say; itself where none is named.

    Raises:
        Unusable: a word that says nothing, shapes that do not fit, or a law; one line.
    """
    if words and formula.law is not None:
        raise Unusable(
            f"{formula.id} is a law: its inputs are drawn, and {', '.join(words)} cannot be given by words"
        )
    try:
        return _made(formula, tuple(sorted(words.items()))) if words else formula
    except ValueError as error:
        raise Unusable(f"{formula.id}: {', '.join(words)} cannot be given so: {error}") from None


@lru_cache(maxsize=64)
def _made(formula: Formula, words: tuple[tuple[str, str], ...]) -> Formula:
    items = {str(item): item for item in formula.inputs}
    said = ", ".join(f"{name}={word}" for name, word in words)
    changes: dict[Any, Any] = {}
    for name, word in words:
        if COUNTING.fullmatch(word):
            continue
        one, other = items[name], items.get(word)
        if not isinstance(other, Tensor) or len(other.shape) != len(one.shape) or word in dict(words):
            raise Unusable(
                f"{formula.id}: {name} is given as {word!r}; expected a number, another input of its shape, or 0.. for "
                "entries that count"
            )
        for size, same in zip(one.shape, other.shape, strict=True):
            if (now := substitute(size, changes)) != (then := substitute(same, changes)):
                changes |= solve_size(now, then, {}) or {}
    left = [_resized(item, changes) for name, item in items.items() if name not in dict(words)]
    known = set().union(
        *(free_symbols(size) for item in left if isinstance(item, Tensor) for size in item.shape)
    )
    arguments = []
    for name, item in items.items():
        word = dict(words).get(name, name)
        if (first := COUNTING.fullmatch(word)) is None:
            arguments.append(_resized(items[word], changes))
            continue
        shape = [substitute(size, changes) for size in item.shape]
        left[:0] = [size for size in shape[-1:] if is_size(size) and size not in {*known, *left}]
        at = list(indices(**{f"i_{place}": size for place, size in enumerate(shape)}))
        arguments.append(each(lift(at[-1] + int(first[1])), *at))
    outputs = tuple(_resized(item, changes) for item in formula.outputs)
    whole = formula(*arguments)
    return Formula(
        f"{formula.id}({said})",
        formula.title,
        why=formula.why,
        sizes={size: what for size, what in formula.sizes.items() if size not in changes},
        inputs=tuple(left),
        lines=tuple(
            define(item, whole.output(item.name)) if item.shape else define(item, whole.output(item.name)[()])
            for item in outputs
        ),
        outputs=outputs,
        conventions=formula.conventions,
        sources=formula.sources,
        auxiliary=True,
    )


def _resized(item: Any, changes: Mapping[Size, Any]) -> Any:
    """An input or output at other sizes."""
    if not isinstance(item, Tensor) or not changes:
        return item
    shape = tuple(substitute(size, changes) for size in item.shape)
    return Tensor(item.name, shape, item.domain, item.role, substitute(item.below, changes), item.meaning)


__all__ = ["given_words", "implied_sizes", "with_given"]
