"""Local attention: a query predicts a position and looks at the keys around it."""

from spec.attention.masks import OURS, POLARITY, permitted
from spec.attention.parts import replace_row
from spec.attention.softmax import softmax
from spec.scores.dot import dot
from spec.vocabulary import *

n, m, d_k, d_v, a = sizes("n m d_k d_v a")
i, t, j, u, c, e, b = indices(i=n, t=n, j=m, u=m, c=d_k, e=d_v, b=a)

q = data("q", n, d_k, meaning="the queries: in a decoder, its states")
k = data("k", m, d_k, meaning="the keys, in the order of the words that they stand for")
v = data("v", m, d_v, meaning="what each word hands over")
W_p = parameter("W_p", a, d_k, meaning="reads from a query what the position depends on")
v_p = parameter("v_p", a, meaning="weighs what was read: towards the end or towards the beginning")
D = number("D", domain="positive", meaning="half the width of the window")
mask = optional_mask("mask", n, m, meaning="which keys each query may attend to")
p = tensor("p", n, meaning="the position at which each query expects what it looks for")
s = tensor("s", n, m, meaning="scores: how well each key fits each query")
w = tensor("w", meaning="width of the Gaussian: its standard deviation")
alpha = tensor("alpha", n, m, meaning="weights: the shares of the keys, falling off around the position")
z = tensor("z", n, d_v, meaning="what each query has gathered")

WINDOW = Convention(
    "window",
    {
        "cut": "the softmax runs over the permitted keys at most D away from the predicted position",
        "whole": "the softmax runs over all permitted keys; only the Gaussian favours those nearby",
    },
    default="cut",
)
NOTHING_IN_REACH = Convention(
    "fully_masked",
    {
        "zero": "a query without a permitted key in its window gets weights 0",
        "unspecified": "nothing is said about such a query (0/0 and NaN included)",
    },
    default="zero",
)


def reach(at: Index) -> Node:
    """The condition that key ``at`` lies in the window of query i."""
    return by_convention("window", cut=le(absolute(at - p[i]), D), whole=TRUE)


narrowed = by_convention("polarity", true_attends=mask[i, j] & reach(j), true_drops=mask[i, j] | ~reach(j))
context = Sum(alpha[i, j] * v[j, e], j, where=permitted(mask, i, j) & reach(j))
some_near = Some(permitted(mask, i, u) & reach(u), u)
KEYS, VALUES = [[5], [1], [1], [1]], [[9], [3], [6], [9]]
FOUR_KEYS = {"q": [[1]], "k": KEYS, "v": VALUES, "W_p": [[1]], "v_p": [0], "D": 1}

local = Formula(
    "attention.local",
    "Local attention with predicted positions",
    why="Must a query read all of a long text to find what it needs? Global attention weighs every word for every query; hard "
    "attention picks one, but a choice has no derivative. Local attention lies between them: the query predicts a position, "
    "looks at the window around it, and the weights fall off with the distance from it. That fall is a smooth function of the "
    "position, so that where to look can be learned like everything else.",
    sizes={
        n: "queries",
        m: "keys, in order",
        d_k: "width of a key",
        d_v: "width of a value",
        a: "hidden units",
    },
    inputs=(q, k, v, W_p, v_p, D, mask),
    lines=(
        define(p[i], m * sigmoid(Sum(v_p[b] * tanh(Sum(W_p[b, c] * q[i, c], c)), b))),
        define(s, dot(q, k)),
        define(w, D / 2),
        define(alpha[i, j], softmax(s, each(narrowed, i, j))[i, j] * exp(-((j - p[i]) ** 2 / (2 * w**2)))),
        define(
            z[i, e],
            by_convention("fully_masked", zero=context, unspecified=case(some_near, context, Undefined())),
        ),
    ),
    outputs=(z,),
    conventions=(POLARITY, NOTHING_IN_REACH, WINDOW),
    stored=("alpha",),
    pitfalls=(
        pitfall("the Gaussian twice as wide: w = D instead of D/2", mutant="sigma_is_D"),
        pitfall("the window cut after the softmax, not before", mutant="cut_after"),
        pitfall("the weights made to sum to 1 again after the Gaussian", mutant="renormalised"),
        pitfall("the position detached: W_p and v_p never learn", mutant="position_detached"),
    ),
    sources=(
        deck(2, "global vs local attention: a predicted source position and a window around it"),
        paper("luong2015", "section 3.2, local-p; eq. 9 and 10"),
    ),
    worked=(
        Worked(
            "The position is 2, in the middle; D = 1 cuts off key 0, the best; shares of 1/3, times e⁻² at distance 1",
            FOUR_KEYS,
            [["0.0000", "0.0451", "0.3333", "0.0451"]],
            4,
            output="alpha",
        ),
        Worked("The values 3, 6 and 9, weighed so", FOUR_KEYS, [["2.5413"]], 4),
    ),
    notes="Keys stand at the positions 0 … m − 1. The weights of a query sum to at most 1: the Gaussian is applied "
    "after the softmax.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

CUT, WHOLE = {**OURS, "window": "cut"}, {**OURS, "window": "whole"}


def near(query: Index, key: Index) -> Node:
    """The condition that a permitted key lies in the window of a query."""
    return mask[query, key] & le(absolute(key - p[query]), D)


G = tensor("G", n, m, meaning="the Gaussian around the predicted position")
a_near = tensor("a_near", n, m, meaning="shares of the permitted keys in the window")
a_all = tensor("a_all", n, m, meaning="shares of all permitted keys: global attention's weights")
local.let(G[i, j], exp(-2 * ((j - p[i]) ** 2 / D**2)))
local.let(a_near, softmax(s, each(near(i, j), i, j)))
local.let(a_all, softmax(s, mask))

local.theorem(
    "position",
    "The predicted position lies strictly between 0 and the number of keys",
    claim(0, "<", p[i]).by_definition("there is at least one key, and a sigmoid lies above 0"),
    claim(p[i], "<", m).by_definition("a sigmoid lies below 1"),
    conventions=OURS,
)

local.theorem(
    "gaussian",
    "The Gaussian only takes away: a weight lies between 0 and what the softmax gave it",
    claim(0, "<=", alpha[i, j]).by_definition("no factor is negative", gap=alpha[i, j]),
    claim(alpha[i, j], "<=", a_near[i, j])
    .step(a_near[i, j] * G[i, j], "the definition; 2w² = D²/2")
    .because("the exponent is at most 0, so G is at most 1", gap=a_near[i, j] * (1 - G[i, j])),
    conventions=CUT,
)

local.theorem(
    "sums_to_at_most_one",
    "The weights of a query sum to at most 1",
    claim(Sum(alpha[i, j], j), "<=", 1, where=Some(near(i, u), u))
    .step(Sum(a_near[i, j] * G[i, j], j), "the definition")
    .at_most(Sum(a_near[i, j], j), "the Gaussian is at most 1", gap=Sum(a_near[i, j] * (1 - G[i, j]), j))
    .because("the shares of a softmax sum to 1"),
    claim(Sum(alpha[i, j], j), "=", 0, where=~Some(near(i, u), u))
    .step(Sum(0 * G[i, j], j), "without a permitted key in the window every share is 0")
    .because("a sum of zeros"),
    conventions=CUT,
)

r = given("r", domain="integer", below=m)
k_other, v_other, g = given("k_other", d_k), given("v_other", d_v), given("g", d_v)
elsewhere = local(q, replace_row(k, r, k_other), replace_row(v, r, v_other), W_p, v_p, D, mask)
seen, of_row = local(q, k, v, W_p, v_p, D, mask), each(delta(i, t) * g[e], i, e)


def without_r(this: Node, that: Node) -> Node:
    """What query i gathers without r, where ``this`` says which keys j it looks at, and ``that`` which keys u."""
    share = exp(s[i, j]) / Sum(exp(s[i, u]), u, where=that & ~eq(u, r))
    return Sum(share * G[i, j] * v[j, e], j, where=this & ~eq(j, r))


local.theorem(
    "outside_the_window",
    "A key farther than D from the predicted position has no influence on the output, and gets no gradient",
    claim(elsewhere[i, e], "=", z[i, e], where=lt(D, absolute(r - p[i])))
    .step(without_r(near(i, j), near(i, u)), "the position depends on no key; r lies outside the window")
    .because("likewise for the key and the value that r had before"),
    claim(seen.pullback(of_row, v)[r, e], "=", 0, where=lt(D, absolute(r - p[t])))
    .step(case(near(t, r), alpha[t, r] * g[e]), "the derivative is the weight, where the key is near")
    .because("r does not"),
    claim(seen.pullback(of_row, k)[r, c], "=", 0, where=lt(D, absolute(r - p[t])))
    .step(
        Sum(g[e] * Sum(alpha[t, j] * (delta(j, r) - a_near[t, r]) * v[j, e], j, where=near(t, j)), e)
        * q[t, c],
        "the Jacobian of the softmax; the score of r grows by q with key r",
    )
    .because("r is none of the j in the window, and its own share is 0"),
    given=(r, k_other, v_other, g),
    conventions=CUT,
)

local.theorem(
    "masked_key",
    "A masked key has no influence on the output",
    claim(elsewhere[i, e], "=", z[i, e], where=~mask[i, r])
    .step(
        without_r(mask[i, j] & reach(j), mask[i, u] & reach(u)),
        "the position depends on no key; r is not permitted",
    )
    .because("likewise for the key and the value that r had before"),
    given=(r, k_other, v_other),
    conventions=OURS,
)

x = given("x", domain="nonnegative")
wide, in_reach = local(q, k, v, W_p, v_p, m + x, mask), mask[i, j] & le(absolute(j - p[i]), m + x)
fall = exp(-2 * ((j - p[i]) ** 2 / (m + x) ** 2))

local.theorem(
    "nothing_cut",
    "A window of half width at least m cuts nothing off: only the Gaussian is left",
    claim(wide.output(alpha)[i, j], "=", a_all[i, j] * fall)
    .step(softmax(s, each(in_reach, i, j))[i, j] * fall, "the definition with D = m + x")
    .because("position and key both lie between 0 and m, so less than m apart"),
    given=x,
    conventions=CUT,
)

local.theorem(
    "global",
    "As D grows and nothing is cut, local attention becomes global: a weight is between (1 − 2m²/D²) of the global one and all "
    "of it",
    claim((1 - 2 * m**2 / D**2) * a_all[i, j], "<=", alpha[i, j])
    .at_most(
        (1 - 2 * ((j - p[i]) ** 2 / D**2)) * a_all[i, j],
        "a key is at most m away from the position",
        gap=a_all[i, j] * (2 / D**2 * ((m - j + p[i]) * (m + j - p[i]))),
    )
    .because("eˣ is at least 1 + x", gap=a_all[i, j] * (G[i, j] - 1 + 2 * ((j - p[i]) ** 2 / D**2))),
    claim(alpha[i, j], "<=", a_all[i, j])
    .step(a_all[i, j] * G[i, j], "the definition")
    .because("the exponent is at most 0, so G is at most 1", gap=a_all[i, j] * (1 - G[i, j])),
    conventions=WHOLE,
)
