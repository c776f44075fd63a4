"""``pytest verify``: one test for each formula, target and kind of check, by the same engine as ``attnspec verify``.

A listed deviation (``known.toml``) is an expected failure, strictly: it must still occur. ``ATTNSPEC_MAX_EXAMPLES`` and
``ATTNSPEC_SEED`` change the number of examples (100) and the seed (0).
"""

from __future__ import annotations

import os
from functools import cache

import pytest

from spec.language.registry import find, procedure_ids
from verify.deviations import judge
from verify.report import Report
from verify.targets import TARGETS

KINDS = ("value", "gradient", "accuracy", "theorem", "robustness", "law")


@cache
def run_check(place: int) -> Report:
    """The report of one target, computed once for all its kinds."""
    target = TARGETS[place]
    from verify.checking import check

    report: Report = check(
        target.load(),
        target.formula_id,
        max_examples=int(os.environ.get("ATTNSPEC_MAX_EXAMPLES", "100")),
        seed=int(os.environ.get("ATTNSPEC_SEED", "0")),
        conventions=target.all_conventions,
        sizes=target.sizes,
        name=target.label,
    )
    report.target = target.label
    return report


def draws(formula_id: str) -> bool:
    """Whether a formula is held to a law, and to nothing else; a procedure is not."""
    return formula_id not in procedure_ids() and find(formula_id).law is not None


CASES = [
    pytest.param(place, kind, id=f"{target.formula_id}-{target.label.replace(' ', '_')}-{kind}")
    for place, target in enumerate(TARGETS)
    for kind in KINDS
    if (kind == "law") == draws(target.formula_id)
]


@pytest.mark.parametrize(("place", "kind"), CASES)
def test_conforms(place: int, kind: str) -> None:
    """The target conforms to its formula in every check of this kind, or fails exactly as it is known to."""
    target = TARGETS[place]
    if not target.present:
        pytest.skip(f"{target.peer} is not installed")
    lacking = target.explain_absence()
    if lacking:
        pytest.skip(lacking)
    report = run_check(place)
    mine = [check for check in report.checks if check.kind == kind]
    if not mine:
        pytest.skip(f"nothing of this kind applies to {target.formula_id}")
    judgement = judge([report])
    new = [check for _, check in judgement.new if check.kind == kind]
    assert not new, "\n".join(
        [f"{c.name}: {c.message}" for c in new]
        + [line for c in new if c.counterexample for line in c.counterexample.lines()]
    )
    passed = [
        d for d in judgement.passed if any(d.covers(report.target, report.formula_id, c.name) for c in mine)
    ]
    assert not passed, f"no longer occurs, so remove it from known.toml: {passed}"
    listed = [deviation.reason for _, check, deviation in judgement.expected if check.kind == kind]
    if listed:
        pytest.xfail("; ".join(dict.fromkeys(listed)))
    if all(check.verdict == "inconclusive" for check in mine):
        pytest.skip("inconclusive: " + "; ".join(check.message for check in mine))
