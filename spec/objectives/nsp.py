"""The loss of next sentence prediction: binary cross entropy of two logits."""

from spec.attention.softmax import softmax
from spec.vocabulary import *

(m,) = sizes("m")
k, c, e = indices(k=m, c=2, e=2)

z = data(
    "z",
    m,
    2,
    meaning="logits of each pair: z[k, 0] speaks for its parts following each other, z[k, 1] against",
)
y = data(
    "y", m, domain="integer", below=2, meaning="0 where the second part is the next one, 1 where it is random"
)
log_p = tensor("log_p", m, 2, meaning="logarithm of the probability that the model gives each answer")
L = tensor("L", meaning="mean cost of a pair: what pre-training lowers")

nsp = Formula(
    "objectives.nsp",
    "The loss of next sentence prediction",
    why="Masked words teach a model about words within a text, but questions and answers, premises and conclusions are pairs of "
    "texts. So BERT is shown two parts and asked, of the row that stands for the whole pair, whether the second part follows the "
    "first: yes or no, two logits and their cross entropy. RoBERTa left the task out and lost nothing, since telling two "
    "subjects apart is easy.",
    sizes={m: "pairs"},
    inputs=(z, y),
    lines=(
        define(log_p[k, c], z[k, c] - log(Sum(exp(z[k, e]), e))),
        define(L, -Sum(log_p[k, y[k]], k) / m),
    ),
    outputs=(L,),
    stored=("log_p",),
    pitfalls=(
        pitfall(
            "the labels the other way: 0, not 1, says that the second part follows", mutant="labels_swapped"
        ),
        pitfall("two sigmoids, one for each logit, where one softmax belongs", mutant="two_sigmoids"),
        pitfall("the sum over the pairs for their mean", mutant="summed"),
        pitfall("large logits overflow unless their difference is taken first", theorem="difference"),
    ),
    sources=(
        deck(2, "next sentence prediction"),
        deck(4, "NSP: binary classification head and binary cross-entropy"),
        paper("devlin2019", "section 3.1, task 2"),
    ),
    worked=(
        Worked(
            "Two pairs, both right by 1: ln(1 + 1/e) each",
            {"z": [[1, 0], [2, 3]], "y": [0, 1]},
            "0.3133",
            4,
        ),
        Worked("A model that knows nothing: ln 2", {"z": [[4, 4]], "y": [1]}, "0.6931", 4),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

g, a = given("g"), given("a", m)
whole = nsp(z, y)
Z = tensor("Z", m, meaning="sum of the exponentials of a pair's logits")
nsp.let(Z[k], Sum(exp(z[k, e]), e))

nsp.theorem(
    "cross_entropy",
    "It is the mean of minus the logarithm of the probability that the right answer gets: the cross entropy of two words",
    claim(L, "=", -Sum(log(softmax(z)[k, y[k]]), k) / m)
    .step(Sum(log(Z[k]) - z[k, y[k]], k) / m, "the definition")
    .because("ln(e^z/Z) = z − ln Z"),
)

nsp.theorem(
    "difference",
    "Only the difference of a pair's logits counts: it is the logarithm of the odds that the second part follows",
    claim(log_p[k, 0] - log_p[k, 1], "=", z[k, 0] - z[k, 1]).by_definition("both lack the same ln Z"),
    claim(nsp(each(z[k, c] + a[k], k, c), y), "=", L)
    .step(-Sum((z[k, y[k]] + a[k]) - log(exp(a[k]) * Z[k]), k) / m, "e^(z + a) = e^a·e^z")
    .because("ln(e^a·Z) = a + ln Z"),
    given=a,
)

nsp.theorem(
    "gradient",
    "The gradient is softmax less the answer, over the number of pairs; the two logits of a pair get opposite ones",
    claim(whole.pullback(g, z)[k, c], "=", g * (exp(log_p[k, c]) - delta(c, y[k])) / m)
    .step(g / m * (exp(z[k, c]) / Z[k] - delta(c, y[k])), "a pair costs ln Z − z[y], and ∂ ln Z/∂z = e^z/Z")
    .because("e^(z − ln Z) = e^z/Z"),
    claim(Sum(whole.pullback(g, z)[k, c], c), "=", 0)
    .step(
        g / m * (Sum(exp(z[k, c]), c) / Z[k] - Sum(delta(c, y[k]), c)),
        "e^z/Z for each of the two, and 1 for the right answer",
    )
    .because("1 − 1: the probabilities sum to 1, and one answer is right"),
    given=g,
)

nsp.theorem(
    "nothing_known",
    "Where both logits of every pair are alike, it is ln 2",
    claim(nsp(each(a[k], k, c), y), "=", log(2))
    .step(Sum(log(2 * exp(a[k])) - a[k], k) / m, "e^a + e^a = 2·e^a")
    .because("ln(2·e^a) = ln 2 + a, and the pairs are m"),
    given=a,
)
