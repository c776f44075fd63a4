"""What ELMo's language model is trained for: to tell each word from those before it, and from those after it."""

from spec.attention.softmax import softmax
from spec.vocabulary import *

T, V = sizes("T V")
k, v = indices(k=T, v=V)

ids = data("ids", T, domain="integer", below=V, meaning="the word that stands at each place")
s_f = data("s_f", T, V, meaning="scores of a model that has read what comes before each place")
s_b = data("s_b", T, V, meaning="scores of a model that has read what comes after each place")
forward = tensor("forward", T, meaning="log-probability of the word, from what comes before")
backward = tensor("backward", T, meaning="log-probability of the word, from what comes after")
J = tensor("J", meaning="what training raises")


def log_probability(s: Tensor) -> Node:
    """The logarithm of the softmax of the scores at place k, at the word that stands there."""
    return s[k, ids[k]] - log(Sum(exp(s[k, v]), v))


bilm_objective = Formula(
    "recurrent.bilm_objective",
    "Objective of the bidirectional language model",
    why="How can a language model be trained on both sides of a word? A model that reads both and tells the word would find it "
    "among what it reads, and learn nothing. So there are two: one tells each word from those before it, one from those after "
    "it, and what both log-probabilities come to over the text is raised together. Text is all that this takes, no labels.",
    sizes={T: "words of the text", V: "words of the vocabulary"},
    inputs=(ids, s_f, s_b),
    lines=(
        define(forward[k], log_probability(s_f)),
        define(backward[k], log_probability(s_b)),
        define(J, Sum(forward[k] + backward[k], k)),
    ),
    outputs=(J,),
    stored=("forward", "backward"),
    pitfalls=(
        pitfall("backward scores are left last word first", mutant="backward_reversed"),
        pitfall("scores held against the word after the one that they are for", mutant="next_word"),
        pitfall("the softmax rounds to 0, and its logarithm is −∞", mutant="logarithm_of_the_softmax"),
        pitfall("a mean over the places where a sum is stated", mutant="mean_over_positions"),
    ),
    sources=(deck(1, "ELMo"), deck(3, "ELMo"), paper("peters2018", "section 3.1")),
    worked=(
        Worked(
            "Two words of a vocabulary of two, and models that know nothing: four times ln ½",
            {"ids": [0, 1], "s_f": [[0, 0], [0, 0]], "s_b": [[0, 0], [0, 0]]},
            "-2.7726",
            4,
        ),
        Worked(
            "The forward model scores each right word 1 higher: twice ln(e/(e + 1)), and twice ln ½",
            {"ids": [0, 1], "s_f": [[1, 0], [0, 1]], "s_b": [[0, 0], [0, 0]]},
            "-2.0128",
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

g, c = given("g"), given("c", T)
objective = bilm_objective(ids, s_f, s_b)

Z_f = tensor("Z_f", T, meaning="sum of the exponentials of the forward scores at a place")
Z_b = tensor("Z_b", T, meaning="sum of the exponentials of the backward scores at a place")
bilm_objective.let(Z_f[k], Sum(exp(s_f[k, v]), v))
bilm_objective.let(Z_b[k], Sum(exp(s_b[k, v]), v))

own_f, own_b = log(softmax(s_f)[k, ids[k]]), log(softmax(s_b)[k, ids[k]])
short = (log(Z_f[k]) - s_f[k, ids[k]]) + (log(Z_b[k]) - s_b[k, ids[k]])

bilm_objective.theorem(
    "two_models",
    "The objective is the sum of two log-likelihoods of the same words: under the softmax of s_f, and under the softmax of s_b",
    claim(J, "=", Sum(own_f, k) + Sum(own_b, k))
    .step(Sum(own_f + own_b, k), "the logarithm of a softmax is the score less ln Σ exp")
    .because("the sum split"),
)

bilm_objective.theorem(
    "not_positive",
    "The objective is at most 0: no probability exceeds 1",
    claim(J, "<=", 0)
    .step(-Sum(short, k), "the signs turned")
    .because("a sum of exponentials is at least each of them, and the logarithm grows", gap=Sum(short, k)),
)

bilm_objective.theorem(
    "shift_invariant",
    "Adding a number to all scores of a position changes nothing",
    claim(bilm_objective(ids, each(s_f[k, v] + c[k], k, v), s_b), "=", J)
    .step(Sum(s_f[k, ids[k]] + c[k] - (c[k] + log(Z_f[k])) + backward[k], k), "ln(exp(c)·Z) = c + ln Z")
    .because("c cancels"),
    given=c,
)

bilm_objective.theorem(
    "gradient",
    "The gradient with respect to the scores is one-hot less softmax, in each direction",
    *(
        claim(objective.pullback(g, s)[k, v], "=", g * (delta(v, ids[k]) - softmax(s)[k, v]))
        .step(g * (delta(v, ids[k]) - exp(s[k, v]) / Z[k]), "the derivative of ln Z is that of Z over Z")
        .because("the quotient is the softmax")
        for s, Z in ((s_f, Z_f), (s_b, Z_b))
    ),
    given=g,
)
