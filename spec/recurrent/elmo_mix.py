"""ELMo's vectors: the layers of a language model, mixed in shares that a task learns."""

from operator import neg, pos

from spec.vocabulary import *

L, d = sizes("L d")
j, l, c = indices(j=L + 1, l=L + 1, c=d)

h = data("h", L + 1, d, meaning="what each layer says of one word; layer 0 is its embedding")
w = parameter("w", L + 1, meaning="weight of each layer, before the softmax")
gamma = parameter("gamma", meaning="the scale of the whole, so that it fits the task's other inputs")
a = tensor("a", L + 1, meaning="share of each layer")
m = tensor("m", d, meaning="the word's vector for this task, in this context")

elmo_mix = Formula(
    "recurrent.elmo_mix",
    "ELMo's mix of layers",
    why="Which layer of a language model should a task read? The lower ones tell more of syntax, the higher ones more of what a "
    "word means where it stands, and tasks differ in what they need. So a task takes a weighted mean of all of them, the "
    "word's own embedding included, and learns one weight for each layer and one scale. A word's vector then depends on its "
    "sentence: there is one for each token, not one for each word of the vocabulary.",
    sizes={L: "layers above the embedding", d: "width of a layer"},
    inputs=(h, w, gamma),
    lines=(define(a[j], exp(w[j]) / Sum(exp(w[l]), l)), define(m[c], gamma * Sum(a[j] * h[j, c], j))),
    outputs=(m,),
    stored=("a",),
    pitfalls=(
        pitfall(
            "γ is multiplied in before the softmax: it is then a temperature, not a scale",
            mutant="scale_inside",
        ),
        pitfall("the embedding, layer 0, is left out of the mix", mutant="embedding_left_out"),
        pitfall("the weights are used without a softmax", mutant="weights_not_normalised"),
        pitfall("exponentials of large weights overflow unless shifted first", theorem="shift_invariant"),
    ),
    sources=(deck(1, "ELMo"), deck(3, "ELMo, steps 1 to 3"), paper("peters2018", "eq. 1")),
    worked=(
        Worked(
            "Three layers of equal weight: twice their mean",
            {"h": [[0, 3], [3, 0], [6, 3]], "w": [0, 0, 0], "gamma": 2},
            ["6.0000", "4.0000"],
            4,
        ),
        Worked(
            "Two layers whose weights differ by 1: shares 1/(1 + e) and e/(1 + e)",
            {"h": [[0], [1]], "w": [0, 1], "gamma": 1},
            ["0.2689", "0.7311"],
            4,
            output="a",
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

r, z = given("r", domain="integer", below=L + 1), given("z")
beta, x = given("beta"), given("x", d)
total = Sum(exp(w[l]), l)

elmo_mix.theorem(
    "weights",
    "The layers' weights are positive, and 1 in sum",
    claim(Sum(a[j], j), "=", 1)
    .step(Sum(exp(w[j]), j) / total, "the denominator does not depend on j")
    .because("a sum of exponentials is positive, so it cancels"),
    claim(0, "<", a[j]).by_definition("exponentials are positive"),
    runs=False,
)

highest, lowest = Max(h[j, c], j), Max(-h[j, c], j)

elmo_mix.theorem(
    "convex",
    "At γ = 1 the mix is a convex combination of the layers: no entry exceeds all of them, or falls short of all",
    claim(m[c], "<=", highest)
    .step(Sum(a[j] * h[j, c], j), "the definition; γ = 1")
    .at_most(Sum(a[j] * highest, j), "no layer exceeds the highest", gap=Sum(a[j] * (highest - h[j, c]), j))
    .because("the weights sum to 1"),
    claim(-m[c], "<=", lowest)
    .step(Sum(a[j] * -h[j, c], j), "the definition; γ = 1")
    .at_most(Sum(a[j] * lowest, j), "none is below the lowest", gap=Sum(a[j] * (lowest + h[j, c]), j))
    .because("the weights sum to 1"),
    at={gamma: 1},
)

elmo_mix.theorem(
    "alike",
    "Where all layers are the same, the mix is γ times it, whatever the weights",
    claim(elmo_mix(each(x[c], j, c), w, gamma)[c], "=", gamma * x[c])
    .step(gamma * (Sum(a[j], j) * x[c]), "the layer does not depend on j")
    .because("the weights sum to 1"),
    given=x,
)

elmo_mix.theorem(
    "shift_invariant",
    "Adding a number to all of w changes nothing",
    claim(elmo_mix(h, each(w[j] + z, j), gamma)[c], "=", m[c])
    .step(gamma * Sum(exp(z) * exp(w[j]) / (exp(z) * total) * h[j, c], j), "exp(w + z) = exp(z)·exp(w)")
    .because("exp(z) is positive, so it cancels"),
    given=z,
)

elmo_mix.theorem(
    "linear",
    "The mix scales with γ, and with the layers",
    claim(elmo_mix(h, w, beta * gamma)[c], "=", beta * m[c]).by_definition("γ stands before the sum"),
    claim(elmo_mix(each(beta * h[j, c], j, c), w, gamma)[c], "=", beta * m[c])
    .step(gamma * Sum(a[j] * (beta * h[j, c]), j), "the weights do not depend on the layers")
    .because("β does not depend on j"),
    given=beta,
)

raised = elmo_mix(h, each(case(eq(j, r), w[j] + z, w[j]), j), gamma)
difference = h[j, c] - h[r, c]
N = tensor("N", meaning="sum of the exponentials once layer r is raised by z")
D = tensor("D", d, meaning="how far the layers are from layer r, weighted by their exponentials")
elmo_mix.let(N, exp(w[r] + z) + Sum(exp(w[j]), j, where=~eq(j, r)))
elmo_mix.let(D[c], Sum(exp(w[j]) * absolute(difference), j))

elmo_mix.theorem(
    "selects",
    "Raising one layer's weight by z brings the mix to γ times that layer: what is left of the others shrinks as e to the −z",
    *(
        claim(
            sign(raised[c] - gamma * h[r, c]),
            "<=",
            exp(-z) * absolute(gamma) * Sum(exp(w[j] - w[r]) * absolute(difference), j),
        )
        .step(
            sign(gamma * Sum(exp(w[j]) * difference, j) / N),
            "the weights sum to 1; the layer's own term is 0",
        )
        .at_most(
            absolute(gamma) * D[c] / N,
            "no number exceeds its absolute value",
            gap=Sum(exp(w[j]) * (absolute(gamma) * absolute(difference) - sign(gamma * difference)), j) / N,
        )
        .at_most(
            absolute(gamma) * D[c] / exp(w[r] + z),
            "the other exponentials are positive",
            gap=absolute(gamma) * D[c] * (N - exp(w[r] + z)) / (exp(w[r] + z) * N),
        )
        .because("e to the wⱼ over e to the wᵣ + z is e to their difference")
        for sign in (pos, neg)
    ),
    given=(r, z),
)
