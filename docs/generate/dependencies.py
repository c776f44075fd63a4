"""What a page is made from: the source files, found by following imports, and a digest of what they hold.

Nothing is imported here; the files are read as they lie on the disk. ``from package import name`` leads to the module that the
package takes the name from, ``find("attention.softmax")`` to the module of that formula, and anything else that is imported to
all that it imports in turn.
"""

from __future__ import annotations

import ast
import hashlib
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import distributions, version
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = {"generate": "docs/generate", "docs.generate": "docs/generate"}
"""Packages that lie elsewhere than their names say. All others lie at the root."""
ID = re.compile(r"[a-z]\w*\.[a-z]\w*")

REASONS = {"why", "pitfalls", "worked", "sources"}
"""What a formula says of itself that no theorem and no other formula depends on."""

Name = tuple[str, str]
"""A module, and a name in it; an empty name is all of the module."""
Step = tuple[set[str], set[str]]
"""Modules whose imports are to be followed, and packages of which only the file counts."""


@dataclass(frozen=True)
class Taken:
    """What a module takes from others of ours, the names it binds by that, and the formulas' IDs in it."""

    names: list[Name] = field(default_factory=list)
    bound: dict[str, Name] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)


class Sources:
    """The modules below a folder, each read once."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        self._files: dict[str, Path | None] = {}
        self._read: dict[Path, bytes] = {}
        self._hashes: dict[Path, bytes] = {}
        self._essences: dict[tuple[Path, frozenset[str]], bytes] = {}
        self._taken: dict[str, Taken] = {}
        self._led: dict[str, Step] = {}
        self._wholes: dict[str, set[str]] = {}

    def file(self, module: str) -> Path | None:
        """A module's file; None for a module that is not ours."""
        if module not in self._files:
            self._files[module] = self._find(module)
        return self._files[module]

    def _file(self, module: str) -> Path:
        path = self.file(module)
        if path is None:
            raise LookupError(f"{module} is no module below {self._root}")
        return path

    def _find(self, module: str) -> Path | None:
        path = self._root / module.replace(".", "/")
        for package, folder in FOLDERS.items():
            if module == package or module.startswith(f"{package}."):
                path = self._root / folder / module.removeprefix(package).strip(".").replace(".", "/")
        for place in (path / "__init__.py", path.with_name(f"{path.name}.py")):
            if place.is_file():
                return place
        return None

    def read(self, path: Path) -> bytes:
        """What a file held when it was first asked for."""
        if path not in self._read:
            self._read[path] = path.read_bytes()
        return self._read[path]

    def _hash(self, path: Path) -> bytes:
        if path not in self._hashes:
            self._hashes[path] = hashlib.sha256(self.read(path)).digest()
        return self._hashes[path]

    def unchanged(self, files: Iterable[Path]) -> bool:
        """Whether files still hold what they held."""
        return all(path.is_file() and path.read_bytes() == self.read(path) for path in files)

    def modules(self, package: str) -> list[str]:
        """The modules of a package, at any depth, the package itself first."""
        path = self._file(package)
        if path.name != "__init__.py":
            return [package]
        inner = (p.relative_to(path.parent).with_suffix("").parts for p in sorted(path.parent.rglob("*.py")))
        names = (".".join([package, *(part for part in parts if part != "__init__")]) for parts in inner)
        return sorted(names, key=lambda name: (name != package, name))

    def taken(self, module: str) -> Taken:
        """What a module takes from others, wherever in it that is said."""
        if module not in self._taken:
            found = self._taken[module] = Taken()
            path = self._file(module)
            for node in ast.walk(ast.parse(self.read(path))):
                if isinstance(node, ast.ImportFrom):
                    source = _absolute(module, path, node)
                    if self.file(source):
                        given = {a.asname or a.name: (source, a.name.strip("*")) for a in node.names}
                        found.bound.update(given)
                        found.names.extend(given.values())
                elif isinstance(node, ast.Import):
                    found.names.extend((a.name, "") for a in node.names if self.file(a.name))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    if ID.fullmatch(node.value):
                        found.ids.add(node.value)
                elif isinstance(node, ast.Call) and (formula_id := _asked_for(node)):
                    found.names.append(self.statement(formula_id))
        return self._taken[module]

    def statement(self, formula_id: str) -> Name:
        """Where a formula and its theorems are stated: in a module of its own, or in that of its subject."""
        subject = f"spec.{formula_id.split('.')[0]}"
        return (f"spec.{formula_id}", "") if self.file(f"spec.{formula_id}") else (subject, "")

    def origin(self, module: str, name: str) -> Name:
        """The module of a name: that of a package may come from one of its modules, and that from another package."""
        seen: set[Name] = set()
        while name and (module, name) not in seen:
            seen.add((module, name))
            if self.file(f"{module}.{name}"):
                return f"{module}.{name}", ""
            path = self.file(module)
            if path is None or path.name != "__init__.py" or name not in self.taken(module).bound:
                break
            module, name = self.taken(module).bound[name]
        return module, name

    def reached(self, *names: Name, apart: Iterable[str] = ()) -> set[Path]:
        """The files these names come from, with all that those take in turn; without some modules and what only they take."""
        left_out, files, followed = set(apart), set[str](), set[str]()
        queue = [self._step(name) for name in names]
        while queue:
            follow, passed = queue.pop()
            files |= passed
            for module in follow - followed - left_out:
                followed.add(module)
                queue.append(self._steps(module))
        return {self._file(module) for module in files | followed}

    def _steps(self, module: str) -> Step:
        """Where all that a module takes leads."""
        if module not in self._led:
            steps = [self._step(name) for name in dict.fromkeys(self.taken(module).names)]
            self._led[module] = set().union(*(s[0] for s in steps)), set().union(*(s[1] for s in steps))
        return self._led[module]

    def _step(self, name: Name) -> Step:
        """The modules that a name leads to, and the packages that are run on the way."""
        module, _ = self.origin(*name)
        if self.file(module) is None:
            return set(), set()
        passed = {part for part in (*_packages(module), name[0]) if self.file(part)} - {module}
        return {module}.union(*map(self._whole, passed)), passed

    def _whole(self, package: str) -> set[str]:
        """The modules that a package imports as such: they may be there for what importing them does."""
        if package not in self._wholes:
            found = (self.origin(*name) for name in dict.fromkeys(self.taken(package).names))
            self._wholes[package] = {module for module, part in found if not part and self.file(module)}
        return self._wholes[package]

    def digest(
        self,
        files: Iterable[Path],
        *more: str,
        bare: Mapping[Path, frozenset[str]] | None = None,
        packages: tuple[str, ...] = (),
    ) -> str:
        """A digest of files, where they lie and what they hold, of what is installed, and of what else is given.

        Files in ``bare`` are modules of statements that count without their reasons, and with no theorems but those named. Where
        ``packages`` are named, nothing else that is installed counts, nor does the machine.
        """
        whole = hashlib.sha256(repr((versions(packages) if packages else installed(), more)).encode())
        for path in sorted(files):
            held = self._essence(path, bare[path]) if bare and path in bare else self._hash(path)
            whole.update(f"{path.relative_to(self._root)}\n".encode() + held)
        return whole.hexdigest()

    def _essence(self, path: Path, theorems: frozenset[str]) -> bytes:
        """A digest of what a module states, and of how it states some theorems."""
        if (path, theorems) not in self._essences:
            tree = ast.parse(self.read(path))
            tree.body = [node for node in tree.body if _theorem(node) in (None, *theorems)]
            for node in ast.walk(tree):
                if isinstance(node, ast.Call):
                    node.keywords = [each for each in node.keywords if each.arg not in REASONS]
            self._essences[path, theorems] = hashlib.sha256(ast.unparse(tree).encode()).digest()
        return self._essences[path, theorems]


def _absolute(module: str, path: Path, node: ast.ImportFrom) -> str:
    """The module named in ``from … import``, where its dots count from the module in which that stands."""
    if not node.level:
        return node.module or ""
    inside = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    return ".".join([*inside[: len(inside) - node.level + 1], *([node.module] if node.module else [])])


def _asked_for(call: ast.Call) -> str | None:
    """The ID in ``find("attention.softmax")``."""
    match call:
        case ast.Call(func=ast.Name(id="find" | "known"), args=[ast.Constant(value=str(text))]) if (
            ID.fullmatch(text)
        ):
            return text
    return None


def _theorem(node: ast.stmt) -> str | None:
    """The name in ``softmax.theorem("jacobian", …)``; None in any other statement."""
    match node:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(attr="theorem"), args=[ast.Constant(value=str(name)), *_])
        ):
            return name
    return None


def _packages(module: str) -> list[str]:
    """The packages that a module is in, and the module."""
    parts = module.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts) + 1)]


@cache
def installed() -> tuple[str, ...]:
    """Python, the kind of machine, and every installed package with its version: each may change a number or a drawing."""
    found = sorted(f"{each.name} {each.version}" for each in distributions())
    return platform.python_version(), platform.machine(), *found


@cache
def versions(packages: tuple[str, ...]) -> tuple[str, ...]:
    """Some packages, each with its version."""
    return tuple(f"{name} {version(name)}" for name in packages)
