"""Attention whose scores have a bias, and whose results pass a gate."""

from spec.attention.masks import FULLY_MASKED, OURS, POLARITY, mix
from spec.attention.scaled_dot_product import scaled_dot_product
from spec.attention.softmax import softmax
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import *

n, m, d_k, d_v = sizes("n m d_k d_v")
i, j, l, c, e = indices(i=n, j=m, l=m, c=d_k, e=d_v)

q = data("q", n, d_k, meaning="queries: what each place looks for")
k = data("k", m, d_k, meaning="keys: what each place offers to be found by")
v = data("v", m, d_v, meaning="values: what each place hands over")
b = data("b", n, m, meaning="bias: how much a place heeds another whatever the two hold")
g = data(
    "g", n, d_v, meaning="gate: how much of each entry that is found passes, from 0 to 1 where a σ makes it"
)
mask = optional_mask("mask", n, m, meaning="which keys a query may attend to")
s = tensor("s", n, m, meaning="score: how well each key fits each query, and the bias")
a = tensor("a", n, m, meaning="weight: the share of its attention that a query gives to each key")
z = tensor("z", n, d_v, meaning="what passes the gate")

PAIR = {"q": [[0], [0]], "k": [[1], [5]], "v": [[4], [8]], "b": [[0, 0], [0, "log(3)"]]}

gated_attention = Formula(
    "evoformer.gated_attention",
    "Gated attention with a bias",
    why="How can attention use what is known about two places before they are compared? A query and a key know their own place "
    "only; that two residues touch in the folded protein is known of the pair, so that a number for each pair is added to its "
    "score. And what if nothing that is found is of use? A softmax has to spend its weights somewhere. A gate, made by the "
    "asking place, decides for each entry how much of what was found passes.",
    sizes={n: "queries", m: "keys and values", d_k: "width of a key", d_v: "width of a value"},
    inputs=(q, k, v, b, g, mask),
    lines=(
        define(s[i, j], scaled_dot(q, k)[i, j] + b[i, j]),
        define(a, softmax(s, mask)),
        define(z[i, e], g[i, e] * mix(a, v, mask, i, j, l, e)),
    ),
    outputs=(z,),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("a",),
    pitfalls=(
        pitfall("the bias divided by √d_k with the scores", mutant="bias_scaled"),
        pitfall(
            "the gate on the values: what is mixed then was opened by others", mutant="gate_on_the_values"
        ),
        pitfall(
            "a bias expected to say how much is attended to: only differences count", theorem="row_shift"
        ),
        pitfall("a mask of the other polarity: in some libraries True drops a key", convention="polarity"),
    ),
    sources=(paper("jumper2021", "supplement, algorithm 7, lines 5 and 6"),),
    worked=(
        Worked(
            "Queries of 0, so that the bias alone decides: no difference, then a key 3 times as heavy; the gates are open",
            PAIR | {"g": [[1], [1]]},
            [["6"], ["7"]],
            0,
        ),
        Worked("Gates that let half of it and nothing pass", PAIR | {"g": [["1/2"], [0]]}, [["3"], ["0"]], 0),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

here = mask[i, j]
found = Sum(a[i, j] * v[j, e], j, where=here)

gated_attention.theorem(
    "plain",
    "With every gate 1 and every bias 0 it is plain attention",
    claim(
        gated_attention(q, k, v, each(0, i, j), each(1, i, e), mask)[i, e],
        "=",
        scaled_dot_product(q, k, v, mask)[i, e],
    ).by_definition("nothing is added to the scores, and all that is found passes"),
    conventions=OURS,
)

gated_attention.theorem(
    "gate",
    "The gate multiplies what would be found without it, entry by entry",
    claim(z[i, e], "=", g[i, e] * gated_attention(q, k, v, b, each(1, i, e), mask)[i, e]).by_definition(
        "the gate is in no score"
    ),
    conventions=OURS,
)

u = given("u", n)
gated_attention.theorem(
    "row_shift",
    "Adding one number to all biases of a query changes nothing: only differences between keys count",
    claim(gated_attention(q, k, v, each(b[i, j] + u[i], i, j), g, mask)[i, e], "=", z[i, e])
    .step(
        g[i, e]
        * Sum(exp(s[i, j] + u[i]) / Sum(exp(s[i, l] + u[i]), l, where=mask[i, l]) * v[j, e], j, where=here),
        "the definition: every score of query i grows by u",
    )
    .because("a softmax does not change where one number is added to all its scores"),
    given=u,
    conventions=OURS,
)

pi, rho = given("pi", n, domain="permutation"), given("rho", m, domain="permutation")

gated_attention.theorem(
    "permutation_equivariant",
    "Permuting the queries, their gates and biases permutes the outputs; permuting keys, values and biases alike changes nothing",
    claim(
        gated_attention(
            each(q[pi[i], c], i, c),
            each(k[rho[j], c], j, c),
            each(v[rho[j], e], j, e),
            each(b[pi[i], rho[j]], i, j),
            each(g[pi[i], e], i, e),
            each(mask[pi[i], rho[j]], i, j),
        )[i, e],
        "=",
        z[pi[i], e],
    )
    .step(
        g[pi[i], e] * Sum(a[pi[i], rho[j]] * v[rho[j], e], j, where=mask[pi[i], rho[j]]),
        "the query at place i is that of place π(i), the key at place j that of place ρ(j)",
    )
    .because("ρ reaches every key once: the same terms in another order"),
    given=(pi, rho),
    conventions=OURS,
)
