"""The source of a module: what it defines and imports at its top, and the text of a piece with some names said otherwise."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any

from verify.scripting.naming import Unwritten

Function = ast.FunctionDef | ast.Lambda
Edit = tuple[ast.AST, str]
"""A node, and what stands in its place."""


class Parsed:
    """A module by its source."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        try:
            text = inspect.getsource(module)
        except (OSError, TypeError):
            raise Unwritten from None
        self.lines = [line.encode() for line in text.split("\n")]
        self.tree = ast.parse(text)
        self.definitions: dict[str, ast.stmt] = {}
        self.imports: dict[str, tuple[str, str | None]] = {}
        for node in self.tree.body:
            for name in _defined(node):
                self.definitions[name] = node
            if isinstance(node, ast.Import | ast.ImportFrom):
                self.imports.update(_imported(node, module))

    def text(self, piece: ast.AST, edits: Sequence[Edit] = ()) -> str:
        """A piece as it stands, edited; a statement by whole lines, with its decorators."""
        first, last, begin, end = _span(piece)
        if isinstance(piece, ast.stmt):
            first = min([first, *(_span(each)[0] for each in getattr(piece, "decorator_list", ()))])
            begin, end = 0, len(self.lines[last])
        lines = self.lines[first : last + 1]
        lines[-1] = lines[-1][:end]
        for place, said in sorted(edits, key=lambda edit: _span(edit[0])[::2], reverse=True):
            above, below, left, right = _span(place)
            row = lines[above - first][:left] + said.encode() + lines[below - first][right:]
            lines[above - first : below - first + 1] = [row]
        lines[0] = lines[0][begin:]
        return b"\n".join(lines).decode()

    def function(self, code: CodeType) -> Function:
        """The lambda, or the function inside another, that has been compiled to this.

        Raises:
            Unwritten: it does not stand there any more.
        """
        spans = [span for span in code.co_positions() if None not in span and span[2:] != (0, 0)]
        made = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, Function)
            and [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
            == [*code.co_varnames[: code.co_argcount]]
            and (code.co_name == "<lambda>") == isinstance(node, ast.Lambda)
            and all(_covers(node, span) for span in spans)
        ]
        if not made:
            raise Unwritten
        return max(made, key=lambda node: _span(node)[::2])  # the innermost


@lru_cache(maxsize=256)
def parsed(module: ModuleType) -> Parsed:
    """A module's source, read once.

    Raises:
        Unwritten: it has none.
    """
    return Parsed(module)


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        yield node.target.id
    elif isinstance(node, ast.Assign):
        yield from (
            name.id
            for name in ast.walk(node)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        )


def _imported(
    node: ast.Import | ast.ImportFrom, module: ModuleType
) -> Iterator[tuple[str, tuple[str, str | None]]]:
    """Names that are imported: from where, and as what there; None for a module itself."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            root = alias.name.partition(".")[0]
            yield (alias.asname, (alias.name, None)) if alias.asname else (root, (alias.name, None))
        return
    home = home_of(node, module)
    for alias in node.names:
        yield alias.asname or alias.name, (home, alias.name)


def home_of(node: ast.ImportFrom, module: ModuleType) -> str:
    """The module that names are imported from."""
    home = node.module or ""
    if not node.level:
        return home
    package = (module.__package__ or "").split(".")
    return ".".join([*package[: len(package) - node.level + 1], *([home] if home else [])])


def _span(node: ast.AST) -> tuple[int, int, int, int]:
    """First and last line, and where it begins and ends in them; all from 0."""
    place: Any = node
    return place.lineno - 1, place.end_lineno - 1, place.col_offset, place.end_col_offset


def _covers(node: Function, span: tuple[int | None, ...]) -> bool:
    first, last, begin, end = _span(node)
    above, below, left, right = (part or 0 for part in span)
    return (first + 1, begin) <= (above, left) and (below, right) <= (last + 1, end)


__all__ = ["Edit", "Function", "Parsed", "home_of", "parsed"]
