"""Exponentials that are divided by their own sum.

Every implementation of softmax subtracts the row's maximum (or a running one) before it exponentiates. The value does not
change, the rounding does; so the error analysis must know, for an exponential, over which index its sum runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import sympy
from sympy.core.basic import Basic

from spec.language.arrays import Tensor
from spec.language.binders import MaxOf, SumOf
from spec.language.expr import Func, Node
from spec.language.trees import free_symbols, substitute, walk

if TYPE_CHECKING:
    from spec.language.lines import Definition


class Families:
    """The sums of exponentials in some lines, and which exponential belongs to which."""

    def __init__(self, sums: Iterable[tuple[SumOf, Node]]) -> None:
        self.sums = tuple(sums)
        self._found: dict[Node, tuple[tuple[object, ...], MaxOf] | None] = {}

    @classmethod
    def of_lines(cls, lines: Iterable[Definition]) -> Families:
        """Collect the sums over an index of which an exponential inside depends."""
        found: dict[tuple[SumOf, Node], None] = {}
        for line in lines:
            for node in walk(line.right):
                if isinstance(node, SumOf):
                    for part in walk(node.body):
                        if isinstance(part, Func) and part.name == "exp" and node.var in free_symbols(part):
                            found.setdefault((node, part.args[1]), None)
        plain = [(total, exponent) for total, exponent in found if total.body == Func("exp", exponent)]
        return cls([*plain, *(pair for pair in found if pair not in plain)])

    def of(self, argument: Node) -> tuple[tuple[object, ...], MaxOf] | None:
        """The family of ``exp(argument)``: a tag, and the largest exponent it is divided with; None if it has no sum."""
        if argument not in self._found:
            self._found[argument] = self._search(argument)
        return self._found[argument]

    def _search(self, argument: Node) -> tuple[tuple[object, ...], MaxOf] | None:
        for number, (total, template) in enumerate(self.sums):
            match: dict[sympy.Symbol, Basic] = {}
            if not _matches(template, argument, match):
                continue
            outer = {old: new for old, new in match.items() if old != total.var}
            largest = MaxOf(template, total.var, total.first, total.last, total.where)
            tag = (number, *sorted((str(old), str(new)) for old, new in outer.items()))
            return tag, substitute(largest, outer)
        return None


def _matches(template: Basic, tree: Basic, match: dict[sympy.Symbol, Basic]) -> bool:
    """Whether ``tree`` is ``template`` with its index symbols (not the sizes) replaced consistently."""
    if isinstance(template, sympy.Symbol) and not template.is_positive:
        return match.setdefault(template, tree) == tree
    if isinstance(template, Tensor) or not template.args:
        return template == tree
    if template.func is not tree.func or len(template.args) != len(tree.args):
        return False
    return all(_matches(a, b, match) for a, b in zip(template.args, tree.args, strict=True))
