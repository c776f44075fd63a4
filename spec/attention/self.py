"""Self-attention: queries, keys and values from one sequence."""

from spec.attention.masks import FULLY_MASKED, OURS, POLARITY
from spec.attention.parts import WIDTHS
from spec.attention.scaled_dot_product import TOKENS, scaled_dot_product
from spec.attention.softmax import softmax
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import *

n, d_model, d_k, d_v = sizes("n d_model d_k d_v")
i, j, u, l, c, e = indices(i=n, j=n, u=n, l=d_model, c=d_k, e=d_v)

x = data("x", n, d_model, meaning="the sequence: one row for each token")
W_q = parameter("W_q", d_model, d_k, meaning="makes a query of each token")
W_k = parameter("W_k", d_model, d_k, meaning="makes a key of each token")
W_v = parameter("W_v", d_model, d_v, meaning="makes a value of each token")
mask = optional_mask("mask", n, n, meaning="which tokens each token may attend to")
q = tensor("q", n, d_k, meaning="what each token looks for")
k = tensor("k", n, d_k, meaning="what each token is found by")
v = tensor("v", n, d_v, meaning="what each token hands over")
z = tensor("z", n, d_v, meaning="each token in the light of those that it attends to")

THREE_TOKENS = {
    "x": [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]],
    "W_q": [["sqrt(3)", 0, "sqrt(3)"], ["sqrt(3)", 0, 0], [0, 0, "sqrt(3)"], [0, "sqrt(3)", "sqrt(3)"]],
    "W_k": [[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]],
    "W_v": [[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]],
}
ARTICLE = paper("karim2019", "shown in S0")

self_ = Formula(
    "attention.self",
    "Self-attention: queries, keys and values from one sequence",
    why="What does “it” refer to in “the animal didn't cross the street because it was too tired”? The meaning of a word depends "
    "on others, wherever they stand, and a recurrent network must carry each of them along step by step. In self-attention "
    "every token asks all tokens of its own sequence at once, and takes up what they hand over in the share that they fit. "
    "One vector for each token is not enough for that: three learned matrices make of it what it looks for, what it is "
    "found by and what it gives. The tokens are a set to it: without positions it keeps no order information, so "
    "positions have to be added to the tokens.",
    sizes={n: "tokens", **WIDTHS},
    inputs=(x, W_q, W_k, W_v, mask),
    lines=(
        define(q[i, c], Sum(x[i, l] * W_q[l, c], l)),
        define(k[j, c], Sum(x[j, l] * W_k[l, c], l)),
        define(v[j, e], Sum(x[j, l] * W_v[l, e], l)),
        define(z, scaled_dot_product(q, k, v, mask)),
    ),
    outputs=(z,),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("q", "k", "v"),
    pitfalls=(
        pitfall("the mask transposed: being square, it does not show", mutant="mask_transposed"),
        pitfall("scores divided by √d_model instead of √d_k", mutant="scaled_by_the_model"),
        pitfall("True read as “may not attend”, as some libraries do", convention="polarity"),
        pitfall("order expected to matter without positions", theorem="permutation_equivariant"),
    ),
    sources=(
        deck(0, "self-attention: query, key and value of each word"),
        deck(1, "multi-head self-attention"),
        deck(2, "self-attention, steps 1 to 4"),
        deck(3, "step 1 – 6"),
        deck(4, "self-attention (attention head); positional embeddings: retains no order information"),
        paper("vaswani2017", "section 3.2"),
    ),
    worked=(
        Worked("Three tokens: their keys", THREE_TOKENS, TOKENS["k"], 0, ARTICLE, output="k"),
        Worked("Three tokens: their values", THREE_TOKENS, TOKENS["v"], 0, ARTICLE, output="v"),
        Worked(
            "Three tokens; the article does not divide by √d_k, so W_q carries the factor √3 that the scale divides out",
            THREE_TOKENS,
            [["1.9366", "6.6831", "1.5951"], ["2.0000", "7.9640", "0.0540"], ["1.9997", "7.7599", "0.3584"]],
            4,
            ARTICLE,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

pi = given("pi", n, domain="permutation")
s = tensor("s", n, n, meaning="scores: how well each token fits each")
a = tensor("a", n, n, meaning="weights: how much each token takes from each")
self_.let(s, scaled_dot(q, k))
self_.let(a, softmax(scaled_dot(q, k), mask))
at, key = pi[i], pi[j]
permuted = self_(each(x[pi[i], l], i, l), W_q, W_k, W_v, each(mask[at, key], i, j))

self_.theorem(
    "permutation_equivariant",
    "Permuting the tokens, and the mask with them, permutes the outputs: without positions no order information is kept",
    claim(permuted[i, e], "=", z[pi[i], e])
    .step(
        Sum(
            exp(s[at, key]) / Sum(exp(s[at, pi[u]]), u, where=mask[at, pi[u]]) * v[key, e],
            j,
            where=mask[at, key],
        ),
        "the token at place i is now token π(i), with its query, its key and its value",
    )
    .step(
        Sum(exp(s[at, key]) / Sum(exp(s[at, u]), u, where=mask[at, u]) * v[key, e], j, where=mask[at, key]),
        "the sum below: π reaches every token once, so it has the same terms in another order",
    )
    .step(Sum(a[at, pi[j]] * v[pi[j], e], j, where=mask[at, pi[j]]), "the definition of the weights")
    .step(
        Sum(a[at, j] * v[j, e], j, where=mask[at, j]),
        "the sum over the keys: the same terms in another order",
    )
    .because("the definition of z at the token π(i)"),
    given=pi,
    conventions=OURS,
)
