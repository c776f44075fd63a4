"""A function as a user might have written it, checked by the real command while the pages are built; and bounds at work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

import impl.attention
from spec.language.evaluation.evaluate import bound
from spec.language.evaluation.precision import ACCUMULATION, FORMATS
from spec.language.registry import find
from verify.command.profiles import PROFILES

from . import errors, examples
from .markup import number, table

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "samples"
PROJECT = FOLDER / "project"
FILE, FORMULA = "my_norm.py", "normalization.layer_norm"
_CHECK = ("check", f"{FILE}:layer_norm", "--formula", FORMULA)
_MODULE = ("check", "my_module.py:norm", "--formula", FORMULA)
_OWN = "examples/formulas"
COMMANDS = {
    "check": _CHECK,
    "ours": (*_CHECK, "--convention", "ours"),
    "module": (*_MODULE, "--set", "eps=1e-6"),
    "module_without": _MODULE,
    "numpy": ("check", "my_arrays.py:norm", "--formula", FORMULA),
    "show_rope": ("show", f"{_OWN}/rope.py:rope"),
    "check_rope": ("check", f"{_OWN}/rotary.py:turned", "--formula", f"{_OWN}/rope.py:rope"),
    "check_rope_at": (
        *("check", f"{_OWN}/rotary.py:looked_up", "--formula", f"{_OWN}/rope.py:rope_at"),
        *("--convention", "layout=halves"),
    ),
    "show_alibi": ("show", f"{_OWN}/alibi.py:alibi"),
    "check_alibi": ("check", f"{_OWN}/biased.py:weights", "--formula", f"{_OWN}/alibi.py:alibi"),
    "targets": ("verify", "--jobs", "1"),
    "pytest": ("pytest", "-v", "--no-header"),
}
"""Arguments of ``attnspec``, or a command of its own."""
FOLDERS = {"targets": PROJECT, "pytest": PROJECT} | {
    name: ROOT for name, arguments in COMMANDS.items() if _OWN in " ".join(arguments)
}
"""Where a command is run, if not beside the samples."""
MADE: dict[str, str] = {}
"""What :func:`make` gave, in a process of this build or of an earlier one."""


def make(name: str) -> str:
    """Run a command: as typed and what it printed, as a block of text, and its exit status.

    Raises:
        RuntimeError: the command has a fault of its own.
    """
    environment = {
        **os.environ,
        "COLUMNS": "96",
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "NO_COLOR": "1",
    }
    plain = COMMANDS[name][0] == "pytest"
    plugin = ("-p", "pytest_attnspec", "-p", "no:cacheprovider") if plain else ()
    done = subprocess.run(
        [sys.executable, "-m", *(() if plain else ("verify",)), *COMMANDS[name], *plugin],
        cwd=FOLDERS.get(name, FOLDER), env=environment, text=True, encoding="utf-8", capture_output=True, check=False,
    )  # fmt: skip
    typed = f"{'' if plain else 'attnspec '}{' '.join(COMMANDS[name])}"
    if "Traceback (most recent call last)" in done.stderr:
        raise RuntimeError(f"{typed}: {done.stderr}")
    lines = [line.rstrip() for line in (done.stdout.strip() or done.stderr.strip()).splitlines()]
    return f"```console\n$ {typed}\n" + "\n".join(lines) + f"\n```\n\nExit status {done.returncode}."


def output_of(name: str) -> str:
    """What a command printed."""
    if name not in MADE:
        MADE[name] = make(name)
    return MADE[name]


def source_of(name: str) -> str:
    """The file that is checked."""
    path = FOLDER / name if (FOLDER / name).exists() else ROOT / name
    kind = {".py": "python", ".toml": "toml"}[path.suffix]
    return f'```{kind} title="{path.name}"\n{path.read_text(encoding="utf-8").strip()}\n```'


def profiles() -> str:
    """The profiles, and what each asks."""
    rows = [
        (
            f"<code>{name}</code>",
            str(options["max_examples"]),
            "yes" if options.get("grades", True) else "–",
        )
        for name, options in PROFILES.items()
    ]
    return table(("Profile", "Examples for each check", "Accuracy is graded"), rows)


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
    exec(compile((FOLDER / FILE).read_text(encoding="utf-8"), FILE, "exec"), space)
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
    return (
        f"on 1000 rows of 64 unit-normal numbers it differs from PyTorch’s by at most {most}, and {verdict}"
    )
