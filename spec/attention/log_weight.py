"""The logarithm of the weight of the key that was drawn."""

from spec.attention.log_weights import log_weights
from spec.attention.masks import POLARITY, permitted
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import *

n, m, d_k = sizes("n m d_k")
(i,) = indices(i=n)

q = data("q", n, d_k, meaning="query: what each position looks for")
k = data("k", m, d_k, meaning="key: what each position offers to be found by")
index = data("index", n, domain="integer", below=m, meaning="the key that each query drew")
mask = optional_mask("mask", n, m, meaning="which keys a query may attend to")
s = tensor("s", n, m, meaning="score: how well each key fits each query")
log_a_drawn = tensor("log_a_drawn", n, meaning="logarithm of the probability of what was drawn")

log_weight = Formula(
    "attention.log_weight",
    "Logarithm of the weight of the key that was drawn",
    sizes={n: "queries", m: "keys", d_k: "width of queries and keys"},
    inputs=(q, k, index, mask),
    lines=(
        define(s, scaled_dot(q, k)),
        define(
            log_a_drawn[i], case(permitted(mask, i, index[i]), log_weights(s, mask)[i, index[i]], Undefined())
        ),
    ),
    outputs=(log_a_drawn,),
    conventions=(POLARITY,),
    sources=(paper("xu2015", "section 4.1, eq. 12"),),
    notes="Its gradient times a reward is the score-function estimator of the gradient of the expected reward. Nothing is "
    "said about a key that is not permitted.",
    auxiliary=True,
)
