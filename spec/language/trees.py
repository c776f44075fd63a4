"""Walking trees and rebuilding them.

Only this package takes trees apart. ``subs``, ``xreplace`` and ``diff`` do not know which indices are bound; use
:func:`substitute`, which renames bound indices out of the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import sympy
from sympy.core.basic import Basic
from sympy.core.symbol import Str

from spec.language.binders import Bound
from spec.language.expr import Leaf, Node, Ref
from spec.language.symbols import Letter


def walk(node: Basic) -> Iterator[Basic]:
    """The node and everything below it, outermost first, in source order."""
    # A loop: a generator within a generator would hand every part up through all that are around it.
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        args = part.args
        if args:
            waiting.extend(reversed(args))


def spell_tree(node: Basic, unnamed: dict[sympy.Dummy, int]) -> str:
    """The tree part by part, each with how many follow below it, and of a letter its size, too.

    Two trees are spelled alike only if they mean the same. ``unnamed`` counts the symbols without a name as they appear.
    """
    return " ".join(
        f"{type(part).__name__}:{len(part.args)}" if part.args else _leaf(part, unnamed)
        for part in walk(node)
    )


def _leaf(part: Basic, unnamed: dict[sympy.Dummy, int]) -> str:
    if isinstance(part, Letter):
        return f"{part.name} of {'' if part.size is None else f'({spell_tree(part.size, unnamed)})'}"
    if isinstance(part, sympy.Dummy):
        return f"unnamed {unnamed.setdefault(part, len(unnamed))}"
    return f"{type(part).__name__}={part.name!r}" if isinstance(part, Str) else _spell_leaf(part)


_spell_leaf = cache(sympy.srepr)
"""A symbol with what is assumed of it, a number."""


def refs(node: Basic) -> Iterator[Ref]:
    """Every reference to a tensor entry inside ``node``, look-up indices included."""
    return (x for x in walk(node) if isinstance(x, Ref))


def free_symbols(node: Basic) -> set[sympy.Symbol]:
    """The index and size symbols that occur unbound in ``node`` (sizes inside tensor shapes do not count)."""
    if isinstance(node, sympy.Symbol):
        return {node}
    if isinstance(node, Leaf):
        return set()
    if isinstance(node, Binder):
        return node.free_symbols_unbound()
    found: set[sympy.Symbol] = set()
    if isinstance(node, Bound):
        inner = free_symbols(node.body) | free_symbols(node.where)
        return (inner - {node.var}) | free_symbols(node.first) | free_symbols(node.last)
    for child in node.args:
        found |= free_symbols(child)
    return found


def fresh(symbol: sympy.Symbol, taken: set[sympy.Symbol]) -> sympy.Symbol:
    """A symbol like ``symbol`` that is not in ``taken``."""
    names = {s.name for s in taken}
    candidate, count = symbol.name, 0
    while candidate in names:
        count += 1
        candidate = f"{symbol.name}_{count}"
    if not count:
        return symbol
    if isinstance(symbol, Letter):
        return Letter(candidate, symbol.size)
    return sympy.Symbol(candidate, **symbol.assumptions0)


class Binder(Node):
    """A node that binds several indices at once (see :mod:`spec.language.calls`)."""

    def free_symbols_unbound(self) -> set[sympy.Symbol]:
        """The symbols free in this node."""
        raise NotImplementedError

    def substitute(self, changes: Mapping[Basic, Basic]) -> Basic:
        """This node after a capture-avoiding substitution."""
        raise NotImplementedError


def substitute(node: Any, changes: Mapping[Any, Any]) -> Any:
    """Replace index or size symbols, and references by nodes, without capturing anything.

    ``changes`` maps symbols to index expressions, or :class:`Ref` nodes to nodes. Bound indices that would capture a symbol
    of a replacement are renamed; a bound index is never replaced.
    """
    if not changes:
        return node
    if node in changes:
        return changes[node]
    if isinstance(node, Leaf | Str) or not node.args:
        return node
    if isinstance(node, Binder):
        return node.substitute(changes)
    if isinstance(node, Bound):
        inner = {old: new for old, new in changes.items() if node.var not in free_symbols(old)}
        incoming = set().union(*(free_symbols(new) for new in inner.values())) if inner else set()
        var, body, where = node.var, node.body, node.where
        if var in incoming:
            taken = incoming | free_symbols(body) | free_symbols(where)
            var = fresh(node.var, taken)
            body, where = (substitute(part, {node.var: var}) for part in (body, where))
        first, last = (substitute(part, changes) for part in (node.first, node.last))
        return node.func(substitute(body, inner), var, first, last, substitute(where, inner))
    return node.func(*(substitute(child, changes) for child in node.args))


def transform(node: Any, rule: Callable[[Basic], Basic | None]) -> Any:
    """Rebuild ``node`` bottom-up, replacing each part for which ``rule`` returns something.

    The rule sees bound indices as they stand: it must not move a part across a binder.
    """
    if node.args and not isinstance(node, Leaf | Str):
        children = tuple(transform(child, rule) for child in node.args)
        if children != node.args:
            node = node.func(*children)
    replaced = rule(node)
    return node if replaced is None else replaced
