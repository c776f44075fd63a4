"""``python -m benchmarks [--quick] [--json [F]]``: ours beside the peers, in one process, as a table of ratios."""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.harness import (
    Comparison,
    Memory,
    Rate,
    Timing,
    counted,
    default_path,
    interleaved,
    machine,
    made_on,
    peak,
)

Entry = Comparison | Memory | Rate

SUBJECTS = (
    "masking",
    "objectives",
    "attention",
    "multihead",
    "additive",
    "recurrent",
    "normalization",
    "positional",
    "checking",
    "oracle",
    "decoding",
    "bert",
    "gpt",
)
ON_DEVICE = tuple(each for each in SUBJECTS if each not in ("checking", "oracle", "masking", "positional"))
"""What is measured on another device: the oracle knows none, collators neither, and a table of positions is made once."""


def main() -> None:
    """Measure every subject's entries, print the table, and write it where asked."""
    arguments = _arguments()
    torch.set_num_threads(arguments.threads)
    torch.backends.cudnn.allow_tf32 = False  # products in float32 are of float32 for everybody
    rounds, seconds = (9, 0.003) if arguments.quick else (21, 0.01)
    where, rows = (arguments.device, arguments.dtype), []
    console, host = Console(width=None if sys.stdout.isatty() else 110), machine(*where)
    with Progress(console=Console(stderr=True), transient=True) as progress, torch.no_grad():
        bar = progress.add_task("", total=None)
        for subject in arguments.subject or (SUBJECTS if arguments.device == "cpu" else ON_DEVICE):
            entries = import_module(f"benchmarks.{subject}").entries(arguments.quick)
            while (entry := _made(entries, where)) is not None:
                progress.update(bar, description=f"{entry.work} {entry.size}")
                rows += _rows(entry, rounds, seconds, where)
    console.print(_table(rows))
    console.print(", ".join(f"{name} {value}" for name, value in host.items()), style="dim", highlight=False)
    console.print(
        "Medians of 9 or more interleaved rounds. Ratio: peer/ours, above 1 means ours is faster;",
        style="dim",
    )
    console.print("green: as wanted, up to 3 %.", style="dim")
    if host["load"] > host["cores"]:
        console.print("The machine was busy: these figures are noisy.", style="yellow")
    if arguments.json is not None:
        path = Path(arguments.json) if arguments.json else _default_path(host, where)
        path.parent.mkdir(parents=True, exist_ok=True)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        path.write_text(json.dumps({"date": now, "machine": host, "rows": rows}, indent=1) + "\n")
        console.print(f"Written to {path}")


def _default_path(host: dict, where: tuple[str, str]) -> Path:
    """Where figures of this machine are written unless told otherwise."""
    device, dtype = where
    return default_path(str(host["cpu" if device == "cpu" else "gpu"]), "" if dtype == "float32" else dtype)


def _made(entries: Iterator[Entry], where: tuple[str, str]) -> Entry | None:
    """The next entry, its inputs made where they are wanted; none at the end."""
    with made_on(*where):
        return next(entries, None)


def _rows(entry: Entry, rounds: int, seconds: float, where: tuple[str, str]) -> list[dict]:
    """An entry's rows: one for each peer of a comparison, one for a rate."""
    common = {"work": entry.work, "size": entry.size}
    if isinstance(entry, Rate):
        return [common | {"per_second": counted(entry), "unit": entry.unit}]
    if isinstance(entry, Memory):
        held, target = peak(entry.ours, *where), entry.target
        return [
            common
            | {
                "peer": name,
                "ratio": taken / held,
                "target": target,
                "met": target is None or taken / held >= target,
                "ours_bytes": held,
                "peer_bytes": taken,
            }
            for name, taken in ((name, peak(work, *where)) for name, work in entry.peers.items())
        ]
    ours, *peers = interleaved({"ours": entry.ours, **entry.peers}, rounds, seconds).items()
    return [
        common
        | {
            "peer": name,
            "ratio": timing.median / ours[1].median,
            "target": entry.wanted(name),
            "met": _met(timing, ours[1], entry.wanted(name)),
            "ours_s": asdict(ours[1]),
            "peer_s": asdict(timing),
        }
        for name, timing in peers
    ]


def _met(peer: Timing, ours: Timing, target: float | None) -> bool:
    """Whether the ratio of the medians is as wanted, up to 3 %: where rounds are further apart, that shows nothing."""
    return target is None or 1.03 * peer.median / ours.median >= target


def _table(rows: list[dict]) -> Table:
    table = Table(title="ours beside the peers", title_justify="left")
    for heading in ("work", "size", "ours", "peer", "theirs", "ratio", "wanted"):
        table.add_column(
            heading, justify="right" if heading in ("ours", "theirs", "ratio", "wanted") else "left"
        )
    before = None
    for row in rows:
        first = (row["work"], row["size"]) != before
        if before and row["work"] != before[0]:
            table.add_section()
        before = row["work"], row["size"]
        name = before if first else ("", "")
        if "unit" in row:
            table.add_row(*name, f"{row['per_second']:,.0f} {row['unit']}/s")
            continue
        target = row["target"]
        style = "" if target is None else "green" if row["met"] else "yellow"
        table.add_row(
            *name,
            _human(row, "ours") if first else "",
            row["peer"],
            _human(row, "peer"),
            f"[{style}]{row['ratio']:.2f}[/]" if style else f"{row['ratio']:.2f}",
            "" if target is None else f"≥ {target:g}",
        )
    return table


def _human(row: dict, whose: str) -> str:
    if f"{whose}_bytes" in row:
        return f"{row[f'{whose}_bytes'] / 2**20:.1f} MiB"
    seconds = row[f"{whose}_s"]["median"]
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="fewer sizes, shorter rounds: well under a minute"
    )
    parser.add_argument(
        "--json", metavar="F", nargs="?", const="", help="write the figures to F (default: results/)"
    )
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        default=1,
        help="torch's threads (default 1: two wait for each other wherever anything else runs)",
    )
    parser.add_argument("--device", default="cpu", metavar="D", help="a torch device (default cpu)")
    parser.add_argument(
        "--dtype",
        choices=("float32", "bfloat16", "float16"),
        default="float32",
        help="of numbers (default float32)",
    )
    parser.add_argument(
        "--subject", choices=SUBJECTS, nargs="+", action="extend", help="only these (default: all)"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
