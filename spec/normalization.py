"""Normalization: a row brought to mean 0 and variance 1, then scaled and shifted."""

from __future__ import annotations

from spec.language import (
    Convention,
    Formula,
    Sum,
    by_convention,
    data,
    deck,
    define,
    indices,
    number,
    paper,
    parameter,
    sizes,
    sqrt,
    tensor,
)

(d,) = sizes("d")
i, j = indices("i j")

x = data("x", d)
gamma, beta = parameter("gamma", d), parameter("beta", d)
eps = number("eps", domain="positive")
mu, var, y = tensor("mu"), tensor("var", domain="nonnegative"), tensor("y", d)

EPS = Convention(
    "eps",
    {"inside": "√(σ² + ε)", "outside": "√(σ²) + ε"},
    default="inside",
)
DIVISOR = Convention(
    "divisor",
    {"biased": "the variance divides by d", "unbiased": "the variance divides by d − 1"},
    default="biased",
)

layer_norm = Formula(
    "normalization.layer_norm",
    "Layer normalization",
    inputs=(x, gamma, beta, eps),
    lines=(
        define(mu, Sum(x[j], (j, 0, d - 1)) / d),
        define(
            var,
            by_convention(
                "divisor",
                biased=Sum((x[j] - mu.value) ** 2, (j, 0, d - 1)) / d,
                unbiased=Sum((x[j] - mu.value) ** 2, (j, 0, d - 1)) / (d - 1),
            ),
        ),
        define(
            y[i],
            gamma[i]
            * (x[i] - mu.value)
            / by_convention("eps", inside=sqrt(var.value + eps.value), outside=sqrt(var.value) + eps.value)
            + beta[i],
        ),
    ),
    outputs=(y,),
    conventions=(EPS, DIVISOR),
    sources=(
        deck(2, "residuals and layer norm"),
        deck(4, "layer normalization"),
        paper("Ba, Kiros & Hinton 2016", "eq. 4"),
    ),
)

