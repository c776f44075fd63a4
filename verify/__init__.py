"""A conformance kit: holds any callable to a symbolic statement.

``verify.check(fn, "attention.scaled_dot_product")`` derives inputs, tolerances and properties from the statement and returns a
:class:`Report`. Names are imported when they are first used, so ``import verify`` imports neither torch nor Hypothesis.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from verify import cache  # as a module: what it does here is part of what importing means

if TYPE_CHECKING:
    from verify import adapt, strategies
    from verify.checking import check
    from verify.comparing.comparing import compare
    from verify.comparing.report import Comparison
    from verify.comparing.statement import assert_conforms
    from verify.counterexamples import replay
    from verify.faults import Unusable
    from verify.output.script import script
    from verify.report import CheckResult, Counterexample, Report

__all__ = [
    "CheckResult",
    "Comparison",
    "Counterexample",
    "Report",
    "Unusable",
    "adapt",
    "assert_conforms",
    "check",
    "compare",
    "replay",
    "script",
    "strategies",
]

cache.keep_working_folder_clean()

_HOMES = {
    "assert_conforms": "comparing.statement",
    "check": "checking",
    "compare": "comparing.comparing",
    "Comparison": "comparing.report",
    "Report": "report",
    "CheckResult": "report",
    "Counterexample": "report",
    "Unusable": "faults",
    "replay": "counterexamples",
    "script": "output.script",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'verify' has no attribute {name!r}; it offers {', '.join(__all__)}")
    if name in ("adapt", "strategies"):
        return import_module(f"verify.{name}")
    return getattr(import_module(f"verify.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
