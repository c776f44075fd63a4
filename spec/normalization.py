"""Normalization: a row brought to mean 0 and variance 1, then scaled and shifted."""

from __future__ import annotations

from spec.language import (
    Convention,
    Formula,
    Index,
    Node,
    Proof,
    Sum,
    Theorem,
    by_convention,
    claim,
    data,
    deck,
    define,
    delta,
    each,
    given,
    indices,
    lt,
    number,
    paper,
    parameter,
    sizes,
    sqrt,
    step,
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

# Theorems -----------------------------------------------------------------------------------------------------------------

OURS = {"eps": "inside", "divisor": "biased"}
(l,) = indices("l")
shift, scale, pull = given("c"), given("c", domain="positive"), given("g", d)
ones, zeros = each(1, (i, d)), each(0, (i, d))
plain = layer_norm(x, ones, zeros, eps)
whole = layer_norm(x, gamma, beta, eps)

mean = Sum(x[l], (l, 0, d - 1)) / d
variance = Sum((x[l] - mean) ** 2, (l, 0, d - 1)) / d
spread = sqrt(variance + eps.value)
not_constant = lt(0, variance)


def standard(at: Index) -> Node:
    """The entry at an index, brought to mean 0 and divided by the spread."""
    return (x[at] - mean) / spread


layer_norm.prove(
    Theorem(
        "zero_mean",
        "Without gain and bias a normalised row has mean 0",
        conventions={"divisor": "biased"},
        claims=(claim(Sum(plain[i], (i, 0, d - 1)) / d, "=", 0),),
        proofs=(Proof(why="Σᵢ (xᵢ − μ) = Σᵢ xᵢ − d·μ = 0; the spread does not depend on i"),),
    )
)

layer_norm.prove(
    Theorem(
        "variance",
        "Without gain and bias a normalised row has variance σ²/(σ² + ε)",
        conventions=OURS,
        claims=(claim(Sum(plain[i] ** 2, (i, 0, d - 1)) / d, "=", variance / (variance + eps.value)),),
        proofs=(
            Proof(
                (
                    step(Sum(standard(i) ** 2, (i, 0, d - 1)) / d, "the definition with γ = 1 and β = 0"),
                    step(
                        Sum((x[i] - mean) ** 2, (i, 0, d - 1)) / d / (variance + eps.value),
                        "the square of the root; it does not depend on i",
                    ),
                ),
                why="the numerator is σ²",
            ),
        ),
    )
)

layer_norm.prove(
    Theorem(
        "norm",
        "Without gain and bias a normalised row has squared length d·σ²/(σ² + ε)",
        conventions=OURS,
        claims=(claim(Sum(plain[i] ** 2, (i, 0, d - 1)), "=", d * variance / (variance + eps.value)),),
        proofs=(Proof(why="d times the variance, as the mean is 0"),),
    )
)

layer_norm.prove(
    Theorem(
        "norm_without_eps",
        "At ε = 0 a normalised row that is not constant has length √d",
        conventions=OURS,
        at={eps: 0},
        assuming=(not_constant,),
        runs=False,
        claims=(claim(Sum(plain[i] ** 2, (i, 0, d - 1)), "=", d),),
        proofs=(
            Proof(
                (step(d * variance / variance, "the definition; ε = 0"),),
                why="the variance of a row that is not constant is positive, so it cancels",
            ),
        ),
    )
)

layer_norm.prove(
    Theorem(
        "shift_invariant",
        "Adding a number to all entries changes nothing",
        given=(shift,),
        conventions={"divisor": "biased"},
        claims=(
            claim(layer_norm(each(x[i] + shift.value, (i, d)), gamma, beta, eps)[i], "=", whole[i], (i, d)),
        ),
        proofs=(Proof(why="the mean grows by the same number, so every difference to it stays"),),
    )
)

layer_norm.prove(
    Theorem(
        "scale",
        "Scaling a row by c > 0 and ε by c² changes nothing",
        given=(scale,),
        conventions=OURS,
        claims=(
            claim(
                layer_norm(each(scale.value * x[i], (i, d)), gamma, beta, scale.value**2 * eps.value)[i],
                "=",
                whole[i],
                (i, d),
            ),
        ),
        proofs=(
            Proof(
                (
                    step(
                        gamma[i]
                        * (scale.value * (x[i] - mean))
                        / sqrt(scale.value**2 * (variance + eps.value))
                        + beta[i],
                        "mean and spread scale with the row",
                    ),
                ),
                why="√(c²·…) = c·√…, and c is positive",
            ),
        ),
    )
)

layer_norm.prove(
    Theorem(
        "scale_invariant",
        "At ε = 0, scaling a row that is not constant by c > 0 changes nothing",
        given=(scale,),
        conventions=OURS,
        at={eps: 0},
        assuming=(not_constant,),
        runs=False,
        claims=(
            claim(layer_norm(each(scale.value * x[i], (i, d)), gamma, beta, eps)[i], "=", whole[i], (i, d)),
        ),
        proofs=(Proof(why="√(c²σ²) = c·σ, and c·σ is positive"),),
    )
)

weighted = Sum(gamma[j] * pull[j], (j, 0, d - 1)) / d
aligned = Sum(gamma[j] * pull[j] * standard(j), (j, 0, d - 1)) / d

layer_norm.prove(
    Theorem(
        "backward",
        "∂x = (γg − mean(γg) − x̂·mean(γg·x̂)) / √(σ² + ε), ∂γ = g·x̂, ∂β = g, with x̂ the normalised row",
        given=(pull,),
        conventions=OURS,
        claims=(
            claim(
                whole.pullback(pull, "x")[i],
                "=",
                (gamma[i] * pull[i] - weighted - standard(i) * aligned) / spread,
                (i, d),
            ),
            claim(whole.pullback(pull, "gamma")[i], "=", pull[i] * standard(i), (i, d)),
            claim(whole.pullback(pull, "beta")[i], "=", pull[i], (i, d)),
        ),
        proofs=(
            Proof(
                (
                    step(
                        Sum(
                            pull[j]
                            * gamma[j]
                            * (
                                (delta(i, j) - 1 / d) / spread
                                - (x[j] - mean) * (x[i] - mean) / (d * spread**3)
                            ),
                            (j, 0, d - 1),
                        ),
                        "∂μ/∂xᵢ = 1/d and ∂σ²/∂xᵢ = 2(xᵢ − μ)/d",
                    ),
                ),
                why="the sum split; the delta picks j = i",
            ),
            Proof(why="the row is linear in γ"),
            Proof(why="the row is β plus something free of it"),
        ),
    )
)
