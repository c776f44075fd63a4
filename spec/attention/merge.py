"""Attention over blocks of keys, joined: what FlashAttention, split keys and ring attention rest on."""

from spec.attention.fold import L_so_far, fold
from spec.attention.log_sum_exp import log_sum_exp
from spec.attention.scaled_dot_product import scaled_dot_product
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import *

b, n, d_v = sizes("b n d_v")
t, u, i, e = indices(t=b, u=b, i=n, e=d_v)

z = data("z", b, n, d_v, meaning="what attention over each block of keys has gathered for each query")
L = data("L", b, n, meaning="the log-sum-exp of each query's scores in each block")
mask = optional_mask("mask", b, n, meaning="which blocks hold a key that the query may attend to")
a = tensor("a", b, n, meaning="share: how much of its attention a query gives to each block")
z_all = tensor("z_all", n, d_v, meaning="what attention over all keys gathers")
L_all = tensor("L_all", n, meaning="the log-sum-exp over all keys")

has_block = Some(mask[u, i], u)
denominator = Sum(exp(L[u, i]), u, where=mask[u, i])

merge = Formula(
    "attention.merge",
    "Attention over blocks of keys, joined",
    why="How can attention be worked out where the keys are never in one place? They may come block by block through a fast, "
    "small memory, lie on several devices, or be shared by several requests in part. Each block is attended to by itself, as if "
    "there were no other. The means that result are joined as means are, each by its weight, the sum of its exponentials, whose "
    "logarithm it brings along: the result is exact, whatever the blocks, in whatever order and grouping they are joined.",
    sizes={b: "blocks of keys", n: "queries", d_v: "width of a value"},
    inputs=(z, L, mask),
    lines=(
        define(a[t, i], case(mask[t, i], exp(L[t, i]) / denominator)),
        define(z_all[i, e], Sum(a[t, i] * z[t, i, e], t, where=mask[t, i])),
        define(L_all[i], case(has_block, log(denominator), Undefined())),
    ),
    outputs=(z_all, L_all),
    pitfalls=(
        pitfall("the mean of the blocks: right only where all weigh alike", mutant="plain_mean"),
        pitfall("weights that are not shifted by the largest log-sum-exp: they overflow", mutant="unshifted"),
        pitfall(
            "a block without a permitted key: −∞ − (−∞) is NaN, or its 0 has the weight of e⁰",
            mutant="empty_counts",
        ),
        pitfall("log-sum-exps to base 2 joined as if they were natural", mutant="base_two_weights"),
        pitfall(
            "blocks joined one by one as z_t + σ(L − L_t)·(z − z_t): where z_t is large and its share small, digits of z are "
            "lost in the difference, which may also overflow",
            mutant="joined_by_lerp",
        ),
        pitfall(
            "both shares as sigmoids, right in itself: programs take the derivative of a share y as y(1 − y), which loses digits "
            "where y is near 1; through a softmax of the two log-sum-exps it keeps those of the smaller share",
            mutant="joined_by_sigmoids",
        ),
    ),
    sources=(
        paper("milakov2018", "section 3.1: the pair and its operation"),
        paper("dao2022", "section 3.1 and algorithm 1"),
        paper("liu2023", "section 3: blocks on several devices"),
    ),
    worked=(
        Worked(
            "One query; a block of three keys of equal scores whose values' mean is 4, and one of a single such key of value 8: "
            "the mean of all four",
            {"z": [[[4]], [[8]]], "L": [["log(3)"], [0]]},
            [["5.0000"]],
            4,
        ),
        Worked(
            "Their log-sum-exp is log 4",
            {"z": [[[4]], [[8]]], "L": [["log(3)"], [0]]},
            ["1.3863"],
            4,
            output="L_all",
        ),
        Worked(
            "The same where the second block holds no key that the query may attend to",
            {"z": [[[4]], [[8]]], "L": [["log(3)"], [0]], "mask": [[True], [False]]},
            [["4.0000"]],
            4,
        ),
    ),
    notes="A query that has no key in any block gets 0, and of its log-sum-exp nothing is said. Where implementations mark such "
    "a block by a log-sum-exp of −∞, which is no number, the mask says it here.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

m, d_k, b_1, b_2 = sizes("m d_k b_1 b_2")
j, l, c, x, y = indices(j=m, l=m, c=d_k, x=b_1, y=b_2)
q, k, v = given("q", n, d_k), given("k", m, d_k), given("v", m, d_v)
seen, block = given("seen", n, m, domain="boolean"), given("block", m, domain="integer", below=b)
pi = given("pi", b, domain="permutation")
g = given("g", n, d_v)
whole = merge(z, L, mask)

inside = each(seen[i, j] & eq(block[j], t), i, j)
held = Some(seen[i, j] & eq(block[j], t), j)
s = scaled_dot(q, k)
parts = (
    each(scaled_dot_product(q, k, v, inside)[i, e], t, i, e),
    each(case(held, log_sum_exp(s, inside)[i]), t, i),
    each(held, t, i),
)

merge.theorem(
    "all_keys",
    "Keys shared out to blocks in any way: attention to each block, joined, is attention to all",
    claim(merge(*parts)[i, e], "=", scaled_dot_product(q, k, v, seen)[i, e])
    .step(
        Sum(
            Sum(
                exp(s[i, j]) / Sum(exp(s[i, l]), l, where=seen[i, l]) * v[j, e],
                j,
                where=seen[i, j] & eq(block[j], t),
            ),
            t,
        ),
        "the weight of a block cancels its own denominator; the weights of all blocks sum to the denominator over all keys",
    )
    .because("every key is in one block"),
    given=(q, k, v, seen, block),
)

merge.theorem(
    "all_scores",
    "Their log-sum-exps, joined, are that of all scores",
    claim(
        merge(*parts).output(L_all)[i],
        "=",
        log_sum_exp(s, seen)[i],
        where=Some(seen[i, l], l) & Some(held, t),
    ).by_definition("every key is in one block"),
    given=(q, k, v, seen, block),
)

merge.theorem(
    "sums",
    "The sum of the weighted values and that of the weights, over all blocks, are the sums of theirs: joining adds pairs, so it "
    "is commutative and associative, and (0, 0) is neutral",
    claim(
        exp(L_all[i]) * z_all[i, e], "=", Sum(exp(L[t, i]) * z[t, i, e], t, where=mask[t, i]), where=has_block
    ).by_definition("the denominator cancels"),
    claim(exp(L_all[i]), "=", Sum(exp(L[t, i]), t, where=mask[t, i]), where=has_block).by_definition(
        "the exponential undoes the logarithm"
    ),
)

merge.theorem(
    "one_block",
    "One block alone is all there is",
    claim(merge(z, L)[i, e], "=", z[0, i, e]).by_definition("its share is 1"),
    claim(merge(z, L).output(L_all)[i], "=", L[0, i]).by_definition("the logarithm undoes the exponential"),
    sizes={b: 1},
)

merge.theorem(
    "order",
    "The order of the blocks does not matter",
    claim(
        merge(each(z[pi[t], i, e], t, i, e), each(L[pi[t], i], t, i), each(mask[pi[t], i], t, i))[i, e],
        "=",
        z_all[i, e],
    ).by_definition("the same terms in another order"),
    given=pi,
)

former, latter = merge(z[:b_1], L[:b_1], mask[:b_1]), merge(z[b_1:], L[b_1:], mask[b_1:])
L_1, L_2 = former.output(L_all)[i], latter.output(L_all)[i]
some_former, some_latter = Some(mask[x, i], x), Some(mask[b_1 + y, i], y)

merge.theorem(
    "grouping",
    "Nor does their grouping: two groups of blocks, of one block or more, are joined first, and then both by a gate, the "
    "sigmoid of the difference of their log-sum-exps; a group without a permitted key is left out",
    claim(
        z_all[i, e],
        "=",
        sigmoid(L_1 - L_2) * former[i, e] + sigmoid(L_2 - L_1) * latter[i, e],
        where=some_former & some_latter,
    ).by_definition(
        "e^a/(e^a + e^b) = σ(a − b), and the weight of a group is the sum of its blocks' weights"
    ),
    claim(L_all[i], "=", log(exp(L_1) + exp(L_2)), where=some_former & some_latter).by_definition(
        "the sum in two parts"
    ),
    claim(z_all[i, e], "=", former[i, e], where=some_former & ~some_latter).by_definition(
        "the other sums are empty"
    ),
    claim(z_all[i, e], "=", latter[i, e], where=some_latter & ~some_former).by_definition(
        "the other sums are empty"
    ),
    sizes={b: b_1 + b_2},
)

merge.theorem(
    "neutral",
    "A block without a permitted key, at the end or anywhere, is as if it were not there, whatever it holds",
    claim(
        merge(z, L, each(mask[t, i] & lt(t, b_1), t, i))[i, e], "=", merge(z[:b_1], L[:b_1], mask[:b_1])[i, e]
    ).by_definition("it is in no sum"),
    sizes={b: b_1 + b_2},
)

so_far = fold(z, L)
merge.theorem(
    "one_by_one",
    "Blocks may come one after the other, with nothing kept but what those before them gave: the last result is that of all",
    claim(so_far[b - 1, i, e], "=", merge(z, L)[i, e])
    .by_induction(
        t,
        claim(so_far.output(L_so_far)[t, i], "=", log(Sum(exp(L[u, i]), (u, t + 1))), i),
        claim(
            so_far[t, i, e],
            "=",
            Sum(exp(L[u, i]) * z[u, i, e], (u, t + 1)) / Sum(exp(L[u, i]), (u, t + 1)),
            i,
            e,
        ),
        last=b - 1,
    )
    .because("after all blocks the sums are those over all"),
)
