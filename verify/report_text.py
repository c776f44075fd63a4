"""A report as text, first things first: the verdict with its cause, the smallest counterexample, what else failed in a line each.

What conforms is counted, and so is what was set aside or not run; ``verbose`` lists everything. Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from spec.language.evaluation.precision import FORMATS

ALSO, LONG = 8, 200
"""Lines about what else failed, and characters of each, unless everything is asked for."""
ENTRIES, ALL = 60, 400
"""Arrays up to so many entries are shown whole; and where everything is asked for."""
FEW_SIZES = 6
"""Up to so many sizes are said in a phrase."""
FIRST = {"value": 0, "law": 0, "gradient": 1, "theorem": 2}
"""Which kind of check is told first."""
KINDS = {"value": "the values", "gradient": "the gradients", "accuracy": "the accuracy", "law": "the law"}
"""What kinds of check look at, in words; theorems and scenarios are named."""


def show(value: Any, entries: int = ALL) -> str:
    """An input as it may be typed into Python; the middle of a large array is left out."""
    if isinstance(value, np.ndarray):
        return np.array2string(
            value, separator=", ", threshold=entries, floatmode="unique", max_line_width=110
        ).replace("\n", "\n      ")
    return repr(value)


def apart(expected: float, got: float) -> tuple[str, str]:
    """Two numbers in as many digits as it takes to tell them apart, and one more; two that are none: one was expected."""
    if expected != expected and got != got:
        return "a number", "nan"
    for digits in range(3, 17):
        told = [(f"{expected:.{more}g}", f"{got:.{more}g}") for more in (digits, digits + 1)]
        if all(one != other for one, other in told):
            return told[1]
    return f"{expected:.17g}", f"{got:.17g}"


def counterexample_lines(example: Any, entries: int = ALL) -> list[str]:
    """A counterexample as short lines: inputs, the small ones first; what was expected and got, what is violated."""
    inputs = sorted(example.inputs.items(), key=lambda item: _entries(item[1]))
    out = [f"{name}{_input_said(value, entries)}" for name, value in inputs]
    if example.got is not None and example.expected is not None:
        where = "" if not example.index else "[" + ", ".join(map(str, example.index)) + "]"
        room = "" if example.tolerance is None else f" ± {example.tolerance:.3g}"
        expected, got = apart(example.expected, example.got)
        out.append(f"{example.what}{where}: expected {expected}{room}, got {got}")
    if example.violates:
        out.append(f"violated: {example.violates}")
    return out


def _input_said(value: Any, entries: int) -> str:
    """An input behind its name; of what is not shown whole the shape, and the entries only where everything is asked for."""
    if not isinstance(value, np.ndarray) or value.size <= entries:
        return f" = {show(value, entries)}"
    shape = f" ({', '.join(map(str, value.shape))})"
    if entries < ALL:
        return f"{shape}: {value.size} entries (--verbose shows them)"
    return f"{shape} = {show(value, entries)}"


def first(checks: Sequence[Any]) -> Any:
    """The falsified check that is told first: values before what follows from them, small before large."""

    def order(check: Any) -> tuple[bool, int, bool, int]:
        example = check.counterexample
        size = sum(map(_entries, example.inputs.values())) if example is not None else 10**6
        return not check.leads, FIRST.get(check.kind, 3), example is None, size

    return min(checks, key=order)


def first_place(checks: Sequence[Any]) -> str:
    """Where the check fails that is told first, in a phrase: for whoever knows no cause."""
    told = first(checks)
    example = told.counterexample
    if example is None or example.got is None or example.expected is None:
        return f"{told.name}: {_shorten(told.message)}" if told.message else told.name
    what = {
        "value": "the values are wrong",
        "gradient": "no value is found wrong, and gradients are",
        "theorem": f"plain values conform, and the {told.name} does not hold",
    }.get(told.kind, f"{told.name} fails")
    types = {check.dtype for check in checks if check.kind == told.kind}
    alone = f" in {told.dtype} alone" if told.kind in ("value", "gradient") and types == {"float32"} else ""
    sizes = ", ".join(f"{name} = {size}" for name, size in example.sizes.items())
    at = f" at {sizes}" if sizes and sizes.count(",") < FEW_SIZES else ""
    regime = f" ({example.regime})" if example.regime else ""
    expected, got = apart(example.expected, example.got)
    where = "" if not example.index else "[" + ", ".join(map(str, example.index)) + "]"
    return f"{what}{alone}{at}{regime}: {example.what}{where} is {got} and has to be {expected}"


def _entries(value: Any) -> int:
    """How many there are in an array, or in lists of any lengths."""
    return sum(map(_entries, value)) if isinstance(value, list | tuple) else int(np.size(value))


def describe_falsified(check: Any, verbose: bool = False) -> Iterator[str]:
    """One falsified check: its name, and its counterexample; the message where there is none that shows it."""
    example = check.counterexample
    yield f"{check.name}:"
    if check.message and (verbose or example is None or example.got is None):
        yield f"  {check.message}"
    if example is not None:
        if example.regime or example.dtype not in check.name:
            yield f"  in {example.dtype}" + (f", {example.regime}" if example.regime else "")
        yield from (f"    {line}" for line in counterexample_lines(example, ALL if verbose else ENTRIES))


def brief(check: Any) -> str:
    """What a check found, in one line."""
    example = check.counterexample
    if example is None or example.got is None or example.expected is None:
        return _shorten(f"{check.name}: {check.message}")
    where = "" if not example.index else "[" + ", ".join(map(str, example.index)) + "]"
    expected, got = apart(example.expected, example.got)
    return _shorten(f"{check.name}: {example.what}{where} expected {expected}, got {got}")


def also_lines(checks: Sequence[Any], told: Any, verbose: bool = False) -> Iterator[str]:
    """What else failed: a line each, and how many more."""
    rest = [check for check in checks if check is not told]
    if verbose:
        for check in rest:
            yield from describe_falsified(check, verbose)
        return
    if rest:
        yield "with it:"
    for check in rest[:ALSO]:
        yield f"  {brief(check)}"
    if len(rest) > ALSO:
        yield f"  and {len(rest) - ALSO} more (--verbose lists them)"


def alone(kind: str, names: Sequence[str]) -> str:
    """The sentence about the checks of one kind that alone failed."""
    if kind in KINDS:
        return f"only {KINDS[kind]} {'shows' if kind in ('accuracy', 'law') else 'show'} it"
    shown = [name.partition(" ")[2] for name in names]
    if len(shown) > 1:
        return f"only {'theorems show' if kind == 'theorem' else 'robustness shows'} it: {', '.join(shown)}"
    return f"only {'the theorem' if kind == 'theorem' else 'the check of robustness'} “{shown[0]}” shows it"


def caught_lines(report: Any) -> Iterator[str]:
    """Which kinds of check failed, or what alone shows it; and when it was first seen."""
    if not report.caught_by:
        return
    kinds = [KINDS.get(kind, {"theorem": "theorems"}.get(kind, kind)) for kind in report.caught_by]
    said = _shorten(report.alone) or f"caught by {', '.join(kinds)}"
    if report.first_violation is not None:
        count, seconds = report.examples_until, f"{report.first_violation:.2g} s"
        examples = "" if count is None else f"{count} example{'s' if count > 1 else ''} and "
        said += f"; first seen after {examples}{seconds}"
    yield said


def report_lines(report: Any, verbose: bool = False) -> Iterator[str]:
    """All that is told of a report beside its table."""
    chosen = [f"{name}={option}" for name, option in {**report.conventions, **report.edges}.items()]
    yield f"{report.target} against {report.formula_id}: {report.headline}"
    if chosen:
        yield f"  under {', '.join(chosen)}"
    failed = report.falsified
    if report.range is not None:
        yield f"  {report.range.option} judges it there"
    if failed:
        told = first(failed)
        yield from describe_falsified(told, verbose)
        yield from also_lines(failed, told, verbose)
        yield from caught_lines(report)
    yield from rest_lines(report, verbose)


def rest_lines(report: Any, verbose: bool = False) -> Iterator[str]:
    """What is not falsified: what is imprecise, what nothing was concluded about, what conforms, properties, notes."""
    for check in report.checks:
        if check.verdict == "imprecise":
            yield f"imprecise: {check.message}"
    yield from _inconclusive_lines(report, verbose)
    yield from _conforming_lines(report, verbose)
    yield from _type_lines(report)
    yield from (f"set aside: {line}" for line in aside_lines(report))
    for each in report.properties:
        if verbose or each.notable:
            yield f"property: {each}"
    for note in report.notes:
        yield f"note: {note}"
    if report.not_run and verbose:
        yield from (f"not run: theorem {name}: {why}" for name, why in report.not_run.items())
    elif report.not_run:
        count = len(report.not_run)
        yield f"not run: {count} theorem{'s' if count > 1 else ''} (--verbose says why)"


def _inconclusive_lines(report: Any, verbose: bool) -> Iterator[str]:
    """The checks that concluded nothing, those with one reason in a line."""
    found: dict[str, list[str]] = {}
    for check in report.checks:
        if check.verdict == "inconclusive" and (verbose or not check.reported):
            found.setdefault(check.message, []).append(check.name)
    for message, names in found.items():
        yield f"inconclusive: {', '.join(names)}: {message if verbose else _shorten(message)}"


def _conforming_lines(report: Any, verbose: bool) -> Iterator[str]:
    """The number of checks that conform, or each with its examples and its largest error."""
    found = [check for check in report.checks if check.verdict == "conforms"]
    if verbose:
        for check in found:
            ratio = "" if check.worst_ratio is None else f", error/bound {check.worst_ratio:.3g}"
            yield f"conforms: {check.name}: {check.examples} examples{ratio}"
    elif found:
        yield f"conforms: {len(found)} {'check' if len(found) == 1 else 'checks'}"


def _type_lines(report: Any) -> Iterator[str]:
    """In which types values are judged, in which they could not be, which are graded alone, and which nothing was tried in."""
    values = [check for check in report.checks if check.name == f"value in {check.dtype}"]
    judged = [check.dtype for check in values if check.verdict != "inconclusive"]
    unsaid = [check.dtype for check in values if check.verdict == "inconclusive"]
    graded = [
        check.dtype
        for check in report.checks
        if check.kind == "accuracy" and check.dtype not in (*judged, *unsaid)
    ]
    others = [name for name in FORMATS if name not in (*judged, *unsaid, *graded)]
    parts = (judged, ""), (unsaid, "not judged: "), (graded, "graded only: "), (others, "not tried: ")
    if judged and (unsaid or graded or others):
        yield "types: " + "; ".join(said + ", ".join(names) for names, said in parts if names)


def aside_lines(report: Any) -> Iterator[str]:
    """How many examples were not judged though something was wrong there, by the reason, and of which checks."""
    found: dict[str, dict[str, int]] = {}
    for check in report.checks:
        for why, count in check.details.get("set_aside", {}).items():
            found.setdefault(why, {})[check.name] = count
    for why, counts in found.items():
        yield f"{sum(counts.values())} examples ({', '.join(counts)}): {why}"


def _shorten(text: str) -> str:
    return text if len(text) <= LONG else text[:LONG] + " …"


__all__ = [
    "also_lines",
    "alone",
    "apart",
    "aside_lines",
    "brief",
    "caught_lines",
    "counterexample_lines",
    "describe_falsified",
    "first",
    "first_place",
    "report_lines",
    "rest_lines",
    "show",
]
