"""What came of one case, whatever the procedure."""

from __future__ import annotations

from dataclasses import dataclass

VALUE, REPEATS, ALONE = "value", "same call, same result", "leaves global state alone"
"""The checks that are no requirements: the reference's own result, the same result twice, and nothing else changed."""


@dataclass(frozen=True)
class CaseResult:
    """The result of one case: what is wrong ("" if nothing), and the largest difference beside the tolerance, if one was judged.

    ``idle`` says that the case decides nothing: two candidates lie closer together than rounding. ``fault``: nothing could be
    compared, since the callable raised or did not do what the contract says.
    """

    wrong: str = ""
    ratio: float | None = None
    idle: bool = False
    fault: bool = False
