"""Attention with capped scores: a tanh keeps them within bounds, smoothly."""

from spec.attention.masks import FULLY_MASKED, OURS, POLARITY, mix
from spec.attention.parts import in_the_hull
from spec.attention.softmax import softmax
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import *

n, m, d_k, d_v = sizes("n m d_k d_v")
i, j, l, c, e = indices(i=n, j=m, l=m, c=d_k, e=d_v)

q = data("q", n, d_k, meaning="query: what each position looks for")
k = data("k", m, d_k, meaning="key: what each position offers to be found by")
v = data("v", m, d_v, meaning="value: what each position passes on where it is attended to")
cap = number("cap", domain="positive", meaning="the bound that no score exceeds, up or down")
mask = optional_mask("mask", n, m, meaning="which keys a query may attend to")
s = tensor("s", n, m, meaning="score: how well each key fits each query")
u = tensor("u", n, m, meaning="capped score: the same, between −cap and cap")
a = tensor("a", n, m, meaning="attention weight: the share of its attention that a query gives to each key")
z = tensor("z", n, d_v, meaning="context: the mean of the values, weighted by attention")

softcap = Formula(
    "attention.softcap",
    "Attention with capped scores",
    why="What keeps a softmax from becoming a choice of one key, for good? Scores grow in training, and where they differ by a "
    "hundred every other key has the weight 0 and no gradient to win it back. Here a tanh, stretched by a cap, leaves small "
    "scores as they are and keeps large ones below the cap: their order stays, no key is lost, and 16 bits hold them.",
    sizes={n: "queries", m: "keys and values", d_k: "width of a key", d_v: "width of a value"},
    inputs=(q, k, v, cap, mask),
    lines=(
        define(s, scaled_dot(q, k)),
        define(u[i, j], cap * tanh(s[i, j] / cap)),
        define(a, softmax(u, mask)),
        define(z[i, e], mix(a, v, mask, i, j, l, e)),
    ),
    outputs=(z,),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("a",),
    pitfalls=(
        pitfall(
            "capped after the mask: what is hidden has the score −cap, and is seen",
            mutant="capped_after_the_mask",
        ),
        pitfall("scores cut off at the cap: beyond it there is no gradient, and no order", mutant="clamped"),
        pitfall("capped before it is divided by √d_k", mutant="capped_before_the_scale"),
        pitfall(
            "the cap left out by a kernel that has none: unnoticed while scores are small", mutant="uncapped"
        ),
    ),
    sources=(paper("gemma2024b", "section 2: logit soft-capping"),),
    worked=(
        Worked(
            "Scores 0 and 100 with a cap of log 3: the second is log 3 to all digits shown, so that it weighs three times as "
            "much as the first, not e¹⁰⁰ times",
            {"q": [[1]], "k": [[0], [100]], "v": [[4], [8]], "cap": "log(3)"},
            [["7.0000"]],
            4,
        ),
    ),
    notes="Gemma 2 caps the scores of every layer at 50. As the cap grows it becomes attention.scaled_dot_product.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

here, some_key = mask[i, j], Some(mask[i, l], l)
w, pi = given("w", d_v), given("pi", m, domain="permutation")

softcap.theorem(
    "bounded",
    "No capped score is larger than the cap, or smaller than minus the cap",
    claim(u[i, j], "<", cap).by_definition("a tanh is less than 1", gap=cap * (1 - tanh(s[i, j] / cap))),
    claim(-cap, "<", u[i, j]).by_definition("a tanh is more than −1", gap=cap * (1 + tanh(s[i, j] / cap))),
)

high, low = exp(2 * s[i, j] / cap), exp(2 * s[i, l] / cap)
softcap.theorem(
    "order",
    "The order of the keys stays: one that fits at least as well as another has at least its capped score",
    claim(u[i, l], "<=", u[i, j], where=le(s[i, l], s[i, j])).by_definition(
        "the tanh grows, and the cap is positive", gap=2 * cap * (high - low) / ((high + 1) * (low + 1))
    ),
)

softcap.theorem(
    "slope",
    "The slope of a capped score is 1 − (u/cap)²: 1 at 0, less the nearer the cap, and never 0",
    claim(1 - (u[i, j] / cap) ** 2, "=", 1 - tanh(s[i, j] / cap) ** 2).by_definition(
        "the derivative of a tanh is 1 − tanh²"
    ),
    claim(0, "<", 1 - (u[i, j] / cap) ** 2).by_definition("a tanh lies between −1 and 1"),
)

softcap.theorem(
    "no_key_lost",
    "No permitted key weighs less than exp(−2·cap) times another",
    claim(exp(-2 * cap) * a[i, l], "<=", a[i, j], where=mask[i, j] & mask[i, l])
    .step(exp(u[i, l] - 2 * cap) / Sum(exp(u[i, l]), l, where=mask[i, l]), "the definition")
    .because("their capped scores differ by less than 2·cap"),
    conventions=OURS,
)

softcap.theorem(
    "convex_hull",
    "Every output of a query with a permitted key lies in the convex hull of the permitted values",
    in_the_hull(Sum(w[e] * z[i, e], e), a[i, j], Sum(w[e] * v[j, e], e), j, here, some_key),
    given=w,
    conventions=OURS,
)

softcap.theorem(
    "key_permutation",
    "Permuting keys, values and mask alike changes nothing",
    claim(
        softcap(q, each(k[pi[j], c], j, c), each(v[pi[j], e], j, e), cap, each(mask[i, pi[j]], i, j))[i, e],
        "=",
        z[i, e],
    ).by_definition("the sums meet every key once"),
    given=pi,
    conventions=OURS,
)
