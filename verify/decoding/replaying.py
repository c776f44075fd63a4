"""A counterexample of a procedure as a script that plays it again, and what that script calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from spec.language.registry import procedures
from verify.decoding.judges import VALUE, judge_of
from verify.report import CheckResult, Report


def script(subject: Report | CheckResult, target: str, procedure_id: str) -> str:
    """A Python file that plays a falsified check again, and exits with 1 if it still fails.

    Raises:
        ValueError: nothing is falsified.
    """
    checks = subject.falsified if isinstance(subject, Report) else [subject]
    with_example = [c for c in checks if c.counterexample is not None]
    if not with_example:
        raise ValueError(f"{procedure_id}: no check is falsified with a counterexample: nothing to reproduce")
    # What names the mistake comes before the reference, which only differs.
    chosen = min(with_example, key=lambda c: (c.name == VALUE, c.kind != "theorem"))
    example = chosen.counterexample
    assert example is not None
    module, _, name = target.partition(":")
    root, _, rest = name.partition(".")
    case = example.calls["case"]
    said, violated = (
        text.replace("\\", "\\\\").replace('"""', "'''") for text in (chosen.message, example.violates)
    )
    return "\n".join(
        [
            f'"""Reproduces: {chosen.name} of {procedure_id}.',
            "",
            said,
            f"Violated: {violated}",
            '"""',
            "import sys",
            "",
            f"from {module} import {root}",
            "from verify.decoding import again",
            "",
            f"function = {root}{'.' + rest if rest else ''}",
            "case = dict(",
            *(f"    {key}={value!r}," for key, value in case.items()),
            ")",
            f"sys.exit(again(function, {procedure_id!r}, {example.calls['check']!r}, case, {example.conventions!r}))",
            "",
        ]
    )


def again(
    fn: Callable[..., Any],
    procedure_id: str,
    check: str,
    case: Mapping[str, Any],
    conventions: Mapping[str, str],
) -> int:
    """Play one case again; prints what is seen and returns 1 if it still fails, else 0."""
    procedure = procedures()[procedure_id]
    judge = judge_of(fn, procedure, procedure.choose(conventions))
    seen = judge.judge(check, judge.case(case))
    sys.stdout.write(f"fails again: {seen.wrong}\n" if seen.wrong else "does not fail\n")
    return 1 if seen.wrong else 0


__all__ = ["again", "script"]
