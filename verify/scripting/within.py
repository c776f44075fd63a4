"""Lines in a function of their own, where a script calls something else by a name that they use."""

from __future__ import annotations

import ast

from verify.scripting.scopes import bound


def within(lines: str, name: str, gives: str) -> str:
    """A function of this name that carries out the lines, and returns what they call ``gives``."""
    return "\n".join([f"def {name}():", indented(lines), f"    return {gives}"])


def indented(lines: str) -> str:
    """Statements four columns further right; what stands within strings stays as it is."""
    inside = {
        line
        for node in ast.walk(ast.parse(lines))
        if isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
        for line in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
    }
    rows = enumerate(lines.split("\n"), 1)
    return "\n".join(row if not row or place in inside else f"    {row}" for place, row in rows)


def clash(lines: str, others: str) -> bool:
    """Whether two pieces of one script, both of whole statements, set a name otherwise."""
    one, two = _set(lines), _set(others)
    return any(one[name] & two[name] == set() for name in one.keys() & two.keys())


def _set(lines: str) -> dict[str, set[str]]:
    """The names that are set at the top, and by which statements."""
    found: dict[str, set[str]] = {}
    for node in ast.parse(lines).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = {node.name}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                said = (
                    ast.unparse(node)
                    if isinstance(node, ast.ImportFrom) or alias.asname
                    else f"import {name}"
                )
                found.setdefault(name, set()).add(said)
            continue
        else:
            names = bound(node)
        for name in names:
            found.setdefault(name, set()).add(ast.unparse(node))
    return found


__all__ = ["clash", "indented", "within"]
