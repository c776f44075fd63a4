"""Blocks of keys joined one after the other, each with what the ones before it have given. It has no page of its own."""

from spec.vocabulary import *

b, n, d_v = sizes("b n d_v")
t, i, e = indices(t=b, i=n, e=d_v)

z = data("z", b, n, d_v, meaning="what attention over each block of keys has gathered for each query")
L = data("L", b, n, meaning="the log-sum-exp of each query's scores in each block")
L_so_far = tensor("L_so_far", b, n, meaning="the log-sum-exp of the blocks up to each")
z_so_far = tensor("z_so_far", b, n, d_v, meaning="what attention over the blocks up to each gathers")
old, new = exp(L_so_far[t - 1, i] - L_so_far[t, i]), exp(L[t, i] - L_so_far[t, i])

fold = Formula(
    "attention.fold",
    "Blocks joined one after the other",
    sizes={b: "blocks of keys", n: "queries", d_v: "width of a value"},
    inputs=(z, L),
    lines=(
        define(L_so_far[0, i], L[0, i]),
        define(L_so_far[t, i], log(exp(L_so_far[t - 1, i]) + exp(L[t, i])), (t, 1, b - 1)),
        define(z_so_far[0, i, e], z[0, i, e]),
        define(z_so_far[t, i, e], old * z_so_far[t - 1, i, e] + new * z[t, i, e], (t, 1, b - 1)),
    ),
    outputs=(z_so_far, L_so_far),
    sources=(paper("dao2022", "algorithm 1"),),
    auxiliary=True,
)
