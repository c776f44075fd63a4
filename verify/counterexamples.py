"""Counterexamples as files, and replaying them: the calls that failed are made again, and judged again.

A file is what ``attnspec check --counterexample FILE`` writes, or a whole report (``--json FILE``), whose first failure is
replayed. Values, gradients, theorems, scenes of use and procedures are judged at the stored inputs; what no single example shows,
a law above all, is drawn again from the stored seed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from spec.language.evaluation.dimensions import Size
from spec.language.formula import Formula
from spec.language.procedure import Procedure
from spec.language.registry import UnknownFormula, statement
from verify.checking import check
from verify.decoding.case_result import ALONE, VALUE
from verify.decoding.judges import judge_of
from verify.faults import Fault, NoGradient, Unsupported, Unusable
from verify.inputs.examples import Example, Space, sizes_of
from verify.inputs.ranges import Ranges
from verify.properties.gradients import judge_gradient
from verify.properties.judge import Judge
from verify.properties.scenarios import by_name
from verify.properties.slopes import differentiable, with_cotangents
from verify.properties.theorems import judge_theorem, sizes_needed
from verify.properties.values import judge_value
from verify.report import (
    CONFORMS,
    FALSIFIED,
    INCONCLUSIVE,
    SCHEMA_VERSION,
    CheckResult,
    Counterexample,
    Report,
)
from verify.report_text import brief, describe_falsified, first
from verify.request import SETTINGS
from verify.search.outcome import Outcome, worst
from verify.subject.callables import find_supported, find_unread, with_fixed, with_words
from verify.subject.caller import Caller
from verify.subject.ending import watch_interrupts
from verify.subject.leading_dimensions import accept_any_lead
from verify.subject.loading import Unloadable, callable_at
from verify.subject.sandbox import freeze_existing_objects, one_thread, use_cpu_by_default, use_seed
from verify.targets import choose_targets

STATES = 8
"""States of the global random generators that are tried, where a callable draws from them."""


@dataclass(frozen=True)
class Replay:
    """The result of replaying a counterexample.

    Attributes:
        formula_id: the statement.
        target: what the callable is called.
        was: the check that failed, as the file has it.
        now: the same check, made again.
        notes: what is not as it was: the statement, or a version.
    """

    formula_id: str
    target: str
    was: CheckResult
    now: CheckResult
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """``falsified`` if the failure still occurs, ``conforms`` or ``inconclusive``."""
        return self.now.verdict

    def __str__(self) -> str:
        begin = f"{self.target} against {self.formula_id}"
        if self.verdict == FALSIFIED:
            lines = [f"{begin}: still falsified", *describe_falsified(self.now)]
        elif self.verdict == CONFORMS:
            lines = [f"{begin}: conforms now, where it failed", f"  then: {brief(self.was)}"]
        else:
            lines = [f"{begin}: inconclusive: {self.now.message}", f"  then: {brief(self.was)}"]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def read_document(path: Path) -> dict[str, Any]:
    """The document in a file.

    Raises:
        Unusable: there is no such file, or it is not JSON; one line.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Unusable(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise Unusable(f"{path} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise Unusable(
            f"{path} holds no counterexample and no report: expected an object, got {type(found).__name__}"
        )
    return found


def replay(
    source: Mapping[str, Any] | Report,
    fn: Callable[..., Any] | None = None,
    *,
    target: str | None = None,
) -> Replay:
    """Make the calls of a counterexample again, and judge them again.

    Args:
        source: a report, ``Report.counterexample()``, or what ``--json`` has written.
        fn: the callable; by default the one that failed, imported from where it was.
        target: ``MODULE:CALLABLE`` in its place, such as a mended one.

    Raises:
        Unusable: the document is damaged or holds no failure, or the callable is not found or cannot be called; one line.
    """
    try:
        report, was = _find_failure(source.to_dict() if isinstance(source, Report) else source)
        stated = statement(report.get("settings", {}).get("formula") or report["formula_id"])
        fn = fn or _load_callable(report, target)
        name = target or report["target"]
        with watch_interrupts(), one_thread(), freeze_existing_objects(), use_cpu_by_default():
            now = _judge_again(stated, fn, report, was, name)
        return Replay(stated.id, name, was, now, _list_changes(stated, report))
    except (UnknownFormula, Unloadable) as error:
        raise Unusable(str(error)) from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, StopIteration) as error:
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise Unusable(
            f"the counterexample cannot be replayed: it is damaged, or of another attnspec ({said})"
        ) from error


def _find_failure(source: Mapping[str, Any]) -> tuple[Mapping[str, Any], CheckResult]:
    """The report and the failed check that are replayed.

    Raises:
        Unusable: there are none, or they are of another version.
    """
    reports = source.get("reports", [source])
    version = source.get("schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise Unusable(
            f"the counterexample has schema_version {version!r}; this attnspec replays {SCHEMA_VERSION}: check again"
        )
    if not all(isinstance(each, Mapping) and "checks" in each for each in reports):
        raise Unusable("it holds no counterexample and no report of attnspec: there are no checks in it")
    for report in sorted(reports, key=lambda each: each.get("overall", FALSIFIED) != FALSIFIED):
        checks = [CheckResult.from_dict(each) for each in report["checks"]]
        failed = [each for each in checks if each.verdict == FALSIFIED]
        if failed:
            return report, first(failed)
    raise Unusable("nothing in it is falsified, so there is nothing to replay")


def _load_callable(report: Mapping[str, Any], target: str | None) -> Callable[..., Any]:
    """The callable that failed, or the one named in its place.

    Raises:
        Unloadable: it is not where it was.
        Unusable: it is not known where it was.
    """
    if target is not None:
        return callable_at(target)
    listed = [each for each in choose_targets([report["formula_id"]]) if each.label == report["target"]]
    if listed:
        return listed[0].load()
    if not report.get("importable"):
        raise Unusable(f"it is not known where {report['target']} is; name it: --target MODULE:CALLABLE")
    try:
        return callable_at(report["importable"])
    except Unloadable as error:
        raise Unusable(f"{error} (--target MODULE:CALLABLE says where it is now)") from None


def _list_changes(stated: Formula | Procedure, report: Mapping[str, Any]) -> list[str]:
    """Notes on what a result depends on, and is not as it was."""
    from verify.report import versions

    notes = []
    if report.get("fingerprint") and report["fingerprint"] != stated.fingerprint:
        notes.append(f"the statement {stated.id} has changed since: what was expected then may not be now")
    then, now = report.get("versions", {}), versions()
    changed = [
        f"{name} {then[name]} then, {now[name]} now" for name in now if then.get(name, now[name]) != now[name]
    ]
    return [*notes, *changed]


# Judging again -----------------------------------------------------------------------------------------------------------------


def _judge_again(
    stated: Formula | Procedure,
    fn: Callable[..., Any],
    report: Mapping[str, Any],
    was: CheckResult,
    name: str,
) -> CheckResult:
    """The failed check, made again: at its example, or, where no single one shows the failure, from its seed."""
    found = was.counterexample
    if isinstance(stated, Procedure):
        return (
            _judge_case(stated, fn, was) if found is not None else _check_again(stated, fn, report, was, name)
        )
    drawn = stated.law is not None and was.kind == "gradient"
    if found is None or drawn or was.kind in ("law", "accuracy"):
        return _check_again(stated, fn, report, was, name)
    settings = report.get("settings", {})
    fn, stated, sizes, fixed, words = with_words(fn, stated, settings.get("sizes"), settings.get("fixed"))
    judge = Judge(stated, found.conventions)
    supported = replace(find_supported(fn, stated, sizes, fixed, settings.get("few_shapes")), given=words)
    within = Ranges.of(stated, settings.get("ranges"), judge.conventions)
    supported = replace(supported, within=within)
    device = settings.get("device", "cpu")
    unread = find_unread(stated, judge.conventions)
    bound = with_fixed(fn, dict(supported.fixed), unread)
    caller = Caller(bound, stated, device, name, supported, unread)
    if report.get("leading"):
        caller.leading = tuple(report["leading"])
        caller.fn = accept_any_lead(caller.fn, stated, caller.leading)
    if "compiled" in found.calls:
        caller.fn = torch.compile(caller.fn)
    try:
        outcome = _judge_in_states(judge, caller, was, _rebuild_example(judge, was, found, caller))
    except Unsupported as said:
        return replace(was, verdict=INCONCLUSIVE, message=str(said), counterexample=None)
    if outcome.idle:
        why = "the example gives nothing to compare"
        return replace(was, verdict=INCONCLUSIVE, message=why, counterexample=None)
    if not outcome.fails:
        return replace(was, verdict=CONFORMS, message="", worst_ratio=outcome.ratio, counterexample=None)
    seen = replace(found, what=outcome.what or found.what, index=outcome.index, got=outcome.got)
    seen = replace(seen, expected=outcome.expected, tolerance=outcome.tolerance)
    return replace(was, message=outcome.message, worst_ratio=outcome.ratio, counterexample=seen)


def _judge_in_states(judge: Judge, caller: Caller, was: CheckResult, example: Example) -> Outcome:
    """How the callable fares at the example; one that draws from global generators is asked in several of their states."""
    outcome = Outcome()
    for seed in (None, *range(STATES)):
        with nullcontext() if seed is None else use_seed(seed, caller.device):
            outcome = _judge_once(judge, caller, was, example)
        if outcome.fails or "generator" not in caller.offences:
            break
    return outcome


def _judge_once(judge: Judge, caller: Caller, was: CheckResult, example: Example) -> Outcome:
    assert was.counterexample is not None
    calls = was.counterexample.calls
    if was.kind == "theorem":
        theorem = judge.formula.theorems[was.name.removeprefix("theorem ")]
        return judge_theorem(judge, caller, theorem, example)
    if was.kind == "gradient":
        return judge_gradient(judge, caller, example)
    if "offence" in calls:
        return _judge_offence(judge, caller, calls["offence"], example)
    if "scenario" in calls:
        try:
            return by_name(judge, calls["scenario"]).play(judge, caller, example)
        except NoGradient as said:
            return Outcome(ratio=math.inf, message=str(said), violates=judge.formula.title)
    before = [example.replace_inputs(**calls["before"])] if "before" in calls else []
    return worst([judge_value(judge, caller, each) for each in (*before, example)])


def _judge_offence(judge: Judge, caller: Caller, key: str, example: Example) -> Outcome:
    """Whether the callable still does something besides returning values, in a call or in the backward pass."""
    kind = example.dtype if judge.real else None
    try:
        arguments = caller.arguments(example.inputs, example.dtype, generator_seed=example.generator_seed)
        caller.results(arguments, example.sizes, example.batch, kind)
        if key not in caller.offences and judge.formula.law is None and differentiable(judge):
            judge_gradient(judge, caller, with_cotangents(judge, example, 0))
    except Fault as fault:
        return Outcome.of_fault(fault, judge.formula.title)
    found = caller.offences.get(key)
    return Outcome() if found is None else Outcome(ratio=math.inf, message=found.message)


def _rebuild_example(judge: Judge, was: CheckResult, found: Counterexample, caller: Caller) -> Example:
    """The example of a counterexample: its sizes are read off its inputs, or as they were where these do not say them."""
    formula, batch = judge.formula, tuple[int, ...]()
    for tensor in formula.tensors:
        value = found.inputs.get(tensor.name)
        if tensor.role == "data" and isinstance(value, np.ndarray):
            batch = value.shape[: value.ndim - len(tensor.shape)]
    sizes = sizes_of(formula, found.inputs, batch)
    symbols: tuple[Size, ...] = Space(formula).symbols
    if was.kind == "theorem":
        theorem = formula.theorems[was.name.removeprefix("theorem ")]
        symbols = (*sizes_needed(formula, theorem), *theorem.sizes)
    sizes |= {symbol: found.sizes[str(symbol)] for symbol in symbols if str(symbol) in found.sizes}
    return Example(
        dict(found.inputs), found.dtype, sizes, found.regime, batch, found.generator_seed,
        dict(found.cotangents or {}), caller.sizes, found.turn,
    )  # fmt: skip


def _judge_case(procedure: Procedure, fn: Callable[..., Any], was: CheckResult) -> CheckResult:
    """The check of a procedure at its case."""
    assert was.counterexample is not None
    calls = was.counterexample.calls
    judge = judge_of(fn, procedure, procedure.choose(was.counterexample.conventions))
    case = judge.case({name: _tuples(value) for name, value in calls["case"].items()})
    try:
        seen = judge.judge(VALUE if calls["check"] == ALONE else calls["check"], case)
    except Unsupported as said:
        return replace(was, verdict=INCONCLUSIVE, message=str(said), counterexample=None)
    wrong, idle = seen.wrong, seen.idle
    if calls["check"] == ALONE:
        wrong, idle = "; ".join(judge.guard.changed), False
        wrong = wrong and f"it changes global state: {wrong}"
    if wrong:
        return replace(was, message=wrong, worst_ratio=seen.ratio)
    verdict, why = (INCONCLUSIVE, "the case decides nothing") if idle else (CONFORMS, "")
    return replace(was, verdict=verdict, message=why, worst_ratio=seen.ratio, counterexample=None)


def _tuples(value: Any) -> Any:
    """Lists as tuples, as a case has them."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _check_again(
    stated: Formula | Procedure,
    fn: Callable[..., Any],
    report: Mapping[str, Any],
    was: CheckResult,
    name: str,
) -> CheckResult:
    """The check of this name in a whole check with the same seed and settings; where it is not made, what else fails."""
    settings = {key: value for key, value in report.get("settings", {}).items() if key in SETTINGS}
    settings = {"seed": report.get("seed", 0), "max_examples": report.get("max_examples", 100), **settings}
    conventions = {**report["conventions"], **report.get("edges", {})}
    made = check(fn, stated, conventions=conventions, causes=False, name=name, **settings)
    same = [each for each in made.checks if each.name == was.name] or made.falsified[:1]
    if same:
        return same[0]
    verdict = CONFORMS if made.verdict == CONFORMS else INCONCLUSIVE
    return CheckResult(was.name, was.kind, verdict, message="this check was not made this time")


__all__ = ["Replay", "read_document", "replay"]
