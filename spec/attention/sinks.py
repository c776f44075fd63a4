"""Attention with sinks: each head has a score that competes with the keys, and hands nothing over."""

from spec.attention.log_sum_exp import log_sum_exp
from spec.attention.masks import POLARITY, permitted
from spec.attention.scaled_dot_product import scaled_dot_product
from spec.attention.softmax import softmax
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import *

g, r, n, m, d_k, d_v = sizes("g r n m d_k d_v")
x, y, t, i, j, l, c, e = indices(x=g, y=r, t=g * r, i=n, j=m, l=m, c=d_k, e=d_v)

q = data("q", g * r, n, d_k, meaning="queries: r heads for each group, group by group")
k = data("k", g, m, d_k, meaning="keys: one head for each group")
v = data("v", g, m, d_v, meaning="values: one head for each group")
sink = parameter("sink", g * r, meaning="for each head, the score of what stands for no key")
mask = optional_mask("mask", n, m, meaning="which keys a query may attend to, in every head")
s = tensor("s", g * r, n, m, meaning="score: in each head, how well each key fits each query")
a = tensor("a", g * r, n, m, meaning="attention weight: what is left to the keys, shared by their scores")
z = tensor(
    "z", g * r, n, d_v, meaning="contexts: the values weighted by attention, 0 for what the sink takes"
)

seen, seen_there = permitted(mask, i, j), permitted(mask, i, l)

sinks = Formula(
    "attention.sinks",
    "Attention with sinks",
    why="What should a head attend to that finds nothing? The weights of a softmax sum to 1, so it has to attend to something, "
    "and models learn to dump what is left over on the first token; once that has left a sliding window, the text breaks down. A "
    "sink is a learned score of each head that takes part in the denominator alone: where no key beats it the head hands over "
    "almost nothing.",
    sizes={
        g: "groups: heads of keys and values",
        r: "heads of queries in each group",
        n: "queries",
        m: "keys and values",
        d_k: "width of a key",
        d_v: "width of a value",
    },
    inputs=(q, k, v, sink, mask),
    lines=(
        define(s[x * r + y], scaled_dot(q[x * r + y], k[x])),
        define(
            a[t, i, j],
            case(seen, exp(s[t, i, j]) / (exp(sink[t]) + Sum(exp(s[t, i, l]), l, where=seen_there))),
        ),
        define(z[x * r + y, i, e], Sum(a[x * r + y, i, j] * v[x, j, e], j, where=seen)),
    ),
    outputs=(z,),
    conventions=(POLARITY,),
    stored=("a",),
    pitfalls=(
        pitfall(
            "exponentials of scores from which the largest is not subtracted: they overflow",
            mutant="scores_not_shifted",
        ),
        pitfall("the sink divided by √d_k like a product", mutant="sink_scaled"),
        pitfall(
            "the sink added as a number, not as a score: its exponential left out",
            mutant="sink_not_exponentiated",
        ),
        pitfall(
            "the weights that are left divided by their sum: the sink does nothing", mutant="renormalised"
        ),
    ),
    sources=(
        paper("openai2025", "section 2.2: a learned bias in the denominator of the softmax"),
        paper("xiao2023", "section 3"),
    ),
    worked=(
        Worked(
            "One head, a query of 0 and two keys: with a sink of log 2 each has a quarter, and half of the attention is left",
            {"q": [[[0]]], "k": [[[1], [2]]], "v": [[[4], [8]]], "sink": ["log(2)"]},
            [[["3.0000"]]],
            4,
        ),
        Worked(
            "Where the query may attend to nothing the sink takes all",
            {
                "q": [[[0]]],
                "k": [[[1], [2]]],
                "v": [[[4], [8]]],
                "sink": ["log(2)"],
                "mask": [[False, False]],
            },
            [[["0.0000"]]],
            4,
        ),
    ),
    notes="A query without a permitted key gets 0 here without being an exception.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

OURS = {"polarity": "true_attends"}
head = x * r + y
some_key = Some(mask[i, l], l)
(o,) = indices(o=m + 1)
with_one_more = softmax(
    each(case(lt(o, m), s[head, i, o], sink[head]), i, o), each(~(lt(o, m) & ~mask[i, o]), i, o)
)

sinks.theorem(
    "key_of_value_0",
    "A sink is one more key, of the sink's score and of value 0, which every query may attend to",
    claim(a[head, i, j], "=", with_one_more[i, j]).by_definition("the denominator has one more term"),
    conventions=OURS,
)

sinks.theorem(
    "gate",
    "It is attention without sinks times a gate, the sigmoid of the log-sum-exp less the sink: kernels apply it afterwards",
    claim(
        z[head, i, e],
        "=",
        sigmoid(log_sum_exp(s[head], mask)[i] - sink[head])
        * scaled_dot_product(q[head], k[x], v[x], mask)[i, e],
        where=some_key,
    ).by_definition("σ(L − b) = e^L/(e^b + e^L), and e^L is the denominator without the sink"),
    conventions=OURS,
)

sinks.theorem(
    "sums_to_less_than_one",
    "The weights of the keys sum to less than 1: what is left is the sink's share",
    claim(Sum(a[head, i, j], j), "<", 1)
    .step(
        1 - exp(sink[head]) / (exp(sink[head]) + Sum(exp(s[head, i, l]), l, where=mask[i, l])),
        "the share of the sink is what they lack",
    )
    .because(
        "it is positive",
        gap=exp(sink[head]) / (exp(sink[head]) + Sum(exp(s[head, i, l]), l, where=mask[i, l])),
    ),
    conventions=OURS,
)

sinks.theorem(
    "no_key",
    "A query without a permitted key gets 0",
    claim(z[head, i, e], "=", 0, where=~some_key).by_definition(
        "every sum is empty, and the sink is positive"
    ),
    conventions=OURS,
)
