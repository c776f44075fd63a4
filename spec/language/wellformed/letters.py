"""What may stand where in a tree, and how things may be called: letters, look-ups, conditions, names.

Evaluation and proof tell letters apart by name once a statement is read, so a statement in which two things could be taken for
one another is refused here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import sympy
from sympy.core.basic import Basic

from spec.language import expr
from spec.language.arrays import DISCRETE, WHOLE, Comprehension, Tensor
from spec.language.binders import AnyOf, Bound, Expectation
from spec.language.calls import ABSENT, Call, Pullback
from spec.language.expr import FUNCTIONS, Node, Ref
from spec.language.known import get_formula
from spec.language.trees import free_symbols

DOMAINS = ("real", "positive", "nonnegative", "share", "boolean", "integer", "label", "permutation")
REAL = DOMAINS[:4]
RELATIONS = ("=", "<=", "<")
"""How the sides of a claim, or of a step, may be related."""
COMPARISONS = ("==", "<=", "<")
"""How a condition may compare."""
NAME = re.compile(r"[^\W\d]\w*'*")
"""A name: letters, digits and underscores, then primes. The prover marks letters of its own with other characters."""

_SIZE = sympy.Symbol("n", integer=True, positive=True).assumptions0
_INDEX = sympy.Symbol("i", integer=True).assumptions0


class IllFormed(ValueError):  # noqa: N818  (what a statement is, not a fault of the machine)
    """A statement that means nothing."""


def is_size(symbol: Any) -> bool:
    """Whether a symbol is a size: an integer of at least 1, of which nothing else is said."""
    return isinstance(symbol, sympy.Symbol) and symbol.assumptions0 == _SIZE


def is_index(symbol: Any) -> bool:
    """Whether a symbol is an index: an integer of which nothing else is said."""
    return isinstance(symbol, sympy.Symbol) and symbol.assumptions0 == _INDEX


def check_name(name: str, where: str) -> None:
    """Refuse a name with characters that letters of the prover are marked with."""
    if not NAME.fullmatch(name):
        raise IllFormed(f"{where}: {name!r} is no name: letters, digits and underscores, then primes")


def check_once(symbols: Iterable[Any], where: str) -> None:
    """Refuse two different things with one name."""
    seen: dict[str, Any] = {}
    for symbol in symbols:
        if seen.setdefault(str(symbol), symbol) != symbol:
            raise IllFormed(f"{where}: {symbol} names two different things")


def check_tensor(tensor: Tensor, where: str) -> None:
    """Refuse a tensor without a known domain, an integer one without a range, and axes that are not made of sizes."""
    check_name(tensor.name, where)
    if tensor.domain not in DOMAINS and tensor.role != "generator":
        raise IllFormed(f"{where}: {tensor.name}: {tensor.domain!r} is no domain; {', '.join(DOMAINS)} are")
    if tensor.domain in ("integer", "label") and tensor.below == 0 and tensor.role != "internal":
        raise IllFormed(
            f"{where}: {tensor.name} holds integers, but of which range is not said: give below=…"
        )
    if tensor.domain == "permutation" and len(tensor.shape) != 1:
        raise IllFormed(f"{where}: {tensor.name} is a permutation, which has one axis")
    for size in (*tensor.shape, tensor.below):
        for symbol in sorted(free_symbols(size), key=str):
            if not is_size(symbol):
                raise IllFormed(f"{where}: {symbol} in the shape or range of {tensor.name} is no size")


def is_condition(node: Any) -> bool:
    """Whether a tree holds or does not hold: a comparison, a Boolean entry, or made of such."""
    if isinstance(node, expr.Always | expr.Both | expr.Either | expr.Not | expr.Compare | AnyOf):
        return True
    if isinstance(node, Ref | Tensor):
        tensor = node.tensor if isinstance(node, Ref) else node
        return bool(tensor.domain == "boolean")
    if isinstance(node, Call):
        return bool(get_formula(node.formula_id).line(node.output).domain == "boolean")
    if isinstance(node, expr.Choice):
        return all(is_condition(pair.args[1]) for pair in node.args[1:])
    return isinstance(node, expr.Case) and all(is_condition(branch) for branch in node.args[1:])


def is_whole(node: Any) -> bool:
    """Whether a tree is index arithmetic: over letters, and over entries of integer tensors."""
    if not isinstance(node, Node):
        return not isinstance(node, Tensor) or node.domain in WHOLE
    if isinstance(node, Ref):
        return node.tensor.domain in DISCRETE
    if isinstance(node, Call):
        return get_formula(node.formula_id).line(node.output).domain in DISCRETE
    if isinstance(node, expr.Case):
        return all(is_whole(branch) for branch in node.args[1:])
    if isinstance(node, expr.Plus | expr.Minus | expr.Times | expr.Negative):
        return all(is_whole(part) for part in node.args)
    return isinstance(node, expr.Literal)


class Parts:
    """Checks what stands where in the trees of one place."""

    def __init__(self, where: str) -> None:
        self.where = where

    def check(self, node: Any, bound: frozenset[sympy.Symbol]) -> None:
        """Refuse free letters, and what is no condition or no index where one belongs.

        Raises:
            IllFormed: naming the place, and the part that does not belong there.
        """
        if isinstance(node, sympy.Symbol):
            self._letter(node, bound)
        elif isinstance(node, Tensor):
            return
        elif isinstance(node, Bound):
            self._index(node.var)
            for end in (node.first, node.last):
                self._whole(end, node)
                self.check(end, bound)
            inner = bound | {node.var}
            self._condition(node.where)
            if isinstance(node, AnyOf):
                self._condition(node.body)
            for part in (node.where, node.body):
                self.check(part, inner)
        elif isinstance(node, Comprehension):
            for size in node.shape:
                self.check(size, bound)
            for symbol in node.vars:
                self._index(symbol)
            check_once(node.vars, self.where)
            self.check(node.body, bound | set(node.vars))
        elif isinstance(node, Call | Pullback):
            self._application(node, bound)
        else:
            self._own(node)
            for child in node.args:
                self.check(child, bound)

    def _own(self, node: Any) -> None:
        """What a node asks of its own parts."""
        if isinstance(node, Ref):
            if len(node.index) != len(node.tensor.shape):
                raise IllFormed(
                    f"{self.where}: {node.tensor.name} has {len(node.tensor.shape)} axes, "
                    f"but {len(node.index)} indices were given"
                )
            for part in node.index:
                self._whole(part, node)
        elif isinstance(node, expr.Delta):
            for part in node.args:
                self._whole(part, node)
        elif isinstance(node, expr.Case):
            self._condition(node.args[0])
        elif isinstance(node, expr.Both | expr.Either | expr.Not):
            for part in node.args:
                self._condition(part)
        elif isinstance(node, expr.Compare) and str(node.args[0]) not in COMPARISONS:
            raise IllFormed(f"{self.where}: a condition compares by <=, < or ==; not by {node.args[0]}")
        elif isinstance(node, expr.Func) and node.name not in FUNCTIONS:
            raise IllFormed(f"{self.where}: {node.name} is no function of a statement")
        elif isinstance(node, Expectation) and not all(isinstance(one, Tensor) for one in node.random):
            raise IllFormed(f"{self.where}: an expectation is taken over tensors")

    def _application(self, node: Call | Pullback, bound: frozenset[sympy.Symbol]) -> None:
        callee = get_formula(node.args[0].name)
        for item, value in zip(callee.inputs, node.args[2].args, strict=False):
            if value == ABSENT:
                continue
            body = value.body if isinstance(value, Comprehension) else value
            domain = item.domain if isinstance(item, Tensor) else "integer"
            if domain == "boolean" and not is_condition(body):
                raise IllFormed(f"{self.where}: {callee.id} asks for a condition as {item}; {body} is none")
            if domain in ("integer", "label") and not is_whole(body):
                raise IllFormed(f"{self.where}: {callee.id} asks for integers as {item}; {body} is none")
            if domain == "permutation" and not (isinstance(value, Tensor) and value.domain == domain):
                raise IllFormed(
                    f"{self.where}: {callee.id} asks for a permutation as {item}; {value} is none"
                )
            self.check(value, bound)
        for part in node.index:
            self._whole(part, node)
            self.check(part, bound)
        if isinstance(node, Pullback):
            self.check(node.seed, bound)

    def _letter(self, symbol: sympy.Symbol, bound: frozenset[sympy.Symbol]) -> None:
        if not is_size(symbol):
            self._index(symbol)
            if symbol not in bound:
                raise IllFormed(
                    f"{self.where}: {symbol} is free: it is neither an index with a range nor a size"
                )

    def _index(self, symbol: Basic) -> None:
        if not is_index(symbol):
            raise IllFormed(
                f"{self.where}: {symbol} is no letter: sizes are integers from 1 on, indices integers, "
                "and nothing more is known of either"
            )

    def _whole(self, part: Any, node: Any) -> None:
        if not is_whole(part):
            raise IllFormed(f"{self.where}: {part} is no index, as {node} takes it")

    def _condition(self, node: Any) -> None:
        if not is_condition(node):
            raise IllFormed(f"{self.where}: {node} is no condition")
