"""The head for whole texts: from the row that stands for a text to a logit for each class."""

from spec.attention.softmax import softmax
from spec.bert.parts import K, W, b, c, d, e, k, linear, one, q
from spec.vocabulary import *

u = data("u", d, meaning="what the pooler makes of the row of [CLS]: it stands for the whole text")
logits = tensor(
    "logits", K, meaning="how much speaks for each class, in logarithms; for a regression, the values"
)

head_sequence = Formula(
    "bert.head_sequence",
    "Head for a text",
    why="How does one model serve tasks as different as sentiment and grammar? The encoder is the same for all; each task adds "
    "one linear layer, from the row that stands for the whole text to a number for each class, and everything is then trained "
    "together for a short while. So few numbers are new that a few thousand examples suffice. With a single class and no softmax "
    "the number itself is the answer, as for a score of similarity.",
    sizes={d: "width of a row", K: "classes; 1 for a regression"},
    inputs=(u, W, b),
    lines=(define(logits[k], linear(u)),),
    outputs=(logits,),
    pitfalls=(
        pitfall("softmax taken in the head, and once more in the loss", mutant="softmax_in_the_head"),
        pitfall(
            "the bias left out: 0 when training begins, so that nothing shows it at first",
            mutant="without_bias",
        ),
        pitfall("a second tanh, since the pooler's was overlooked", mutant="tanh_once_more"),
        pitfall(
            "logits compared across models as if their level meant something: only differences count",
            theorem="level",
        ),
    ),
    sources=(
        deck(2, "fine-tuning: (b) single sentence classification"),
        deck(4, "sequence classification"),
        paper("devlin2019", "section 4.1 and figure 4 (b)"),
    ),
    worked=(
        Worked(
            "Width 2, three classes; the row speaks for the first and against the last",
            {"u": [1, "1/2"], "W": [[2, 0, -1], [0, 2, 0]], "b": [0, -1, "1/2"]},
            ["2.0", "0.0", "-0.5"],
            1,
        ),
    ),
    notes="While it is trained, a dropout stands before the linear layer.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

g, r, a = given("g", K), given("r", d), given("a")
whole = head_sequence(u, W, b)
raised = head_sequence(u, W, each(b[k] + a, k))

head_sequence.theorem(
    "linear",
    "What speaks for a class is linear in the row: two rows added give both, less one bias",
    claim(head_sequence(each(u[c] + r[c], c), W, b)[k], "=", logits[k] + head_sequence(r, W, b)[k] - b[k])
    .step(Sum(u[c] * W[c, k], c) + Sum(r[c] * W[c, k], c) + b[k], "the product distributes over the sum")
    .because("each of the two has the bias once"),
    given=r,
)

head_sequence.theorem(
    "level",
    "Adding one number to all biases changes no probability",
    claim(softmax(each(raised[k], one, k))[0, k], "=", softmax(each(logits[k], one, k))[0, k])
    .step(exp(a) * exp(logits[k]) / (exp(a) * Sum(exp(logits[q]), q)), "every logit grows by a")
    .because("e^a is positive, so it cancels"),
    given=a,
)

head_sequence.theorem(
    "probabilities",
    "The probabilities of all classes, the softmax of the logits, sum to 1",
    claim(Sum(softmax(each(logits[k], one, k))[0, k], k), "=", 1)
    .step(Sum(exp(logits[k]), k) / Sum(exp(logits[q]), q), "the divisor does not depend on the class")
    .because("the divisor is positive, so it cancels"),
    runs=False,
)

head_sequence.theorem(
    "backward",
    "With g the gradient of the logits, the row gets W g, the matrix the products uₑ·gₖ, the bias g",
    claim(whole.pullback(g, u)[e], "=", Sum(W[e, k] * g[k], k)).by_definition(
        "the logits are linear in the row"
    ),
    claim(whole.pullback(g, W)[e, k], "=", u[e] * g[k]).by_definition("the logits are linear in the matrix"),
    claim(whole.pullback(g, b)[k], "=", g[k]).by_definition("each bias stands in one logit"),
    given=g,
)

head_sequence.theorem(
    "parameters",
    "All that is new for a task is d·K + K numbers",
    claim(parameters(head_sequence), "=", d * K + K).by_definition("the sizes of the matrix and the bias"),
    runs=False,
)
