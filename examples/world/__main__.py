"""``python -m examples.world``: check the components whose library is installed, and add what is found to a record."""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from examples.world import record
from examples.world.component import Component, components, installed, modules

RECORDS = Path(__file__).parents[2] / "docs" / "evidence" / "world"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    given = parser().parse_args(arguments)
    # Of Keras the torch backend is checked; nothing is fetched from a hub.
    os.environ.setdefault("KERAS_BACKEND", "torch")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    warnings.filterwarnings("ignore")
    into: Path = given.record or RECORDS / f"{date.today().isoformat()}.json"
    into.parent.mkdir(parents=True, exist_ok=True)
    for library in given.library or modules():
        version = installed(library)
        if version is None:
            print(f"{library}: not installed")
            continue
        try:
            found = components(library)
        except Exception as error:  # a library may fail in any way as it is imported
            said = " ".join(str(error).split())[:200]
            print(f"{library} {version}: cannot be imported: {said}")
            record.refused(into, library, version, f"{type(error).__name__}: {said}")
            continue
        chosen = [each for each in found if not given.component or each.name in given.component]
        for place, each in enumerate(chosen, start=1):
            print(f"{library} {version} [{place}/{len(chosen)}] {each.name} … ", end="", flush=True)
            print(_checked(each, version, into, given.max_examples, given.seed), flush=True)


def _checked(component: Component, version: str, into: Path, max_examples: int, seed: int) -> str:
    """Check a component and record it; the first line of its report."""
    import verify
    from verify.faults import Unusable

    began = time.process_time()
    try:
        report = verify.check(
            component.make(),
            component.formula,
            **{"conventions": "auto", "max_examples": max_examples, "seed": seed, **component.options},
            name=component.name,
        )
    except Unusable as error:
        record.unusable(into, component, version, str(error))
        return f"unusable: {error}"
    record.add(into, record.entry(component, version, report, time.process_time() - began))
    return f"{report.headline} ({time.process_time() - began:.0f} s)"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m examples.world", description=__doc__)
    made.add_argument("--library", nargs="+", choices=list(modules()), help="some libraries (default: all)")
    made.add_argument("--component", nargs="+", metavar="NAME", help="some components")
    made.add_argument(
        "--max-examples", type=int, default=60, help="examples for each value check (default 60)"
    )
    made.add_argument("--seed", type=int, default=0, help="of everything drawn (default 0)")
    made.add_argument(
        "--record", type=Path, metavar="F", help="the record that is added to (default: today's)"
    )
    return made


if __name__ == "__main__":
    main()
