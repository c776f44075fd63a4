"""Types by their names: which are checked, and which graded, where none are named."""

from __future__ import annotations

from collections.abc import Sequence

DEFAULT_TYPES = ("float64", "float32")
"""The types checked where none are named."""
GRADED = ("float32", "bfloat16", "float16")
"""Types that are graded: the value in float64 must be exact beside the error."""
USUAL = ("float32", "bfloat16")
"""Types that are graded where the user names none."""


def to_grade(named: Sequence[str] | None) -> list[str]:
    """The types that are graded, of those named; where none are, the usual ones."""
    return [kind for kind in named if kind in GRADED] if named is not None else list(USUAL)


__all__ = ["DEFAULT_TYPES", "GRADED", "USUAL", "to_grade"]
