"""A process that does not outlive the one that it was branched off from."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_DIES_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of Linux."""


def die_with(parent: int, status: int) -> None:
    """End this process when its parent, of this ID, is ended, however that is; on Linux, which has the means."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:  # it has been ended meanwhile
            os._exit(status)


__all__ = ["die_with"]
