"""Routing to the k best experts: a token is sent to few of many networks, and their answers are weighted."""

from spec.attention.softmax import softmax
from spec.vocabulary import *

n, E, k = sizes("n E k")
i, j, l, o = indices(i=n, j=E, l=E, o=E)

s = data("s", n, E, meaning="logits: how well each expert suits each token")
p = tensor("p", n, E, meaning="share of each expert among all")
r = tensor("r", n, E, meaning="rank: how many experts suit better, or alike and stand before it")
w = tensor("w", n, E, meaning="weight of each expert's answer: 0 for those that are not asked")

WEIGHTS = Convention(
    "weights",
    {
        "renormalised": "the shares of the experts that are asked, divided by their sum: together 1 (Mixtral)",
        "shares": "their shares among all experts as they are: together less than 1 (Qwen's, where norm_topk_prob is false)",
    },
    default="renormalised",
)
TIES = Convention(
    "ties",
    {
        "first": "of experts that suit alike those with the smaller number are asked",
        "unspecified": "of a token that some experts suit alike, or by shares that round alike, nothing is said if only some are "
        "asked",
    },
    default="first",
)


def ahead(one: Index, other: Index) -> Node:
    """The condition that an expert is ranked before another."""
    return lt(s[i, other], s[i, one]) | eq(s[i, one], s[i, other]) & lt(one, other)


def asked(at: Index, token: Index = i) -> Node:
    """The condition that an expert is one of the k best: r < k, with room for the rounding that a sum is granted."""
    return lt(r[token, at] + Rational(1, 2), k)


rank = Sum(case(ahead(l, j), 1), l)
weight = by_convention("weights", renormalised=p[i, j] / Sum(p[i, l], l, where=asked(l)), shares=p[i, j])
chosen = case(asked(j), weight)
split = Some(Some(eq(p[i, l], p[i, o]) & asked(l) & ~asked(o), o), l)

top_k = Formula(
    "routing.top_k",
    "Routing to the k best experts",
    why="How can a model know more without computing more? Its feed-forward networks hold most of its weights, and each token "
    "passes all of them. With E networks in the place of one, and a router that sends each token to the k that suit it best, "
    "weights grow E-fold and the work only k-fold. The router is a layer of logits; its softmax weighs the answers, so that it "
    "learns by gradient though the choice itself has none.",
    sizes={
        n: "tokens",
        E: "experts: 8 in Mixtral, 128 in Qwen 3",
        k: "experts that a token is sent to: 2, 8",
    },
    inputs=(s, k),
    lines=(
        define(r[i, j], rank),
        define(p[i, j], softmax(s)[i, j]),
        define(w[i, j], by_convention("ties", first=chosen, unspecified=case(split, Undefined(), chosen))),
    ),
    outputs=(w,),
    conventions=(WEIGHTS, TIES),
    stored=("p",),
    pitfalls=(
        pitfall(
            "shares of all experts, where weights were trained with those that sum to 1", convention="weights"
        ),
        pitfall("ties broken otherwise on each device, so that a token goes elsewhere", convention="ties"),
        pitfall("k + 1 experts asked, or k − 1", mutant="one_expert_more"),
        pitfall("experts not asked get 1/k of what is left: their weight is 0", mutant="rest_shared"),
        pitfall(
            "the softmax over the tokens, as routers do by which experts choose", mutant="over_the_tokens"
        ),
    ),
    sources=(paper("shazeer2017", "section 2.1, eqs. 3 and 5"), paper("jiang2024", "section 2.1")),
    worked=(
        Worked(
            "Logits 3, 2, 1 and 1, two experts: 1/(1 + e⁻¹) and the rest",
            {"s": [[3, 2, 1, 1]], "k": 2},
            [["0.7311", "0.2689", "0.0000", "0.0000"]],
            4,
        ),
        Worked(
            "The same as shares of all four; three experts, and of the two that suit alike the first",
            {"s": [[3, 2, 1, 1]], "k": 3},
            [["0.6103", "0.2245", "0.0826", "0.0000"]],
            4,
            conventions={"weights": "shares"},
        ),
    ),
    notes="k ≥ E asks all experts. A rank is an integer: r + ½ < k says r < k, whatever the rounding of a sum.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

a = given("a", n)
(d,) = sizes("d")
(c,) = indices(c=d)
z = given("z", n, d)
FIRST = {"ties": "first"}
RENORMALISED = {"weights": "renormalised", **FIRST}

top_k.theorem(
    "of_those_asked",
    "Softmax, then the k best, renormalised, is the softmax of the k best: the others need not be computed",
    claim(w[i, j], "=", softmax(s, each(asked(j), i, j))[i, j]).by_definition(
        "both are eˢ over the sum of those asked: the sum over all cancels"
    ),
    conventions=RENORMALISED,
)

top_k.theorem(
    "not_asked",
    "An expert that is not among the k best has no weight",
    claim(w[i, j], "=", 0, where=~asked(j)).by_definition("only those that are asked have one"),
    conventions=FIRST,
)

top_k.theorem(
    "sums_to_one",
    "Renormalised, the weights of a token sum to 1",
    claim(Sum(w[i, j], j), "=", 1, where=Some(asked(l), l)).by_definition("the sum over those asked cancels"),
    conventions=RENORMALISED,
)

top_k.theorem(
    "ordered",
    "An expert that is asked weighs at least as much as every other that suits no better",
    claim(w[i, l], "<=", w[i, j], where=asked(j) & le(s[i, l], s[i, j])).by_definition(
        "the exponential grows, and both are over the same sum"
    ),
    conventions=FIRST,
)

top_k.theorem(
    "shift_invariant",
    "Adding a number to all logits of a token changes nothing",
    claim(top_k(each(s[i, j] + a[i], i, j), k)[i, j], "=", w[i, j]).by_definition(
        "it cancels wherever two logits are compared, and in the softmax"
    ),
    given=a,
    conventions=FIRST,
)

top_k.theorem(
    "alike",
    "Renormalised, experts that all answer alike answer as one",
    claim(Sum(w[i, j] * z[i, c], j), "=", z[i, c], where=Some(asked(l), l)).by_definition(
        "the weights sum to 1"
    ),
    given=z,
    conventions=RENORMALISED,
)

top_k.theorem(
    "all_experts",
    "No expert is ranked behind more than the E − 1 others, so that k ≥ E asks all; a weight is a share over 1 less the shares "
    "of those not asked, so that with all asked it is the plain mixture by softmax",
    claim(r[i, j], "<=", E - 1)
    .step(E - Sum(case(ahead(l, j), 0, 1), l), "all but those that are not ahead")
    .because("an expert is not ahead of itself", gap=Sum(case(ahead(l, j) | eq(l, j), 0, 1), l)),
    claim(w[i, j] * (1 - Sum(p[i, l], l, where=~asked(l))), "=", p[i, j], where=asked(j))
    .step(w[i, j] * Sum(p[i, l], l, where=asked(l)), "all shares together are 1")
    .because("the sum over those asked cancels"),
    conventions=RENORMALISED,
)
