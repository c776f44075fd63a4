"""What a script calls that it cannot import, by its source: with all that this speaks of, and no more.

What lies in a module that needs attnspec is copied, and so is a function without a name in its module; anything else is imported.
Names stay as they are, unless two are alike.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

from verify.scripting.literals import literal
from verify.scripting.naming import CHECKED, Unwritten, name_of
from verify.scripting.needed import needs
from verify.scripting.parsed import Edit, Parsed, parsed
from verify.scripting.scopes import bound, outside

OURS = ("spec", "verify")
"""Packages that nobody who plays a script again need have."""


class Sources:
    """Imports and copies for one script.

    ``ours``: the packages that are copied from, as are modules that import them. ``reserved``: names that stand for other things.
    """

    def __init__(self, ours: Sequence[str] = OURS, reserved: Sequence[str] = ()) -> None:
        self.ours = tuple(ours)
        self.imports: dict[str, str] = {}
        """Each line, and the name that it gives."""
        self.copies: list[str] = []
        self.copied: dict[tuple[str, str], str] = {}
        self.taken: dict[str, Any] = dict.fromkeys(reserved)
        """What each name of the script stands for."""

    def lines(self) -> list[str]:
        """The imports, and then the copies; what is copied stands behind all that it speaks of when it is read."""
        copies = [line for text in self.copies for line in ("", "", *text.split("\n"))]
        return [*sorted(self.imports, key=lambda line: (line.startswith("from"), line)), *copies]

    def of(self, found: Any, called: str = "made") -> str:
        """How the script speaks of a function or a class; ``called``: what one without a name is called there.

        Raises:
            Unwritten: its source is not to be had, or speaks of what no line says.
        """
        if isinstance(found, functools.partial):
            given = [self._held(value) for value in found.args]
            given += [f"{name}={self._held(value)}" for name, value in found.keywords.items()]
            return f"{self._import('functools', None)}.partial({', '.join([self.of(found.func), *given])})"
        module = sys.modules.get(getattr(found, "__module__", None) or "")
        if module is None or module.__name__ == "__main__":
            raise Unwritten
        try:
            name = name_of(found)
        except Unwritten:
            return self._unnamed(parsed(module), found, called)
        root, dot, rest = name.partition(".")
        return self._named(module, root) + dot + rest

    # A name of a module --------------------------------------------------------------------------------------------------

    def _named(self, module: ModuleType, name: str) -> str:
        """A name of a module, imported, or copied with what it speaks of."""
        if not self._is_ours(module.__name__):
            return self._import(module.__name__.removeprefix(CHECKED), name)
        held = getattr(module, name, None)
        home = sys.modules.get(getattr(held, "__module__", None) or "")
        known = getattr(held, "__name__", name)
        if home not in (None, module) and getattr(home, known, None) is held:
            return self._named(home, known)  # what a package gives on from a module of its own
        key = module.__name__, name
        if key not in self.copied:
            source = parsed(module)
            if name in source.imports:
                return self._imported(*source.imports[name], name)
            if name not in source.definitions:
                raise Unwritten
            said = self.copied[key] = self._free(name, key)
            self.copies.append(self._copy(source, source.definitions[name], {name: said}))
        return self.copied[key]

    def _copy(self, source: Parsed, piece: ast.stmt, own: Mapping[str, str]) -> str:
        """A statement as it stands, in the script's names."""
        text = textwrap.dedent(source.text(piece, self._edits(source, piece, own)))
        if isinstance(piece, ast.FunctionDef | ast.ClassDef) and piece.name in own:
            text = re.sub(
                rf"^(def|class) {piece.name}\b", rf"\1 {own[piece.name]}", text, count=1, flags=re.M
            )
        return text

    def _edits(
        self, source: Parsed, piece: ast.AST, own: Mapping[str, str], apart: Sequence[ast.AST] = ()
    ) -> list[Edit]:
        """Where a piece speaks of others, and how the script does; ``apart``: parts that are not looked at."""
        self._without_ours(piece)
        passed = {node for part in apart for node in ast.walk(part)}
        found, attributes = outside(piece)
        edits = [self._edit(source, node, attributes.get(node), own) for node in found if node not in passed]
        inside = bound(piece)
        return [
            (place, self._outside(said, inside))
            for place, said in edits
            if not (isinstance(place, ast.Name) and place.id == said)
        ]

    def _outside(self, said: str, inside: set[str]) -> str:
        """A name under which a piece can speak of something, whatever it calls its own."""
        if said not in inside:
            return said
        key = "another name", said
        if key not in self.copied:
            known = {*self.taken, *inside}
            name = next(name for number in range(2, 99) if (name := f"{said}_{number}") not in known)
            self.copied[key] = self._free(name, key)
            self.copies.append(f"{self.copied[key]} = {said}")
        return self.copied[key]

    def _edit(
        self, source: Parsed, node: ast.Name, attribute: ast.Attribute | None, own: Mapping[str, str]
    ) -> Edit:
        """One name, or an attribute of a module of ours."""
        name = node.id
        if name in own:
            return node, own[name]
        if name in source.definitions:
            return node, self._named(source.module, name)
        if name in source.imports:
            whole = self._module(*source.imports[name])
            if whole is None:
                return node, self._imported(*source.imports[name], name)
            if attribute is not None:
                return attribute, self._named(whole, attribute.attr)
        elif hasattr(builtins, name):
            return node, name
        raise Unwritten

    def _without_ours(self, piece: ast.AST) -> None:
        """Inside a function nothing of ours can be imported."""
        for node in ast.walk(piece):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if any(map(self._is_ours, names)):
                raise Unwritten

    # Imports -------------------------------------------------------------------------------------------------------------

    def _imported(self, home: str, attribute: str | None, name: str) -> str:
        """What a module imports under a name."""
        if not self._is_ours(home):
            return self._import(home, attribute, name)
        if attribute is None:
            raise Unwritten
        return self._named(importlib.import_module(home), attribute)

    def _import(self, home: str, attribute: str | None, name: str = "") -> str:
        """A line that imports, and the name that it gives."""
        key = home if attribute is None and name in ("", home.partition(".")[0]) else (home, attribute)
        if isinstance(key, str):  # a package, by its first name, for any of its modules
            self.imports[f"import {home}"] = root = home.partition(".")[0]
            if self.taken.setdefault(root, root) != root:
                raise Unwritten
            return root
        line = f"import {home}" if attribute is None else f"from {home} import {attribute}"
        for known, said in self.imports.items():
            if known == line or known.startswith(f"{line} as "):
                return said
        said = self._free(name or str(attribute), key)
        self.imports[line if said == attribute else f"{line} as {said}"] = said
        return said

    def _free(self, name: str, key: Any) -> str:
        """A name that stands for nothing else in the script."""
        number, free = 1, name
        while self.taken.setdefault(free, key) != key:
            number += 1
            free = f"{name}_{number}"
        return free

    def _is_ours(self, home: str) -> bool:
        """Whether a module is one of ours, or cannot be imported without them."""
        module = sys.modules.get(home)
        return home.partition(".")[0] in self.ours or (module is not None and needs(module, self.ours))

    def _module(self, home: str, attribute: str | None) -> ModuleType | None:
        """The module of ours that is imported as a whole, if it is one."""
        return (
            sys.modules.get(home if attribute is None else f"{home}.{attribute}")
            if self._is_ours(home)
            else None
        )

    # A function without a name ---------------------------------------------------------------------------------------------

    def _unnamed(self, source: Parsed, found: Any, called: str) -> str:
        """A lambda, or a function made in another, with what it has from there."""
        if not isinstance(found, FunctionType):
            raise Unwritten
        node = source.function(found.__code__)
        cells = zip(found.__code__.co_freevars, found.__closure__ or (), strict=True)
        own = {name: self._held(cell.cell_contents) for name, cell in cells}
        named = [each.arg for each in node.args.kwonlyargs]
        defaults: list[Edit] = [
            *zip(node.args.defaults, map(self._held, found.__defaults__ or ()), strict=True),
            *(
                (part, self._held((found.__kwdefaults__ or {})[name]))
                for name, part in zip(named, node.args.kw_defaults, strict=True)
                if part is not None
            ),
        ]
        edits = defaults + self._edits(source, node, own, [part for part, _ in defaults])
        if isinstance(node, ast.Lambda):
            said = self._free(called, found)
            self.copies.append(f"{said} = ({source.text(node, edits)})")
            return said
        if node.decorator_list:
            raise Unwritten
        said = self._free(node.name, found)
        text = textwrap.dedent(source.text(node, edits))
        self.copies.append(re.sub(rf"^def {node.name}\b", f"def {said}", text))
        return said

    def _held(self, value: Any) -> str:
        """A value that a function has from where it was made."""
        if isinstance(value, str):
            return repr(value)
        if value is None or isinstance(value, bool | int | float):
            return literal(value, "float64")
        if isinstance(value, tuple | list):
            inside = ", ".join(map(self._held, value))
            return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"
        if isinstance(value, ModuleType) and not self._is_ours(value.__name__):
            return self._import(value.__name__, None, value.__name__.rpartition(".")[2])
        return self.of(value)


__all__ = ["OURS", "Sources"]
