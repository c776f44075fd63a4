"""A counterexample of a procedure as a script that needs torch and the callable alone.

The problem stands in it as data; and by their source the model that is asked, how the callable is called and read, and what it is
held to: the requirement that is violated, or the reference.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any

from spec.decoding.continuations import Problem
from spec.language.procedure import Procedure
from spec.language.registry import procedures
from verify.decoding.cases import OWN, Case
from verify.decoding.contract import logits_of, solved
from verify.decoding.judges import REPEATS, VALUE
from verify.decoding.judging import compared, repeated, tolerance_of
from verify.decoding.models import KINDS, Uncached
from verify.decoding.seen import ALONE
from verify.decoding.tokens import case_of, differs, solver_of
from verify.faults import Fault, Unsupported
from verify.report import CheckResult, Report
from verify.scripting.literals import number
from verify.scripting.sources import OURS, Sources
from verify.scripting.standalone import standalone
from verify.subject.sandbox import STATES

RESERVED = ("asked", "checked", "fault", "model", "problem", "said", "solve", "states", "wrong")
"""What a script calls its own."""


def script(subject: Report | CheckResult, target: str, procedure_id: str, written: str = "") -> str:
    """A Python file that plays a falsified check again, and exits with 1 if it still fails.

    ``written``: how the callable is made of what is imported, where it is not that itself.

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
    sources = Sources((*OURS, "impl"), RESERVED)
    sources.imports["import sys"] = "sys"
    procedure, calls = procedures()[procedure_id], example.calls
    states = [STATES[name] for name in calls.get("items", ()) if name in STATES]
    body = _body(
        sources, procedure, calls["check"], calls["case"], calls["takes"], example.conventions, states
    )
    body += [
        'print(f"fails again: {wrong}" if wrong else "does not fail")',
        "sys.exit(1 if wrong else 0)",
    ]
    reproduces, above = f"{chosen.name} of {procedure_id}", "\n".join(sources.lines())
    return standalone(reproduces, chosen.message, example.violates, above, target, "\n".join(body), written)


def _body(
    sources: Sources,
    procedure: Procedure,
    check: str,
    case: Mapping[str, Any],
    takes: Collection[str],
    conventions: Mapping[str, str],
    states: Collection[str],
) -> list[str]:
    """The problem, how it is solved, and what is wrong with that; ``states`` are to be left alone."""
    if procedure.module == "decoding":
        set_up = _generated(sources, procedure, Case(**case), takes, conventions)
    else:
        set_up = _made(sources, procedure, case_of(procedure.id, case).problem(conventions), takes)
    if states:
        for module in ("os", "random", "sys", "numpy", "torch"):
            if any(f"{module}." in said for said in states):
                sources.imports[f"import {module}"] = module
        set_up += ["", "", "def states():", f"    return [{', '.join(states)}]"]
    return [
        *set_up,
        "",
        "",
        "try:",
        f"    wrong = {_wrong(sources, procedure, check)}",
        f"except {sources.of(Fault)} as fault:",
        "    wrong = str(fault)",
        f"except {sources.of(Unsupported)} as said:",
        '    print(f"it declines: {said}")',
        '    wrong = ""',
    ]


def _wrong(sources: Sources, procedure: Procedure, check: str) -> str:
    """What is looked at."""
    if check == ALONE:
        return '"" if states() == (solve(problem), states())[1] else "it changes global state"'
    twice = "solve(problem), solve(problem)"
    of_texts = procedure.module == "decoding"
    if check == REPEATS:
        if of_texts:
            return f"{sources.of(repeated)}(problem, {twice})"
        return f'{sources.of(differs)}({twice}, "called again")'
    if check == VALUE:
        wanted = f"{sources.of(procedure.reference)}(problem)"
        if of_texts:
            return f"{sources.of(compared)}(problem, solve(problem), {wanted}[0]).wrong"
        return f'{sources.of(differs)}(solve(problem), {wanted}, "expected")'
    return f"{sources.of(procedure.named[check].broken)}(problem, solve)"


def _generated(
    sources: Sources, procedure: Procedure, case: Case, takes: Collection[str], conventions: Mapping[str, str]
) -> list[str]:
    """A problem of a decoder: a model, and how it is asked for continuations."""
    own = case.kind == OWN
    made = "checked.model" if own else sources.of(KINDS[case.kind], "made")
    given = {name: getattr(case, name) for name in ("max_length", "end", "width", "top")}
    if own:  # it has a cache, or is told to do without
        asked, told = "model", ["    model.cached = asked.cached"]
    else:
        asked, told = f"model if asked.cached else {sources.of(Uncached)}(model)", []
    beams = procedure.id == "decoding.beam"
    return [
        f"model = {made}({case.vocabulary}, {case.seed})",
        f"problem = {sources.of(Problem)}(",
        f"    {sources.of(logits_of)}(model),",
        f"    vocabulary={case.vocabulary},",
        f"    prompts={tuple(map(tuple, case.prompts))!r},",
        *(f"    {name}={value!r}," for name, value in given.items()),
        f"    alpha={number(case.alpha)},",
        f"    conventions={dict(conventions)!r},",
        f"    tolerance={sources.of(tolerance_of)}(model),",
        ")",
        "",
        "",
        "def solve(asked):",
        *told,
        f"    return {sources.of(solved)}(checked, {sorted(takes)!r}, {beams}, {asked}, asked, {case.seed})",
    ]


def _made(sources: Sources, procedure: Procedure, problem: Any, takes: Collection[str]) -> list[str]:
    """A problem of what makes tokens."""
    given = {each.name: getattr(problem, each.name) for each in fields(problem)}
    return [
        f"problem = {sources.of(type(problem))}(",
        *(f"    {name}={_said(value)}," for name, value in given.items()),
        ")",
        "",
        "",
        "def solve(asked):",
        f"    return {sources.of(solver_of(procedure.id))}(checked, {sorted(takes)!r}, asked)",
    ]


def _said(value: Any) -> str:
    """A value as it is written, the same in each process."""
    if isinstance(value, frozenset):
        return f"frozenset({sorted(value)!r})"
    return repr(dict(value) if isinstance(value, Mapping) else value)


__all__ = ["script"]
