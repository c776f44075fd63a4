"""Expressions of adapters in words of torch and of Python, as a script has them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from verify.adapt import expressions
from verify.scripting.naming import Unwritten

PYTHON = frozenset({"len", "min", "max", "range", "list", "tuple", "int", "float"})
"""What Python itself calls so."""
PYTHON_MODULES = frozenset({"math"})
"""What a script imports besides."""
HELPERS = frozenset({"rows", "columns", "heads", "causal"})
"""What a script has a function of its own for."""
OF_BOTH = frozenset({"sqrt", "exp", "log"})
"""What is called of tensors and of numbers."""


def spelled(text: str, names: Mapping[str, Any], constants: Mapping[str, int], used: set[str]) -> str:
    """An expression as Python; ``names``: what it speaks of, ``constants``: what stands as a number in it.

    What else it needs is added to ``used``: functions of :mod:`verify.adapt.vocabulary`, and modules.
    """
    return ast.unparse(_Spelled(names, constants, used).visit(ast.parse(text.strip(), mode="eval").body))


class _Spelled(ast.NodeTransformer):
    """Words of adapters replaced, part by part; a transpose is one of the last two axes."""

    def __init__(self, names: Mapping[str, Any], constants: Mapping[str, int], used: set[str]) -> None:
        self.names, self.constants, self.used = names, constants, used

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(self.constants[node.id]) if node.id in self.constants else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        value, inner = expressions.evaluated(node.value, self.names), self.visit(node.value)
        if node.attr == "T" and isinstance(value, Tensor):
            return ast.Attribute(inner, "mT", ast.Load()) if value.ndim > 1 else inner
        return ast.Attribute(inner, node.attr, ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.AST:
        given: list[ast.expr] = [self.visit(part) for part in node.args]
        named = [ast.keyword(each.arg, self.visit(each.value)) for each in node.keywords]
        if isinstance(node.func, ast.Attribute):
            return ast.Call(
                ast.Attribute(self.visit(node.func.value), node.func.attr, ast.Load()), given, named
            )
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        if name in ("cat", "stack") and len(given) > 1:
            given = [ast.List(given, ast.Load())]
        of = self._of(name, bool(node.args) and isinstance(self._value(node.args[0]), Tensor))
        return ast.Call(of, given, named)

    def _value(self, node: ast.expr) -> Any:
        return None if isinstance(node, ast.Starred) else expressions.evaluated(node, self.names)

    def _of(self, name: str, tensor: bool) -> ast.expr:
        """A function by the name that it has in a script."""
        if name in HELPERS or name in PYTHON:
            self.used |= {name} & HELPERS
            return ast.Name(name, ast.Load())
        if name == "lowest":
            raise Unwritten
        home = "math" if name in OF_BOTH and not tensor else "torch"
        self.used |= {home} & PYTHON_MODULES
        return ast.Attribute(ast.Name(home, ast.Load()), name, ast.Load())


__all__ = ["HELPERS", "PYTHON_MODULES", "spelled"]
