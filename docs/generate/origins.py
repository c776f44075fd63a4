"""What the pieces of the pages are made from: which files, and which records of evidence."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from spec.language.registry import formulas

from . import accuracy, evidence, samples
from .dependencies import ROOT, Name, Sources

Piece = tuple[str, str]
"""A kind (``measured``, ``output``, ``theorem`` or ``page``), and which of that kind: the name of a directive or of a command,
``formula.theorem``, or the ID of a formula."""

APART = "verify.targets."
"""Modules of the checker in which a function of the user's own has no part."""

WRITERS = "spec.language.render.", "spec.language.plain"
"""Parts of the language that write statements in one way or another: a proof has part in those alone that it is written by."""

PROVER = "sympy", "python-flint", "numpy", "latex2mathml"
"""What of others a proof, and its text, is computed with; nothing else that is installed can change them."""


class Origins:
    """What each piece is made from, as it lies on the disk now."""

    def __init__(self, sources: Sources | None = None) -> None:
        self._sources = sources or Sources()
        self._found: dict[Piece, set[Path]] = {}
        self._proved: dict[str, set[Path]] = {}

    @property
    def pieces(self) -> list[Piece]:
        """All pieces, those that take longest first."""
        every = formulas()
        theorems = [f"{formula_id}.{name}" for formula_id, f in every.items() for name in f.theorems]
        measured = list(accuracy.MEASURED)
        listed = {
            "measured": measured,
            "output": list(samples.COMMANDS),
            "theorem": theorems,
            "page": list(every),
        }
        return [(kind, name) for kind, names in listed.items() for name in names]

    def digest(self, piece: Piece) -> str:
        """A digest of all that a piece is made from; of the statement of another formula, not its reasons, and of its theorems
        those that are cited.
        """
        kind, name = piece
        records = [found for found in self._records if kind == "page" and found[1].formula == name]
        own, _, theorem = name.rpartition(".") if kind == "theorem" else (name, "", "")
        told = _relied(own, theorem) if theorem else {}
        bare = {
            path: frozenset(told.get(formula_id, ()))
            for path, formula_id in self._statements.items()
            if kind == "theorem" or formula_id != own
        }
        packages = PROVER if kind == "theorem" else ()
        return self._sources.digest(self.files(piece), repr((piece, records)), bare=bare, packages=packages)

    def unchanged(self, piece: Piece) -> bool:
        """Whether the files still hold what they held when the digest was taken."""
        return self._sources.unchanged(self.files(piece))

    def files(self, piece: Piece) -> set[Path]:
        """The files that a piece is made from; the language of statements, as a whole, is among those of each."""
        if piece not in self._found:
            kind, name = piece
            found = {
                "measured": self._measured,
                "output": self._output,
                "theorem": self._theorem,
                "page": self._page,
            }
            self._found[piece] = found[kind](name)
        return self._found[piece]

    def _measured(self, name: str) -> set[Path]:
        """The module that measures, with all that it takes of ours."""
        return self._sources.reached(*self._language, ("generate.accuracy", ""))

    def _output(self, name: str) -> set[Path]:
        """The checker, the statement that it is asked about, and what else it reads."""
        modules = [m for m in self._sources.modules("verify") if not m.startswith(APART)]
        names = [*self._language, *((m, "") for m in modules), self._sources.statement(samples.FORMULA)]
        folders = (samples.FOLDER, samples.PROJECT, ROOT / "examples" / "formulas")
        read = {Path(samples.__file__), ROOT / "verify" / "known.toml", ROOT / "pytest_attnspec.py"}
        read |= {path for folder in folders for path in folder.iterdir() if path.suffix in (".py", ".toml")}
        return self._sources.reached(*names) | read

    def _theorem(self, name: str) -> set[Path]:
        """The statement with its theorems, and what writes them; checker and implementations have no part in it."""
        formula_id = name.rpartition(".")[0]
        if formula_id not in self._proved:
            language = [name for name in self._language if not name[0].startswith(WRITERS)]
            names = self._sources.statement(formula_id), ("generate.theorems", "")
            apart = [m for package in ("verify", "impl") for m in self._sources.modules(package)]
            self._proved[formula_id] = self._sources.reached(*language, *names, apart=apart)
        return self._proved[formula_id]

    def _page(self, formula_id: str) -> set[Path]:
        """The statement, its implementation, the figures drawn for it, and what writes all that."""
        subject, _, name = formula_id.partition(".")
        own = [module for module, ids in self._figures.items() if formula_id in ids]
        names = [
            self._sources.statement(formula_id),
            (f"impl.{subject}", name),
            ("generate.formula_page", ""),
        ]
        others = self._figures.keys() - own
        return self._sources.reached(*self._language, *names, *((m, "") for m in own), apart=others)

    @cached_property
    def _statements(self) -> dict[Path, str]:
        """The modules of statements, each with the formula that it states."""
        found = ((self._sources.file(self._sources.statement(name)[0]), name) for name in formulas())
        return {path: name for path, name in found if path is not None}

    @cached_property
    def _language(self) -> list[Name]:
        return [(module, "") for module in self._sources.modules("spec.language")]

    @cached_property
    def _figures(self) -> dict[str, set[str]]:
        """The modules that draw figures for formulas, and the IDs named in each."""
        found = {m: self._sources.taken(m).ids for m in self._sources.modules("generate.figures")}
        return {module: ids for module, ids in found.items() if ids}

    @cached_property
    def _records(self) -> list[tuple[str, evidence.Record]]:
        return evidence.read()


def _relied(formula_id: str, theorem: str) -> dict[str, set[str]]:
    """A theorem, those that its proof cites, and those that their proofs cite: the names, by formula."""
    found: dict[str, set[str]] = {}
    queue = [(formula_id, theorem)]
    while queue:
        own, name = queue.pop()
        if name not in found.setdefault(own, set()):
            found[own].add(name)
            queue += [(one.call.formula_id, one.name) for one in formulas()[own].theorems[name].cited]
    return found
