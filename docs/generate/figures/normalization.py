"""Figures of normalization: where ε stands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from matplotlib.axes import Axes

import impl.normalization
from generate.drawing import INK, ONE, TWO, draw, label_lines
from spec.language.evaluation.evaluate import evaluate
from spec.language.registry import find


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
    axes.set(
        xscale="log", xlabel="standard deviation σ of the input", ylabel="standard deviation of the output"
    )
    label_lines(axes)


FIGURES: dict[str, Callable[[], str]] = {
    "normalization.layer_norm": lambda: draw(
        "epsilon", _epsilon,
        "Where ε stands matters only where the variance is small (ε = 10⁻⁵, γ = 1, β = 0). The dots are the theorem’s value.",
    ),
}  # fmt: skip
