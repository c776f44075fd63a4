"""The pages of all formulas. What has changed since an earlier build is made anew, by as many processes as there are cores.

What takes long is made in pieces, each found again where nothing that it is made from has changed: every theorem, in which what
is stated and the checker of proofs have a part and nothing else; the rest of a formula's page, which asks for them in a
directive; what the commands printed that the prose shows; and what is measured for it.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import torch

from spec.language.registry import formulas

from . import accuracy, formula_page, samples, shipped, theorems
from .caching import Cache
from .origins import Origins, Piece

MAKERS: dict[str, Callable[[str], Any]] = {
    "measured": accuracy.make,
    "output": samples.make,
    "theorem": theorems.make,
    "page": lambda formula_id: formula_page.page(formulas()[formula_id]),
}


def all_pages(cache: Cache) -> dict[str, str]:
    """Every formula's page by ID, in Markdown; the other pieces are put where the directives find them."""
    made = dict(make_pieces(cache, Origins().pieces))
    for kind, module in {"measured": accuracy, "output": samples, "theorem": theorems}.items():
        module.MADE.update({name: found for (own, name), found in made.items() if own == kind})
    return {formula_id: made["page", formula_id] for formula_id in formulas()}


def make_pieces(cache: Cache, wanted: Iterable[Piece]) -> Iterator[tuple[Piece, Any]]:
    """Pieces: first those that are kept, or were shipped, then the others as they are made."""
    origins, missing = Origins(), list[Piece]()
    for piece in wanted:
        found = find(cache, origins, piece)
        if found is None:
            missing.append(piece)
        else:
            yield piece, found
    for piece, made in zip(missing, _made(missing), strict=True):
        keep(cache, origins, piece, made)
        yield piece, made


def find(cache: Cache, origins: Origins, piece: Piece) -> Any:
    """A piece as an earlier build made it, or, of a theorem, as it was shipped; None where what it is made from has changed."""
    digest = origins.digest(piece)
    found = cache.get(_name(piece), digest)
    return shipped.find(piece[1], digest) if found is None and piece[0] == "theorem" else found


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
