"""The softmax of a row in logarithms: what each entry has less than the logarithm of the sum of all exponentials."""

from spec.attention.softmax import softmax
from spec.vocabulary import *

(d,) = sizes("d")
i, j = indices(i=d, j=d)

x = data("x", d, meaning="one row of scores, such as the logits of each word")
z = tensor("z", meaning="log-sum-exp: the logarithm of the sum of the exponentials of all scores")
y = tensor("y", d, meaning="the logarithm of each entry's share")

log_softmax = Formula(
    "activation.log_softmax",
    "Log-softmax",
    why="A loss asks for the logarithm of a probability. Taken of the softmax it fails: a share of e⁻²⁰⁰ is 0 in float32, and "
    "its logarithm −∞, though −200 is an ordinary number. So the logarithm is taken on paper first: what is left is the score "
    "less the logarithm of the sum of all exponentials. That sum overflows where a score exceeds 88; with the largest score "
    "subtracted first, and added again behind the logarithm, no exponential exceeds 1 and one of them is 1.",
    sizes={d: "entries of a row"},
    inputs=(x,),
    lines=(define(z, log(Sum(exp(x[j]), j))), define(y[i], x[i] - z)),
    outputs=(y,),
    pitfalls=(
        pitfall(
            "the logarithm of the softmax: a share rounds to 0, and its logarithm is −∞",
            mutant="log_of_the_softmax",
        ),
        pitfall("the largest score not subtracted: exponentials overflow", mutant="log_softmax_naive"),
        pitfall("the largest score subtracted and not added again", mutant="log_softmax_offset_lost"),
        pitfall("over the batch, not over the row", mutant="log_softmax_over_the_batch"),
    ),
    sources=(
        deck(2, "training loss: cross-entropy"),
        paper("blanchard2021", "eq. 1.2 and algorithm 4.1"),
    ),
    worked=(
        Worked(
            "Two equal scores: each has a half, whose logarithm is −0.6931",
            {"x": [1000, 1000]},
            ["-0.6931", "-0.6931"],
            4,
        ),
        Worked(
            "One less by 200: its share is e⁻²⁰⁰, which no float32 holds",
            {"x": [0, -200]},
            ["0.0000", "-200.0000"],
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

g, t = given("g", d), given("t")
pi = given("pi", d, domain="permutation")
(one,) = indices(one=1)
whole = log_softmax(x)
shares = softmax(each(x[j], one, j))

Z = tensor("Z", meaning="the sum of the exponentials")
log_softmax.let(Z, Sum(exp(x[j]), j))

log_softmax.theorem(
    "offset",
    "Any number, subtracted from all scores and added behind the logarithm, changes nothing but the size of the exponentials: "
    "the largest score is taken",
    claim(log_softmax(x).output(z), "=", t + log(Sum(exp(x[j] - t), j)))
    .step(t + (log(Z) - t), "ln Σ e^(x − t) = ln(e⁻ᵗ·Z) = ln Z − t")
    .because("t − t = 0"),
    given=t,
    runs=False,
)

log_softmax.theorem(
    "sums_to_one",
    "Its exponentials sum to 1",
    claim(Sum(exp(y[i]), i), "=", 1)
    .step(Sum(exp(x[i]) / Z, i), "e^(x − ln Z) = eˣ/Z")
    .because("Z does not depend on i, and is positive"),
)

log_softmax.theorem(
    "of_the_softmax",
    "It is the logarithm of the softmax, and its exponential is the softmax",
    claim(y[i], "=", log(shares[0, i])).by_definition("ln(eˣ/Z) = x − ln Z"),
    claim(exp(y[i]), "=", shares[0, i]).by_definition("e^(x − ln Z) = eˣ/Z"),
)

log_softmax.theorem(
    "shift_invariant",
    "Adding a number to all scores changes nothing",
    claim(log_softmax(each(x[j] + t, j))[i], "=", y[i])
    .step(x[i] + t - (t + log(Z)), "ln Σ e^(x + t) = t + ln Z")
    .because("t − t = 0"),
    given=t,
)

log_softmax.theorem(
    "differences",
    "Two entries are as far apart as their scores",
    claim(y[i] - y[j], "=", x[i] - x[j]).by_definition("from both the same is subtracted"),
)

log_softmax.theorem(
    "not_positive",
    "No entry is above 0: no share exceeds 1",
    claim(y[i], "<=", 0).by_definition(
        "Z is at least each of its terms, and the logarithm grows", gap=log(Z) - x[i]
    ),
)

log_softmax.theorem(
    "once",
    "Applied once more it changes nothing",
    claim(log_softmax(y)[i], "=", y[i])
    .step(y[i] - log(Sum(exp(y[j]), j)), "the definition")
    .because("its exponentials sum to 1, and ln 1 = 0"),
)

log_softmax.theorem(
    "permutation_equivariant",
    "Permuting the scores permutes what comes out",
    claim(log_softmax(each(x[pi[j]], j))[i], "=", whole[pi[i]]).by_definition(
        "a permutation meets every entry once, so the sum has the same terms in another order"
    ),
    given=pi,
)

log_softmax.theorem(
    "backward",
    "∂xᵢ = gᵢ − softmax(x)ᵢ·Σ g",
    claim(whole.pullback(g, x)[i], "=", g[i] - shares[0, i] * Sum(g[j], j))
    .step(Sum(g[j] * (delta(i, j) - exp(x[i]) / Z), j), "∂ ln Z/∂xᵢ = e^xᵢ/Z")
    .because("the delta picks j = i; eˣ/Z is the softmax"),
    given=g,
)
