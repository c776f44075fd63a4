"""``python -m benchmarks.engine``: the checker's own speed and memory, as ratios to an older commit measured in the same run.

The older commit is checked out beside this tree, in a temporary git worktree, and the same commands run in both, in turn, each
in a process of its own: ``attnspec check`` of our implementations at 100 examples, and the error bound of multi-head attention
at 64×768, which is timed inside of its process, too. There are two times: that of the clock, which is what somebody waits for,
with the processors that the machine has, if it is idle; and that of the processors, of a process and of those it started, which
says the same on a busy machine. Memory is the peak of a process. Short commands run in several rounds, of which the
median is taken. Every command begins with the same imports (of torch and SymPy, above all), which take seconds and are not the
checker's own: they are measured by themselves, up to the end of the process and under the settings of its garbage collector
that the command of that tree makes, and the ratio is given in all and without them. Checks have become more since (grades,
large sizes, more theorems and kinds of use): what those take that both trees make is a row of its own.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.harness import default_path, machine
from benchmarks.processes import ROOT, Spent, Work, alternately, output, spent, worktree

OLDER = "be7d1be"  # the last commit before examples were evaluated together
ROUNDS = 5  # of a work
LEAST = 0.2  # seconds: less cannot be told from the imports, which take as much more or less from run to run
PEAK = 600e6  # bytes that no process should exceed
ALONE = 30.0  # the ratio wanted of the error bound itself
LAYER_NORM = 3.0  # seconds that a check of layer norm should take in all, the import of torch included
FOUND = {"median": 0.5, "95 % within": 3.0}  # seconds to the first counterexample of a wrong variant

INPUTS = (
    "import sys, numpy; from benchmarks.oracle import inputs; numpy.savez(sys.argv[1], **inputs(64, 768, 12))"
)
BOUND = """
import sys, time, numpy
from spec.language.evaluation.evaluate import bound
from spec.language.registry import formulas
formula, given = formulas()["attention.multi_head"], dict(numpy.load(sys.argv[1]))
if sys.argv[2:] != ["imports"]:
    began = time.process_time()
    bound(formula, given, dtype="float32")
    print(time.process_time() - began)
"""
IMPORTS = """
import importlib, sys
import gc
gc.set_threshold(50_000, 20, 20)
import verify.checking
for name in ("command.commands", "subject.loading"):
    try:
        importlib.import_module(f"verify.{name}")
    except ModuleNotFoundError:  # the older tree has no rooms
        importlib.import_module(f"verify.{name.partition('.')[2]}")
from spec.language.registry import find
importlib.import_module(sys.argv[1])
find(sys.argv[2])
"""
MADE = """
import importlib, json, sys, time
import gc
gc.set_threshold(50_000, 20, 20)
import verify
from spec.language.registry import find
module, _, name = sys.argv[1].partition(":")
call = getattr(importlib.import_module(module), name)
find(sys.argv[2])
took, begun = {}, []
def tell(title, *_):
    now = time.process_time()
    for before, since in begun:
        took[before] = now - since
    begun[:] = [(title, now)]
verify.check(call, sys.argv[2], progress=tell)
tell(None)
print(json.dumps(took))
"""
TARGETS = "import json; from verify.targets import TARGETS; print(json.dumps([(t.label, t.formula_id) for t in TARGETS]))"
VERIFY = """
import json, runpy, sys
import verify.targets as targets
kept = {tuple(pair) for pair in json.load(open(sys.argv[1]))}
targets.TARGETS = type(targets.TARGETS)(t for t in targets.TARGETS if (t.label, t.formula_id) in kept)
sys.argv = ["attnspec", "verify"]
runpy.run_module("verify", run_name="__main__")
"""


def checked(name: str, target: str, formula: str, wanted: float | None) -> Work:
    """``attnspec check`` of one of our implementations."""
    command = ("-m", "verify", "check", target, "--formula", formula)
    return Work(name, command, wanted, imports=("-c", IMPORTS, target.partition(":")[0], formula))


CHECKS = {
    work.name: work
    for work in (
        checked("rnn", "impl.recurrent:rnn", "recurrent.rnn", 6.0),
        checked("lstm_stacked", "impl.recurrent:lstm_stacked", "recurrent.lstm_stacked", 6.0),
        checked("multi_head", "impl.attention:multi_head", "attention.multi_head", 6.0),
        checked("layer_norm", "impl.normalization:layer_norm", "normalization.layer_norm", None),
    )
}
NAMES = (*CHECKS, "bound")


def main() -> int:
    """Run what is asked for in both trees, print the table, and write it where asked."""
    given = _arguments().parse_args()
    console, progress = Console(width=None if sys.stdout.isatty() else 130), Console(stderr=True)
    rows: list[dict[str, Any]] = []
    more: list[dict[str, Any]] = []
    rounds = 1 if given.quick else ROUNDS
    with tempfile.TemporaryDirectory() as home, worktree(given.against, Path(home)) as older:
        for tree in (older, ROOT):  # as after an installation
            subprocess.run([sys.executable, "-m", "compileall", "-q", "spec", "impl", "verify"], cwd=tree)
        for work in works(given.only or NAMES, given.verify, older, Path(home)):
            progress.print(f"{work.name} …", style="dim")
            imports = Work("imports", work.imports, None) if work.imports else None
            idle = alternately(imports, older, ROOT, rounds) if imports else None
            before, now = alternately(work, older, ROOT, rounds)
            rows.append(row(work, before, now, idle))
            if work.wanted is not None and work.name in CHECKS:
                rows.append(same_checks(work, older, rounds))
            if work.name == "bound":
                rows.append(call_alone(work, older, rounds))
        if "layer_norm" in (given.only or NAMES):
            torch = Work("import torch", ("-c", "import torch"), None)
            imported = statistics.median(spent(torch, ROOT).clock for _ in range(rounds))
            more.append(in_all(next(r for r in rows if r["work"] == "layer_norm"), imported))
        if given.mutants:
            progress.print("mutants …", style="dim")
            more += until_falsified(_mutants(Path(home)))
    console.print(table(rows, given.against))
    for each in more:
        console.print(line(each), highlight=False)
    console.print(
        "By the clock, then processor time; medians of the rounds. Green: as wanted. Peak: of the largest process, in megabytes.",
        style="dim",
    )
    if given.json is not None:
        _write(given.json, {"against": given.against, "rows": rows, "more": more}, console)
    return 0


def works(names: Iterable[str], verify: bool, older: Path, home: Path) -> Iterator[Work]:
    """The works of these names; with ``verify`` also the whole command, of the targets that both trees have."""
    for name in names:
        if name in CHECKS:
            yield CHECKS[name]
            continue
        file = home / "inputs.npz"  # made once, so that both bound the same
        spent(Work("inputs", ("-c", INPUTS, str(file)), None), ROOT)
        yield Work("bound", ("-c", BOUND, str(file)), None, imports=("-c", BOUND, str(file), "imports"))
    if verify:
        both = [{tuple(pair) for pair in json.loads(output(tree, "-c", TARGETS))} for tree in (older, ROOT)]
        file = home / "targets.json"
        file.write_text(json.dumps(sorted(both[0] & both[1])))
        yield Work("verify", ("-c", VERIFY, str(file)), 3.0, statuses=(0, 1))


def row(
    work: Work,
    older: Sequence[Spent],
    now: Sequence[Spent],
    imports: tuple[Sequence[Spent], Sequence[Spent]] | None = None,
    least: float = LEAST,
) -> dict[str, Any]:
    """A row of the table, from what was measured, by the processors and by the clock; ``ratio`` is without the imports; what is
    below ``least`` counts as that. What is wanted is wanted of the clock.
    """
    peak = max(each.peak for each in now)
    found = {by: _ratios(by, older, now, imports or ((), ()), least) for by in ("processor", "clock")}
    return {
        "work": work.name,
        **found,
        "target": work.wanted,
        "met": work.wanted is None or found["clock"]["ratio"] >= work.wanted,
        "now_bytes": peak,
        "older_bytes": max(each.peak for each in older),
        "small": peak < PEAK,
        "older": [asdict(each) for each in older],
        "now": [asdict(each) for each in now],
    }


def _ratios(
    by: str,
    older: Sequence[Spent],
    now: Sequence[Spent],
    imports: tuple[Sequence[Spent], Sequence[Spent]],
    least: float,
) -> dict[str, Any]:
    """What both trees take in one of the two times, and the ratio."""
    times = [statistics.median(getattr(each, by) for each in tree) for tree in (older, now)]
    idle = [statistics.median(getattr(each, by) for each in tree) if tree else 0.0 for tree in imports]
    own = [max(taken - idly, least) for taken, idly in zip(times, idle, strict=True)]
    return {
        "older_s": times[0],
        "now_s": times[1],
        "imports_s": idle,
        "in_all": times[0] / times[1],
        "ratio": own[0] / own[1],
    }


def same_checks(work: Work, older: Path, rounds: int) -> dict[str, Any]:
    """The row of the checks, by name, that both trees make of one implementation; of those that only one makes nothing counts."""
    target, formula = work.command[3], work.command[5]
    took: tuple[list[dict[str, float]], ...] = ([], [])
    for _ in range(rounds):
        for tree, found in zip((older, ROOT), took, strict=True):
            found.append(json.loads(output(tree, "-c", MADE, target, formula)))
    both = set(took[0][0]) & set(took[1][0])
    seconds = ([sum(each[title] for title in both) for each in found] for found in took)
    before, now = ([Spent(each, each, 0) for each in found] for found in seconds)
    return row(Work(f"{work.name}, {len(both)} checks of both", (), work.wanted), before, now)


def call_alone(work: Work, older: Path, rounds: int) -> dict[str, Any]:
    """The row of the call itself, timed inside of the process: it takes less than imports do more or less from run to run."""
    took: tuple[list[Spent], ...] = ([], [])
    for _ in range(rounds):
        for tree, found in zip((older, ROOT), took, strict=True):
            seconds = float(output(tree, *work.command))
            found.append(Spent(seconds, seconds, 0))
    return row(Work(f"{work.name}, the call alone", (), ALONE), *took, least=0.0)


def in_all(checked_: dict[str, Any], imported: float) -> dict[str, Any]:
    """The seconds of a row in all, and those of them that the import of torch takes."""
    return {
        "what": f"{checked_['work']}, seconds in all, of which import torch {imported:.1f}",
        "seconds": checked_["clock"]["now_s"],
        "import_torch_s": imported,
        "target": LAYER_NORM,
    }


def until_falsified(times: Sequence[float]) -> list[dict[str, Any]]:
    """Median and 95th percentile of the seconds to the first counterexample of each wrong variant."""
    ranked = sorted(times)
    found = statistics.median(ranked), ranked[math.ceil(0.95 * len(ranked)) - 1]
    return [
        {
            "what": f"seconds to the first counterexample of {len(ranked)} wrong variants, {name}",
            "seconds": seconds,
            "target": wanted,
        }
        for (name, wanted), seconds in zip(FOUND.items(), found, strict=True)
    ]


def table(rows: Sequence[dict[str, Any]], against: str) -> Table:
    """Rows as they are printed."""
    made = Table(title=f"the checker beside its commit {against}", title_justify="left")
    made.add_column("work")
    for heading in (
        "older",
        "now",
        "imports",
        "ratio\nwithout",
        "wanted",
        "processor\nolder",
        "\nnow",
        "ratio\nwithout",
        "peak\nolder",
        "\nnow",
        "wanted",
    ):
        made.add_column(heading, justify="right")
    for each in rows:
        target, clock, processor = each["target"], each["clock"], each["processor"]
        made.add_row(
            each["work"],
            f"{clock['older_s']:.1f} s",
            f"{clock['now_s']:.1f} s",
            f"{clock['imports_s'][1]:.1f} s" if clock["imports_s"][1] else "",
            _coloured(f"{clock['ratio']:.2f}", each["met"]) if target else f"{clock['ratio']:.2f}",
            f"≥ {target:g}" if target else "",
            f"{processor['older_s']:.1f} s",
            f"{processor['now_s']:.1f} s",
            f"{processor['ratio']:.2f}",
            f"{each['older_bytes'] / 1e6:.0f}" if each["older_bytes"] else "",
            _coloured(f"{each['now_bytes'] / 1e6:.0f}", each["small"]) if each["now_bytes"] else "",
            f"< {PEAK / 1e6:.0f}",
        )
    return made


def line(each: dict[str, Any]) -> str:
    """What stands below the table, with what is wanted."""
    seconds = _coloured(f"{each['seconds']:.2f}", each["seconds"] < each["target"])
    return f"{each['what']}: {seconds} (wanted < {each['target']:g})"


def _coloured(text: str, fine: bool) -> str:
    return f"[{'green' if fine else 'yellow'}]{text}[/]"


def _mutants(home: Path) -> list[float]:
    file = home / "mutants.json"
    spent(Work("mutants", ("-m", "verify", "mutants", "--json", str(file)), None, statuses=(0, 1)), ROOT)
    reports = json.loads(file.read_text())["reports"]
    return [r["first_violation"] for r in reports if r["first_violation"] is not None]


def _write(given: str, found: dict[str, Any], console: Console) -> None:
    host = {**machine(), "threads": 1}  # the processes' own
    path = Path(given) if given else default_path(str(host["cpu"]), "engine")
    path.parent.mkdir(parents=True, exist_ok=True)
    date = datetime.now(UTC).isoformat(timespec="seconds")
    path.write_text(json.dumps({"date": date, "machine": host, **found}, indent=1) + "\n")
    console.print(f"Written to {path}")


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.engine",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="examples:\n  python -m benchmarks.engine --quick --only layer_norm bound\n"
        "  python -m benchmarks.engine --against HEAD~10 --verify --mutants --json",
    )
    add: Callable[..., Any] = parser.add_argument
    add("--against", metavar="COMMIT", default=OLDER, help=f"the commit to compare with (default: {OLDER})")
    add("--only", metavar="NAME", nargs="+", choices=NAMES, help=f"only these works: {', '.join(NAMES)}")
    add("--quick", action="store_true", help="one round of each")
    add("--verify", action="store_true", help="also `attnspec verify` as a whole, of targets both have")
    add("--mutants", action="store_true", help="also how soon each wrong variant is falsified (this tree)")
    add("--json", metavar="F", nargs="?", const="", help="write the figures to F (default: results/)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
