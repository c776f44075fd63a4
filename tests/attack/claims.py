"""All written claims: importing this fills the register."""

from tests.attack import (
    blocks,
    cases,
    chains,
    conventions,
    deltas,
    derivatives,
    division,
    expectations,
    fixed,
    inductions,
    lookups,
    maxima,
    names,
    powers,
    recurrences,
    roots,
    shadowing,
    signs,
    sums,
    witnesses,
)
from tests.attack.board import CLAIMS

MODULES = (
    blocks,
    cases,
    chains,
    conventions,
    deltas,
    derivatives,
    division,
    expectations,
    fixed,
    inductions,
    lookups,
    maxima,
    names,
    powers,
    recurrences,
    roots,
    shadowing,
    signs,
    sums,
    witnesses,
)

__all__ = ["CLAIMS", "MODULES"]
