"""The output layer: from a row of the decoder to a distribution over the vocabulary."""

from spec.attention.softmax import softmax
from spec.transformer.parts import V, d_model, m
from spec.vocabulary import *

i, c, v, w = indices(i=m, c=d_model, v=V, w=V)

x = data("x", m, d_model, meaning="the decoder's output: one row for each place")
W_vocab = parameter(
    "W_vocab", d_model, V, meaning="for each word of the vocabulary a column: what speaks for it"
)
logits = tensor("logits", m, V, meaning="how much speaks for each word at each place, in logarithms")
p = tensor("p", m, V, meaning="the probability of each word at each place")

output = Formula(
    "transformer.output",
    "Output layer",
    why="How does a row of numbers become a word? The row is compared with one vector for each word of the vocabulary; what "
    "comes out, the logits, may be any numbers. Softmax makes probabilities of them: positive, with sum 1, so that the "
    "model can be trained by what it gave the right word, and sampled from. Many models take the embedding table once more "
    "for these vectors, which saves a large matrix: a word is predicted by the vector that it is read by.",
    sizes={m: "places", d_model: "width of a row", V: "vocabulary: the words there are"},
    inputs=(x, W_vocab),
    lines=(
        define(logits[i, v], Sum(x[i, c] * W_vocab[c, v], c)),
        define(p, softmax(logits, None)),
    ),
    outputs=(p, logits),
    stored=("logits",),
    pitfalls=(
        pitfall("softmax taken over the places instead of the words", mutant="over_the_places"),
        pitfall("logits divided by √d_model, as scores of attention are by √d_k", mutant="scaled"),
        pitfall(
            "probabilities returned for logits, and a second softmax taken in the loss",
            mutant="softmax_twice",
        ),
    ),
    sources=(
        deck(0, "decoder: linear layer and softmax"),
        deck(2, "output: linear, softmax"),
        paper("vaswani2017", "section 3.4"),
    ),
    worked=(
        Worked(
            "Logits 2 and 0",
            {"x": [[1, 1]], "W_vocab": [[2, -1], [0, 1]]},
            [["0.8808", "0.1192"]],
            4,
        ),
    ),
    notes="A tied table E with a row for each word is given as its transpose, W_vocab[c, v] = E[v, c].",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

g = given("g", m, V)

output.theorem(
    "sums_to_one",
    "At each place the probabilities of all words sum to 1",
    claim(Sum(p[i, v], v), "=", 1)
    .step(
        Sum(exp(logits[i, v]), v) / Sum(exp(logits[i, w]), w),
        "the definition; the divisor does not depend on v",
    )
    .because("the divisor is positive, so it cancels"),
)

output.theorem(
    "odds",
    "The ratio of two words' probabilities is the exponential of the difference of their logits",
    claim(p[i, v], "=", exp(logits[i, v] - logits[i, w]) * p[i, w]).by_definition(
        "both have the same divisor"
    ),
)

output.theorem(
    "jacobian",
    "With g the gradient of the probabilities, the row gets Σ over the words of pᵥ·(gᵥ − Σ g·p) times the word's column",
    claim(
        output(x, W_vocab).pullback(g, x)[i, c],
        "=",
        Sum(p[i, v] * (g[i, v] - Sum(g[i, w] * p[i, w], w)) * W_vocab[c, v], v),
    ).by_definition("the Jacobian of softmax, then the logits are linear in the row"),
    given=g,
)
