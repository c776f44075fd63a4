"""Conventions sought where values in float64 do not tell: of what computes in float32 inside, and of theorems and gradients."""

from __future__ import annotations

import time
from collections.abc import Iterator

from verify.edges import ARITHMETIC, STRICT
from verify.properties.judge import Judge
from verify.properties.plain_calls import check_gradients, check_values
from verify.properties.setting import Setting
from verify.properties.single_precision import digits_inside
from verify.report import CONFORMS, CheckResult, Report
from verify.search.causes.extremes import error
from verify.search.evidence import SECONDS, Evidence
from verify.search.nearest import Nearest, combinations, nearest

NARROW = "float32"
FEW = 3
"""Examples that are looked at under each choice of conventions."""
COARSE = 1e-5
"""An error below this share of the largest entry may be float32's: on ordinary data its roundings come to far less."""


def in_single_precision(evidence: Evidence) -> Nearest | None:
    """The conventions of a callable that computes in float32 inside: those that hold in float32, under which it does."""
    setting = evidence.setting
    if setting.edges.get(ARITHMETIC) == STRICT[ARITHMETIC] or not {NARROW, "float64"} <= {*evidence.kinds}:
        return None
    if not _coarse(evidence):
        return None
    near = nearest(Evidence(setting, [NARROW]), setting.named)
    if near is None or digits_inside(setting.aside(judge=near.judge)) is None:
        return None
    return near


def _coarse(evidence: Evidence) -> bool:
    """Whether results are off by little, under our conventions or others."""
    if any(0 < error(evidence, each) < COARSE for each in evidence.failing):
        return True
    ours = evidence.judge
    for judge, _ in _others(evidence.setting):
        if evidence.late:
            return False
        evidence.judge = judge
        try:
            if any(0 < error(evidence, each) < COARSE for each in evidence.failing[:FEW]):
                return True
        finally:
            evidence.judge = ours
    return False


def beyond_values(setting: Setting, report: Report, kinds: list[str]) -> Nearest | None:
    """The conventions of a callable of which a theorem or a gradient fails, where no value does.

    More examples show wrong values where there are any. Else every combination is tried at the gradients that fail.
    """
    near = nearest(Evidence(setting, kinds, many=True), setting.named)
    if near is not None or not any(check.kind == "gradient" for check in report.falsified):
        return near
    began = time.process_time()
    for judge, changes in _others(setting):
        if setting.clock.over or time.process_time() - began > SECONDS:
            return None
        other = setting.aside(judge=judge)
        held = list(_held(other, report))
        if held and all(each.verdict == CONFORMS for each in held):
            examples = sum(each.examples for each in held)
            return Nearest(judge, changes, examples, examples)
    return None


def _others(setting: Setting) -> list[tuple[Judge, dict[str, str]]]:
    """Other choices of conventions: those that leave nothing unsaid first."""
    ours = setting.judge
    every = [
        (Judge(ours.formula, {**ours.conventions, **changes}), changes)
        for changes in combinations(ours.formula, ours.conventions, setting.named)
    ]
    return sorted(every, key=lambda each: each[0].partial)


def _held(setting: Setting, report: Report) -> Iterator[CheckResult]:
    """What failed, and the values, under other conventions; nothing after what fails there as well."""
    for failed in (each for each in report.falsified if each.kind == "gradient"):
        for check in (check_gradients, check_values):
            result = check(setting, str(failed.dtype))
            yield result
            if result.verdict != CONFORMS:
                return


__all__ = ["beyond_values", "in_single_precision"]
