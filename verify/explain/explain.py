"""What explains a falsification: results of another form, other conventions, a cause, and else where it happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from verify.explain.alterations import (
    find_alteration,
    find_alteration_beside_conventions,
    find_factor,
    find_fill_value,
    find_floor,
    find_term,
    outputs_exchanged,
)
from verify.explain.calls import (
    drawn_from_outside,
    in_batches,
    kept_between_calls,
    now_and_then,
    random_result,
    writes,
    written_over,
)
from verify.explain.conventions import Nearest, nearest, nearest_beyond_values, nearest_in_float32, of_draws
from verify.explain.digits import (
    find_rounded_factors,
    gradients_roundabout,
    in_a_narrower_type,
    in_float32,
    in_small_entries,
    nowhere_finite,
    overflows,
    values_roundabout,
    weighs_hidden,
)
from verify.explain.evidence import Evidence
from verify.explain.probes import (
    at_equal_sizes,
    find_transposition,
    looks_ahead,
    returns_arrays,
    returns_several,
    some_sizes_only,
    unread_inputs,
)
from verify.explain.sizes import at_entries, at_masks, at_sizes
from verify.explain.slopes import find_stopped_gradients, find_undefined_gradients
from verify.faults import Unsupported
from verify.properties.edges_of_use import REMEDY, find_leaking
from verify.properties.leaks import UNREAD
from verify.properties.setting import Setting
from verify.report import CheckResult, Reason, Report, format_options

Causes = Sequence[tuple[Callable[[Evidence], str], Reason]]
"""What looks for a cause and says it in a sentence, or in an empty one; and the kind of explanation that it is."""

FORMS: Causes = (
    (in_batches, Reason.CAUSE),
    (returns_several, Reason.CAUSE),
    (returns_arrays, Reason.CAUSE),
    (find_transposition, Reason.CAUSE),
    (at_equal_sizes, Reason.CAUSE),
    (some_sizes_only, Reason.CAUSE),
    (random_result, Reason.UNSTEADY),
    (outputs_exchanged, Reason.CAUSE),
    (find_rounded_factors, Reason.CAUSE),
)
"""Causes that are looked for before other conventions: nothing else is told from results of another form."""

CAUSES: Causes = (
    (now_and_then, Reason.UNSTEADY),
    (nowhere_finite, Reason.CAUSE),
    (in_float32, Reason.SINGLE),
    (values_roundabout, Reason.CAUSE),
    (weighs_hidden, Reason.CAUSE),
    (overflows, Reason.CAUSE),
    (find_fill_value, Reason.CAUSE),
    (find_floor, Reason.CAUSE),
    (find_alteration, Reason.CAUSE),
    (find_factor, Reason.CAUSE),
    (find_term, Reason.CHECK),
    (find_alteration_beside_conventions, Reason.CAUSE),
    (unread_inputs, Reason.CHECK),
    (looks_ahead, Reason.CHECK),
    (in_a_narrower_type, Reason.CAUSE),
    (in_small_entries, Reason.CAUSE),
    (at_masks, Reason.SIZES),
)
"""Causes that are looked for where no other conventions explain what fails."""

SLOPES: Causes = (
    (find_undefined_gradients, Reason.CAUSE),
    (find_stopped_gradients, Reason.CAUSE),
    (gradients_roundabout, Reason.CAUSE),
)
"""Causes that are looked for where gradients fail and values do not."""


@dataclass(frozen=True)
class Explanation:
    """What explains a falsification.

    Attributes:
        said: a sentence.
        reason: its kind.
        changes: what it changes of the conventions, if it does.
        others: what else may be changed, if it fails under these after all.
        alike: what may be changed as well: nothing tells it from these.
        tried: whether an explanation was looked for.
    """

    said: str = ""
    reason: Reason = Reason.NONE
    changes: Mapping[str, str] = field(default_factory=dict)
    others: tuple[Mapping[str, str], ...] = ()
    alike: tuple[Mapping[str, str], ...] = ()
    tried: bool = False

    @property
    def is_vague(self) -> bool:
        """Whether it says what is nearest, or where it fails, and not why."""
        return self.reason in (Reason.NONE, Reason.NEAREST, Reason.SIZES, Reason.ENTRIES)

    @property
    def has_range(self) -> bool:
        """Whether a limit on entries may make the callable right, as far as this tells."""
        return self.reason not in (Reason.CONVENTIONS, Reason.SIZES)


def explain(setting: Setting, report: Report, kinds: list[str]) -> Explanation:
    """Explain what was falsified, and add the check that shows it, if any, to the report; empty where nothing explains it."""
    if setting.judge.formula.law is not None:
        return replace(_explain_law(setting, report), tried=True)
    if setting.caller.hung or not report.falsified:
        return Explanation()
    try:
        return _explain_checks(setting, report, kinds)
    except Unsupported:
        return Explanation()


def _explain_checks(setting: Setting, report: Report, kinds: list[str]) -> Explanation:
    failed = report.falsified
    if any(c.kind == "value" for c in failed):
        kept = kept_between_calls(setting, kinds)
        if kept is not None:
            report.checks.append(kept)
            return Explanation(kept.message, Reason.CALLS, tried=True)
        return replace(explain_values(Evidence(setting, kinds), report), tried=True)
    written = setting.caller.offences.get("inputs")
    if written is not None:  # what else fails follows from it, or is seen once it is mended
        return Explanation(writes(written), Reason.CAUSE, tried=True)
    if any(c.kind in ("gradient", "theorem") for c in failed):
        near = nearest_beyond_values(setting, report, kinds)
        if near is not None:
            return replace(_explain_by_conventions(near), tried=True)
        sloped = any(c.kind == "gradient" for c in failed)
        return replace(first_cause(Evidence(setting, kinds), SLOPES if sloped else ()), tried=True)
    if all(c.name == f"robustness: {UNREAD}" for c in failed):
        return _explain_leak(setting, kinds[0])
    if all(c.kind == "robustness" for c in failed):
        over = first_cause(Evidence(setting, kinds), ((written_over, Reason.CALLS),))
        scenes = Explanation(f"plain calls conform; wrong in: {_scenes(failed)}", Reason.SCENES)
        return over if over.said else scenes
    return Explanation()


def explain_values(evidence: Evidence, report: Report | None = None) -> Explanation:
    """Explain wrong values: results of another form first, then conventions, causes, and where they occur."""
    found = first_cause(evidence, FORMS)
    if found.said:
        return found
    near = nearest(evidence, evidence.setting.named)
    if near is not None and near.is_clear:
        return _explain_by_conventions(near)
    single = nearest_in_float32(evidence)
    if single is not None:
        return _explain_by_conventions(single)
    return explain_beside_conventions(evidence, report, near if near is not None and near.telling else None)


def explain_beside_conventions(
    evidence: Evidence, report: Report | None = None, near: Nearest | None = None
) -> Explanation:
    """What explains wrong values that no choice of conventions does; if nothing does, which are ``near``, or where they are."""
    evidence.restart_time()
    found = first_cause(evidence, CAUSES)
    if found.said:
        return found
    if near is not None:
        said = f"nearest to convention {near.changes_text}: conforms at {near.conforming} of {near.examples} examples"
        return Explanation(said, Reason.NEAREST)
    return _locate(evidence, report)


def first_cause(evidence: Evidence, causes: Causes) -> Explanation:
    """The first cause of a table that shows."""
    for probe, reason in causes:
        try:
            said = probe(evidence)
        except Unsupported:
            continue
        if said:
            return Explanation(said, reason)
    return Explanation()


def _locate(evidence: Evidence, report: Report | None) -> Explanation:
    """Where a callable fails, if no cause is known: in some calls, at some sizes, at large entries, in a few regimes."""
    offences = evidence.caller.offences
    if "inputs" in offences:
        return Explanation(writes(offences["inputs"]), Reason.CAUSE)
    evidence.restart_time()
    if said := drawn_from_outside(evidence):
        return Explanation(said, Reason.CAUSE)
    if said := at_sizes(evidence, report):
        return Explanation(said, Reason.SIZES)
    if said := at_entries(evidence):
        return Explanation(said, Reason.ENTRIES)
    if "generator" in offences:
        return Explanation(
            "it draws from a global random generator, which may be why (is dropout left on?)", Reason.CHECK
        )
    return Explanation()


def _explain_by_conventions(near: Nearest) -> Explanation:
    few = "" if near.conforming == near.examples else f" at {near.conforming} of {near.examples} examples"
    said = f"conforms under convention {near.changes_text}{few}"
    return Explanation(said, Reason.CONVENTIONS, near.changes, near.others, near.alike)


def _explain_leak(setting: Setting, dtype: str) -> Explanation:
    """Which inputs leak from slots that nothing reads, where all else conforms."""
    found = find_leaking(setting, dtype)
    if not found:
        return Explanation()
    return Explanation(
        f"values, gradients and theorems conform; only NaN or infinity in slots of {', '.join(found)} that nothing "
        f"reads reaches the output ({REMEDY}). Under convention unread=ignored this is accepted",
        Reason.SCENES,
    )


def _explain_law(setting: Setting, report: Report) -> Explanation:
    """What explains draws that are not those of their law: every other combination of conventions, then its shares."""
    failed = [check for check in report.falsified if check.kind == "law"]
    changes = of_draws(setting) if failed else {}
    if changes:
        return Explanation(
            f"conforms under convention {format_options(changes)}", Reason.CONVENTIONS, changes
        )
    if failed:
        told = failed[0].details
        return Explanation(
            told.get("cause") or failed[0].message.partition(";")[0], told.get("reason", Reason.CHECK)
        )
    scenes = _scenes(report.falsified)
    return (
        Explanation(f"what it draws conforms; wrong in: {scenes}", Reason.SCENES) if scenes else Explanation()
    )


def _scenes(failed: Iterable[CheckResult]) -> str:
    """The checks of robustness among these, as one names them; of sizes of their own also which they are."""
    said = []
    for check in (each for each in failed if each.kind == "robustness"):
        regime = "" if check.counterexample is None else check.counterexample.regime
        sizes = next(
            (regime.partition(each)[2] for each in ("large sizes: ", "sizes of one: ") if each in regime), ""
        )
        said.append(f"“{check.name.removeprefix('robustness: ')}”" + (f" ({sizes})" if sizes else ""))
    return ", ".join(said)


__all__ = [
    "CAUSES",
    "FORMS",
    "SLOPES",
    "Explanation",
    "explain",
    "explain_beside_conventions",
    "explain_values",
    "first_cause",
]
