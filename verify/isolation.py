"""A check in a process of its own, where a callable that crashes, exits or hangs is a verdict and no harm to the caller."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

from verify.faults import Unusable
from verify.pool import Lost, patience, run_task
from verify.report import FALSIFIED, INCONCLUSIVE, CheckResult, Report, versions

CHECK = "the process"
"""The name of the check that stands for all that were not made."""


def lost_report(formula_id: str, target: str, lost: Lost, options: Mapping[str, Any]) -> Report:
    """The report on a callable in whose process nothing more is done: falsified if one of its calls has ended that."""
    check = CheckResult(CHECK, "value", FALSIFIED if lost.by_call else INCONCLUSIVE, 1, message=lost.how)
    hint = "a call ends the process" if lost.by_call else "the process was ended"
    more = {name: options[name] for name in ("seed", "max_examples", "device") if name in options}
    return Report(formula_id, target, {}, [check], hint=hint, versions=versions(), **more)


def isolated_check(check: Callable[..., Report], given: Mapping[str, Any]) -> Report:
    """The report of a check with these arguments, made in a process of its own. Its progress is not told.

    Raises:
        Unusable: the callable, or another argument, cannot be handed to another process; or what the check itself finds unusable.
    """
    fn, formula_id = given["fn"], given["formula_id"]
    called = given["name"] or getattr(fn, "__qualname__", type(fn).__name__)
    try:
        work = pickle.dumps((check, {**given, "progress": None}))
    except Exception as error:
        raise Unusable(_not_handed_over(called, error)) from None
    lost = run_task(_check, work, patience(given))
    if not isinstance(lost, Lost):
        return lost
    if isinstance(lost.error, Unusable):
        raise lost.error
    if lost.error is not None:
        raise Unusable(
            f'isolate=True: {lost.how}; a script that is run needs `if __name__ == "__main__":` around its check'
        )
    return lost_report(str(getattr(formula_id, "id", formula_id)), called, lost, given)


def _check(work: bytes) -> Report:
    try:
        check, given = pickle.loads(work)
    except Exception as error:
        raise Unusable(_not_handed_over("the callable", error)) from None
    report: Report = check(**given)
    return report


def _not_handed_over(called: str, error: Exception) -> str:
    return (
        f"isolate=True: expected a callable that another process can import, or that can be pickled; got {called} "
        f"({type(error).__name__}: {error})"
    )


__all__ = ["CHECK", "isolated_check", "lost_report"]
