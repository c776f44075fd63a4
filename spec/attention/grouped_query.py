"""Grouped-query attention: several heads of queries share one head of keys and values."""

from spec.attention.masks import FULLY_MASKED, OURS, POLARITY
from spec.attention.scaled_dot_product import scaled_dot_product
from spec.attention.window import window
from spec.vocabulary import *

g, r, n, m, d_k, d_v = sizes("g r n m d_k d_v")
a, b, t, i, j, c, e = indices(a=g, b=r, t=g * r, i=n, j=m, c=d_k, e=d_v)

q = data("q", g * r, n, d_k, meaning="queries: r heads for each group, group by group")
k = data("k", g, m, d_k, meaning="keys: one head for each group")
v = data("v", g, m, d_v, meaning="values: one head for each group")
mask = optional_mask("mask", n, m, meaning="which keys a query may attend to, in every head")
z = tensor(
    "z",
    g * r,
    n,
    d_v,
    meaning="contexts: in each head, the mean of its group's values, weighted by attention",
)

TWO_GROUPS = {
    "q": [[[0]], [["log(3)"]], [[0]], [["log(3)"]]],
    "k": [[[0], [1]], [[1], [0]]],
    "v": [[[8], [4]], [[80], [40]]],
}

grouped_query = Formula(
    "attention.grouped_query",
    "Grouped-query attention",
    why="What does a decoder wait for? For each new token it reads the keys and values of all tokens so far, in every head; they "
    "outgrow the weights, and reading them takes longer than computing with them. Heads differ in what they ask more than in "
    "what there is to be found, so several heads of queries share one head of keys and values: of g·r heads only g are kept, "
    "and an r-th of the memory is read. With one group for all, multi-query attention, quality suffers a little; with one for "
    "each head it is multi-head attention. Groups are the dial between the two.",
    sizes={
        g: "groups: heads of keys and values",
        r: "heads of queries in each group",
        n: "queries",
        m: "keys and values",
        d_k: "width of a key",
        d_v: "width of a value",
    },
    inputs=(q, k, v, mask),
    lines=(define(z[a * r + b], scaled_dot_product(q[a * r + b], k[a], v[a], mask)),),
    outputs=(z,),
    conventions=(POLARITY, FULLY_MASKED),
    pitfalls=(
        pitfall(
            "keys and values repeated as a whole, group after group, where each is to be repeated r times in a row",
            mutant="tiled",
        ),
        pitfall("all heads given the keys of the first group", mutant="first_group"),
        pitfall("a mask of the other polarity: in some libraries True drops a key", convention="polarity"),
        pitfall("a query without a key: NaN from 0/0, or the mean of all values", convention="fully_masked"),
    ),
    sources=(
        paper("ainslie2023", "section 2.2"),
        paper("shazeer2019", "section 3: one group, multi-query attention"),
    ),
    worked=(
        Worked(
            "Two groups of two heads: the first head of each weighs its group's values alike, the second one of them three times "
            "as much",
            TWO_GROUPS,
            [[["6.0"]], [["5.0"]], [["60.0"]], [["70.0"]]],
            1,
        ),
    ),
    notes="Head t belongs to group ⌊t/r⌋. The mask is one for all heads.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

sigma, pi = given("sigma", g, domain="permutation"), given("pi", m, domain="permutation")
w = number("w", domain="integer", below=m)
head = a * r + b

grouped_query.theorem(
    "groups",
    "The r heads of group a, from head a·r on, are attention to the keys and values of that group",
    claim(z[head, i, e], "=", scaled_dot_product(q[head], k[a], v[a], mask)[i, e])
    .keeping(scaled_dot_product)
    .by_definition("⌊(a·r + b)/r⌋ = a"),
    conventions=OURS,
)

grouped_query.theorem(
    "multi_query",
    "With one group all heads share the same keys and values: multi-query attention",
    claim(z[t, i, e], "=", scaled_dot_product(q[t], k[0], v[0], mask)[i, e])
    .keeping(scaled_dot_product)
    .by_definition("⌊t/r⌋ = 0 for t < r"),
    sizes={g: 1},
    conventions=OURS,
)

grouped_query.theorem(
    "multi_head",
    "With as many groups as heads each head has keys and values of its own: multi-head attention",
    claim(z[t, i, e], "=", scaled_dot_product(q[t], k[t], v[t], mask)[i, e])
    .keeping(scaled_dot_product)
    .by_definition("⌊t/1⌋ = t"),
    sizes={r: 1},
    conventions=OURS,
)

repeated = (each(k[floor(t / r), j, c], t, j, c), each(v[floor(t / r), j, e], t, j, e))
grouped_query.theorem(
    "repeated",
    "It is multi-head attention to keys and values each head of which is repeated r times in a row",
    claim(z[head, i, e], "=", grouped_query(q, *repeated, mask)[head, i, e])
    .keeping(scaled_dot_product)
    .by_definition("head t of the repeated ones is head ⌊t/r⌋"),
    conventions=OURS,
)

moved = grouped_query(
    each(q[sigma[floor(t / r)] * r + (t - r * floor(t / r)), i, c], t, i, c),
    each(k[sigma[a], j, c], a, j, c),
    each(v[sigma[a], j, e], a, j, e),
    mask,
)
grouped_query.theorem(
    "group_permutation",
    "Permuting groups, with their heads of queries, permutes the outputs likewise: no group knows of another",
    claim(moved[a * r + b, i, e], "=", z[sigma[a] * r + b, i, e])
    .keeping(scaled_dot_product)
    .by_definition("group a now holds the queries, keys and values of group σ(a)"),
    given=sigma,
    conventions=OURS,
)

grouped_query.theorem(
    "key_permutation",
    "Permuting keys, values and mask alike changes nothing",
    claim(
        grouped_query(
            q, each(k[a, pi[j], c], a, j, c), each(v[a, pi[j], e], a, j, e), each(mask[i, pi[j]], i, j)
        )[head, i, e],
        "=",
        z[head, i, e],
    ).by_definition("in each head the sums meet every key once"),
    given=pi,
    conventions=OURS,
)

within = each(le(i + (m - n) - j, w) & le(j, i + (m - n)), i, j)
grouped_query.theorem(
    "window",
    "Where the mask leaves each query its own key and the w before it, each head is attention within a sliding window",
    claim(grouped_query(q, k, v, within)[head, i, e], "=", window(q[head], k[a], v[a], w)[i, e])
    .keeping(scaled_dot_product)
    .by_definition("the window is that mask"),
    given=w,
    conventions=OURS,
)
