"""Sliding-window attention: a query sees the keys at most w places away."""

from spec.attention.causal import causal
from spec.attention.parts import replace_row
from spec.attention.scaled_dot_product import scaled_dot_product
from spec.attention.softmax import softmax
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import *

n, m, d_k, d_v = sizes("n m d_k d_v")
i, j, l, r, c, e = indices(i=n, j=m, l=m, r=m, c=d_k, e=d_v)

q = data("q", n, d_k, meaning="query: what each position looks for")
k = data("k", m, d_k, meaning="key: what each position offers to be found by")
v = data("v", m, d_v, meaning="value: what each position passes on where it is attended to")
w = number("w", domain="integer", below=m, meaning="reach: how many places away the farthest key is")
z = tensor("z", n, d_v, meaning="context: the mean of the values within reach, weighted by attention")

SIDES = Convention(
    "sides",
    {
        "before": "a query sees itself and the w keys before it",
        "both": "a query sees itself, the w keys before it and the w after it",
    },
    default="before",
)


def within(query: Node, key: Node) -> Node:
    """The condition that a key lies within reach of a query; the last query stands beside the last key."""
    place = query + (m - n)
    return by_convention(
        "sides",
        before=le(place - key, w) & le(key, place),
        both=le(place - key, w) & le(key - place, w),
    )


FOUR = {"q": [[0]] * 4, "k": [[1], [2], [3], [4]], "v": [[8], [4], [2], [6]], "w": 1}

window = Formula(
    "attention.window",
    "Sliding-window attention",
    why="Must a long text cost the square of its length? Attention compares every query with every key, though most of what a "
    "word depends on stands near it. Within a window of w places a query has at most w + 1 keys however long the text is, so "
    "that time and memory grow with its length and no faster, and a decoder need keep no more than the last w keys and "
    "values. What lies farther away is not lost: it arrives through the layers, each of which passes it on by w places.",
    sizes={n: "queries", m: "keys and values", d_k: "width of a key", d_v: "width of a value"},
    inputs=(q, k, v, w),
    lines=(define(z, scaled_dot_product(q, k, v, each(within(i, j), i, j))),),
    outputs=(z,),
    conventions=(SIDES,),
    stored=("a",),
    pitfalls=(
        pitfall(
            "a window of w keys, the query's own among them, taken for w keys before it: one key too few",
            mutant="own_key_counted",
        ),
        pitfall(
            "the window cut on one side only: the future is seen, or the far past", mutant="far_past_seen"
        ),
        pitfall(
            "queries and keys cut into blocks that see themselves alone: a window that does not slide",
            mutant="blocks_of_w",
        ),
        pitfall(
            "with a cache the query's place counted from 0, not from the end of the keys",
            mutant="places_from_the_start",
        ),
    ),
    sources=(
        paper("child2019", "section 4.3, the local part"),
        paper("beltagy2020", "section 3.1, sliding window"),
        paper("brown2020", "section 2.1: locally banded layers"),
        paper("jiang2023", "section 2, sliding window attention"),
    ),
    worked=(
        Worked(
            "Queries of 0 weigh alike what they see; w = 1: each value and the one before it",
            FOUR,
            [["8.0"], ["6.0"], ["3.0"], ["4.0"]],
            1,
        ),
        Worked(
            "The same to both sides: each value with its neighbours",
            FOUR,
            [["6.0"], ["4.6667"], ["4.0"], ["4.0"]],
            4,
            conventions={"sides": "both"},
        ),
        Worked(
            "One query beside the last of four keys: the mean of the last two values",
            FOUR | {"q": [[0]]},
            [["4.0"]],
            1,
        ),
    ),
    notes="w is a number of places, so that before a query there are w keys and w + 1 with its own. Where libraries say "
    "sliding_window they count the query's own key, and have one more. The window is that of one layer: L of them reach L·w.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

BEFORE, BOTH = {"sides": "before"}, {"sides": "both"}
(t,) = indices(t=n)
whole = window(q, k, v, w)
far = given("far", domain="integer", below=m)
k_other, v_other, g = given("k_other", d_k), given("v_other", d_v), given("g", d_v)
s = tensor("s", n, m, meaning="score: how well each key fits each query")
a = tensor("a", n, m, meaning="attention weight: 0 for every key out of reach")
window.let(s[i, j], scaled_dot(q, k)[i, j])
window.let(a[i, j], softmax(s, each(within(i, j), i, j))[i, j])

window.theorem(
    "all_before",
    "A window that reaches back to the first key is causal attention",
    claim(window(q, k, v, m - 1)[i, e], "=", causal(q, k, v)[i, e]).by_definition(
        "no query stands m places or more behind a key"
    ),
    conventions=BEFORE,
)

window.theorem(
    "all",
    "A window that reaches to both ends is attention to all keys",
    claim(window(q, k, v, m - 1)[i, e], "=", scaled_dot_product(q, k, v)[i, e]).by_definition(
        "no query stands m places or more from a key"
    ),
    sizes={n: m},
    conventions=BOTH,
)

window.theorem(
    "own_key",
    "A reach of 0 leaves each query its own key: it gets its own value",
    claim(window(q, k, v, 0)[i, e], "=", v[i, e])
    .step(exp(s[i, i]) / exp(s[i, i]) * v[i, e], "the key at the query's place is the only one within reach")
    .because("an exponential is positive, and cancels"),
    sizes={n: m},
)

changed = window(q, replace_row(k, far, k_other), replace_row(v, far, v_other), w)
of_query = each(delta(i, t) * g[e], i, e)
place = t + (m - n)


def near(key: Index, sides: str) -> Node:
    """The condition that a key lies within reach of query t."""
    return le(place - key, w) & (le(key - place, w) if sides == "both" else le(key, place))


for sides, suffix, after in (("before", "", lt(place, far)), ("both", "_both", lt(w, far - place))):
    total = Sum(exp(s[t, l]), l, where=near(l, sides) & ~eq(l, far))
    without = Sum(exp(s[t, j]) / total * v[j, e], j, where=near(j, sides) & ~eq(j, far))
    window.theorem(
        "out_of_reach" + suffix,
        "A key out of a query's reach has no influence on its output, and gets no gradient from it",
        *(
            part
            for beyond in (lt(w, place - far), after)
            for part in (
                claim(changed[t, e], "=", whole[t, e], where=beyond)
                .step(
                    without,
                    "the sums of the query run over the keys within reach, none of which was replaced",
                )
                .because("nor is the key that was there before within reach"),
                claim(whole.pullback(of_query, v)[far, e], "=", 0, where=beyond)
                .step(a[t, far] * g[e], "output t is Σⱼ aₜⱼvⱼ, linear in the values")
                .because("the key is out of reach, so its weight is 0"),
                claim(whole.pullback(of_query, k)[far, c], "=", 0, where=beyond)
                .step(
                    a[t, far] * Sum(g[e] * (v[far, e] - z[t, e]), e) * q[t, c] / sqrt(d_k),
                    "the chain rule: ∂sₜⱼ/∂kⱼ = qₜ/√d_k, and ∂zₜ/∂sₜⱼ = aₜⱼ(vⱼ − zₜ)",
                )
                .because("the key is out of reach, so its weight is 0"),
            )
        ),
        given=(far, k_other, v_other, g),
        conventions={"sides": sides},
    )

kept, dropped = sizes("kept dropped")
o, u = indices(o=kept, u=kept)
last = (each(k[dropped + o, c], o, c), each(v[dropped + o, e], o, e))

window.theorem(
    "rolling_cache",
    "The last query needs the last w + 1 keys and values alone: a decoder keeps no more of them",
    claim(window(q, *last, kept - 1)[n - 1, e], "=", window(q, k, v, kept - 1)[n - 1, e])
    .step(
        Sum(
            exp(s[n - 1, dropped + o]) / Sum(exp(s[n - 1, dropped + u]), u) * v[dropped + o, e],
            o,
        ),
        "the query stands beside the last key before and after, and sees all that are kept",
    )
    .because("of all keys it reaches those that are at most w places before the last"),
    sizes={m: dropped + kept},
    conventions=BEFORE,
)

window.theorem(
    "few_keys",
    "A query whose window is whole sees w + 1 keys, one nearer to the beginning all up to its own place: n queries have at most "
    "n·(w + 1) scores, however long the text is",
    claim(Sum(1, j, where=near(j, "before")), "=", w + 1, where=le(w, place)).by_definition(
        "its own key and the w before it"
    ),
    claim(
        Sum(1, j, where=near(j, "before")), "=", place + 1, where=le(0, place) & lt(place, w)
    ).by_definition("its own key and all before it"),
    conventions=BEFORE,
    runs=False,
)

window.theorem(
    "few_keys_both",
    "To both sides a query whose window is whole sees 2·w + 1 keys",
    claim(
        Sum(1, j, where=near(j, "both")), "=", 2 * w + 1, where=le(w, place) & lt(place + w, m)
    ).by_definition("its own key, the w before it and the w after it"),
    conventions=BOTH,
    runs=False,
)

(x,) = indices(x=m)
x_q = given("x_q", m, d_k)


def layers(values: Node) -> Applied:
    """Two layers over these values."""
    return window(x_q, k, window(x_q, k, values, w), w)


window.theorem(
    "two_layers",
    "Two layers reach twice as far, and no farther: what stands more than 2·w places back does not arrive",
    claim(
        layers(replace_row(v, far, v_other))[x, e], "=", layers(v)[x, e], where=lt(far + 2 * w, x)
    ).by_definition("a query sees what stands up to w places back, and that has seen up to w places farther"),
    given=(far, v_other, x_q),
    sizes={n: m},
    conventions=BEFORE,
    runs=False,
)
