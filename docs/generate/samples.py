"""A function as a user might have written it, checked by the real command while the pages are built; and bounds at work."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

import impl.attention
from spec.language.evaluation.evaluate import bound
from spec.language.evaluation.precision import ACCUMULATION, FORMATS
from spec.language.registry import find

from . import errors, examples
from .markup import number, table

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "samples"
COMMANDS = {
    "check": ("check", "my_norm.py:layer_norm", "--formula", "normalization.layer_norm"),
    "convention": (
        "check",
        "my_norm.py:layer_norm",
        "--formula",
        "normalization.layer_norm",
        "--convention",
        "eps=outside",
    ),
}
LOG = logging.getLogger("mkdocs.attnspec")
"""Warnings of MkDocs fail a strict build."""
_RUNNING: dict[str, subprocess.Popen[str]] = {}


def begin() -> None:
    """Start the commands whose output the pages show; they run beside the build."""
    environment = {
        **os.environ,
        "COLUMNS": "96",
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "NO_COLOR": "1",
    }
    for name, command in COMMANDS.items():
        _RUNNING[name] = subprocess.Popen(
            [sys.executable, "-m", "verify", *command],
            cwd=FOLDER, env=environment, text=True, encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip


@cache
def output_of(name: str) -> str:
    """A command as typed and what it printed, as a block of text, and its exit status; a fault of its own is a warning."""
    if name not in _RUNNING:
        begin()
    process = _RUNNING.pop(name)
    out, err = process.communicate(timeout=120)
    if "Traceback (most recent call last)" in err:
        LOG.warning("attnspec %s: %s", " ".join(COMMANDS[name]), err)
    lines = [line.rstrip() for line in out.strip().splitlines()]
    return (
        f"```console\n$ attnspec {' '.join(COMMANDS[name])}\n"
        + "\n".join(lines)
        + f"\n```\n\nExit status {process.returncode}."
    )


def source_of(name: str) -> str:
    """The file that is checked."""
    return f'```python title="{name}"\n{(FOLDER / name).read_text(encoding="utf-8").strip()}\n```'


def formats() -> str:
    """The formats, and in which one arithmetic runs under the convention ``intermediates = accumulate``."""
    rows = [
        (
            f"<code>{f.name}</code>",
            f"2<sup>−{-int(np.log2(f.unit))}</sup> ≈ {number(f.unit)}",
            number(f.largest),
            f"<code>{ACCUMULATION[f.name]}</code>",
        )
        for f in FORMATS.values()
    ]
    return table(("Type", "Unit roundoff u", "Largest finite value", "Accumulates in"), rows)


def bounds(formula_id: str) -> str:
    """Bound and error of our implementation in every type."""
    return errors.model_table(find(formula_id))


def scale_error(dtype: str = "float64") -> str:
    """Error over bound of attention that is right, and of attention whose scale is wrong, at the same example."""
    formula = find("attention.scaled_dot_product")
    given = examples.inputs(formula, dtype=dtype)
    ((_, allowed), *_) = bound(formula, given, dtype=dtype)
    (truth, *_) = examples.exact(formula, given)
    rows = []
    variants = {
        "right": 1.0,
        "a scale wrong by 10⁻⁵": 1 + 1e-5,
        "no scale at all": given["q"].shape[-1] ** 0.5,
    }
    for name, factor in variants.items():
        q, k, v = (torch.tensor(given[x]) for x in "qkv")
        got = impl.attention.scaled_dot_product(*(x.to(getattr(torch, dtype)) for x in (q * factor, k, v)))
        error = np.abs(got.double().numpy() - truth)
        close = np.allclose(got.double().numpy(), truth, rtol=1e-3, atol=1e-3)
        rows.append(
            (
                name,
                number(float(error.max())),
                number(float((error / allowed).max())),
                "passes" if close else "fails",
            )
        )
    return table(
        ("Attention in " + dtype, "Largest error", "Largest error/bound", "A global tolerance of 10⁻³"), rows
    )


def ordinary() -> str:
    """How far the sample file's function is from PyTorch's on ordinary rows, and whether a usual comparison sees it."""
    space: dict[str, Any] = {}
    exec(compile((FOLDER / "my_norm.py").read_text(encoding="utf-8"), "my_norm.py", "exec"), space)
    x, one, zero = (
        torch.randn(1000, 64, generator=torch.Generator().manual_seed(0)),
        torch.ones(64),
        torch.zeros(64),
    )
    mine, theirs = (
        space["layer_norm"](x, one, zero, 1e-5),
        torch.nn.functional.layer_norm(x, (64,), one, zero, 1e-5),
    )
    passes = torch.allclose(mine, theirs, atol=1e-4)
    verdict = f"`torch.allclose(mine, theirs, atol=1e-4)` is {passes}"
    most = number(float((mine - theirs).abs().max()))
    return f"on 1000 rows of unit-normal numbers it differs from PyTorch’s by at most {most}, and {verdict}"
