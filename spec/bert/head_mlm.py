"""The head of masked language modelling: from a row to a logit for each word, through the table of the embeddings."""

from spec.feedforward.gelu import APPROXIMATION, unit_at
from spec.normalization.layer_norm import BIASED, layer_norm
from spec.vocabulary import *

n, d, V = sizes("n d V")
i, j, c, e, v = indices(i=n, j=n, c=d, e=d, v=V)

x = data("x", n, d, meaning="the encoder's output at the places that are asked")
W = parameter("W", d, d, meaning="turns a row of the encoder towards what words look like")
b = parameter("b", d, meaning="the level from which each unit counts")
gamma = parameter("gamma", d, meaning="gain of the normalization")
beta = parameter("beta", d, meaning="bias of the normalization")
eps = number("eps", "positive", meaning="a small number that keeps the divisor away from 0: 10⁻¹² in BERT")
E = parameter("E", V, d, meaning="the table of the embeddings, once more: a row for each word")
b_V = parameter("b_V", V, meaning="what speaks for each word in any case: how frequent it is")
a = tensor("a", n, d, meaning="what reaches each unit")
h = tensor("h", n, d, meaning="how active each unit is")
r = tensor("r", n, d, meaning="the row that words are compared with")
logits = tensor("logits", n, V, meaning="how much speaks for each word at each place, in logarithms")

head_mlm = Formula(
    "bert.head_mlm",
    "Head for hidden words",
    why="How does a row of the encoder become a guess at a word? It is compared with the vectors of all words, and those are the "
    "ones that words are read by: a word is predicted by its own embedding, so that no second table is needed. What the encoder "
    "has made of a place is no embedding, however, so that one more layer, with a normalization, turns the row first. A bias for "
    "each word says how frequent it is.",
    sizes={n: "places that are asked", d: "width of a row", V: "words of the vocabulary"},
    inputs=(x, W, b, gamma, beta, eps, E, b_V),
    lines=(
        define(a[i, e], Sum(x[i, c] * W[c, e], c) + b[e]),
        define(h[i, e], unit_at(a[i, e])),
        define(r[i], layer_norm(h[i], gamma, beta, eps)),
        define(logits[i, v], Sum(r[i, c] * E[v, c], c) + b_V[v]),
    ),
    outputs=(logits,),
    conventions=(APPROXIMATION, *layer_norm.conventions),
    stored=("a", "h", "r"),
    pitfalls=(
        pitfall("GELU by tanh, as in other models", convention="approximation"),
        pitfall(
            "the layer left out: rows of the encoder compared with the words as they are",
            mutant="layer_left_out",
        ),
        pitfall(
            "the bias of the words left out, which the tied table does not bring", mutant="without_word_bias"
        ),
        pitfall(
            "ε of 10⁻⁵, as other normalizations have it: plain where a row is nearly constant",
            mutant="eps_1e5",
        ),
        pitfall("logits of all places, though one in seven is asked", theorem="by_itself"),
    ),
    sources=(
        deck(4, "MLM: a language modelling head on the token's vector"),
        paper("devlin2019", "section 3.1 and the code published with it"),
    ),
    worked=(
        Worked(
            "Width 2 and an identity for W: units at 3 and −3 are active by 3·Φ(3) and −3·Φ(−3), normalised 1 and −1, of which "
            "the first word gets the difference, and the second a bias of 2",
            {
                "x": [[3, -3]],
                "W": [[1, 0], [0, 1]],
                "b": [0, 0],
                "gamma": [1, 1],
                "beta": [0, 0],
                "eps": "1/1000000000000",
                "E": [[1, -1], [1, 1]],
                "b_V": [0, 2],
            },
            [["2.0000", "2.0000"]],
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

g, y, z = given("g", n, V), given("y", n, d), given("z", V)
sigma = given("sigma", n, domain="permutation")
rest = (W, b, gamma, beta, eps, E, b_V)
whole = head_mlm(x, *rest)

head_mlm.theorem(
    "by_itself",
    "The logits of a place are read from its own row: they can be had for the selected places alone",
    claim(head_mlm(each(case(eq(j, i), x[j, c], y[j, c]), j, c), *rest)[i, v], "=", logits[i, v])
    .keeping(layer_norm)
    .by_definition("no other row is read"),
    given=y,
    conventions=BIASED,
)

head_mlm.theorem(
    "permutation",
    "Places in another order get their logits in that order",
    claim(head_mlm(each(x[sigma[i], c], i, c), *rest)[i, v], "=", logits[sigma[i], v])
    .keeping(layer_norm)
    .by_definition("row i is now that of place σ(i)"),
    given=sigma,
    conventions=BIASED,
)

head_mlm.theorem(
    "frequency",
    "What is added to the bias of a word is added to its logit at every place",
    claim(head_mlm(x, W, b, gamma, beta, eps, E, each(b_V[v] + z[v], v))[i, v], "=", logits[i, v] + z[v])
    .keeping(layer_norm)
    .by_definition("the bias is added last"),
    given=z,
    conventions=BIASED,
)

head_mlm.theorem(
    "tied",
    "With g the gradient of the logits, the row of a word in the table gets Σ over the places of g times what it was compared "
    "with; what reading the word adds to that comes from the embedding",
    claim(whole.pullback(g, E)[v, c], "=", Sum(g[i, v] * r[i, c], i))
    .keeping(layer_norm)
    .by_definition("the logits are linear in the table"),
    claim(whole.pullback(g, b_V)[v], "=", Sum(g[i, v], i))
    .keeping(layer_norm)
    .by_definition("each bias stands in a logit of every place"),
    given=g,
    conventions=BIASED,
)

head_mlm.theorem(
    "parameters",
    "Besides the table, V·d numbers that are the embedding's too, it has d² + 3·d + V parameters",
    claim(parameters(head_mlm), "=", V * d + d**2 + 3 * d + V).by_definition(
        "the matrix, three vectors of width d, the table and its bias"
    ),
    runs=False,
)
