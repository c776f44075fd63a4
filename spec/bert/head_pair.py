"""The head for pairs of texts: how they relate, as probabilities."""

from spec.bert.head_sequence import head_sequence
from spec.bert.parts import K, W, b, c, d, k, q
from spec.vocabulary import *

u = data("u", d, meaning="what the pooler makes of [CLS], where two texts were read as one sequence")
logits = tensor("logits", K, meaning="how much speaks for each relation, in logarithms")
p = tensor(
    "p",
    K,
    meaning="the probability of each relation: entailment, contradiction, neither; or follows, does not",
)

head_pair = Formula(
    "bert.head_pair",
    "Head for a pair of texts",
    why="Does one sentence follow from another, do two questions ask the same, does a second part continue a first? Two "
    "encoders, one for each text, would compare summaries; BERT reads both as one sequence, so that every word of one sees every "
    "word of the other in every layer. What is left for the head is what it is for a single text: a linear layer on the row that "
    "stands for the pair. Next sentence prediction is such a head with two classes.",
    sizes={d: "width of a row", K: "relations that a pair can have"},
    inputs=(u, W, b),
    lines=(
        define(logits, head_sequence(u, W, b)),
        define(p[k], exp(logits[k]) / Sum(exp(logits[q]), q)),
    ),
    outputs=(p, logits),
    stored=("logits",),
    pitfalls=(
        pitfall("a sigmoid for each relation: they exclude each other", mutant="sigmoids"),
        pitfall("relations in another order than the labels", mutant="classes_reversed"),
        pitfall("large logits overflow unless the largest is taken off first", theorem="shift_invariant"),
    ),
    sources=(
        deck(0, "fine-tuning: (a) sentence pair classification"),
        deck(2, "fine-tuning: (a) sentence pair classification"),
        paper("devlin2019", "section 4.1 and figure 4 (a)"),
    ),
    worked=(
        Worked(
            "Two relations whose logits differ by 2",
            {"u": [1, 1], "W": [[2, -1], [0, 1]], "b": [0, 0]},
            ["0.8808", "0.1192"],
            4,
        ),
    ),
    notes="The texts are packed by bert.pack: [CLS] A [SEP] B [SEP].",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

g, a = given("g", K), given("a")
whole = head_pair(u, W, b)
total = tensor("total", meaning="sum of the exponentials of the logits")
head_pair.let(total, Sum(exp(logits[q]), q))

head_pair.theorem(
    "sums_to_one",
    "The probabilities of all relations sum to 1",
    claim(Sum(p[k], k), "=", 1)
    .step(Sum(exp(logits[k]), k) / total, "the divisor does not depend on the relation")
    .because("the divisor is positive, so it cancels"),
)

head_pair.theorem(
    "odds",
    "The odds of two relations are the exponential of the difference of their logits",
    claim(p[k], "=", exp(logits[k] - logits[q]) * p[q]).by_definition("both have the same divisor"),
)

head_pair.theorem(
    "shift_invariant",
    "One number added to all biases changes no probability",
    claim(head_pair(u, W, each(b[k] + a, k))[k], "=", p[k])
    .step(exp(a) * exp(logits[k]) / (exp(a) * total), "every logit grows by a")
    .because("e^a is positive, so it cancels"),
    given=a,
)

head_pair.theorem(
    "backward",
    "With g the gradient of the probabilities, the bias gets pₖ·(gₖ − Σ g·p), and the row W times that",
    claim(whole.pullback(g, b)[k], "=", p[k] * (g[k] - Sum(g[q] * p[q], q))).by_definition(
        "the Jacobian of softmax; the bias is added to the logits"
    ),
    claim(whole.pullback(g, u)[c], "=", Sum(p[k] * (g[k] - Sum(g[q] * p[q], q)) * W[c, k], k)).by_definition(
        "the Jacobian of softmax, then the logits are linear in the row"
    ),
    given=g,
)
