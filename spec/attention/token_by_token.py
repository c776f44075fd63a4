"""A text read token by token into a cache of fixed length: each token's key and value are written, then it asks. No page of its
own.
"""

from spec.attention.scaled_dot_product import scaled_dot_product
from spec.vocabulary import *

m, d_k, d_v = sizes("m d_k d_v")
t, j, c, e = indices(t=m, j=m, c=d_k, e=d_v)

q = data("q", m, d_k, meaning="queries: of every token of the text")
k = data("k", m, d_k, meaning="keys: of every token of the text")
v = data("v", m, d_v, meaning="values: of every token of the text")
kept_k = tensor(
    "kept_k", m + 1, m, d_k, meaning="the keys in the cache when t tokens have been read, 0 in what is free"
)
kept_v = tensor("kept_v", m + 1, m, d_v, meaning="the values in the cache when t tokens have been read")
z = tensor("z", m, d_v, meaning="context: what each token gathers when it is read")
one = scaled_dot_product(
    each(q[t, c], (j, 1), c), kept_k[t + 1], kept_v[t + 1], each(le(j, t), (indices(o=1)[0], 1), j)
)

token_by_token = Formula(
    "attention.token_by_token",
    "A text read token by token",
    sizes={m: "tokens of the text", d_k: "width of a key", d_v: "width of a value"},
    inputs=(q, k, v),
    lines=(
        define(kept_k[0, j, c], 0),
        define(kept_k[t, j, c], case(eq(j, t - 1), k[t - 1, c], kept_k[t - 1, j, c]), (t, 1, m)),
        define(kept_v[0, j, e], 0),
        define(kept_v[t, j, e], case(eq(j, t - 1), v[t - 1, e], kept_v[t - 1, j, e]), (t, 1, m)),
        define(z[t, e], one[0, e]),
    ),
    outputs=(z, kept_k, kept_v),
    sources=(paper("pope2022", "section 2.1"),),
    auxiliary=True,
)
