"""The figures, each drawn from ``impl`` (and, where a convention that is not ours is shown, from the statement).

One module per subject; its ``FIGURES`` names the formula on whose page a figure stands.
"""

from __future__ import annotations

from collections.abc import Callable

from spec.language.formula import Formula

from . import attention, evoformer, masking, normalization, positional, recurrent, scores
from .regimes import regimes

FIGURES: dict[str, Callable[[], str]] = {
    name: figure
    for subject in (recurrent, scores, attention, positional, normalization, evoformer, masking)
    for name, figure in subject.FIGURES.items()
}


def of(formula: Formula) -> str:
    """The figures of a formula, or nothing."""
    return FIGURES[formula.id]() if formula.id in FIGURES else ""


__all__ = ["FIGURES", "of", "regimes"]
