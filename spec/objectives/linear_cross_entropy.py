"""Cross entropy of logits that a last linear layer gives: the two as one, since the logits need never be held."""

from spec.attention.softmax import softmax
from spec.objectives.cross_entropy import OVER_ALL, cross_entropy
from spec.vocabulary import *

T, V, d = sizes("T V d")
t, l = indices(t=T, l=T)
v, w = indices(v=V, w=V)
i, j = indices(i=d, j=d)

x = data("x", T, d, meaning="what the network gives at each place")
W = parameter("W", V, d, meaning="a row for each word; often the table of the embeddings")
y = data(
    "y", T, domain="label", below=V, meaning="target: the word that stood there; −100 where none is asked"
)
epsilon = number(
    "epsilon", "share", meaning="label smoothing: the share of a target that is spread over the words"
)
s = tensor("s", T, V, meaning="logits: how well each word fits each place")
L = tensor("L", meaning="mean cost of a target: what training lowers")

linear_cross_entropy = Formula(
    "objectives.linear_cross_entropy",
    "Cross entropy of a linear layer",
    why="Why state two formulas as one? With V words the logits of a batch are V/d times as large as what they come from, and "
    "so are their gradients; in training a language model no other array is as large. All that is wanted of them is "
    "one number and the gradients of x and W, to which every place contributes by itself. So they can be computed some "
    "places at a time, and forgotten.",
    sizes={T: "places", V: "words of the vocabulary", d: "width"},
    inputs=(x, W, y, epsilon),
    lines=(
        define(s[t, v], Sum(x[t, i] * W[v, i], i)),
        define(L, cross_entropy(s, y, epsilon)),
    ),
    outputs=(L,),
    conventions=cross_entropy.conventions,
    stored=("s",),
    pitfalls=(
        pitfall("parts of unequal numbers of targets, their means averaged", mutant="mean_of_means"),
        pitfall("a batch without a single target: 0/0 is NaN", convention="none_asked"),
        pitfall("the gradient of W from the last part alone", mutant="last_part_only"),
    ),
    sources=(deck(2, "training loss: cross-entropy"), paper("vaswani2017", "sections 3.4 and 5.4")),
    worked=(
        Worked(
            "Width 1, two words with rows 1 and 0, at place x = 1: logits 1 and 0, so that word 0 costs ln(1 + 1/e)",
            {"x": [[1]], "W": [[1], [0]], "y": [0], "epsilon": 0},
            "0.3133",
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

g, r = given("g"), given("r", T, d)
whole = linear_cross_entropy(x, W, y, epsilon)
asked, some_asked = le(0, y[t]), Some(le(0, y[l]), l)
inner = cross_entropy(each(Sum(x[t, j] * W[v, j], j), t, v), y, epsilon)
count = Sum(1, t, where=asked)

lack = tensor("lack", T, V, meaning="softmax less smoothed target; 0 where nothing is asked")
linear_cross_entropy.let(
    lack[t, v], case(asked, softmax(s)[t, v] - (1 - epsilon) * delta(v, y[t]) - epsilon / V)
)

linear_cross_entropy.theorem(
    "gradients",
    "Each place adds to the gradients by itself: softmax less target, times a row of W or of x, over the count",
    claim(whole.pullback(g, x)[t, i], "=", g * Sum(lack[t, v] * W[v, i], v) / count, where=some_asked)
    .step(Sum(inner.pullback(g, "s")[t, v] * W[v, i], v), "∂s[t,v]/∂x[t,i] = W[v,i]")
    .because("the gradient of the cross entropy"),
    claim(whole.pullback(g, W)[v, i], "=", g * Sum(lack[t, v] * x[t, i], t) / count, where=some_asked)
    .step(Sum(inner.pullback(g, "s")[t, v] * x[t, i], t), "∂s[t,v]/∂W[v,i] = x[t,i]")
    .because("the gradient of the cross entropy"),
    given=g,
    conventions=OVER_ALL,
)

linear_cross_entropy.theorem(
    "ignored_without_influence",
    "What the network gives at places where nothing is asked does not matter",
    claim(
        linear_cross_entropy(each(case(asked, x[t, i], r[t, i]), t, i), W, y, epsilon),
        "=",
        L,
        where=some_asked,
    ).by_definition("no logit of a place where something is asked reads it"),
    given=r,
    conventions=OVER_ALL,
)
