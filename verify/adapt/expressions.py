"""The language of adapters: expressions over tensors, by name, a subset of Python that is parsed and never executed as such.

``in_proj_weight[:d].T``, ``cat(rows(W_q), rows(W_k))``, ``x, y, mask=mask``, ``out[0][:, :n]``: names, numbers, slices,
arithmetic, the words of :mod:`verify.adapt.vocabulary`. Whatever else stands there is refused before anything is called.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

from torch import Tensor

from verify.adapt.vocabulary import ATTRIBUTES, FUNCTIONS, MAKERS, METHODS
from verify.faults import Unusable, said_by

_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
}
_UNARY: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


class Refused(ValueError):  # noqa: N818 said as it stands
    """What stands in an expression and may not; the message names it."""


@lru_cache(maxsize=4096)
def parsed(text: str) -> ast.expr:
    """An expression, if it is one of this language.

    Raises:
        Refused: what may not stand there, or what is no expression at all.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise Refused(f"is no expression: {getattr(error, 'msg', error)}") from None
    _allowed(tree)
    return tree


def _allowed(node: ast.expr, called: bool = False) -> None:
    match node:
        case ast.Name(id=name):
            if name.startswith("__"):
                raise Refused(f"may not say {name}")
        case ast.Constant(value=value):
            if not isinstance(value, int | float | str | None) and value is not ...:
                raise Refused(f"may not say {value!r}")
        case ast.Attribute(value=inner, attr=name):
            if name.startswith("_"):
                raise Refused(f"may not say .{name}")
            if called and name not in METHODS:
                raise Refused(f"may not call .{name}(…); it may: {', '.join(sorted(METHODS))}")
            _allowed(inner)
        case ast.Call(func=of, args=positional, keywords=named):
            if isinstance(of, ast.Name):
                if of.id not in FUNCTIONS:
                    raise Refused(f"may not call {of.id}(…); it may: {', '.join(sorted(FUNCTIONS))}")
            elif isinstance(of, ast.Attribute):
                _allowed(of, called=True)
            else:
                raise Refused(f"may not call {ast.unparse(of)}")
            for part in (*positional, *(k.value for k in named)):
                _allowed(part)
            if any(k.arg is None for k in named):
                raise Refused("may not say **")
        case ast.Subscript(value=inner, slice=index):
            _allowed(inner)
            _allowed(index)
        case ast.Slice(lower=low, upper=high, step=step):
            for bound in (low, high, step):
                if bound is not None:
                    _allowed(bound)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            _allowed(left)
            _allowed(right)
        case ast.UnaryOp(op=op, operand=inner) if type(op) in _UNARY:
            _allowed(inner)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            _allowed(left)
            _allowed(right)
        case ast.IfExp(test=test, body=body, orelse=other):
            for part in (test, body, other):
                _allowed(part)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                _allowed(part)
        case ast.Dict(keys=keys, values=values):
            for key, part in zip(keys, values, strict=True):
                if key is None:
                    raise Refused("may not say **")
                _allowed(key)
                _allowed(part)
        case ast.Starred(value=inner):
            _allowed(inner)
        case _:
            raise Refused(f"may not say {ast.unparse(node)}")


def evaluated(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """The value of a parsed expression.

    Raises:
        Refused: a name that stands for nothing.
    """
    match node:
        case ast.Name(id=name):
            if name not in names:
                raise Refused(f"says {name!r}, which is nothing here; there are: {', '.join(names)}")
            return names[name]
        case ast.Constant(value=value):
            return value
        case ast.Attribute(value=inner, attr=name):
            found = evaluated(inner, names)
            if isinstance(found, Tensor) and name not in ATTRIBUTES:
                raise Refused(f"says .{name} of a tensor; expected {', '.join(sorted(ATTRIBUTES))}")
            if (
                isinstance(found, Tensor) and name == "T"
            ):  # of a vector it is the vector; of more axes, the last two
                return found.mT if found.ndim > 1 else found
            return getattr(found, name)
        case ast.Call(func=of, args=positional, keywords=named):
            given: list[Any] = []
            for part in positional:
                if isinstance(part, ast.Starred):
                    given += evaluated(part.value, names)
                else:
                    given.append(evaluated(part, names))
            options = {str(k.arg): evaluated(k.value, names) for k in named}
            if isinstance(of, ast.Attribute):
                return getattr(evaluated(of.value, names), of.attr)(*given, **options)
            assert isinstance(of, ast.Name)
            with _where(names) if of.id in MAKERS else nullcontext():
                return FUNCTIONS[of.id](*given, **options)
        case ast.Subscript(value=inner, slice=index):
            return evaluated(inner, names)[evaluated(index, names)]
        case ast.Slice(lower=low, upper=high, step=step):
            return slice(*(None if part is None else evaluated(part, names) for part in (low, high, step)))
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](evaluated(left, names), evaluated(right, names))
        case ast.UnaryOp(op=op, operand=inner):
            return _UNARY[type(op)](evaluated(inner, names))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _COMPARISONS[type(op)](evaluated(left, names), evaluated(right, names))
        case ast.IfExp(test=test, body=body, orelse=other):
            return evaluated(body if evaluated(test, names) else other, names)
        case ast.Tuple(elts=parts):
            return tuple(_several(parts, names))
        case ast.List(elts=parts):
            return _several(parts, names)
        case ast.Dict(keys=keys, values=values):
            return {
                evaluated(key, names): evaluated(part, names)
                for key, part in zip(keys, values, strict=True)
                if key is not None
            }
        case _:
            raise AssertionError(ast.dump(node))


def _where(names: Mapping[str, Any]) -> AbstractContextManager[Any]:
    """Tensors are made where those are that there are names for."""
    devices = [value.device for value in names.values() if isinstance(value, Tensor) and not value.is_cpu]
    return devices[0] if devices else nullcontext()


def _several(parts: list[ast.expr], names: Mapping[str, Any]) -> list[Any]:
    found: list[Any] = []
    for part in parts:
        if isinstance(part, ast.Starred):
            found += evaluated(part.value, names)
        else:
            found.append(evaluated(part, names))
    return found


def value(text: str, names: Mapping[str, Any], where: str) -> Any:
    """What an expression says; ``where`` names it in the error.

    Raises:
        Unusable: in one line, with the expression and the shapes of the tensors that it speaks of.
    """
    try:
        tree = parsed(text)
        return evaluated(tree, names)
    except Refused as error:
        raise Unusable(f'{where} = "{text}" {error}') from None
    except (
        RuntimeError,
        IndexError,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
    ) as error:
        raise Unusable(
            f'{where} = "{text}" fails: {said_by(error)}, where {spoken_of(text, names)}'
        ) from None


def arguments(text: str, names: Mapping[str, Any], where: str) -> tuple[list[Any], dict[str, Any]]:
    """What the arguments of a call say, positional and by keyword: ``x, y, attn_mask=mask``.

    Those that are written alike are the same object: a module may ask whether its queries are its keys.

    Raises:
        Unusable: as :func:`value`.
    """
    positional, named = listed(text, where)
    made = {part: value(part, names, where) for part in (*positional, *(part for _, part in named))}
    return [made[part] for part in positional], {key: made[part] for key, part in named}


@lru_cache(maxsize=1024)
def listed(text: str, where: str) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """The arguments of a call, each as it is written: positional ones, and those by keyword.

    Raises:
        Unusable: it is no list of arguments.
    """
    try:
        tree = ast.parse(f"f({text})", mode="eval").body
        assert isinstance(tree, ast.Call)
        assert isinstance(tree.func, ast.Name)
        named = []
        for keyword in tree.keywords:
            if keyword.arg is None:
                raise ValueError
            named.append((keyword.arg, ast.unparse(keyword.value)))
        return tuple(ast.unparse(part) for part in tree.args), tuple(named)
    except (SyntaxError, ValueError, AssertionError):
        raise Unusable(
            f'{where} = "{text}" is no list of arguments, such as "x, y, attn_mask=mask"'
        ) from None


def names_in(text: str) -> set[str]:
    """The names that an expression, or a list of arguments, speaks of; none where it is no Python."""
    try:
        tree = ast.parse(f"f({text})", mode="eval")
    except (SyntaxError, ValueError):
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def spoken_of(text: str, names: Mapping[str, Any]) -> str:
    """The tensors and numbers that an expression speaks of, with their shapes and values."""
    found = []
    for name in sorted(names_in(text) & set(names)):
        given = names[name]
        if isinstance(given, Tensor):
            found.append(f"{name} is {tuple(given.shape)}")
        elif isinstance(given, int | float):
            found.append(f"{name} = {given}")
        else:
            found.append(f"{name} is {'None' if given is None else 'a ' + type(given).__name__}")
    return ", ".join(found) or "it speaks of nothing that is known"


__all__ = ["arguments", "listed", "names_in", "spoken_of", "value"]
