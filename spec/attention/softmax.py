"""Softmax over the permitted keys: scores become weights."""

from spec.attention.masks import FULLY_MASKED, OURS, POLARITY, let_in, permitted
from spec.vocabulary import *

n, m = sizes("n m")
i, j, l = indices(i=n, j=m, l=m)

s = data("s", n, m, meaning="score: how well each key fits each query")
mask = optional_mask("mask", n, m, meaning="which keys a query may attend to")
a = tensor("a", n, m, meaning="attention weight: the share of its attention that a query gives to each key")

has_key = Some(permitted(mask, i, l), l)
filled_here, filled_there = let_in(s[i, j], permitted(mask, i, j)), let_in(s[i, l], permitted(mask, i, l))
weight = exp(s[i, j]) / Sum(exp(s[i, l]), l, where=permitted(mask, i, l))

softmax = Formula(
    "attention.softmax",
    "Softmax over the permitted keys",
    why="How do scores, which may be any numbers, become shares of one attention? The largest score should get the largest "
    "share, and a small change of a score should change the shares smoothly, so that they can be learned; picking the best "
    "key alone has no useful gradient. Softmax takes exponentials, which are positive, and divides them by their sum. Keys "
    "that a query must not see (padding, the future) take no part in that sum.",
    sizes={n: "queries", m: "keys"},
    inputs=(s, mask),
    lines=(
        define(
            a[i, j],
            by_convention(
                "fully_masked",
                zero=case(permitted(mask, i, j), weight),
                mean=case(has_key, case(permitted(mask, i, j), weight), 1 / m),
                unspecified=case(has_key, case(permitted(mask, i, j), weight), Undefined()),
                **{
                    option: exp(score) / Sum(exp(filled_there[option]), l)
                    for option, score in filled_here.items()
                },
            ),
        ),
    ),
    outputs=(a,),
    conventions=(POLARITY, FULLY_MASKED),
    pitfalls=(
        pitfall("a mask of the other polarity: in some libraries True drops a key", convention="polarity"),
        pitfall(
            "a query without a key: −∞ for every score makes 0/0, which is NaN", convention="fully_masked"
        ),
        pitfall("a mask by −10⁴ or −10⁹: scores of that size let masked keys in", convention="fully_masked"),
        pitfall("large scores overflow unless the largest is subtracted first", theorem="shift_invariant"),
        pitfall("the mask multiplied in afterwards: what is left does not sum to 1", mutant="mask_after"),
    ),
    sources=(
        deck(0, "self-attention, step 4"),
        deck(1, "attention"),
        deck(2, "step 3b"),
        deck(4, "raw scores normalized with softmax"),
        paper("bahdanau2015", "eq. 6"),
    ),
    worked=(
        Worked(
            "“Thinking Machines”: scores 14 and 12; only their difference counts, 1/(1 + e⁻²)",
            {"s": [[14, 12]]},
            [["0.88", "0.12"]],
            2,
            deck(0, "step 4"),
        ),
        Worked(
            "Three scores 13, 9 and 9", {"s": [[13, 9, 9]]}, [["0.96", "0.02", "0.02"]], 2, deck(0, "step 3")
        ),
        Worked(
            "The first of them masked: the other two share equally",
            {"s": [[13, 9, 9]], "mask": [[False, True, True]]},
            [["0.0", "0.5", "0.5"]],
            1,
        ),
        Worked(
            "All of them masked by −10⁴ in their place: they share alike",
            {"s": [[13, 9, 9]], "mask": [[False, False, False]]},
            [["0.333", "0.333", "0.333"]],
            3,
            conventions={"fully_masked": "filled_1e4"},
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

some_key = Some(mask[i, l], l)
g, t = given("g", n, m), given("t", n)
pi = given("pi", m, domain="permutation")
weights = softmax(s, mask)
others = Sum(exp(s[i, l]), l, where=mask[i, l] & ~eq(l, j))

Z = tensor("Z", n, meaning="the sum of the exponentials of a query's permitted scores")
softmax.let(Z[i], Sum(exp(s[i, l]), l, where=mask[i, l]))

quotient, missing = case(mask[i, j], exp(s[i, j]) / Z[i]), case(mask[i, j], others / Z[i], 1)

softmax.theorem(
    "sums_to_one",
    "The weights of a query with a permitted key sum to 1; without one they are all 0",
    claim(Sum(weights[i, j], j), "=", 1, where=some_key)
    .step(Sum(exp(s[i, j]) / Z[i], j, where=mask[i, j]), "the definition; a masked key contributes 0")
    .step(Sum(exp(s[i, j]), j, where=mask[i, j]) / Z[i], "the denominator does not depend on j")
    .because("the numerator is Z, positive as a sum of exponentials over at least one key, so it cancels"),
    claim(weights[i, j], "=", 0, where=~some_key).by_definition("no key is permitted, so every weight is 0"),
    conventions=OURS,
)

softmax.theorem(
    "sums_to_at_most_one",
    "The weights of a query never sum to more than 1",
    claim(Sum(weights[i, j], j), "<=", 1)
    .step(case(some_key, 1), "they sum to 1 where there is a permitted key, and to 0 where there is none")
    .because("0 ≤ 1", gap=case(some_key, 0, 1)),
    conventions=OURS,
)

softmax.theorem(
    "masked",
    "Only a permitted key has a weight: one that is masked has 0",
    claim(weights[i, j], "=", case(mask[i, j], weights[i, j])).by_definition(
        "only a permitted key gets a quotient"
    ),
    conventions=OURS,
)

softmax.theorem(
    "ordered",
    "A key that fits at least as well as another gets at least its weight",
    claim(weights[i, l], "<=", weights[i, j], where=mask[i, j] & le(s[i, l], s[i, j])).by_definition(
        "both are over the same sum, and the exponential grows",
        gap=case(mask[i, l], (exp(s[i, j]) - exp(s[i, l])) / Z[i], exp(s[i, j]) / Z[i]),
    ),
    conventions=OURS,
)

softmax.theorem(
    "shift_invariant",
    "Adding a number to all scores of a query does not change its weights",
    claim(softmax(each(s[i, j] + t[i], i, j), mask)[i, j], "=", weights[i, j])
    .step(
        case(mask[i, j], exp(s[i, j] + t[i]) / Sum(exp(s[i, l] + t[i]), l, where=mask[i, l])),
        "the definition",
    )
    .step(
        case(mask[i, j], exp(t[i]) * exp(s[i, j]) / (exp(t[i]) * Z[i])),
        "eˢ⁺ᵗ = eᵗeˢ; the factor eᵗ does not depend on l and leaves the sum",
    )
    .step(quotient, "eᵗ is positive and cancels")
    .because("the definition, read backwards"),
    given=t,
    conventions=OURS,
)

softmax.theorem(
    "jacobian",
    "The Jacobian of a row is diag(a) − aaᵀ: a gradient g goes back as aⱼ·(gⱼ − Σₗ gₗaₗ)",
    claim(weights.pullback(g, s)[i, j], "=", a[i, j] * (g[i, j] - Sum(g[i, l] * a[i, l], l)))
    .step(
        Sum(
            g[i, l] * (delta(l, j) * exp(s[i, l]) * Z[i] - exp(s[i, l]) * exp(s[i, j])) / Z[i] ** 2,
            l,
            where=mask[i, l] & mask[i, j],
        ),
        "the quotient rule for aₗ = exp(sₗ)/Z, with ∂Z/∂sⱼ = exp(sⱼ)",
    )
    .step(
        Sum(g[i, l] * (delta(l, j) * a[i, l] - a[i, l] * a[i, j]), l),
        "each exponential over Z is a weight: ∂aₗ/∂sⱼ = δₗⱼaₗ − aₗaⱼ, an entry of diag(a) − aaᵀ",
    )
    .step(g[i, j] * a[i, j] - Sum(g[i, l] * a[i, l] * a[i, j], l), "the delta picks l = j")
    .because("aⱼ does not depend on l and leaves the sum"),
    given=g,
    conventions=OURS,
)

softmax.theorem(
    "between_0_and_1",
    "Every weight lies between 0 and 1",
    claim(0, "<=", weights[i, j])
    .at_most(quotient, "a quotient of exponentials is positive; a masked key has weight 0", gap=quotient)
    .because("the definition"),
    claim(weights[i, j], "<=", 1)
    .step(
        1 - missing, "what a weight lacks of 1 is the other exponentials over Z; a masked key lacks all of it"
    )
    .because("what is lacking is not negative", gap=missing),
    conventions=OURS,
)

softmax.theorem(
    "permutation_equivariant",
    "Permuting the keys of every query permutes its weights",
    claim(softmax(each(s[i, pi[j]], i, j), each(mask[i, pi[j]], i, j))[i, j], "=", weights[i, pi[j]])
    .step(
        case(mask[i, pi[j]], exp(s[i, pi[j]]) / Sum(exp(s[i, pi[l]]), l, where=mask[i, pi[l]])),
        "the definition: scores and mask are read at π(j)",
    )
    .step(
        case(mask[i, pi[j]], exp(s[i, pi[j]]) / Z[i]),
        "a permutation meets every key once, so the denominator has the same terms in another order",
    )
    .because("the definition at key π(j)"),
    given=pi,
    conventions=OURS,
)
