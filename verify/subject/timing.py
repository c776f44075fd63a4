"""How long a call takes, whatever else the machine does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

CALLS = 3
"""How often a call is timed."""
SURE = 0.1
"""Seconds from which on the second time is enough."""


def least_seconds(call: Callable[[], Any]) -> float:
    """The processor time of a call, so that a busy machine changes nothing: the least of several. The first may set something
    up, and where the system counts in ticks, a call during which the clock ticks seems to take all of one.
    """
    spent: list[float] = []
    while len(spent) < CALLS and not (len(spent) > 1 and spent[-1] > SURE):
        began = time.process_time()
        call()
        spent.append(time.process_time() - began)
    return min(spent)


__all__ = ["least_seconds"]
