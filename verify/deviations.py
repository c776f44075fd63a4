"""Known deviations of peers, as data (``known.toml``): what ``attnspec verify`` expects to see falsified.

A falsification that is not listed is news, and so is a listed one that no longer occurs; either fails the run.
``attnspec check`` never looks here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verify.report import CheckResult, Report

PATH = Path(__file__).with_name("known.toml")
ENOUGH = 100
"""Examples from which on a listed deviation that does not show is gone; with fewer it may only not have been met."""


@dataclass(frozen=True)
class Deviation:
    """One listed deviation; ``check`` is a check's name, in which ``*`` stands for anything, or several with ``|`` between them,
    of which what is drawn decides which one shows it; ``device`` is that on which alone it occurs, ``cuda`` say.
    """

    target: str
    formula: str
    check: str
    reason: str
    versions: str
    report: str = ""
    device: str = ""

    def occurs_on(self, device: str) -> bool:
        """Whether it is to be expected on a device, as torch writes it."""
        return self.device in ("", device.partition(":")[0])

    def covers(self, label: str, formula_id: str, check: str) -> bool:
        """Whether it speaks of this check of this target."""
        named = any(fnmatchcase(check, part.strip()) for part in self.check.split("|"))
        return self.target == label and self.formula == formula_id and named


@dataclass(frozen=True)
class News:
    """Which failed checks of a target are news: what explains the others is the reason that is listed with them."""

    target: str
    formula: str
    known: tuple[Deviation, ...]

    def __call__(self, check: CheckResult) -> bool:
        """Whether no deviation speaks of this check of the target."""
        return not any(deviation.covers(self.target, self.formula, check.name) for deviation in self.known)


@dataclass
class Judgement:
    """A run held against the list: what was expected, what is new, what should have failed and did not."""

    expected: list[tuple[Report, CheckResult, Deviation]] = field(default_factory=list)
    new: list[tuple[Report, CheckResult]] = field(default_factory=list)
    passed: list[Deviation] = field(default_factory=list)
    unseen: list[Deviation] = field(default_factory=list)

    @property
    def fine(self) -> bool:
        """Whether nothing is new and every listed deviation that was looked for still occurs."""
        return not self.new and not self.passed


@cache
def deviations(path: Path = PATH) -> tuple[Deviation, ...]:
    """The list.

    Raises:
        ValueError: a file that is not such a list, naming the entry.
    """
    with path.open("rb") as file:
        entries = tomllib.load(file).get("deviation", [])
    made = []
    for number, entry in enumerate(entries, 1):
        try:
            made.append(Deviation(**entry))
        except TypeError as error:
            raise ValueError(f"{path.name}: entry {number}: {error}") from None
    return tuple(made)


def judge(reports: Iterable[Report], known: Sequence[Deviation] | None = None) -> Judgement:
    """Hold reports against the list; deviations of targets that were not run, or hardly, say nothing."""
    known = deviations() if known is None else known
    result = Judgement()
    for report in reports:
        mine = [
            d
            for d in known
            if d.target == report.target and d.formula == report.formula_id and d.occurs_on(report.device)
        ]
        seen: set[Deviation] = set()
        ran: set[Deviation] = set()
        for check in report.checks:
            covering = [d for d in mine if d.covers(report.target, report.formula_id, check.name)]
            if check.verdict != "inconclusive":
                ran.update(covering)
            if check.verdict != "falsified":
                continue
            if covering:
                seen.update(covering)
                result.expected.append((report, check, covering[0]))
            else:
                result.new.append((report, check))
        looked = ran if report.max_examples >= ENOUGH else seen
        result.passed += [d for d in mine if d in looked and d not in seen]
        result.unseen += [d for d in mine if d not in looked]
    return result
