"""BERT's pooler: one vector for the whole input, made of its first token."""

from spec.transformer.parts import d_model, n
from spec.vocabulary import *

j, l, u = indices(j=n, l=d_model, u=d_model)

x = data("x", n, d_model, meaning="the last hidden states: one row for each token, that of [CLS] first")
W = parameter("W", d_model, d_model, meaning="reads from the first row what the task needs")
b = parameter("b", d_model, meaning="its bias")
c = tensor("c", d_model, meaning="the vector of the whole input")

pooler = Formula(
    "bert.pooler",
    "BERT's pooler",
    why="Which vector stands for a whole sentence, or a pair? Each token has a row of its own, and none is the sentence's. BERT "
    "puts a token [CLS] before every input that means nothing by itself: whatever its row holds at the end, it has gathered from "
    "the others. A dense layer with tanh makes one vector of that row, which the heads for sentences and pairs read; it was "
    "trained with next sentence prediction.",
    sizes={n: "tokens", d_model: "width of a row"},
    inputs=(x, W, b),
    lines=(define(c[l], tanh(Sum(x[0, u] * W[u, l], u) + b[l])),),
    outputs=(c,),
    pitfalls=(
        pitfall("the tanh forgotten: invisible at small rows", mutant="pooled_without_tanh"),
        pitfall("the last token instead of the first, as GPT has it", mutant="last_token_pooled"),
        pitfall("the mean of all tokens, padding included", mutant="mean_pooled"),
        pitfall("other tokens expected to count: only the first is read", theorem="first_token"),
    ),
    sources=(
        deck(2, "how to use BERT (fine-tuning): the class label at [CLS]"),
        paper("devlin2019", "section 3"),
    ),
    worked=(
        Worked(
            "The first of two tokens, (1, 0): tanh 1 and tanh −1",
            {"x": [[1, 0], [5, 5]], "W": [[1, -2], [0, 3]], "b": [0, 1]},
            ["0.7616", "-0.7616"],
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

x_other, g = given("x_other", n, d_model), given("g", d_model)
whole = pooler(x, W, b)

pooler.theorem(
    "first_token",
    "No token but the first has any influence, or gets a gradient",
    claim(pooler(each(case(eq(j, 0), x[j, u], x_other[j, u]), j, u), W, b)[l], "=", c[l]).by_definition(
        "the first row alone is read"
    ),
    claim(whole.pullback(g, x)[j, u], "=", 0, where=lt(0, j)).by_definition("the first row alone is read"),
    given=(x_other, g),
)

pooler.theorem(
    "bounded",
    "Every entry lies between −1 and 1",
    claim(absolute(c[l]), "<", 1).by_definition("a hyperbolic tangent does"),
    runs=False,
)

pooler.theorem(
    "backward",
    "Where an entry is near −1 or 1 little gradient passes: with g that of the vector, the bias gets g·(1 − c²)",
    claim(whole.pullback(g, b)[l], "=", g[l] * (1 - c[l] ** 2)).by_definition("the derivative of tanh"),
    given=g,
)

pooler.theorem(
    "parameters",
    "It has (d_model + 1)·d_model parameters",
    claim(parameters(pooler), "=", (d_model + 1) * d_model).by_definition("a matrix and a bias"),
    runs=False,
)
