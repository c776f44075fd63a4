"""The command ``attnspec``: verify, check, compare, replay, list, show, mutants.

It exits 0 if all conforms (imprecise or not, compare apart), 1 if something is falsified, 2 on unusable input, 3 if nothing
conclusive was said.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

# Ours first, before a user's directory can come onto the path: a `spec/` of theirs must not stand in for it.
import impl
import spec
import verify
from verify.command.parsing import apart, parser
from verify.command.terminal import CONFORMS, FALSIFIED, NOTHING, UNUSABLE
from verify.faults import Unusable, complaint
from verify.subject.ending import stoppable

UNREAD = 141
"""The status of what a shell's pipe has ended: not that of what conforms."""
FULL = (errno.ENOSPC, errno.EDQUOT)
"""Where a device has no room left, or its user none on it."""
MOST = 2000
"""Examples of the largest profile."""


def _ours(package: Any) -> None:
    home = Path(__file__).resolve().parents[2]
    file = getattr(package, "__file__", None)
    if file is None or Path(file).resolve().parents[1] != home:
        where = file or next(iter(getattr(package, "__path__", ["?"])))
        raise Unusable(
            f"another package named {package.__name__!r} ({where}) was imported in place of attnspec's; "
            "run `attnspec` rather than `python -m verify` from that directory, or take it off PYTHONPATH"
        )


def _carry_out(given: Namespace) -> int:
    """Carry out the command, which is imported here: a process that leaves it to another needs none of it."""
    own = {"compare": "comparing", "list": "listing", "mutants": "mutants", "replay": "counterexamples"}
    home = own.get(given.command, "commands")
    work = getattr(import_module(f"verify.command.{home}"), f"do_{given.command}")
    status = int(work(given))
    sys.stdout.flush()
    return status


def _calls_theirs(given: Namespace) -> bool:
    """Whether the command itself calls what users have written, which may end its process; `verify` leaves that to workers."""
    return given.command in ("check", "compare", "replay") or getattr(given, "weights", None) is not None


def _run_isolated(given: Namespace, arguments: Sequence[str]) -> int:
    """Carry out the command in a worker process, which this one outlives; what ends that process is said, and recorded."""
    from verify.pool import Lost, patience, run_task

    asked = getattr(given, "max_examples", None), getattr(given, "time_limit", None)
    most = patience({"max_examples": asked[0] or MOST, "time_limit": asked[1]})
    with stoppable() as came:
        try:
            outcome = run_task(main, list(arguments), most)
        except KeyboardInterrupt:
            return 128 + (came or [signal.SIGINT])[0]
    if not isinstance(outcome, Lost):
        return outcome
    print(f"attnspec: {outcome.how}", file=sys.stderr)  # noqa: T201
    status = FALSIFIED if outcome.by_call else NOTHING
    home = "comparing" if given.command == "compare" else "commands"
    import_module(f"verify.command.{home}").record_lost(given, status, outcome)
    return status


def _streams() -> None:
    """Replace output streams that the shell has closed (``>&-``) by ones that drop what is written."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the lowest number that is free is the closed one's
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def _tell_error(error: Exception) -> int:
    """Print in one line why the command could not go on; returns its exit status."""
    letters = sys.modules.get(
        "spec.language.wellformed.letters"
    )  # no statement was read where it isn't imported
    status = UNUSABLE
    if isinstance(error, Unusable) or (letters is not None and isinstance(error, letters.IllFormed)):
        line = str(error)
    elif isinstance(error, ModuleNotFoundError):
        line = f"{error}: install attnspec's requirements (pip install .)"
    elif isinstance(error, OSError) and error.errno in FULL:
        _drop_output()
        line = f"the output cannot be written: {error.strerror}"
    else:
        line = f"a fault of attnspec itself: {complaint(error)} (ATTNSPEC_TRACEBACK=1 shows where)"
        status = NOTHING
    print(f"attnspec: {line}", file=sys.stderr)  # noqa: T201
    return status


def _drop_output() -> None:
    """Discard the rest of the output, which cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status. Without ``argv`` it is that of this process, and is isolated from it."""
    _streams()
    traceback = bool(os.environ.get("ATTNSPEC_TRACEBACK"))
    try:
        for package in (spec, impl, verify):
            _ours(package)
        given = parser().parse_args(argv)
        apart(given)
        if argv is None and _calls_theirs(given) and not traceback:
            return _run_isolated(given, sys.argv[1:])
        return _carry_out(given)
    except KeyboardInterrupt:
        if argv is None:  # the process ends: another one, to a whole group, would only interrupt that
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("attnspec: interrupted", file=sys.stderr)  # noqa: T201
        return 130
    except BrokenPipeError:  # the reader (`| head`) has seen enough
        _drop_output()
        return UNREAD
    except SystemExit as stop:  # --help
        return stop.code if isinstance(stop.code, int) else CONFORMS
    except Exception as error:
        if traceback and not isinstance(error, Unusable):
            raise
        return _tell_error(error)


if __name__ == "__main__":
    sys.exit(main())
