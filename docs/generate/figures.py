"""The figures, each drawn from ``impl`` (and, where a convention that is not ours is shown, from the statement)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

import impl.attention
import impl.masking
import impl.normalization
import impl.positional
import impl.scores
from spec.language.evaluation.evaluate import evaluate
from spec.language.formula import Formula
from spec.language.registry import find

from . import errors
from .drawing import FAINT, FOUR, INK, ONE, THREE, TWO, draw, group, label_lines

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def _normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _spread(axes: Axes) -> None:
    for score, colour, label in ((impl.scores.dot, ONE, "q·k"), (impl.scores.scaled_dot, TWO, "q·k / √dₖ")):
        axes.plot(
            SIZES,
            [float(score(_normal(200, d), _normal(200, d, seed=1)).std()) for d in SIZES],
            "o",
            color=colour,
            label=label,
        )
    axes.plot(SIZES, np.sqrt(SIZES), color=ONE, linewidth=0.8, label="√dₖ")
    axes.axhline(1, color=TWO, linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="dₖ", ylabel="standard deviation")
    label_lines(axes)


def _sharpness(axes: Axes) -> None:
    keys = 16
    for score, colour, label in (
        (impl.scores.dot, ONE, "unscaled"),
        (impl.scores.scaled_dot, TWO, "scaled by 1/√dₖ"),
    ):
        largest = [
            float(impl.attention.softmax(score(_normal(400, d), _normal(keys, d, seed=1))).amax(-1).mean())
            for d in SIZES
        ]
        axes.plot(SIZES, largest, "o-", color=colour, label=label)
    axes.axhline(1 / keys, color=FAINT, linewidth=1)
    axes.set(xscale="log", ylim=(0, 1.03), xlabel="dₖ", ylabel=f"largest of {keys} weights, mean")
    label_lines(axes)


def _temperature(axes: Axes) -> None:
    worked = find("attention.softmax").worked[-1]
    scores = torch.tensor([[float(x) for x in worked.inputs["s"][0]]], dtype=torch.float64)
    factors = np.linspace(0, 1, 101)
    weights = torch.cat([impl.attention.softmax(scores * t) for t in factors])
    for column, colour in zip(range(weights.shape[1]), (ONE, TWO, THREE), strict=False):
        style = "-" if column < 2 else "--"
        axes.plot(
            factors, weights[:, column].numpy(), style, color=colour, label=f"score {scores[0, column]:g}"
        )
    axes.set(xlabel="factor on all scores", ylabel="weight", ylim=(0, 1.03))
    label_lines(axes)


def _weights(axes: Axes, mask: torch.Tensor | None, title: str) -> None:
    scores = impl.scores.scaled_dot(_normal(5, 8), _normal(7, 8, seed=1))
    a = impl.attention.softmax(scores, mask)
    axes.imshow(a.numpy(), cmap="Blues", vmin=0, vmax=float(a.max()))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            dark = float(a[i, j]) > 0.6 * float(a.max())
            text = "0" if float(a[i, j]) == 0 else f"{float(a[i, j]):.2f}".lstrip("0")
            axes.text(j, i, text, ha="center", va="center", fontsize=7, color="white" if dark else "black")
    axes.set(title=title, xlabel="key j", ylabel="query i", xticks=range(7), yticks=range(5))
    axes.grid(False)


def _mask(axes: Axes, alignment: impl.attention.Alignment, n: int, m: int) -> None:
    mask = impl.attention.causal_mask(n, m, alignment=alignment)
    for i in range(n):
        for j in range(m):
            seen = bool(mask[i, j])
            box = Rectangle(
                (j - 0.45, i - 0.45),
                0.9,
                0.9,
                facecolor=ONE if seen else "none",
                edgecolor=FAINT,
                linewidth=0.6,
            )
            axes.add_patch(box)
    axes.set(xlim=(-0.6, m - 0.4), ylim=(n - 0.4, -0.6), xticks=range(m), yticks=range(n), aspect="equal")
    axes.set(title=alignment.replace("_", " "), xlabel="key j", ylabel="query i")
    axes.grid(False)


def _table(axes: Axes, layout: impl.positional.Layout, n: int, d: int) -> None:
    axes.imshow(
        impl.positional.sinusoidal(n, d, layout=layout).numpy(), cmap="PuOr", aspect="auto", vmin=-1, vmax=1
    )
    axes.set(title=layout, xlabel="column", ylabel="position t")
    axes.grid(False)


def _inner(axes: Axes) -> None:
    pe = impl.positional.sinusoidal(512, 128, dtype=torch.float64)
    offsets = np.arange(200)
    for t, colour, width in ((0, ONE, 5.0), (100, TWO, 2.6), (300, INK, 0.8)):
        axes.plot(
            offsets,
            [float(pe[t] @ pe[t + o]) for o in offsets],
            color=colour,
            linewidth=width,
            label=f"t = {t}",
        )
    axes.set(xlabel="φ", ylabel="⟨PE(t), PE(t+φ)⟩")
    label_lines(axes)


def _gram(axes: Axes) -> None:
    pe = impl.positional.sinusoidal(64, 128, dtype=torch.float64)
    axes.imshow((pe @ pe.T).numpy(), cmap="PuOr", vmin=-64, vmax=64)
    axes.set(xlabel="position s", ylabel="position t", title="⟨PE(t), PE(s)⟩")
    axes.grid(False)


def _epsilon(axes: Axes) -> None:
    formula, eps, d = find("normalization.layer_norm"), 1e-5, 64
    x = np.random.default_rng(0).standard_normal(d)
    x = (x - x.mean()) / x.std()
    spreads, one, zero = np.logspace(-6, 1, 36), np.ones(d), np.zeros(d)
    inside = [
        float(
            impl.normalization.layer_norm(
                torch.tensor(s * x), torch.tensor(one), torch.tensor(zero), eps
            ).std(correction=0)
        )
        for s in spreads
    ]
    outside = [
        float(evaluate(formula, [s * x, one, zero, eps], {"eps": "outside"})[0].std()) for s in spreads
    ]
    axes.plot(spreads, inside, color=ONE, label="eps = inside (ours)")
    axes.plot(spreads, outside, color=TWO, label="eps = outside")
    axes.plot(spreads, spreads / np.sqrt(spreads**2 + eps), "o", color=INK, markersize=2, label="σ/√(σ² + ε)")
    axes.set(xscale="log", xlabel="standard deviation σ of the input", ylabel="that of the output")
    label_lines(axes)


def _ratios(axes: Axes, formula: Formula) -> None:
    for dtype, colour, mark in (("float64", ONE, "o"), ("float32", TWO, "s")):
        found = errors.by_regime(formula.id, dtype)
        names = list(found)
        axes.plot([max(found[n], 1e-4) for n in names], range(len(names)), mark, color=colour, label=dtype)
    axes.axvline(1, color=FOUR, linewidth=1.2)
    axes.set(xscale="log", yticks=range(len(names)), xlim=(8e-5, 2), xlabel="largest error/bound")
    axes.set_yticklabels(names)
    axes.invert_yaxis()
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=2, handlelength=1)


def regimes(formula: Formula) -> str:
    """Error over bound in every regime of data, float64 and float32."""
    count = len(errors.by_regime(formula.id, "float64"))
    caption = (
        f"Error over bound of <code>impl</code> by regime of the data, the largest of {errors.DRAWS} draws. "
        "A right implementation stays left of 1."
    )
    return draw(
        f"regimes-{formula.id}", partial(_ratios, formula=formula), caption, (5.0, 0.9 + 0.19 * count)
    )


def _fractions(axes: Axes) -> None:
    from . import law

    stated, seen = law.stated(), law.observed()
    names = list(stated)
    places = np.arange(len(names))
    axes.barh(places - 0.18, [float(stated[n]) for n in names], 0.34, color=ONE, label="stated")
    axes.barh(places + 0.18, [seen[n] for n in names], 0.34, color=TWO, label="observed")
    axes.set(yticks=places, xlabel="share of the selected tokens")
    axes.set_yticklabels(names)
    axes.invert_yaxis()
    label_lines(axes)


def _half_padded() -> torch.Tensor:
    mask = torch.ones(5, 7, dtype=torch.bool)
    mask[:, 5:] = False
    mask[3] = False
    return mask


FIGURES: dict[str, Callable[[], str]] = {
    "scores.dot": lambda: draw(
        "spread", _spread,
        "Standard deviation of scores of unit-normal entries (dots, 40 000 scores each) against √dₖ and 1 (lines).",
    ),
    "scores.scaled_dot": lambda: draw(
        "sharpness", _sharpness,
        "Softmax over 16 keys of unit-normal scores: without the scale it hardens as dₖ grows, with it it does not. "
        "The thin line is 1/16, all weights alike.",
    ),
    "attention.softmax": lambda: draw(
        "temperature", _temperature, "The scores 13, 9 and 9 of the worked example, all multiplied by a factor from 0 to 1."
    ),
    "attention.scaled_dot_product": lambda: group(
        "Weights of five queries over seven keys. On the right keys 5 and 6 are hidden from all queries, "
        "and query 3 may attend to nothing: its row is 0.",
        ("weights", partial(_weights, mask=None, title="no mask"), (3.1, 2.6)),
        ("weights-masked", partial(_weights, mask=_half_padded(), title="mask"), (3.1, 2.6)),
    ),
    "attention.causal": lambda: group(
        "Four queries, seven keys: which query may attend to which key (filled) under either alignment. For n = m they agree.",
        ("lower", partial(_mask, alignment="lower_right", n=4, m=7), (3.1, 2.3)),
        ("upper", partial(_mask, alignment="upper_left", n=4, m=7), (3.1, 2.3)),
    ),
    "positional.sinusoidal": lambda: group(
        "The table for 64 positions and 64 columns, in both layouts.",
        ("interleaved", partial(_table, layout="interleaved", n=64, d=64), (3.0, 2.6)),
        ("concatenated", partial(_table, layout="concatenated", n=64, d=64), (3.0, 2.6)),
    ) + group(
        "Inner products for d = 128. The curves for three positions t lie on one another: only the offset φ matters.",
        ("inner", _inner, (3.6, 2.6)),
        ("gram", _gram, (2.6, 2.6)),
    ),
    "normalization.layer_norm": lambda: draw(
        "epsilon", _epsilon,
        "Where ε stands matters only where the variance is small (ε = 10⁻⁵, γ = 1, β = 0). The dots are the theorem’s value.",
    ),
    "masking.mlm": lambda: draw(
        "fractions", _fractions, "What became of the selected tokens: the law, and a count over one large draw.", (5.0, 1.9)
    ),
}  # fmt: skip


def of(formula: Formula) -> str:
    """The figures of a formula, or nothing."""
    return FIGURES[formula.id]() if formula.id in FIGURES else ""
