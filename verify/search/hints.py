"""What explains a falsification, in a sentence: other conventions, a cause, inputs of a certain size, slots that nobody reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from verify.faults import Unsupported
from verify.properties.edges_of_use import REMEDY, leaking
from verify.properties.leaks import UNREAD
from verify.properties.setting import Setting
from verify.report import CheckResult, Report
from verify.search.between_calls import kept_between_calls
from verify.search.causes.table import CAUSES, FORMS, SLOPES, cause
from verify.search.elsewhere import beyond_values, in_single_precision
from verify.search.evidence import Evidence
from verify.search.nearest import Nearest, nearest
from verify.search.whereabouts import now_and_then, whereabouts, writes

SIZES = re.compile(r"(?:large sizes|sizes of one): (.*)")
CLEARLY = 0.8
"""The share of the examples that have to conform under other conventions, for these to be the explanation."""


@dataclass(frozen=True)
class Explained:
    """What explains a falsification: a sentence; what of the conventions it changes, if that does; whether it was looked for.

    ``others``: what else may be changed, if it fails under these after all. ``vague``: it tells what is nearest, or where it
    fails, and not why.
    """

    said: str = ""
    changes: Mapping[str, str] = field(default_factory=dict)
    tried: bool = False
    others: tuple[Mapping[str, str], ...] = ()
    vague: bool = False


def explained(setting: Setting, report: Report, kinds: list[str]) -> Explained:
    """What explains what was falsified; nothing where nothing was found."""
    judge, caller = setting.judge, setting.caller
    failed = report.falsified
    if judge.formula.law is not None or caller.hung or not failed:
        return Explained()
    try:
        if any(c.kind == "value" for c in failed):
            kept = kept_between_calls(setting, kinds)
            if kept is not None:
                report.checks.append(kept)
                return Explained(kept.message, tried=True)
            return replace(wrong_values(Evidence(setting, kinds), report), tried=True)
        written = caller.offences.get("inputs")
        if written is not None:  # what else fails follows from it, or is seen once it is mended
            return Explained(writes(written), tried=True)
        if any(c.kind in ("gradient", "theorem") for c in failed):
            near = beyond_values(setting, report, kinds)
            if near is not None:
                return replace(_conforming(near), tried=True)
            sloped = any(c.kind == "gradient" for c in failed)
            return Explained(cause(Evidence(setting, kinds), SLOPES) if sloped else "", tried=True)
        if all(c.name == f"robustness: {UNREAD}" for c in failed):
            return Explained(_unread(setting, kinds[0]))
        if all(c.kind == "robustness" for c in failed):
            return Explained(f"plain calls conform; wrong in: {scenes(failed)}")
    except Unsupported:
        pass
    return Explained()


def wrong_values(evidence: Evidence, report: Report | None = None) -> Explained:
    """What explains wrong values: results of another form first, then conventions, causes, and where it happens: at the sizes
    of the counterexample, perhaps, that is reported.
    """
    said = cause(evidence, FORMS)
    if said:
        return Explained(said)
    near = nearest(evidence, evidence.setting.named)
    if near is not None and not near.vacuous and near.conforming >= CLEARLY * near.examples:
        return _conforming(near)
    single = in_single_precision(evidence)
    if single is not None:
        return _conforming(single)
    return beside_conventions(evidence, report, near if near is not None and near.telling else None)


def beside_conventions(
    evidence: Evidence, report: Report | None = None, near: Nearest | None = None
) -> Explained:
    """What explains wrong values that no choice of conventions does; if nothing does, which are ``near``, or where they are."""
    evidence.anew()
    said = now_and_then(evidence) or cause(evidence, CAUSES)
    if said:
        return Explained(said)
    if near is not None:
        said = f"nearest to convention {near.said}: conforms at {near.conforming} of {near.examples} examples"
    return Explained(said or whereabouts(evidence, report), vague=True)


def scenes(failed: Iterable[CheckResult]) -> str:
    """The checks of robustness among these, as one names them; of large sizes also which they are."""
    return ", ".join(
        f"“{c.name.removeprefix('robustness: ')}”{_where(c)}" for c in failed if c.kind == "robustness"
    )


def _where(check: CheckResult) -> str:
    """The sizes at which a check of sizes of its own fails."""
    found = SIZES.search("" if check.counterexample is None else check.counterexample.regime)
    return f" ({found[1]})" if found else ""


def _conforming(near: Nearest) -> Explained:
    few = "" if near.all else f" at {near.conforming} of {near.examples} examples"
    return Explained(f"conforms under convention {near.said}{few}", near.changes, others=near.others)


def _unread(setting: Setting, dtype: str) -> str:
    """Which inputs leak from slots that nothing reads, where all else conforms."""
    found = leaking(setting, dtype)
    if not found:
        return ""
    return (
        f"values, gradients and theorems conform; only NaN or infinity in slots of {', '.join(found)} that nothing "
        f"reads reaches the output ({REMEDY}). Under convention unread=ignored this is accepted"
    )


__all__ = ["Explained", "beside_conventions", "explained", "scenes", "wrong_values"]
