"""The autoregressive model of a text: its probability, word by word."""

from spec.attention.softmax import softmax
from spec.objectives.cross_entropy import cross_entropy
from spec.vocabulary import *

T, V = sizes("T V")
(t,) = indices(t=T)
v, w, b = indices(v=V, w=V, b=V)

s = data(
    "s",
    T,
    V,
    meaning="logits of a model that has read the words before each place (and whatever x it is given)",
)
y = data("y", T, domain="integer", below=V, meaning="the word that stands at each place")
log_p = tensor("log_p", T, meaning="log-probability of the word, given those before it")
log_P = tensor("log_P", meaning="log-probability of the text")

autoregressive = Formula(
    "objectives.autoregressive",
    "Probability of a text, word by word",
    why="How can a network that chooses among V words give a probability to a text of any length? There are too many texts to "
    "list, but each is its first word, then its second given the first, and so on: the chain rule of probability, with "
    "nothing assumed. So one conditional law suffices, of the next word given all before it (and given x, what is to be "
    "translated or answered), and the probabilities of all texts of a length sum to 1 by themselves. Logarithms turn the "
    "product, which soon underflows, into a sum.",
    sizes={T: "words of the text", V: "words of the vocabulary"},
    inputs=(s, y),
    lines=(
        define(log_p[t], s[t, y[t]] - log(Sum(exp(s[t, v]), v))),
        define(log_P, Sum(log_p[t], t)),
    ),
    outputs=(log_P,),
    stored=("log_p",),
    pitfalls=(
        pitfall(
            "probabilities multiplied before the logarithm: the product underflows",
            mutant="logarithm_of_the_product",
        ),
        pitfall(
            "logits held against the word that they were computed from, not the next one", mutant="one_late"
        ),
        pitfall(
            "the mean over the words, which is comparable between lengths, taken for the sum",
            mutant="mean_over_words",
        ),
    ),
    sources=(deck(1, "language models"), deck(2, "sequence to sequence"), paper("bengio2003", "section 1.1")),
    worked=(
        Worked(
            "Two words of a vocabulary of two, and a model that knows nothing: a quarter",
            {"s": [[0, 0], [0, 0]], "y": [0, 1]},
            "-1.3863",
            4,
        ),
        Worked(
            "The model scores each right word 1 higher: twice ln(e/(e + 1))",
            {"s": [[1, 0], [0, 1]], "y": [0, 1]},
            "-0.6265",
            4,
        ),
    ),
    notes="For each length there is one law. A token that ends the text, at which every text stops, makes one of all lengths "
    "together: see the procedures of decoding.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

m, k = sizes("m k")
g, c = given("g"), given("c", T)
r, R = given("r", V), given("R", V, V)
whole = autoregressive(s, y)

Z = tensor("Z", T, meaning="sum of the exponentials of the logits at a place")
autoregressive.let(Z[t], Sum(exp(s[t, v]), v))

autoregressive.theorem(
    "first_word",
    "The probability of a text of one word is the softmax of the logits, at that word",
    claim(exp(log_P), "=", softmax(s)[0, y[0]])
    .step(exp(s[0, y[0]]) / Z[0], "e^(s − ln Z) = e^s/Z")
    .because("the definition of the softmax"),
    sizes={T: Rational(1)},
)

autoregressive.theorem(
    "chain_rule",
    "A text is its beginning and what follows: the probability is the product, its logarithm the sum",
    claim(log_P, "=", autoregressive(s[:m], y[:m]) + autoregressive(s[m:], y[m:])).by_definition(
        "the sum split at m"
    ),
    claim(exp(log_P), "=", exp(autoregressive(s[:m], y[:m])) * exp(autoregressive(s[m:], y[m:])))
    .step(exp(autoregressive(s[:m], y[:m]) + autoregressive(s[m:], y[m:])), "the sum split at m")
    .because("e^(x + y) = e^x·e^y"),
    sizes={T: m + k},
)

autoregressive.theorem(
    "last_word",
    "Summed over the last word, the probability is that of the words before it",
    claim(
        Sum(exp(autoregressive(s, each(case(eq(t, m), w, y[t]), t))), w),
        "=",
        exp(autoregressive(s[:m], y[:m])),
    )
    .step(
        exp(autoregressive(s[:m], y[:m])) * Sum(exp(s[m, w]) / Z[m], w),
        "the chain rule; only the last factor has w",
    )
    .because("the last conditional law sums to 1"),
    sizes={T: m + 1},
)

autoregressive.theorem(
    "sums_to_one",
    "The probabilities of all texts of two words sum to 1, whatever the laws of the first word and of the second given it",
    claim(
        Sum(
            exp(autoregressive(each(case(lt(t, 1), r[v], R[w, v]), t, v), each(case(lt(t, 1), w, b), t))),
            w,
            b,
        ),
        "=",
        1,
    )
    .step(
        Sum(exp(r[w]) / Sum(exp(r[v]), v) * Sum(exp(R[w, b]) / Sum(exp(R[w, v]), v), b), w),
        "the chain rule: the first word w, then b given w",
    )
    .because("each law sums to 1"),
    given=(r, R),
    sizes={T: Rational(2)},
)

autoregressive.theorem(
    "not_positive",
    "The logarithm is at most 0: no probability exceeds 1",
    claim(log_P, "<=", 0)
    .step(-Sum(log(Z[t]) - s[t, y[t]], t), "the signs turned")
    .because(
        "a sum of exponentials is at least each of them, and the logarithm grows",
        gap=Sum(log(Z[t]) - s[t, y[t]], t),
    ),
)

autoregressive.theorem(
    "cross_entropy",
    "It is −T times the cross entropy of the words, without smoothing",
    claim(log_P, "=", -T * cross_entropy(s, each(y[t], t), 0))
    .step(-T * (Sum(log(Z[t]) - s[t, y[t]], t) / T), "the signs turned")
    .because("every place has a target, so that T are counted"),
)

autoregressive.theorem(
    "shift_invariant",
    "Adding a number to all logits of a place changes nothing",
    claim(autoregressive(each(s[t, v] + c[t], t, v), y), "=", log_P)
    .step(Sum(s[t, y[t]] + c[t] - (c[t] + log(Z[t])), t), "ln(e^c·Z) = c + ln Z")
    .because("c cancels"),
    given=c,
)

autoregressive.theorem(
    "gradient",
    "The gradient with respect to the logits is one-hot less softmax",
    claim(whole.pullback(g, s)[t, v], "=", g * (delta(v, y[t]) - softmax(s)[t, v]))
    .step(g * (delta(v, y[t]) - exp(s[t, v]) / Z[t]), "the derivative of ln Z is that of Z over Z")
    .because("the quotient is the softmax"),
    given=g,
)
