"""Masking: how pre-training corrupts its input."""

from __future__ import annotations

import sympy

from spec.language import (
    Axiom,
    Convention,
    Formula,
    Law,
    Sum,
    Tensor,
    by_convention,
    case,
    data,
    deck,
    define,
    delta,
    eq,
    indices,
    lt,
    number,
    paper,
    rounded,
    sizes,
    tensor,
)

n, V = sizes("n V")
i, w, l = indices("i w l")

ids = data("ids", n, domain="integer", below=V)
special = data("special", n, domain="boolean")
mask_id = number("mask_id", domain="integer", below=V)
generator = Tensor("generator", (), "generator", "generator")

rho, alpha, omega = (Tensor(name, (), "positive", "constant") for name in ("rho", "alpha", "omega"))
ordinary, count, rate = tensor("ordinary"), tensor("count"), tensor("rate")
P = tensor("P", n, V, 2)
corrupted, labels = tensor("corrupted", n, domain="integer"), tensor("labels", n, domain="integer")

SELECTION = Convention(
    "selection",
    {
        "bernoulli": "each ordinary token is selected independently with probability ρ",
        "exact_count": "in each row, max(1, ρ·(ordinary tokens) rounded half to even) ordinary tokens are selected, "
        "all such sets alike likely",
    },
    default="bernoulli",
)

same = delta(w, ids[i])
replaced = alpha.value * delta(w, mask_id.value) + omega.value / V + (1 - alpha.value - omega.value) * same

mlm = Formula(
    "masking.mlm",
    "Masked language modelling: corruption",
    inputs=(ids, special, mask_id, V, generator),
    lines=(
        define(ordinary, Sum(case(~special[l], 1), (l, 0, n - 1))),
        define(
            count,
            case(lt(rounded(rho.value * ordinary.value), 1), 1, rounded(rho.value * ordinary.value)),
        ),
        define(
            rate, by_convention("selection", bernoulli=rho.value, exact_count=count.value / ordinary.value)
        ),
        define(P[i, w, 0], case(special[i], same, (1 - rate.value) * same)),
        define(P[i, w, 1], case(special[i], 0, rate.value * replaced)),
    ),
    outputs=(P,),
    conventions=(SELECTION,),
    constants={rho: sympy.Rational(15, 100), alpha: sympy.Rational(8, 10), omega: sympy.Rational(1, 10)},
    law=Law(
        probability=P,
        returns=(corrupted, labels),
        outcome=(corrupted[i], 1 - delta(labels[i], -100)),
        over=((i, n),),
        count=count,
        independent={"bernoulli"},
        convention="selection",
        axioms=(
            Axiom(
                "labels only where selected",
                "a label is −100 or the original id",
                eq(labels[i], -100) | eq(labels[i], ids[i]),
            ),
            Axiom(
                "special tokens are never selected",
                "a special token's label is −100",
                ~special[i] | eq(labels[i], -100),
            ),
            Axiom(
                "unselected tokens are untouched",
                "where the label is −100 the id stands",
                ~eq(labels[i], -100) | eq(corrupted[i], ids[i]),
            ),
        ),
    ),
    sources=(
        deck(1, "predict random 15 % of the words"),
        deck(2, "masked LM: 80 / 10 / 10"),
        deck(4, "masked LM-ing"),
        paper("Devlin et al. 2019", "section 3.1"),
    ),
    notes="P[i, w, y] is the probability that position i becomes word w and is selected (y = 1) or not (y = 0).",
)

