"""The largest numbers that options may be, wherever they are read from."""

import sys

WHOLE = 2**63 - 1
"""Of whole numbers."""
REAL = sys.float_info.max
"""Of others: what float64 holds."""

__all__ = ["REAL", "WHOLE"]

CALLS = 100
"""Calls of a candidate before it is judged once more, unless told otherwise."""
CASE_KINDS = ("regime", "gradient", "layout", "shape", "calls")
"""Kinds of cases of a comparison, beside the inputs given."""
