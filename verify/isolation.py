"""A check in a process of its own, where a callable that crashes, exits or hangs is a verdict and no harm to the caller."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from spec.language.formula import Formula
from spec.language.own import address_of
from spec.language.procedure import Procedure
from spec.language.registry import UnknownFormula, statement
from verify.faults import Unusable
from verify.pool import Lost, patience, run_task
from verify.report import FALSIFIED, INCONCLUSIVE, CheckResult, Report, versions
from verify.request import Request

Result = TypeVar("Result")
CHECK = "the process"
"""The name of the check that stands for all that were not made."""


def report_lost(formula_id: str, target: str, lost: Lost, options: Mapping[str, Any]) -> Report:
    """The report on a callable in whose process nothing more is done: falsified if one of its calls has ended that."""
    check = CheckResult(CHECK, "value", FALSIFIED if lost.by_call else INCONCLUSIVE, 1, message=lost.how)
    hint = "a call ends the process" if lost.by_call else "the process was ended"
    more = {name: options[name] for name in ("seed", "max_examples", "device") if name in options}
    return Report(formula_id, target, {}, [check], hint=hint, versions=versions(), **more)


def answer_isolated(
    answer: Callable[[Callable[..., Any], Request], Report], fn: Callable[..., Any], request: Request
) -> Report:
    """Run a check in a process of its own and return its report; its progress is not shown.

    Raises:
        Unusable: the callable, or what is asked, cannot be handed to another process; or what the check itself finds unusable.
    """
    called = request.name or str(getattr(fn, "__qualname__", type(fn).__name__))
    asked = {**request.settings, "time_limit": request.time_limit}
    work = partial(_answer, answer, fn, replace(request, progress=None), _find_name(request.stated))
    found = run_handed_over(work, called, asked)
    return report_lost(request.stated.id, called, found, asked) if isinstance(found, Lost) else found


def run_handed_over(work: Callable[[], Result], called: str, options: Mapping[str, Any]) -> Result | Lost:
    """Do what can be pickled in a process of its own; ``called``: the callable that it is about, ``options``: those of its check.

    Raises:
        Unusable: something cannot be handed to another process; or what the work itself finds unusable.
    """
    try:
        pickled = pickle.dumps(work)
    except Exception as error:
        raise Unusable(_not_handed_over(called, error)) from None
    found: Result | Lost = run_task(_work, pickled, patience(options))
    if not isinstance(found, Lost) or found.error is None:
        return found
    if isinstance(found.error, Unusable):
        raise found.error
    raise Unusable(
        f'isolate=True: {found.how}; a script that is run needs `if __name__ == "__main__":` around its check'
    )


def _work(pickled: bytes) -> Any:
    try:
        work = pickle.loads(pickled)
    except Exception as error:
        raise Unusable(_not_handed_over("the callable", error)) from None
    return work()


def _answer(answer: Callable[..., Report], fn: Callable[..., Any], request: Request, named: str) -> Report:
    return answer(fn, replace(request, stated=statement(named)) if named else request)


def _find_name(stated: Formula | Procedure) -> str:
    """The name under which another process finds a statement, whose theorems speak of it; empty where it has none."""
    named = address_of(stated.id) or stated.id
    try:
        return named if statement(named) is stated else ""
    except UnknownFormula:
        return ""


def _not_handed_over(called: str, error: Exception) -> str:
    return (
        f"isolate=True: expected a callable that another process can import, or that can be pickled; got {called} "
        f"({type(error).__name__}: {error})"
    )


__all__ = ["CHECK", "answer_isolated", "report_lost", "run_handed_over"]
