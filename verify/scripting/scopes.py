"""Which names of a piece of Python are its module's: neither parameters nor set inside."""

from __future__ import annotations

import ast
from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def bound(piece: ast.AST) -> set[str]:
    """The names that a piece sets, anywhere inside."""
    found = {
        node.id for node in ast.walk(piece) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return found | {node.arg for node in ast.walk(piece) if isinstance(node, ast.arg)}


def outside(piece: ast.AST) -> tuple[list[ast.Name], dict[ast.Name, ast.Attribute]]:
    """Where a piece speaks of names from outside, annotations apart; and which attribute is asked of each, if one is."""
    seen = _Outside()
    seen.visit(piece)
    return seen.found, seen.attributes


class _Outside(ast.NodeVisitor):
    """Walks a piece with the names that are bound around each place; those of a class are not seen from its methods."""

    def __init__(self) -> None:
        self.found: list[ast.Name] = []
        self.attributes: dict[ast.Name, ast.Attribute] = {}
        self.bound: list[set[str]] = []
        self.in_class: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        if node.id not in self.in_class and not any(node.id in names for names in self.bound):
            self.found.append(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name):
            self.attributes[node.value] = node
        self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        for part in (node.target, node.value):
            if part is not None:
                self.visit(part)

    def _function(self, node: Function) -> None:
        decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
        defaults = [each for each in (*node.args.defaults, *node.args.kw_defaults) if each is not None]
        for part in (*decorators, *defaults):
            self.visit(part)
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        names = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        self._inside(body, names.union(*map(_set, body)))

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _function

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        before, self.in_class = self.in_class, set[str]().union(*map(_set, node.body))
        for each in node.body:
            self.visit(each)
        self.in_class = before

    def _comprehension(self, node: Comprehension) -> None:
        self._inside(
            [*ast.iter_child_nodes(node)], set().union(*(_set(one.target) for one in node.generators))
        )

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def _inside(self, parts: list[ast.AST] | list[ast.stmt] | list[ast.expr], names: set[str]) -> None:
        before, self.in_class = self.in_class, set()
        self.bound.append(names)
        for part in parts:
            self.visit(part)
        self.bound.pop()
        self.in_class = before


def _set(node: ast.AST) -> set[str]:
    """The names that a statement sets in its own scope."""
    return {*_names_set(node)}


def _names_set(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Store):
            yield node.id
    elif not isinstance(node, ast.Lambda):
        if isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name
        if isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name
        for child in ast.iter_child_nodes(node):
            if not (isinstance(node, ast.comprehension) and child is node.target):  # := sets a name around it
                yield from _names_set(child)


__all__ = ["bound", "outside"]
