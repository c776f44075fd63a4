"""Elaboration: a tree of a theorem in the inputs of its formula alone. Prover, guard and checks of callables read nothing else.

A theorem about layer normalization may write μ for the line that the formula calls so, and x̂ for what the formula abbreviates.
Pages show these letters. A line stands for the formula, applied to its own inputs; an abbreviation for its right side, which is
said for every entry, by indices that are letters, each over its whole axis. So every entry has one meaning, and putting it in
captures nothing. What is declared of a letter (that it is positive, say) is not believed: its meaning has to be so.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sympy.core.basic import Basic
from sympy.core.containers import Tuple as BasicTuple
from sympy.core.symbol import Str

from spec.language.arrays import Tensor
from spec.language.binders import Expectation
from spec.language.calls import Application, Call
from spec.language.expr import Ref
from spec.language.lines import Definition
from spec.language.trees import substitute, transform, walk
from spec.language.wellformed.letters import IllFormed


def elaborate(tree: Any, formula: Any) -> Any:
    """The tree with every letter that the formula defines, in a line or as an abbreviation, replaced by what it means.

    Raises:
        IllFormed: such a letter is said to be random.
    """
    return _elaborated(tree, formula, len(formula.abbreviations))


@lru_cache(maxsize=4096)
def _elaborated(tree: Any, formula: Any, abbreviations: int) -> Any:
    """The same, until the formula has more abbreviations."""
    letters: dict[Tensor, Definition | None] = dict.fromkeys(line.left.tensor for line in formula.definitions)
    letters |= {line.left.tensor: line for line in formula.abbreviations.values()}
    if not any(part in letters for part in walk(tree)):
        return tree
    return _Meanings(formula, letters).of(tree)


class _Meanings:
    """What the letters of a formula mean: None for those of its lines."""

    def __init__(self, formula: Any, letters: Mapping[Tensor, Definition | None]) -> None:
        self.formula, self.letters = formula, letters

    def of(self, tree: Any) -> Any:
        """A tree, or an array, in the inputs of the formula alone."""
        return transform(tree[()] if tree in self.letters else tree, self._meaning)

    def _meaning(self, part: Basic) -> Basic | None:
        if isinstance(part, Application):  # arrays that it is given as a whole, and what it pulls back
            callee, output, given, *rest = part.args
            return part.func(callee, output, BasicTuple(*map(self.of, given.args)), *map(self.of, rest))
        if isinstance(part, Expectation):
            for tensor in part.random:
                if tensor in self.letters:
                    raise IllFormed(f"{self.formula.id}: {tensor} stands for something, and cannot be random")
        if not isinstance(part, Ref) or part.tensor not in self.letters:
            return None
        line = self.letters[part.tensor]
        if line is None:
            name, own = Str(part.tensor.name), BasicTuple(*self.formula.inputs)
            return Call(Str(self.formula.id), name, own, BasicTuple(*part.index))
        at = dict(zip(line.left.index, part.index, strict=True))
        body: Basic = substitute(elaborate(line.right, self.formula), at)
        return body
