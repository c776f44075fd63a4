"""The pages of all formulas. What has changed since an earlier build is made anew, by as many processes as there are cores.

What takes long is made in pieces, each found again where nothing that it is made from has changed: the theorems of a formula, in
which the statement and the checker of proofs have a part and nothing else; the rest of its page, which asks for them in a
directive; and what the commands printed that the prose shows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from spec.language.registry import formulas

from . import evidence, formula_page, samples, theorems
from .caching import Cache
from .dependencies import ROOT, Sources

Piece = tuple[str, str]
"""A kind of piece, and which of that kind: the ID of a formula, or the name of a command."""

MAKERS: dict[str, Callable[[str], Any]] = {
    "output": samples.make,
    "theorems": theorems.make,
    "page": lambda formula_id: formula_page.page(formulas()[formula_id]),
}


def all_pages(cache: Cache) -> dict[str, str]:
    """Every formula's page by ID, in Markdown; the other pieces are put where the directives find them."""
    made = dict(_pieces(cache))
    samples.MADE.update({name: text for (kind, name), text in made.items() if kind == "output"})
    theorems.MADE.update({name: found for (kind, name), found in made.items() if kind == "theorems"})
    return {formula_id: made["page", formula_id] for formula_id in formulas()}


def _pieces(cache: Cache) -> Iterator[tuple[Piece, Any]]:
    """Every piece: first those that are kept, then the others as they are made."""
    origins, missing = Origins(), list[Piece]()
    for piece in origins.pieces:
        found = cache.get(_name(piece), origins.digest(piece))
        if found is None:
            missing.append(piece)
        else:
            yield piece, found
    for piece, made in zip(missing, _made(missing), strict=True):
        if origins.unchanged(piece):
            cache.put(_name(piece), origins.digest(piece), made)
        yield piece, made


def _name(piece: Piece) -> str:
    return f"{piece[1]}.{piece[0]}"


def _made(missing: list[Piece]) -> Iterator[Any]:
    """Pieces, one after the other, made side by side."""
    if missing:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        # Spawned, not forked: torch keeps threads, and a fork would wait for them. A new process reads the files as they are now.
        with ProcessPoolExecutor(
            min(cores, len(missing)), get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)
        ) as pool:
            yield from pool.map(_one, missing)


def _one(piece: Piece) -> Any:
    kind, name = piece
    return MAKERS[kind](name)


class Origins:
    """What each piece is made from, as it lies on the disk now."""

    def __init__(self) -> None:
        self._sources = Sources()
        self._found: dict[Piece, set[Path]] = {}

    @property
    def pieces(self) -> list[Piece]:
        """All of them, those that take longest first."""
        listed = [("output", name) for name in samples.COMMANDS]
        return listed + [(kind, formula_id) for kind in ("theorems", "page") for formula_id in formulas()]

    def files(self, piece: Piece) -> set[Path]:
        """The files that a piece is made from; the language of statements, as a whole, is among those of each."""
        if piece not in self._found:
            kind, name = piece
            self._found[piece] = {"output": self._command, "theorems": self._theorems, "page": self._page}[
                kind
            ](name)
        return self._found[piece]

    def digest(self, piece: Piece) -> str:
        """A digest of all that a piece is made from."""
        kind, name = piece
        records = [found for found in self._records if kind == "page" and found[1].formula == name]
        return self._sources.digest(self.files(piece), repr((piece, records)))

    def unchanged(self, piece: Piece) -> bool:
        """Whether the files still hold what they held when the digest was taken."""
        return self._sources.unchanged(self.files(piece))

    def _command(self, _: str) -> set[Path]:
        """The checker, without its adapters and mutants, the statement it is asked about, and what else it reads."""
        modules = (
            m
            for m in self._sources.modules("verify")
            if not m.startswith(("verify.targets.", "verify.mutants."))
        )
        names = [*self._language, *((m, "") for m in modules), self._sources.statement(samples.FORMULA)]
        read = {Path(samples.__file__), samples.FOLDER / samples.FILE, ROOT / "verify" / "known.toml"}
        return self._sources.reached(*names) | read

    def _theorems(self, formula_id: str) -> set[Path]:
        """The statement with its theorems, and what writes them."""
        return self._sources.reached(
            *self._language, self._sources.statement(formula_id), ("generate.theorems", "")
        )

    def _page(self, formula_id: str) -> set[Path]:
        """The statement, its implementation, the figures drawn for it, and what writes all that."""
        subject, _, name = formula_id.partition(".")
        figures = {
            module: self._sources.taken(module).ids for module in self._sources.modules("generate.figures")
        }
        own = {module for module, ids in figures.items() if formula_id in ids}
        others = {module for module, ids in figures.items() if ids} - own
        names = [
            self._sources.statement(formula_id),
            (f"impl.{subject}", name),
            ("generate.formula_page", ""),
        ]
        return self._sources.reached(*self._language, *names, *((m, "") for m in own), apart=others)

    @cached_property
    def _language(self) -> list[tuple[str, str]]:
        return [(module, "") for module in self._sources.modules("spec.language")]

    @cached_property
    def _records(self) -> list[tuple[str, evidence.Record]]:
        return evidence.read()
