"""A point where the world legitimately differs, and what of it is ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Convention:
    """A point where the world legitimately differs: a name, its options with a sentence each, and ours.

    ``absent`` tells, by option, what an optional mask that is not given stands for: True everywhere if not said.
    """

    name: str
    options: Mapping[str, str]
    default: str
    absent: Mapping[str, bool] = field(default_factory=dict)


INTERMEDIATES = Convention(
    "intermediates",
    {
        "accumulate": "arithmetic runs in the accumulation type; only outputs and stored lines are rounded to the storage type",
        "storage": "every operation rounds to the storage type",
    },
    "accumulate",
)

__all__ = ["INTERMEDIATES", "Convention"]
