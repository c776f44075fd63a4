"""The oracle at real sizes: the bound of multi-head attention, beside the same with every product of a sum formed."""

from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

import spec
from benchmarks.harness import Comparison, Memory, Work

SIZES = ((16, 96, 4), (64, 192, 6))
LARGE = (64, 384, 12)


def entries(quick: bool) -> Iterator[Comparison | Memory]:
    """Time at two sizes, memory at one."""
    for tokens, width, heads in SIZES[:1] if quick else SIZES:
        given = inputs(tokens, width, heads)
        yield Comparison(
            "bound of attention.multi_head",
            f"{tokens}×{width}, {heads} heads",
            partial(_bound, given),
            {"products formed": partial(_formed, given)},
        )
    if not quick:
        yield Memory(
            "bound of attention.multi_head",
            f"{LARGE[0]}×{LARGE[1]}, {LARGE[2]} heads",
            partial(_prepared, _bound),
            {"products formed": partial(_prepared, _formed)},
        )


def inputs(tokens: int, width: int, heads: int) -> dict[str, Any]:
    """Of multi-head attention: normal numbers, and a causal mask."""
    rng = np.random.default_rng(0)
    x, each = rng.standard_normal((tokens, width)), (heads, width, width // heads)
    projections = {name: rng.standard_normal(each) / width**0.5 for name in ("W_q", "W_k", "W_v")}
    mask = np.tril(np.ones((tokens, tokens), bool))
    return {
        "x": x,
        "y": x,
        **projections,
        "W_o": rng.standard_normal((width, width)) / width**0.5,
        "mask": mask,
    }


def _bound(given: dict[str, Any]) -> object:
    return spec.bound("attention.multi_head", given, dtype="float32")


def _formed(given: dict[str, Any]) -> object:
    with (
        mock.patch("spec.language.evaluation.compiled.values.FEWEST", 1 << 60),
        mock.patch("spec.language.evaluation.running_error.FEWEST", 1 << 60),
    ):
        return _bound(given)


def _prepared(work: Any) -> Work:
    return partial(work, inputs(*LARGE))
