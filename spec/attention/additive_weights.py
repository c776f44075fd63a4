"""Attention weights of the additive score: what a decoder with Bahdanau's attention looks at, and how much."""

from spec.attention.masks import FULLY_MASKED, OURS, POLARITY
from spec.attention.parts import replace_row
from spec.attention.softmax import softmax
from spec.scores.additive import additive
from spec.vocabulary import *

n, m, b, d_q, d_k = sizes("n m b d_q d_k")
i, j, u, l, c, e = indices(i=n, j=m, u=m, l=b, c=d_q, e=d_k)

q = data("q", n, d_q, meaning="queries: what each position looks for")
k = data("k", m, d_k, meaning="keys: what each slot offers to be found by")
W = parameter("W", b, d_q + d_k, meaning="hidden layer of the score: its first d_q columns act on the query")
v = parameter("v", b, meaning="how much each hidden unit counts in the score")
mask = optional_mask("mask", n, m, meaning="which keys a query may attend to")
s = tensor("s", n, m, meaning="scores: how well each key fits each query")
a = tensor("a", n, m, meaning="attention weight: the share of its attention that a query gives to each key")

KEYS = {"q": [[1]], "k": [[1], [0], [-1]], "W": [[1, 1], [1, -1]], "v": [1, -1]}

additive_weights = Formula(
    "attention.additive_weights",
    "Attention weights of the additive score",
    why="Where does a translator look for the next word? In the first attention a small network compared the decoder's state "
    "with each word of the source, and a softmax made shares of its scores: weights that can be drawn as a picture of which "
    "word was read for which. They are returned by themselves, since what is mixed with them (annotations, projected values) "
    "differs from model to model.",
    sizes={n: "queries", m: "keys", b: "hidden units", d_q: "width of a query", d_k: "width of a key"},
    inputs=(q, k, W, v, mask),
    lines=(define(s, additive(q, k, W, v)), define(a, softmax(s, mask))),
    outputs=(a,),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("s",),
    pitfalls=(
        pitfall("a softmax over the queries instead of the keys", mutant="over_the_queries"),
        pitfall(
            "padding masked in the values only: it still takes its share of the weights",
            mutant="padding_keeps_its_share",
        ),
        pitfall(
            "scores divided by √d_k, as for products: the tanh has bounded them already", mutant="scaled"
        ),
        pitfall("a query without a key: NaN from 0/0, or equal weights", convention="fully_masked"),
    ),
    sources=(
        deck(2, "attention scoring: additive / concat"),
        deck(4, "parametrised scoring: s(q, k) = v tanh(W(k ⊕ q))"),
        paper("bahdanau2015", "eq. 6 and appendix A.1.2"),
    ),
    worked=(
        Worked(
            "The three keys of the additive score, scores 0.964, 0 and −0.964",
            KEYS,
            [["0.6550", "0.2498", "0.0953"]],
            4,
        ),
        Worked(
            "The first of them masked: e⁰ and e^(−0.964), over their sum",
            KEYS | {"mask": [[False, True, True]]},
            [["0.0000", "0.7239", "0.2761"]],
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

weights = additive_weights(q, k, W, v, mask)
some_key, here = Some(mask[i, u], u), mask[i, j]
total = Sum(exp(s[i, u]), u, where=mask[i, u])
sigma, rho = given("sigma", n, domain="permutation"), given("rho", m, domain="permutation")
r, k_other = given("r", domain="integer", below=m), given("k_other", d_k)
hidden = each(mask[i, j] & ~eq(j, r), i, j)

additive_weights.theorem(
    "sums_to_one",
    "The weights of a query with a permitted key sum to 1; without one they are all 0",
    claim(Sum(weights[i, j], j), "=", 1, where=some_key)
    .step(Sum(exp(s[i, j]), j, where=here) / total, "the definition; the denominator does not depend on j")
    .because("a sum of exponentials over at least one key is positive, so it cancels"),
    claim(weights[i, j], "=", 0, where=~some_key).by_definition("no key is permitted"),
    conventions=OURS,
)

additive_weights.theorem(
    "masked_key",
    "A key masked for every query has no influence on any weight",
    claim(
        additive_weights(q, replace_row(k, r, k_other), W, v, hidden)[i, j],
        "=",
        additive_weights(q, k, W, v, hidden)[i, j],
    )
    .step(
        case(hidden[i, j], exp(s[i, j]) / Sum(exp(s[i, u]), u, where=hidden[i, u])),
        "a score depends on its own key alone, and no sum meets the replaced one",
    )
    .because("the definition"),
    given=(r, k_other),
    conventions=OURS,
)

additive_weights.theorem(
    "permutation_equivariant",
    "Permuting queries and keys, and the mask with them, permutes the weights",
    claim(
        additive_weights(
            each(q[sigma[i], c], i, c), each(k[rho[j], e], j, e), W, v, each(mask[sigma[i], rho[j]], i, j)
        )[i, j],
        "=",
        weights[sigma[i], rho[j]],
    )
    .step(
        case(
            mask[sigma[i], rho[j]],
            exp(s[sigma[i], rho[j]]) / Sum(exp(s[sigma[i], rho[u]]), u, where=mask[sigma[i], rho[u]]),
        ),
        "a score depends on its own query and key alone",
    )
    .because("ρ reaches every key once, so the denominator has the same terms in another order"),
    given=(sigma, rho),
    conventions=OURS,
)

from_q = Sum(W[l, c] * q[i, c], c)


def score(of: Index) -> Node:
    """The score of key ``of`` with query and key projected apart."""
    return Sum(v[l] * tanh(from_q + Sum(W[l, d_q + e] * k[of, e], e)), l)


additive_weights.theorem(
    "splits",
    "The first columns of W act on the query and the others on the key, so that each is projected once",
    claim(weights[i, j], "=", exp(score(j)) / Sum(exp(score(u)), u, where=mask[i, u]), where=here)
    .step(exp(s[i, j]) / total, "the definition")
    .because("the sum over the entries of the pair, split after the first d_q"),
    conventions=OURS,
)
