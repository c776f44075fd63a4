"""The head for answers that stand in the text: where a span begins, and where it ends."""

from spec.vocabulary import *

n, d = sizes("n d")
i, j, k, l, c = indices(i=n, j=n, k=n, l=n, c=d)

x = data("x", n, d, meaning="the encoder's output: for each token what it means in its context")
w_s = parameter("w_s", d, meaning="what speaks for a token as the first of the answer")
w_e = parameter("w_e", d, meaning="what speaks for a token as the last of the answer")
s = tensor("s", n, meaning="logit of each token as the first of the answer")
t = tensor("t", n, meaning="logit of each token as the last of the answer")
p = tensor("p", n, meaning="probability that the answer begins at each token")
q = tensor("q", n, meaning="probability that the answer ends at each token")
P = tensor(
    "P", n, n, meaning="probability of each span, from its first to its last token; 0 where that comes before"
)

head_span = Formula(
    "bert.head_span",
    "Head for spans",
    why="Where in a text does the answer to a question stand? Classes will not do, since every text has words of its own, and "
    "there are n² spans. Two vectors are enough: one is compared with every token as a possible beginning, the other as a "
    "possible end, and a softmax over the tokens makes probabilities of either. A span has the product of both, which treats its "
    "ends as independent; the best one with its end at or behind its beginning is the answer.",
    sizes={n: "tokens: of the question and of the text", d: "width of a row"},
    inputs=(x, w_s, w_e),
    lines=(
        define(s[i], Sum(x[i, c] * w_s[c], c)),
        define(t[j], Sum(x[j, c] * w_e[c], c)),
        define(p[i], exp(s[i]) / Sum(exp(s[l]), l)),
        define(q[j], exp(t[j]) / Sum(exp(t[l]), l)),
        define(P[i, j], case(le(i, j), p[i] * q[j])),
    ),
    outputs=(s, t, P),
    stored=("s", "t", "p", "q"),
    pitfalls=(
        pitfall(
            "the likeliest beginning and the likeliest end, each by itself: the end may come first",
            theorem="forward",
        ),
        pitfall("a span of one token left out", mutant="one_token_excluded"),
        pitfall("beginning and end exchanged", mutant="ends_exchanged"),
        pitfall(
            "softmax over beginning and end at each token, instead of over the tokens", mutant="over_the_ends"
        ),
    ),
    sources=(
        deck(0, "fine-tuning: (c) question answering"),
        deck(2, "fine-tuning: (c) question answering"),
        paper("devlin2019", "section 4.2"),
    ),
    worked=(
        Worked(
            "Three tokens; beginnings score (0, 1, 0), ends (1, 0, 0). The likeliest beginning is token 1, the likeliest end "
            "token 0, which is no span: the best are 0 to 0, 1 to 1 and 1 to 2, all alike",
            {"x": [[0, 1], [1, 0], [0, 0]], "w_s": [1, 0], "w_e": [0, 1]},
            [["0.1221", "0.0449", "0.0449"], ["0.0000", "0.1221", "0.1221"], ["0.0000", "0.0000", "0.0449"]],
            4,
            output="P",
        ),
    ),
    notes="A bias added to all beginnings, or to all ends, changes no probability; implementations that have one may set it to "
    "0. Since every span is forward, the probabilities of all sum to less than 1.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

Z_s = tensor("Z_s", meaning="sum of the exponentials of all beginnings")
Z_e = tensor("Z_e", meaning="sum of the exponentials of all ends")
head_span.let(Z_s, Sum(exp(s[l]), l))
head_span.let(Z_e, Sum(exp(t[l]), l))
score = exp(s[i] + t[j]) / (Z_s * Z_e)

head_span.theorem(
    "forward",
    "No span ends before it begins",
    claim(P[i, j], "=", 0, where=lt(j, i)).by_definition("so it is defined"),
)

head_span.theorem(
    "scores",
    "A span is as likely as its score says, the sum of its two logits: of two spans the one of the larger score is the likelier",
    claim(P[i, j], "=", score, where=le(i, j))
    .step(exp(s[i]) / Z_s * (exp(t[j]) / Z_e), "the definition")
    .because("e^s·e^t = e^(s + t)"),
    claim(P[i, j], "=", exp((s[i] + t[j]) - (s[k] + t[l])) * P[k, l], where=le(i, j) & le(k, l))
    .step(
        exp((s[i] + t[j]) - (s[k] + t[l])) * (exp(s[k] + t[l]) / (Z_s * Z_e)), "both have the same divisors"
    )
    .because("the definition"),
)

head_span.theorem(
    "probabilities",
    "The probabilities of all beginnings sum to 1, those of all ends too; no span is likelier than its beginning",
    claim(Sum(p[i], i), "=", 1)
    .step(Sum(exp(s[i]), i) / Z_s, "the divisor does not depend on the token")
    .because("the divisor is positive, so it cancels"),
    claim(Sum(q[j], j), "=", 1)
    .step(Sum(exp(t[j]), j) / Z_e, "the divisor does not depend on the token")
    .because("the divisor is positive, so it cancels"),
    claim(P[i, j], "<=", p[i])
    .at_most(
        p[i] * q[j], "a span that ends before it begins has probability 0", gap=case(lt(j, i), p[i] * q[j])
    )
    .because("all ends but one are left", gap=p[i] * Sum(exp(t[l]), l, where=~eq(l, j)) / Z_e),
    runs=False,
)
