"""Kernels on a page: what ``python -m benchmarks.kernels`` recorded."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from .markup import code, escape, table

FOLDER = Path(__file__).parents[1] / "evidence" / "kernels"


@cache
def record(name: str) -> dict[str, Any]:
    """One of the tables, as it was written."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def _rows(right: bool) -> list[tuple[str, ...]]:
    return [
        (
            escape(row["says"].rstrip(".")),
            row["reference"].replace("_", " "),
            row["dtype"],
            *("passes" if passes else "fails" for passes in row["allclose"]),
            row["verdict"],
            _sigma(row["sigma"]),
            escape(row["cause"]),
        )
        for row in record("gates")["rows"]
        if row["right"] is right
    ]


HEAD = ("Candidate", "Of", "Type", "allclose, 1e-4", "1e-2", "compare", "Largest error, σ")


def wrong() -> str:
    """Kernels that are wrong: what each gate says of them."""
    return table((*HEAD, "Named"), _rows(right=False))


def right() -> str:
    """Kernels that are right."""
    return table(HEAD, [row[:-1] for row in _rows(right=True)])


def passed() -> str:
    """How often ``allclose`` takes what is wrong, and refuses what is right."""
    rows = record("gates")["rows"]
    wrong = [row["allclose"] for row in rows if not row["right"]]
    right = [row["allclose"] for row in rows if row["right"]]
    (fine, refused), (coarse, seldom) = (
        (sum(each[at] for each in wrong), sum(not each[at] for each in right)) for at in (0, 1)
    )
    return (
        f"Of {len(wrong)} wrong kernels {coarse} pass <code>allclose</code> at 10⁻², and {fine} at 10⁻⁴; "
        f"of {len(right)} right ones it refuses {seldom} and {refused}"
    )


def sigma_of_right() -> str:
    """The largest error of the kernels that are right."""
    return _sigma(max(row["sigma"] for row in record("gates")["rows"] if row["right"]))


def spreads() -> str:
    """σ by dispatch over σ by the statement."""
    return _ratios("spreads")


def scalars() -> str:
    """σ by dispatch over that of another tool."""
    return _ratios("scalars")


def _ratios(name: str) -> str:
    rows = [
        (
            f'<a href="{row["formula_id"]}.html">{code(row["formula_id"])}</a>',
            str(row["entries"]),
            *(f"{row[x]:.2f}" for x in ("low", "median", "high")),
        )
        for row in record(name)["rows"]
    ]
    return table(("Formula", "Entries", "1 % are below", "Median", "1 % are above"), rows)


def medians() -> str:
    """Between which numbers the medians lie."""
    found = [row["median"] for row in record("spreads")["rows"]]
    return f"{min(found):.2f} and {max(found):.2f}"


def ends() -> str:
    """Between which numbers nearly all entries lie."""
    rows = record("spreads")["rows"]
    return f"{min(row['low'] for row in rows):.2f} and {max(row['high'] for row in rows):.2f}"


def slowest() -> str:
    """The processor time that a comparison took at most, and typically."""
    spent = sorted(row["seconds"] for row in record("gates")["rows"])
    return f"{spent[len(spent) // 2]:.1f} s of processor time as a rule, and {spent[-1]:.1f} s at most"


def memory() -> str:
    """The peak of a comparison, beside that of the reference."""
    rows = [
        (
            row["name"],
            "with gradients" if row["gradients"] else "results alone",
            *(f"{row[x] / 2**20:.0f} MiB" for x in ("reference", "compare")),
            f"{row['compare'] / row['reference']:.1f} ×",
        )
        for row in record("memory")["rows"]
    ]
    return table(("Reference", "What is compared", "Its peak", "That of the comparison", "Ratio"), rows)


def made() -> str:
    """With which torch, and when."""
    found = record("gates")
    return f"torch {found['versions']['torch']} on a CPU, {found['made']}"


def _sigma(value: Any) -> str:
    if value == "inf":
        return "∞"
    if value < 1e4:
        return f"{value:.0f}" if value >= 10 else f"{value:.1f}"
    mantissa, power = f"{value:.0e}".split("e")
    return f"{mantissa}·10<sup>{int(power)}</sup>"


PARTS = {
    "wrong": wrong, "right": right, "passed": passed, "sigma_of_right": sigma_of_right, "spreads": spreads,
    "medians": medians, "ends": ends, "slowest": slowest, "memory": memory, "scalars": scalars, "made": made,
}  # fmt: skip


def part(name: str) -> str:
    """What ``{{ kernels name }}`` stands for."""
    return PARTS[name]()
