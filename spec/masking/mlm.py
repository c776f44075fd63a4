"""Masked language modelling: how the input is corrupted."""

from typing import Any

from spec.masking.parts import (
    EVERY_DRAW,
    NUMBERS,
    OUTCOME,
    SIZES,
    P,
    V,
    alpha,
    corrupted,
    distribution,
    drawn,
    generator,
    i,
    ids,
    l,
    labels,
    mask_id,
    n,
    never_selected,
    not_negative,
    omega,
    replaced,
    rho,
    same,
    special,
    w,
    y,
)
from spec.vocabulary import *

ordinary = tensor("ordinary", meaning="number of tokens that are not special")
count = tensor("count", meaning="number of tokens to select where that number is fixed")
rate = tensor("rate", meaning="probability that an ordinary token is selected, under the convention chosen")

SELECTION = Convention(
    "selection",
    {
        "bernoulli": "each ordinary token is selected independently with probability ρ",
        "exact_count": "in each row, max(1, ρ·(ordinary tokens) rounded half to even) ordinary tokens are selected, "
        "all such sets alike likely",
        "count_of_all": "the same, but ρ is of all tokens of the row, special ones among them, as in the original BERT: "
        "max(1, ρ·n rounded half to even) ordinary tokens, or all of them where there are fewer",
    },
    default="bernoulli",
)


def at_least_one(tokens: Any) -> Node:
    """The share ρ of so many tokens, rounded; 1 at least."""
    return case(lt(rounded(rho * tokens), 1), 1, rounded(rho * tokens))


mlm = Formula(
    "masking.mlm",
    "Masked language modelling: corruption",
    why="How can a model learn to read in both directions at once? A language model that predicts the next word may look only "
    "one way, or it would see the answer. BERT hides some words instead and asks for them, with everything around them in "
    "sight. Were they all replaced by [MASK], the model would meet in training a symbol that never occurs in use; so one in "
    "ten selected words becomes a random word, and one in ten stays, and no word can be taken on trust.",
    sizes=SIZES,
    inputs=(ids, special, mask_id, V, generator),
    lines=(
        define(ordinary, Sum(case(~special[l], 1), l)),
        define(
            count,
            by_convention(
                "selection",
                bernoulli=at_least_one(ordinary),
                exact_count=at_least_one(ordinary),
                count_of_all=case(lt(ordinary, at_least_one(n)), ordinary, at_least_one(n)),
            ),
        ),
        define(
            rate,
            by_convention(
                "selection", bernoulli=rho, exact_count=count / ordinary, count_of_all=count / ordinary
            ),
        ),
        *distribution(rate),
    ),
    outputs=(P,),
    conventions=(SELECTION,),
    constants=NUMBERS,
    law=Law(
        probability=P,
        returns=(corrupted, labels),
        outcome=OUTCOME,
        over=((i, n),),
        count=count,
        independent={"bernoulli"},
        convention="selection",
        axioms=EVERY_DRAW,
    ),
    pitfalls=(
        pitfall(
            "“unchanged” and “random” are drawn one after the other: 81 % [MASK], 9 % random",
            theorem="expected_fractions",
        ),
        pitfall("padding or [SEP] is selected as well", theorem="special_never_selected"),
        pitfall(
            "BERT's own code selects an exact number in each row, most others draw for each token: both are right",
            convention="selection",
        ),
    ),
    sources=(
        deck(1, "predict random 15 % of the words"),
        deck(2, "masked LM: 80 / 10 / 10"),
        deck(4, "masked LM-ing"),
        paper("devlin2019", "section 3.1"),
    ),
    worked=(
        Worked(
            "One ordinary token, word 0 of a vocabulary of four in which [MASK] is word 3: it stays unselected with 0.85; "
            "selected it becomes [MASK] with 0.15·(0.8 + 0.1/4)",
            {"ids": [0], "special": [False], "mask_id": 3, "V": 4},
            [
                [
                    ["0.85000", "0.01875"],
                    ["0.00000", "0.00375"],
                    ["0.00000", "0.00375"],
                    ["0.00000", "0.12375"],
                ]
            ],
            5,
        ),
    ),
    notes="P[i, w, y] is the probability that position i becomes word w and is selected (y = 1) or not (y = 0).",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

BERNOULLI = {"selection": "bernoulli"}

mlm.theorem(
    "sums_to_one",
    "At every position the probabilities of all words, selected or not, sum to 1",
    claim(Sum(P[i, w, y], y, w), "=", 1)
    .step(Sum(P[i, w, 0], w) + drawn, "not selected, and selected")
    .step(
        case(special[i], Sum(same, w), (1 - rate) * Sum(same, w) + rate * Sum(replaced, w)),
        "the definition: a special token stays what it is",
    )
    .step(
        case(special[i], 1, (1 - rate) + rate * (alpha + omega + (1 - alpha - omega))),
        "each δ sums to 1, and V times 1/V is 1",
    )
    .because("the shares sum to 1, and so do selected and not selected"),
    runs=False,
)

never_selected(mlm)
not_negative(mlm, BERNOULLI)

fractions = Rational(12, 100) * delta(w, mask_id) + Rational(15, 1000) / V + Rational(15, 1000) * same
mlm.theorem(
    "expected_fractions",
    "An ordinary token is selected with probability 0.15: 0.12 becomes [MASK], 0.015 a random word, 0.015 stays",
    claim(drawn, "=", Rational(15, 100), where=~special[i])
    .step(
        Rational(15, 100)
        * (
            Rational(8, 10) * Sum(delta(w, mask_id), w)
            + Rational(1, 10) * Sum(1 / V, w)
            + Rational(1, 10) * Sum(same, w)
        ),
        "the definition, summed over all words",
    )
    .because("each of the three sums is 1"),
    claim(P[i, w, 1], "=", fractions, where=~special[i])
    .step(
        Rational(15, 100)
        * (Rational(8, 10) * delta(w, mask_id) + Rational(1, 10) / V + Rational(1, 10) * same),
        "the definition, for an ordinary token",
    )
    .because("0.15·0.8 = 0.12 and 0.15·0.1 = 0.015"),
    conventions=BERNOULLI,
    at=NUMBERS,
    runs=False,
)

mlm.theorem(
    "expected_selected",
    "The expected number of selected tokens is ρ times the number of ordinary ones",
    claim(Sum(drawn, i), "=", rho * ordinary)
    .step(
        Sum(case(~special[i], rho), i),
        "an ordinary token is selected with probability ρ, a special one never",
    )
    .because("ρ does not depend on the token"),
    conventions=BERNOULLI,
    runs=False,
)

mlm.theorem(
    "expected_changed",
    "An ordinary token changes with probability ρ·(α + ω·(1 − 1/V)), without α where it is the mask token; summed, "
    "the expected number of changed words",
    claim(
        Sum(Sum(Sum(P[i, w, y], w, where=~eq(w, ids[i])), y), i),
        "=",
        Sum(rho * (alpha * (1 - delta(mask_id, ids[i])) + omega * (1 - lift(1) / V)), i, where=~special[i]),
    )
    .step(
        Sum(Sum(rho * replaced, w, where=~eq(w, ids[i])), i, where=~special[i]),
        "only a selected ordinary token changes",
    )
    .step(
        Sum(
            rho
            * (
                alpha * Sum(delta(w, mask_id), w, where=~eq(w, ids[i]))
                + omega * (Sum(lift(1) / V, w) - lift(1) / V)
            ),
            i,
            where=~special[i],
        ),
        "the token itself is left out: its δ is 0 there, and one V-th of the random words is missing",
    )
    .because("[MASK] counts unless it is the token itself; the V words share ω alike"),
    conventions=BERNOULLI,
    runs=False,
)
