"""What the two tolerances say at work: bound and expected error beside the actual one at growing widths, and measured grades."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter

import impl.attention
from spec.language.evaluation.evaluate import bound
from spec.language.evaluation.expected import expected_error
from spec.language.registry import find
from tests.mutants import variants
from verify.accuracy.grades import AccuracyProperty
from verify.properties.judge import Judge
from verify.properties.setting import Setting
from verify.report import CONFORMS
from verify.search.loop import Search
from verify.subject.caller import Caller

from .drawing import FOUR, ONE, TWO, draw, label_lines
from .markup import code, number, table

WIDTHS = (16, 32, 64, 128, 256, 512, 768, 1024)
ATTENTION = "attention.scaled_dot_product"


def attention_in_float32(width: int) -> tuple[float, float]:
    """Bound and sigma over the actual error of our attention, in float32, over as many keys as they are wide: medians."""
    random = np.random.default_rng(width)
    shapes = {"q": (8, width), "k": (width, width), "v": (width, 8)}
    drawn = {
        name: torch.tensor(random.standard_normal(shape), dtype=torch.float32)
        for name, shape in shapes.items()
    }
    inputs = {name: part.double().numpy() for name, part in drawn.items()}
    got = impl.attention.scaled_dot_product(*drawn.values()).double().numpy()
    ((value, allowed),) = bound(find(ATTENTION), inputs)
    ((_, sigma),) = expected_error(find(ATTENTION), inputs)
    actual = float(np.sqrt(np.mean((got - value) ** 2)))
    return float(np.median(allowed)) / actual, float(np.median(sigma)) / actual


def _ratios(axes: Axes) -> None:
    found = [attention_in_float32(width) for width in WIDTHS]
    axes.plot(WIDTHS, [x for x, _ in found], "o-", color=ONE, label="bound")
    axes.plot(WIDTHS, [x for _, x in found], "s-", color=TWO, label="expected error (sigma)")
    axes.axhline(1, color=FOUR, linewidth=1.2)
    axes.set(
        xscale="log",
        yscale="log",
        xticks=WIDTHS,
        xlabel="width, and number of keys",
        ylabel="over the actual error",
    )
    label_lines(axes)
    axes.set_xticks(WIDTHS)
    names = ["" if width == 768 else str(width) for width in WIDTHS]  # 1024 needs the room
    axes.xaxis.set_major_formatter(FixedFormatter(names))


def widths() -> str:
    """Both tolerances over the actual error, at growing widths."""
    return draw(
        "widths",
        _ratios,
        "Attention with unit-normal data in float32: the rigorous bound and the expected error, each over the actual error "
        "(root mean square). The bound outgrows the error; what is expected stays with it.",
    )


def _named(formula_id: str, name: str) -> Callable[..., Any]:
    return next(v.call for v in variants((formula_id,)) if v.name == name)


def _graded() -> list[tuple[str, str, Callable[..., Any]]]:
    """What is measured: careful callables first, then such as hold something in a coarser type."""
    norm, soft, scores = "normalization.layer_norm", "attention.softmax", "scores.scaled_dot"
    return [
        (norm, "F.layer_norm", lambda x, g, b, eps: F.layer_norm(x, x.shape[-1:], g, b, eps)),
        (norm, "two passes", _named(norm, "two_pass")),
        (norm, "Welford, an entry at a time, sums in the type of x", _named(norm, "welford")),
        (norm, "one pass, E[x²] − μ² (wrong elsewhere)", _named(norm, "one_pass")),
        (soft, "torch.softmax", lambda s: s.softmax(-1)),
        (ATTENTION, "F.scaled_dot_product_attention", F.scaled_dot_product_attention),
        (ATTENTION, "softmax by blocks", _named(ATTENTION, "by_blocks")),
        (scores, "products added one by one", _named(scores, "accumulated_one_by_one")),
        (norm, "mean in float16", _named(norm, "mean_in_half")),
        (ATTENTION, "scores in float16", _named(ATTENTION, "scores_in_half")),
        (ATTENTION, "weights in float16", _named(ATTENTION, "weights_in_half")),
        (scores, "accumulated in bfloat16", _named(scores, "accumulated_in_bfloat16")),
    ]


def grades() -> str:
    """The grades of careful callables and of coarse ones in float32 and bfloat16."""
    rows = []
    for formula_id, words, fn in _graded():
        formula = find(formula_id)
        cells, said = [], ""
        for dtype in ("float32", "bfloat16"):
            setting = Setting.of(Judge(formula), Caller(fn, formula))
            (found,) = Search(AccuracyProperty(setting, dtype), setting.budget).run()
            word = "" if found.verdict == CONFORMS else f" ({found.verdict})"
            details = found.details
            cells.append(
                f"{number(details['sigma'])}, {details['digits']:.1f}{word}" if "sigma" in details else "–"
            )
            said = said or details.get("place", "")
        rows.append((code(formula_id), words, *cells, said.replace("`", "")))
    return table(("Statement", "Written as", "float32: sigma, digits lost", "bfloat16", "Reads as"), rows)


MEASURED = {"widths": widths, "grades": grades}
MADE: dict[str, str] = {}
"""What these gave, in a process of this build or of an earlier one."""


def make(name: str) -> str:
    """A figure or a table, measured now."""
    return MEASURED[name]()


def measured(name: str) -> str:
    """The same, measured once."""
    if name not in MADE:
        MADE[name] = make(name)
    return MADE[name]
