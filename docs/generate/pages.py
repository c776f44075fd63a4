"""The pages of all formulas. What has changed since an earlier build is made anew, by as many processes as there are cores.

What takes long is made in pieces, each found again where nothing that it is made from has changed: every theorem, in which what
is stated and the checker of proofs have a part and nothing else; the rest of a formula's page, which asks for them in a
directive; and what the commands printed that the prose shows.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import torch

from spec.language.registry import formulas

from . import formula_page, samples, theorems
from .caching import Cache
from .origins import Origins, Piece

MAKERS: dict[str, Callable[[str], Any]] = {
    "output": samples.make,
    "theorem": theorems.make,
    "page": lambda formula_id: formula_page.page(formulas()[formula_id]),
}


def all_pages(cache: Cache) -> dict[str, str]:
    """Every formula's page by ID, in Markdown; the other pieces are put where the directives find them."""
    made = dict(_pieces(cache))
    samples.MADE.update({name: text for (kind, name), text in made.items() if kind == "output"})
    theorems.MADE.update({name: found for (kind, name), found in made.items() if kind == "theorem"})
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
        keep(cache, origins, piece, made)
        yield piece, made


def keep(cache: Cache, origins: Origins, piece: Piece, made: Any) -> None:
    """Keep a piece that was made elsewhere, for the next build."""
    if origins.unchanged(piece):
        cache.put(_name(piece), origins.digest(piece), made)


def _name(piece: Piece) -> str:
    return f"{piece[1]}.{piece[0]}"


def _made(missing: list[Piece]) -> Iterator[Any]:
    """Pieces, one after the other, made side by side."""
    if missing:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        # Spawned, not forked: torch keeps threads, and a fork would wait for them. A new process reads the files as they are now.
        with ProcessPoolExecutor(
            min(cores, len(missing)), get_context("spawn"), initializer=_prepare
        ) as pool:
            yield from pool.map(_one, missing)


def _prepare() -> None:
    """One thread; and terms are freed by their counts, so that the garbage collector need not look often."""
    torch.set_num_threads(1)
    gc.set_threshold(50_000, 20, 20)


def _one(piece: Piece) -> Any:
    kind, name = piece
    return MAKERS[kind](name)
