"""The pages of all formulas, made side by side by as many processes as there are cores."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch

from spec.language.registry import formulas
from spec.language.theorem import Assurance

from . import formula_page, theorems


def all_pages() -> dict[str, str]:
    """Every formula's page by ID, in Markdown."""
    ids = list(formulas())
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # Spawned, not forked: torch keeps threads, and a fork would wait for them.
    with ProcessPoolExecutor(
        workers, get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)
    ) as pool:
        made = dict(zip(ids, pool.map(_one, ids), strict=True))
    for formula_id, (_, counted) in made.items():
        theorems.COUNTED[formula_id] = counted
    return {formula_id: page for formula_id, (page, _) in made.items()}


def _one(formula_id: str) -> tuple[str, dict[Assurance, int]]:
    """A page, and what was found out on the way about its theorems."""
    page = formula_page.page(formulas()[formula_id])
    return page, theorems.counts(formula_id)
