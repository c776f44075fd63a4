"""What the letters of a statement mean in a theorem about it: the lines of the formula, and its abbreviations.

A theorem about layer normalization may write μ for the line that the formula calls so, and x̂ for what the formula abbreviates.
Pages show the letters; the checker and the oracle read what they mean.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sympy.core.basic import Basic
from sympy.core.containers import Tuple as BasicTuple

from spec.language.arrays import Comprehension, Tensor
from spec.language.calls import Call
from spec.language.expr import Ref
from spec.language.trees import substitute, transform, walk


@lru_cache(maxsize=4096)
def meant(node: Any, formula: Any) -> Any:
    """A tree of a theorem with every letter that is the formula's own replaced by what it means."""
    if not any(isinstance(part, Tensor) and part.role == "internal" for part in walk(node)):
        return node
    return transform(node, lambda part: _meaning(part, formula))


def _meaning(part: Basic, formula: Any) -> Basic | None:
    if isinstance(part, Call):  # a whole array given as an argument
        arguments = tuple(_array(value, formula) for value in part.arguments)
        return Call(part.args[0], part.args[1], BasicTuple(*arguments), part.args[3])
    if not isinstance(part, Ref) or part.tensor.role != "internal":
        return None
    line = formula.abbreviations.get(part.tensor.name)
    if line is not None and line.left.tensor == part.tensor:
        body: Basic = substitute(
            meant(line.right, formula), dict(zip(line.left.index, part.index, strict=True))
        )
        return body
    if any(line.left.tensor == part.tensor for line in formula.definitions):
        stated: Call = formula(*formula.inputs).output(part.tensor.name).entry(part.index)
        return stated
    return None


def _array(value: Basic, formula: Any) -> Basic:
    if not isinstance(value, Tensor) or value.role != "internal":
        return value
    every = value[()]
    return meant(every, formula) if isinstance(every, Ref | Comprehension) else value
