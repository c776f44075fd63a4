"""``python -m tests.attack --minutes N [--seed S] [--category …]``: the written claims, then the fuzzer while time is left."""

from __future__ import annotations

import argparse
import sys
import time

from tests.attack.checking import said
from tests.attack.claims import CLAIMS
from tests.attack.fuzzing import Tally, rounds
from tests.attack.refute import refuted

HEADS = ("", "tried", "refused", "proved, true", "hits", "not evaluated", "timeouts", "crashes")


def say(line: str) -> None:
    """One line of progress."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def written(only: list[str]) -> list[Tally]:
    """The written claims by category: each refuted, and refused or a hit."""
    tallies: dict[str, Tally] = {}
    for one in CLAIMS:
        if only and one.category not in only:
            continue
        tally = tallies.setdefault(one.category, Tally(one.category))
        tally.counts["tried"] += 1
        try:
            theorem = one.theorem()
        except (ValueError, TypeError):
            tally.counts["refused"] += 1
            continue
        found = said(theorem, one.formula)
        if found.verdict == "accepted":
            why = refuted(one, theorem)
            tally.counts["hits" if why else "not evaluated"] += 1
            tally.hits.append(f"{one.label}\n    refuted: {why}")
            say(f"hit: {tally.hits[-1]}")
        else:
            tally.counts[found.verdict] += 1
    return list(tallies.values())


def table(tallies: list[Tally]) -> None:
    """The figures, a line for each kind."""
    rows = [list(HEADS), *(tally.row() for tally in tallies)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADS))]
    for row in rows:
        cells = (
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        say("  ".join(cells))


def main() -> int:
    """Run both; 1 where there was a hit."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long the fuzzer runs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument(
        "--category", action="append", default=[], help="a category of claims, “random” or “mutated”"
    )
    asked = parser.parse_args()
    kinds = tuple(kind for kind in ("random", "mutated") if not asked.category or kind in asked.category)
    categories = [name for name in asked.category if name not in ("random", "mutated")]
    tallies = [] if asked.category and not categories else written(categories)
    until, shown = time.monotonic() + 60 * asked.minutes, 0
    fuzzed: list[Tally] = []
    for found in rounds(asked.seed, until, kinds) if kinds else ():
        fuzzed = list(found.values())
        hits = [hit for tally in fuzzed for hit in tally.hits]
        for hit in hits[shown:]:
            say(f"hit: {hit}")
        shown = len(hits)
        say(
            ", ".join(
                f"{tally.name}: {tally.counts['tried']} tried, {tally.counts['hits']} hits"
                for tally in fuzzed
            )
        )
    table([*tallies, *fuzzed])
    for tally in fuzzed:
        for words, times in tally.crashes.most_common(10):
            say(f"crash, {times} times: {words}")
    return int(any(tally.counts["hits"] for tally in (*tallies, *fuzzed)))


if __name__ == "__main__":
    sys.exit(main())
