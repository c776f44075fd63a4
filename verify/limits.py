"""The largest numbers that options may be, wherever they are read from."""

import sys

WHOLE = 2**63 - 1
"""Of whole numbers."""
REAL = sys.float_info.max
"""Of others: what float64 holds."""

__all__ = ["REAL", "WHOLE"]
