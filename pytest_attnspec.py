"""A plugin of pytest: ``@pytest.mark.attnspec("attention.softmax")`` on a function that returns the callable to check.

There is a test for each kind of check: values, gradients, theorems, robustness, accuracy; or the law of what is drawn. Pytest
loads this module in every run where attnspec is installed, so it stands alone and imports nothing of ours, nor torch, until a
marked function is collected.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from spec.language.formula import Formula
    from spec.language.procedure import Procedure
    from verify.report import CheckResult, Report

MARK = "attnspec"
KIND = "attnspec_kind"
PROFILES = ("smoke", "full", "soak")
KINDS = ("value", "gradient", "theorem", "robustness", "accuracy")
OF_LAWS, OF_PROCEDURES = ("law", "robustness"), ("value", "theorem", "robustness")
LINES = 24
"""Of a failure's text; the report has the others."""

ENOUGH = 100
"""Examples from which on a known deviation that does not show is gone, as for ``attnspec verify``."""

_reports = pytest.StashKey[dict[Any, Any]]()


class Unusable(Exception):  # noqa: N818 it says what the mark is
    """A mark that cannot be used; one line."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--attnspec-profile``: how much is asked of every marked function."""
    parser.getgroup(MARK).addoption(
        "--attnspec-profile",
        choices=PROFILES,
        help="how much attnspec asks: smoke (a second or so for each function), full, soak (overnight)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(formula, conventions=…, sizes=…, known=…, profile=…, …): the function returns a callable that is held to "
        "the formula; options are those of verify.check",
    )
    config.stash[_reports] = {}


def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> Any:
    """Collect marked functions whatever they are called: one that is not collected would seem to conform."""
    if not inspect.isfunction(obj) or collector.funcnamefilter(name):
        return None
    if not any(getattr(mark, "name", "") == MARK for mark in getattr(obj, "pytestmark", ())):
        return None
    return list(collector._genfunctions(name, obj))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for each kind of check; a single one, which fails, where the mark names no formula: the others run all the same."""
    mark = metafunc.definition.get_closest_marker(MARK)
    if mark is None:
        return
    try:
        kinds = _kinds(_statement(mark, metafunc.definition))
    except Unusable:
        kinds = ("formula",)
    metafunc.fixturenames.append(KIND)
    metafunc.parametrize(KIND, kinds)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Check what a marked function returns, once for all of its tests, and look at one kind of check."""
    mark = pyfuncitem.get_closest_marker(MARK)
    if mark is None:
        return None
    kind = str(pyfuncitem.callspec.params[KIND])
    done = pyfuncitem.config.stash[_reports]
    others = tuple(item for item in sorted(pyfuncitem.callspec.indices.items()) if item[0] != KIND)
    key = (getattr(pyfuncitem.parent, "nodeid", ""), pyfuncitem.originalname, others)
    if key not in done:
        try:
            done[key] = _checked(mark, pyfuncitem)
        except Unusable as error:
            done[key] = str(error)
        except Exception:  # the function's own: told once, where it happened
            done[key] = None
            raise
    found = done[key]
    if isinstance(found, str):
        done[key] = None
        pytest.fail(found, pytrace=False)
    if found is None:
        pytest.skip("it cannot be checked: see the first of these tests")
    _judge(kind, found, mark.kwargs.get("known", {}), pyfuncitem)
    return True


def _checked(mark: pytest.Mark, item: pytest.Function) -> Report:
    """The report on the callable that the function returns.

    Raises:
        Unusable: the mark, or what was returned, cannot be used.
    """
    stated = _statement(mark, item)
    from verify.checking import check
    from verify.command.own_formula import sound
    from verify.command.profiles import resolve_options
    from verify.faults import Unusable as Refused

    has = [
        name for name in inspect.signature(check).parameters if name not in ("fn", "formula_id", "progress")
    ]
    for name in mark.kwargs:
        if name not in (*has, "profile", "known"):
            close = get_close_matches(name, [*has, "profile", "known"], n=1)
            hint = (
                f"did you mean {close[0]}?" if close else f"it takes {', '.join([*has, 'profile', 'known'])}"
            )
            raise Unusable(f"the mark {MARK} has no option {name!r}; {hint}")
    profile = item.config.getoption("--attnspec-profile")
    known = mark.kwargs.get("known", {})
    if not isinstance(known, Mapping) or not all(isinstance(v, str) and v for v in known.values()):
        raise Unusable(
            f"known maps names of checks to reasons, such as {{'theorem scale': '…'}}; got {known!r}"
        )
    names = inspect.signature(item.obj).parameters
    call = item.obj(**{name: value for name, value in item.funcargs.items() if name in names})
    if not callable(call):
        raise Unusable(
            f"{item.originalname} returned {type(call).__name__}: a function marked {MARK} returns the callable to check"
        )
    options = {name: value for name, value in mark.kwargs.items() if name != "known"}
    try:
        options = resolve_options({"name": item.originalname, **options}, {"profile": profile})
        sound(stated)
        return check(call, stated, **options)
    except Refused as error:
        raise Unusable(str(error)) from None


def _judge(kind: str, report: Report, known: Mapping[str, str], item: pytest.Function) -> None:
    """Fail, skip or pass, as the checks of a kind did."""
    checks = [check for check in report.checks if check.kind == kind]
    item.user_properties.append(("attnspec", f"{report.formula_id} {kind}"))
    failed = [check for check in checks if check.verdict == "falsified"]
    reasons = {
        check.name: next((known[k] for k in known if fnmatchcase(check.name, k)), None) for check in failed
    }
    if news := [check for check in failed if reasons[check.name] is None]:
        pytest.fail(_said(report, kind, news), pytrace=False)
    decided = [check for check in checks if check.verdict != "inconclusive"]
    gone = [
        pattern
        for pattern in known
        if any(fnmatchcase(check.name, pattern) for check in decided)
        and not any(fnmatchcase(check.name, pattern) for check in report.falsified)
    ]
    if gone and report.max_examples >= ENOUGH:
        pytest.fail(
            f"known as deviating, but conforming now: {', '.join(gone)}: remove it from the mark",
            pytrace=False,
        )
    if failed:
        pytest.xfail("; ".join(dict.fromkeys(str(reason) for reason in reasons.values())))
    if vague := [check for check in checks if check.verdict == "imprecise"]:
        item.add_report_section("call", MARK, "\n".join(check.message for check in vague))
    if not decided:
        said = "; ".join(dict.fromkeys(check.message for check in checks if check.message))
        pytest.skip(said or f"nothing of the kind {kind} is asked of {report.formula_id}")


def _said(report: Report, kind: str, failed: list[CheckResult]) -> str:
    """A failure in few lines: the verdict with its cause, the first of a kind with its counterexample, the others by name."""
    first, *others = failed
    lines = [
        f"{report.target} against {report.formula_id}: {report.headline}",
        f"{first.name}: {first.message}",
    ]
    if first.counterexample is not None:
        lines += [f"  {line}" for line in first.counterexample.lines()]
    if len(lines) > LINES:
        lines = [*lines[:LINES], f"  … {len(lines) - LINES} more lines"]
    if others:
        lines.append(f"also: {', '.join(check.name for check in others)}")
    return "\n".join(lines)


def _kinds(stated: Formula | Procedure) -> tuple[str, ...]:
    law = getattr(stated, "law", None)
    if law is not None:
        return OF_LAWS
    if not hasattr(stated, "theorems"):  # a procedure
        return OF_PROCEDURES
    return tuple(kind for kind in KINDS if kind != "theorem" or stated.theorems)


def _statement(mark: pytest.Mark, item: Any) -> Formula | Procedure:
    """The formula that a mark names.

    Raises:
        Unusable: it names none.
    """
    if len(mark.args) != 1 or not isinstance(mark.args[0], str):
        raise Unusable(f'the mark {MARK} names one formula, as in @pytest.mark.{MARK}("attention.softmax")')
    _find_ours()
    from spec.language.registry import UnknownFormula, statement

    try:
        return statement(_beside(mark.args[0], item))
    except UnknownFormula as error:
        raise Unusable(str(error)) from None


def _beside(name: str, item: Any) -> str:
    """A formula in a file: one that lies beside the test's, or counted from the root of the project."""
    home = name.partition(":")[0]
    if home.endswith(".py"):
        for folder in (item.path.parent, item.config.rootpath):
            if (folder / home).is_file():
                return f"{os.path.relpath(folder / home)}{name.removeprefix(home)}"
    return name


def _find_ours() -> None:
    """Import our packages, which a folder of the project must not stand in for.

    Raises:
        Unusable: it does.
    """
    home = Path(__file__).resolve().parent
    before = list(sys.path)
    sys.path.insert(0, str(home))
    try:
        for name in ("spec", "impl", "verify"):
            module = __import__(name)
            file = getattr(module, "__file__", None)
            if file is None or Path(file).resolve().parents[1] != home:
                where = file or next(iter(getattr(module, "__path__", ["?"])))
                raise Unusable(
                    f"another package named {name!r} ({where}) was imported in place of attnspec's"
                )
    finally:
        sys.path[:] = before
