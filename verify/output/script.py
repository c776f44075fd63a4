"""The short script of a failure of one plain call: inputs, call, expected ± bound; it needs torch and the callable alone."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import torch

from spec.language.formula import Formula
from spec.language.registry import find
from verify.report import CheckResult, Counterexample, Report

PLACEHOLDER = "your_module:your_function"
WRITTEN_OUT = 400
"""Entries up to which an array is written as numbers; a larger one, which nobody reads either, by its bytes."""


def script(subject: Report | CheckResult, target: str | None = None, formula_id: str | None = None) -> str:
    """A Python script that makes one plain call again, and exits with 1 if its value or gradient is still wrong.

    Args:
        subject: a report, of which the first such failure is taken, or a check that failed.
        target: ``module:callable`` to import, ``module:maker()`` if the callable is what a function returns; by default the
            report's, or a placeholder to fill in.
        formula_id: needed with a check.

    Raises:
        ValueError: nothing failed that one plain call shows; ``attnspec replay`` replays any failure.
    """
    if isinstance(subject, Report):
        formula_id, target, failed = subject.formula_id, target or subject.importable, subject.falsified
    else:
        failed = [subject]
    shown = [check for check in failed if _is_plain(check)]
    if not shown or formula_id is None or any(check.leads for check in failed if check not in shown):
        raise ValueError(
            f"{formula_id}: no failure of one plain call, so there is no script (attnspec replay replays any failure)"
        )
    check = min(shown, key=lambda each: (not each.leads, each.kind != "value"))
    assert check.counterexample is not None
    formula, example = find(formula_id), check.counterexample
    module, _, name = (target or PLACEHOLDER).partition(":")
    own = name.startswith(("sys.", "torch.")) or name in (
        "sys",
        "torch",
    )  # else it would hide what is imported
    root = name.partition(".")[0].removesuffix("()")
    note = "" if target else "  # put your module and function here"
    chosen = ", ".join(f"{key}={option}" for key, option in example.conventions.items())
    return "\n".join(
        [
            f'"""Reproduces: {check.name} of {formula.id} ({chosen}).',
            "",
            _escape_comment(check.message),
            f"Violated: {_escape_comment(example.violates)}",
            '"""',
            "import sys",
            "",
            "import torch",
            "",
            f"from {module} import {root}{f' as own_{root}' if own else ''}{note}",
            "",
            f"function = {'own_' if own else ''}{name}",
            *_input_lines(formula, example),
            *(
                _gradient_lines(formula, example)
                if check.kind == "gradient"
                else _value_lines(formula, example)
            ),
            "print(f'got {got!r}, expected {expected!r} ± {bound:.3g}')",
            "sys.exit(0 if got == expected or abs(got - expected) <= bound else 1)",
            "",
        ]
    )


def _is_plain(check: CheckResult) -> bool:
    """Whether one plain call shows a failure by a number."""
    example = check.counterexample
    return example is not None and bool(example.call) and example.got is not None


def _input_lines(formula: Formula, example: Counterexample) -> list[str]:
    """Assignments of the inputs that are passed."""
    lines = []
    for item in formula.inputs:
        name = str(item)
        if not re.search(rf"\b{name}\b", example.call):
            continue
        value = example.inputs.get(name)
        if getattr(item, "role", "") in ("data", "parameter"):
            value = np.asarray(value)  # a number instead of an array without axes
        lines.append(f"{name} = {literal(value, example.dtype)}")
    return lines


def _value_lines(formula: Formula, example: Counterexample) -> list[str]:
    """The call, and the entry of its value."""
    place = [tensor.name for tensor in formula.outputs].index(example.what)
    return [
        f"result = {example.call}",
        f"output = result[{place}] if isinstance(result, (tuple, list)) else result",
        f"got = output[{example.index or ()!r}].item()",
        *_expected_line(example),
    ]


def _gradient_lines(formula: Formula, example: Counterexample) -> list[str]:
    """The call, and the entry of the gradient that comes of the cotangents."""
    cotangents = example.cotangents or {}
    names = [str(item) for item in formula.inputs if re.search(rf"\b{item}\b", example.call)]
    real = [n for n in names if getattr(example.inputs.get(n), "dtype", None) == np.float64]
    seeds = ", ".join(literal(value, example.dtype) for value in cotangents.values())
    return [
        f"for leaf in ({', '.join(real)},):",
        "    leaf.requires_grad_()",
        f"result = {example.call}",
        "outputs = list(result) if isinstance(result, (tuple, list)) else [result]",
        f"cotangents = [{seeds}]",
        "pairs = [pair for pair in zip(outputs, cotangents) if pair[0].requires_grad]",
        "outputs, cotangents = [pair[0] for pair in pairs], [pair[1] for pair in pairs]",
        f"found = torch.autograd.grad(outputs, {example.what}, cotangents, allow_unused=True)[0] if pairs else None",
        f"got = 0.0 if found is None else found[{example.index or ()!r}].item()",
        *_expected_line(example),
    ]


def _expected_line(example: Counterexample) -> list[str]:
    return [f"expected, bound = {_write_number(example.expected)}, {_write_number(example.tolerance)}"]


def literal(value: Any, dtype: str) -> str:
    """An input as Python text that gives the same tensor, bit for bit."""
    if value is None or isinstance(value, bool | int):
        return repr(value)
    if isinstance(value, float | np.floating):
        return _write_number(float(value))
    array = np.asarray(value)
    kind = {"b": "torch.bool", "i": "torch.int64"}.get(array.dtype.kind, f"torch.{dtype}")
    shape = tuple(array.shape)
    if array.size == 0:
        return f"torch.zeros({shape}, dtype={kind})"
    if array.size > WRITTEN_OUT:
        made = torch.from_numpy(np.array(array)).to(getattr(torch, kind.removeprefix("torch."))).flatten()
        raw = made.view(torch.uint8).numpy().tobytes().hex()
        return f'torch.frombuffer(bytearray.fromhex("{raw}"), dtype={kind}).reshape({shape})'
    return f"torch.tensor({_write_nested(array)}, dtype={kind})"


def _write_nested(array: Any) -> str:
    if array.ndim == 0:
        item = array.item()
        return _write_number(item) if isinstance(item, float) else repr(item)
    return "[" + ", ".join(_write_nested(part) for part in array) + "]"


def _write_number(x: float | None) -> str:
    """A number as Python text, the special ones included."""
    return repr(x) if x is not None and np.isfinite(x) else f'float("{x}")'


def _escape_comment(text: str) -> str:
    """Any text within a docstring: without an end of it, and without what no file of Python may hold."""
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    return re.sub("[\0-\x08\x0b-\x1f\x7f\ud800-\udfff]", lambda found: repr(found[0])[1:-1], text)


__all__ = ["literal", "script"]
