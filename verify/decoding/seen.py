"""What came of one case, whatever the procedure."""

from __future__ import annotations

from dataclasses import dataclass

VALUE, REPEATS = "value", "same call, same result"
"""The checks that are no requirements: the reference's own result, and the same result twice."""


@dataclass(frozen=True)
class Seen:
    """What came of a case: what is wrong ("" if nothing), and the largest difference beside the tolerance, if one was judged.

    ``idle`` says that the case decides nothing: two candidates lie closer together than rounding.
    """

    wrong: str = ""
    ratio: float | None = None
    idle: bool = False
