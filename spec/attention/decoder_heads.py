"""The heads of today's decoders: grouped queries with a window, capped scores and sinks, each of which may be left out."""

from spec.attention.grouped_query import grouped_query
from spec.attention.log_sum_exp import log_sum_exp
from spec.attention.masks import FULLY_MASKED
from spec.attention.sinks import sinks
from spec.attention.softcap import softcap
from spec.attention.softmax import softmax
from spec.attention.window import window
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import *

g, r, n, m, d_k, d_v = sizes("g r n m d_k d_v")
x, y, t, i, j, l, c, e = indices(x=g, y=r, t=g * r, i=n, j=m, l=m, c=d_k, e=d_v)

q = data("q", g * r, n, d_k, meaning="queries: r heads for each group, group by group")
k = data("k", g, m, d_k, meaning="keys: one head for each group")
v = data("v", g, m, d_v, meaning="values: one head for each group")
sink = parameter("sink", g * r, meaning="for each head, the score of what stands for no key")
cap = number("cap", domain="positive", meaning="the bound that no score exceeds, up or down")
w = number(
    "w", domain="integer", below=m, meaning="reach: how many places before a query the farthest key is"
)
mask = optional_mask("mask", n, m, meaning="which keys a query may attend to besides, in every head")
s = tensor("s", g * r, n, m, meaning="score: in each head, how well each key fits each query")
u = tensor("u", g * r, n, m, meaning="the score that counts: capped, or as it is")
a = tensor("a", g * r, n, m, meaning="attention weight: the share that a query gives to each key")
z = tensor("z", g * r, n, d_v, meaning="contexts: in each head, its group's values weighted by attention")

WINDOW = Convention(
    "window",
    {
        "before": "a query sees its own key and the w before it; the last query stands beside the last key",
        "none": "a query sees what the mask lets it see; w is not read",
    },
    default="before",
)
CAP = Convention(
    "cap", {"tanh": "scores are capped by a tanh", "none": "scores stay as they are; cap is not read"}, "tanh"
)
SINKS = Convention(
    "sinks",
    {
        "learned": "each head's sink takes part in the denominator",
        "none": "the keys share all of the attention; sink is not read",
    },
    default="learned",
)


def within(query: Node, key: Node) -> Node:
    """The condition that a query may attend to a key, by window and mask."""
    place = query + (m - n)
    reach = by_convention("window", before=le(place - key, w) & le(key, place), none=TRUE)
    return mask[query, key] & reach


EMPTY = Convention(
    "fully_masked",
    {option: FULLY_MASKED.options[option] for option in ("zero", "mean", "unspecified")},
    default="zero",
)
seen, seen_there, has_key = within(i, j), within(i, l), Some(within(i, l), l)
mixed = Sum(a[x * r + y, i, j] * v[x, j, e], j, where=seen)

decoder_heads = Formula(
    "attention.decoder_heads",
    "A decoder's heads",
    why="Which attention do today's decoders compute? Mistral's queries see a window, Gemma 2's scores are capped, gpt-oss has "
    "sinks, most have grouped queries, and one kernel is to serve them all. How the parts go together is where kernels differ: "
    "scores are divided by √d_k, then capped, then hidden by window and mask; the sink, which is never capped or hidden, joins "
    "them last.",
    sizes={
        g: "groups: heads of keys and values",
        r: "heads of queries in each group",
        n: "queries",
        m: "keys and values",
        d_k: "width of a key",
        d_v: "width of a value",
    },
    inputs=(q, k, v, sink, cap, w, mask),
    lines=(
        define(s[x * r + y], scaled_dot(q[x * r + y], k[x])),
        define(u[t, i, j], by_convention("cap", tanh=cap * tanh(s[t, i, j] / cap), none=s[t, i, j])),
        lines_by_convention(
            "sinks",
            learned=(
                define(
                    a[t, i, j],
                    case(seen, exp(u[t, i, j]) / (exp(sink[t]) + Sum(exp(u[t, i, l]), l, where=seen_there))),
                ),
            ),
            none=(define(a[t], softmax(u[t], each(seen, i, j))),),
        ),
        define(
            z[x * r + y, i, e],
            by_convention(
                "sinks",
                learned=mixed,
                none=by_convention(
                    "fully_masked",
                    zero=mixed,
                    mean=case(has_key, mixed, Sum(v[x, j, e], j) / m),
                    unspecified=case(has_key, mixed, Undefined()),
                ),
            ),
        ),
    ),
    outputs=(z,),
    conventions=(WINDOW, CAP, SINKS, EMPTY),
    stored=("a",),
    pitfalls=(
        pitfall("the sink capped like a score", mutant="sink_capped"),
        pitfall("capped after the mask: what is hidden has the score −cap, and is seen", mutant="cap_last"),
        pitfall("capped before it is divided by √d_k", mutant="cap_first"),
        pitfall("a cap that the kernel does not have, left out without a word", mutant="no_cap"),
        pitfall("w keys with the query's own among them, where w stand before it", mutant="own_among_w"),
        pitfall(
            "with a cache the query's place counted from 0, not from the end of the keys",
            mutant="window_from_the_start",
        ),
        pitfall("the sink's weight counted twice: as a gate, and as a key", mutant="gate_twice"),
    ),
    sources=(
        paper("jiang2023", "section 2, sliding window attention"),
        paper("gemma2024b", "section 2: local layers, logit soft-capping"),
        paper("openai2025", "section 2.2: banded windows, a learned bias in the denominator"),
    ),
    worked=(
        Worked(
            "A query of 0 beside the last of three keys, w = 1: it weighs two keys alike, and a sink of log 2 as both together",
            {
                "q": [[[0]]],
                "k": [[[1], [2], [3]]],
                "v": [[[100], [4], [8]]],
                "sink": ["log(2)"],
                "cap": 50,
                "w": 1,
            },
            [[["3.0000"]]],
            4,
        ),
        Worked(
            "Scores 0 and 100 with a cap of log 3 and no sink: the second key weighs three times as much as the first",
            {
                "q": [[[1]]],
                "k": [[[0], [100]]],
                "v": [[[4], [8]]],
                "sink": [0],
                "cap": "log(3)",
                "w": 1,
            },
            [[["7.0000"]]],
            4,
            conventions={"sinks": "none"},
        ),
    ),
    notes="Llama has none of the three parts, Mistral the window, Gemma 2 the cap in all layers and the window in every second, "
    "gpt-oss the sinks in all and the window in every second. Where libraries say sliding_window they count the query's own key.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

NONE = {"window": "none", "cap": "none", "sinks": "none", "fully_masked": "zero"}
ALL = {"window": "before", "cap": "tanh", "sinks": "learned", "fully_masked": "zero"}
head = x * r + y

for name, says, parts, same in (
    (
        "plain",
        "Without the three parts it is grouped-query attention",
        {},
        grouped_query(q, k, v, mask)[head, i, e],
    ),
    (
        "softcap",
        "With the cap alone each head is attention with capped scores",
        {"cap": "tanh"},
        softcap(q[head], k[x], v[x], cap, mask)[i, e],
    ),
    (
        "sinks",
        "With the sinks alone it is attention with sinks",
        {"sinks": "learned"},
        sinks(q, k, v, sink, mask)[head, i, e],
    ),
):
    decoder_heads.theorem(
        name, says, claim(z[head, i, e], "=", same).by_definition("the definition"), conventions=NONE | parts
    )

decoder_heads.theorem(
    "window",
    "With the window alone, and no mask, each head is attention within a sliding window",
    claim(
        decoder_heads(q, k, v, sink, cap, w)[head, i, e], "=", window(q[head], k[x], v[x], w)[i, e]
    ).by_definition("the definition"),
    conventions=NONE | {"window": "before"},
)

decoder_heads.theorem(
    "gate",
    "With all of them it is attention without sinks times a gate, the sigmoid of the log-sum-exp of the capped scores within "
    "reach, less the sink: kernels apply it afterwards",
    claim(
        z[head, i, e],
        "=",
        sigmoid(log_sum_exp(u[head], each(seen, i, j))[i] - sink[head])
        * Sum(softmax(u[head], each(seen, i, j))[i, j] * v[x, j, e], j),
        where=has_key,
    ).by_definition("σ(L − b) = e^L/(e^b + e^L), and e^L is the denominator without the sink"),
    conventions=ALL,
)

kept, dropped = sizes("kept dropped")
(o,) = indices(o=kept)
decoder_heads.theorem(
    "rolling_cache",
    "The last query needs the last w + 1 keys and values alone, under all three parts: a decoder keeps no more of them",
    claim(
        decoder_heads(
            each(q[t, n - 1, c], t, (i, 1), c),
            each(k[x, dropped + o, c], x, o, c),
            each(v[x, dropped + o, e], x, o, e),
            sink,
            cap,
            kept - 1,
            each(mask[n - 1, dropped + o], (i, 1), o),
        )[head, 0, e],
        "=",
        decoder_heads(q, k, v, sink, cap, kept - 1, mask)[head, n - 1, e],
    ).by_definition("of all keys it reaches those that are at most w places before the last"),
    sizes={m: dropped + kept},
    conventions=ALL,
)
