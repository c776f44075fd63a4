"""Exponentials that are divided by their own sum.

Every implementation of softmax subtracts the row's maximum (or a running one) before it exponentiates. The value does not
change, the rounding does; so the error analysis must know, for an exponential, over which index its sum runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import sympy
from sympy.core.basic import Basic

from spec.language.arrays import Tensor
from spec.language.binders import MaxOf, SumOf
from spec.language.expr import TRUE, Func, Literal, Node, Over, Plus, Ref, case, eq, exp, log
from spec.language.lines import Definition
from spec.language.trees import free_symbols, substitute, walk


class SoftmaxGroups:
    """The sums of exponentials in some lines, and which exponential belongs to which.

    A sum is one over an index, or one of several terms that something is divided by, or whose logarithm is taken:
    ``exp(z) + Σⱼ exp(sⱼ)``, or ``1 + exp(t)``, whose 1 is exp(0).
    """

    def __init__(self, sums: Iterable[_Sum]) -> None:
        self.sums = tuple(sums)
        self._found: dict[Node, tuple[tuple[object, ...], MaxOf] | None] = {}

    @classmethod
    def of_lines(cls, lines: Iterable[Definition]) -> SoftmaxGroups:
        """Collect the sums over an index of which an exponential inside depends, and those of several exponentials."""
        lines = tuple(lines)
        alone = {tensor: line for tensor, line in _alone(lines) if isinstance(line.right, SumOf | Plus)}
        several: dict[_Sum, None] = {}
        found: dict[tuple[SumOf, Node], None] = {}
        for line in lines:
            for node in walk(line.right):
                if (total := _find_divisor(node, alone)) is not None:
                    several |= dict.fromkeys(_joint(total, alone))
                if isinstance(node, SumOf):
                    for part in walk(node.body):
                        if isinstance(part, Func) and part.name == "exp" and node.var in free_symbols(part):
                            found.setdefault((node, part.args[1]), None)
        plain = [(total, exponent) for total, exponent in found if total.body == exp(exponent)]
        ordered = [*plain, *(pair for pair in found if pair not in plain)]
        return cls(
            [*several, *(_Sum(exponent, _largest(total, exponent), total.var) for total, exponent in ordered)]
        )

    def of(self, argument: Node) -> tuple[tuple[object, ...], MaxOf] | None:
        """The family of ``exp(argument)``: a tag, and the largest exponent it is divided with; None if it has no sum."""
        if argument not in self._found:
            self._found[argument] = self._search(argument)
        return self._found[argument]

    def _search(self, argument: Node) -> tuple[tuple[object, ...], MaxOf] | None:
        for number, each in enumerate(self.sums):
            match: dict[sympy.Symbol, Basic] = {}
            if not _matches(each.exponent, argument, match):
                continue
            outer = {old: new for old, new in match.items() if old != each.var}
            largest = substitute(each.largest, outer)
            indices = {symbol for symbol in free_symbols(largest) if not symbol.is_positive}
            if each.joint and not indices <= free_symbols(argument):
                continue  # a sum for each index, and one exponential for all: which of them it is divided by, it cannot say
            tag = (number, *sorted((str(old), str(new)) for old, new in outer.items()))
            return tag, largest
        return None


@dataclass(frozen=True)
class _Sum:
    """An exponent in a sum of exponentials, the largest of them, and what the sum runs over; ``joint``: one of several terms."""

    exponent: Node
    largest: MaxOf
    var: sympy.Symbol | None = None
    joint: bool = False


def _largest(total: SumOf, exponent: Node) -> MaxOf:
    return MaxOf(exponent, total.var, total.first, total.last, total.where)


def _alone(lines: Iterable[Definition]) -> Iterator[tuple[Tensor, Definition]]:
    """The lines that define a whole array, each by itself, and that array."""
    lines = tuple(lines)
    several = Counter(line.left.tensor for line in lines)
    for line in lines:
        if several[line.left.tensor] == 1 and all(
            isinstance(index, sympy.Symbol) for index in line.left.index
        ):
            yield line.left.tensor, line


def _at(node: Ref, lines: Mapping[Tensor, Definition]) -> Node:
    """What an entry is by its line, if it has one of these."""
    line = lines.get(node.tensor)
    return substitute(line.right, dict(zip(line.left.index, node.index, strict=True))) if line else node


def _find_divisor(node: Basic, lines: Mapping[Tensor, Definition]) -> Plus | None:
    """A sum of several terms that is a divisor, or the argument of a logarithm; it may be a line of its own."""
    if isinstance(node, Over) or (isinstance(node, Func) and node.name == "log"):
        total = node.args[1]
    else:
        return None
    total = _at(total, lines) if isinstance(total, Ref) else total
    return total if isinstance(total, Plus) else None


def _joint(node: Plus, lines: Mapping[Tensor, Definition]) -> Iterator[_Sum]:
    """The exponents of a sum of several exponentials, or of some and positive numbers; nothing where it has other terms.

    Some of the sums in it may be ``lines`` of their own.
    """
    exponents: list[tuple[Node, sympy.Symbol | None]] = []
    every: list[Node] = []
    for term in _terms(node, lines):
        if isinstance(term, Func) and term.name == "exp":
            exponents.append((term.args[1], None))
            every.append(term.args[1])
        elif isinstance(term, SumOf) and isinstance(term.body, Func) and term.body.name == "exp":
            exponents.append((term.body.args[1], term.var))
            every.append(_largest(term, term.body.args[1]))
        elif isinstance(term, Literal) and term.value.is_positive:
            every.append(log(term))
        else:
            return
    if len(every) < 2 or not exponents:
        return
    which = sympy.Symbol("of", integer=True, nonnegative=True)
    chosen = every[-1]
    for place, each in reversed(tuple(enumerate(every[:-1]))):
        chosen = case(eq(which, place), each, chosen)
    largest = MaxOf(chosen, which, sympy.Integer(0), sympy.Integer(len(every) - 1), TRUE)
    for exponent, var in exponents:
        yield _Sum(exponent, largest, var, joint=True)


def _terms(node: Node, lines: Mapping[Tensor, Definition]) -> Iterator[Node]:
    node = _at(node, lines) if isinstance(node, Ref) else node
    if isinstance(node, Plus):
        for part in node.args:
            yield from _terms(part, lines)
    else:
        yield node


def _matches(template: Basic, tree: Basic, match: dict[sympy.Symbol, Basic]) -> bool:
    """Whether ``tree`` is ``template`` with its index symbols (not the sizes) replaced consistently."""
    if isinstance(template, sympy.Symbol) and not template.is_positive:
        return match.setdefault(template, tree) == tree
    if isinstance(template, Tensor) or not template.args:
        return template == tree
    if template.func is not tree.func or len(template.args) != len(tree.args):
        return False
    return all(_matches(a, b, match) for a, b in zip(template.args, tree.args, strict=True))
