"""In which share a sample differs from its law, in a sentence: how many are selected, and what becomes of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spec.language.arrays import WHOLE
from spec.language.formula import Formula
from verify.laws.draws import Sample
from verify.report import FALSIFIED, CheckResult

SHARES = ("law: selection", "law: counts", "law: independence", "law: outcomes", "law: words")
"""The checks of frequencies. What falsifies others (a generator that is not used) makes these wrong, too."""


def law_cause(formula: Formula, sample: Sample, row: Mapping[str, Any], checks: Sequence[CheckResult]) -> str:
    """What is wrong with a sample: its shares, where they are what was falsified; else what the first falsified check says."""
    failed = [check for check in checks if check.verdict == FALSIFIED]
    if not failed:
        return ""
    names = {check.name for check in failed}
    others = [check for check in failed if check.name not in SHARES]
    if others:
        return others[0].message.partition(";")[0]
    if "law: selection" in names:
        free = sample.rate > 0
        seen, stated = sample.chosen[:, free].mean(), sample.rate[free].mean()
        if abs(seen - stated) > 4 * np.sqrt(stated / sample.chosen[:, free].size):
            return f"the share of selected positions is off: {_percent(seen)}, stated {_percent(stated)}"
    if "law: outcomes" in names:
        return f"the shares of what selected positions become are off: {_outcomes(formula, sample, row)}"
    return failed[0].message.partition(";")[0]


def _outcomes(formula: Formula, sample: Sample, row: Mapping[str, Any]) -> str:
    """What selected positions become, beside what is stated: an id that is an input, the id that was there, another one."""
    t, r, i = np.nonzero(sample.chosen)
    words, given = sample.word[t, r, i], sample.given
    every = np.arange(given.shape[-1])
    left, parts = np.ones(given.shape, bool), []
    kinds = [
        (f"{item.name}", np.broadcast_to(every == row[item.name], given.shape))
        for item in formula.tensors
        if item.role == "number" and item.domain in WHOLE
    ]
    kinds.append(("left as it was", every == sample.ids[..., None]))
    kinds.append(("another word", np.ones(given.shape, bool)))
    for name, member in kinds:
        mine = member & left
        left &= ~mine
        parts.append((name, mine[r, i, words].mean(), np.where(mine, given, 0).sum(-1)[r, i].mean()))
    return ", ".join(f"{name} {_percent(seen)} (stated {_percent(stated)})" for name, seen, stated in parts)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


__all__ = ["law_cause"]
