"""The head for single tokens: a logit for each class at each token."""

from spec.bert.head_sequence import head_sequence
from spec.bert.parts import K, W, b, c, d, e, i, j, k, linear, n
from spec.vocabulary import *

x = data("x", n, d, meaning="the encoder's output: for each token what it means in its context")
logits = tensor("logits", n, K, meaning="how much speaks for each class at each token, in logarithms")

head_token = Formula(
    "bert.head_token",
    "Head for tokens",
    why="Names of persons and places, parts of speech: here every word has an answer of its own. The rows of the encoder already "
    "know their context, so that one linear layer serves all of them, the same at every token. Words and tokens are not the "
    "same, however: a word may be several sub-words, and its label belongs to the first of them; what is said of the "
    "others is asked neither in training nor in use.",
    sizes={n: "tokens", d: "width of a row", K: "classes"},
    inputs=(x, W, b),
    lines=(define(logits[i, k], linear(x[i])),),
    outputs=(logits,),
    pitfalls=(
        pitfall("one row for all tokens: that of [CLS]", mutant="cls_for_all"),
        pitfall("answers one token late, since [CLS] was dropped and the labels were not", mutant="one_late"),
        pitfall("the head reads neighbours: it need not, the rows know their context", theorem="by_itself"),
    ),
    sources=(
        deck(2, "fine-tuning: (d) single sentence tagging"),
        deck(4, "token classification"),
        paper("devlin2019", "section 5.3 and figure 4 (d)"),
    ),
    worked=(
        Worked(
            "Two tokens of width 2, two classes",
            {"x": [[1, 0], [0, 1]], "W": [[2, 0], [-1, 1]], "b": [0, "1/2"]},
            [["2.0", "0.5"], ["-1.0", "1.5"]],
            1,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

g, r = given("g", n, K), given("r", n, d)
sigma = given("sigma", n, domain="permutation")
whole = head_token(x, W, b)

head_token.theorem(
    "by_itself",
    "Each token is answered by its own row alone, as a text would be by its one",
    claim(logits[i, k], "=", head_sequence(x[i], W, b)[k]).by_definition("the same linear layer"),
    claim(
        head_token(each(case(eq(j, i), x[j, c], r[j, c]), j, c), W, b)[i, k], "=", logits[i, k]
    ).by_definition("no other row is read"),
    given=r,
)

head_token.theorem(
    "permutation",
    "Tokens in another order get their answers in that order",
    claim(head_token(each(x[sigma[i], c], i, c), W, b)[i, k], "=", logits[sigma[i], k]).by_definition(
        "row i is now that of token σ(i)"
    ),
    given=sigma,
)

head_token.theorem(
    "backward",
    "With g the gradient of the logits, each row gets W g of its own; the matrix and the bias sum over the tokens",
    claim(whole.pullback(g, x)[i, e], "=", Sum(W[e, k] * g[i, k], k)).by_definition("linear in the row"),
    claim(whole.pullback(g, W)[e, k], "=", Sum(x[i, e] * g[i, k], i)).by_definition(
        "one matrix serves all tokens"
    ),
    claim(whole.pullback(g, b)[k], "=", Sum(g[i, k], i)).by_definition("one bias serves all tokens"),
    given=g,
)

head_token.theorem(
    "parameters",
    "It has d·K + K parameters, however many tokens there are",
    claim(parameters(head_token), "=", d * K + K).by_definition("the sizes of the matrix and the bias"),
    runs=False,
)
