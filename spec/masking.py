"""Masking: how pre-training corrupts its input."""

from __future__ import annotations

import sympy

from spec.language import (
    Axiom,
    Convention,
    Formula,
    Law,
    Proof,
    Sum,
    Tensor,
    Theorem,
    by_convention,
    case,
    claim,
    data,
    deck,
    define,
    delta,
    eq,
    indices,
    lift,
    lt,
    number,
    paper,
    rounded,
    sizes,
    step,
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
        outcome=(corrupted[i], lift(1) - delta(labels[i], -100)),
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

# Theorems -----------------------------------------------------------------------------------------------------------------

(y,) = indices("y")
law = mlm(ids, special, mask_id, V, generator)
BERNOULLI = {"selection": "bernoulli"}
NUMBERS = {rho: sympy.Rational(15, 100), alpha: sympy.Rational(8, 10), omega: sympy.Rational(1, 10)}
drawn = Sum(law[i, w, 1], (w, 0, V - 1))

mlm.prove(
    Theorem(
        "sums_to_one",
        "At every position the probabilities of all words, selected or not, sum to 1",
        runs=False,
        claims=(claim(Sum(Sum(law[i, w, y], (w, 0, V - 1)), (y, 0, 1)), "=", 1, (i, n)),),
        proofs=(
            Proof(
                (step(Sum(law[i, w, 0], (w, 0, V - 1)) + drawn, "not selected, and selected"),),
                why="a special token stays: δ sums to 1; an ordinary one: (1 − ρ) + ρ·(α + ω·V/V + 1 − α − ω) = 1",
            ),
        ),
    )
)

mlm.prove(
    Theorem(
        "special_never_selected",
        "A special or padding token stays what it is, and is never selected",
        runs=False,
        claims=(
            claim(law[i, w, 1], "=", 0, (i, n), (w, V), where=special[i]),
            claim(law[i, w, 0], "=", same, (i, n), (w, V), where=special[i]),
        ),
        proofs=(Proof(why="the definition"), Proof(why="the definition")),
    )
)

mlm.prove(
    Theorem(
        "not_negative",
        "No probability is negative",
        conventions=BERNOULLI,
        at=NUMBERS,
        runs=False,
        claims=(claim(0, "<=", law[i, w, y], (i, n), (w, V), (y, 2)),),
        proofs=(Proof(why="each case is a sum of numbers that are at least 0"),),
    )
)

mlm.prove(
    Theorem(
        "expected_fractions",
        "An ordinary token is selected with probability 0.15: 0.12 becomes [MASK], 0.015 a random word, 0.015 stays",
        conventions=BERNOULLI,
        at=NUMBERS,
        runs=False,
        claims=(
            claim(drawn, "=", sympy.Rational(15, 100), (i, n), where=~special[i]),
            claim(
                law[i, w, 1],
                "=",
                sympy.Rational(12, 100) * delta(w, mask_id.value)
                + sympy.Rational(15, 1000) / V
                + sympy.Rational(15, 1000) * same,
                (i, n),
                (w, V),
                where=~special[i],
            ),
        ),
        proofs=(
            Proof(
                (
                    step(
                        sympy.Rational(15, 100)
                        * (
                            sympy.Rational(8, 10) * Sum(delta(w, mask_id.value), (w, 0, V - 1))
                            + sympy.Rational(1, 10) * Sum(lift(1) / V, (w, 0, V - 1))
                            + sympy.Rational(1, 10) * Sum(same, (w, 0, V - 1))
                        ),
                        "the definition, summed over all words",
                    ),
                ),
                why="each of the three sums is 1",
            ),
            Proof(why="0.15·0.8 = 0.12 and 0.15·0.1 = 0.015"),
        ),
    )
)

mlm.prove(
    Theorem(
        "expected_selected",
        "The expected number of selected tokens is ρ times the number of ordinary ones",
        conventions=BERNOULLI,
        runs=False,
        claims=(claim(Sum(drawn, (i, 0, n - 1)), "=", rho.value * Sum(case(~special[l], 1), (l, 0, n - 1))),),
        proofs=(Proof(why="each ordinary token is selected with probability ρ, a special one never"),),
    )
)

mlm.prove(
    Theorem(
        "expected_changed",
        "An ordinary token changes with probability ρ·(α + ω·(1 − 1/V)), without α where it is the mask token; summed, "
        "the expected number of changed words",
        conventions=BERNOULLI,
        runs=False,
        claims=(
            claim(
                Sum(Sum(Sum(law[i, w, y], (w, 0, V - 1), where=~eq(w, ids[i])), (y, 0, 1)), (i, 0, n - 1)),
                "=",
                Sum(
                    rho.value
                    * (alpha.value * (1 - delta(mask_id.value, ids[i])) + omega.value * (1 - lift(1) / V)),
                    (i, 0, n - 1),
                    where=~special[i],
                ),
            ),
        ),
        proofs=(
            Proof(
                (
                    step(
                        Sum(
                            Sum(rho.value * replaced, (w, 0, V - 1), where=~eq(w, ids[i])),
                            (i, 0, n - 1),
                            where=~special[i],
                        ),
                        "only a selected ordinary token changes",
                    ),
                ),
                why="of the V words one is the token itself, and [MASK] may be it",
            ),
        ),
    )
)
