"""Cross entropy: how badly a model's distributions fit the words that stood there."""

from typing import Any

from spec.attention.softmax import softmax
from spec.vocabulary import *

T, V = sizes("T V")
t, l = indices(t=T, l=T)
v, w = indices(v=V, w=V)

s = data("s", T, V, meaning="logits: a score of each word at each place")
y = data(
    "y", T, domain="label", below=V, meaning="target: the word that stood there; −100 where none is asked"
)
epsilon = number(
    "epsilon", "share", meaning="label smoothing: the share of a target that is spread over the words"
)
log_p = tensor("log_p", T, V, meaning="logarithm of the probability that the model gives each word")
loss = tensor("loss", T, meaning="what each target costs; 0 where none is asked")
count = tensor("count", domain="nonnegative", meaning="number of places with a target")
L = tensor("L", meaning="mean cost of a target: what training lowers")

NONE_ASKED = Convention(
    "none_asked",
    {
        "zero": "without a single target the loss is 0, and so is its gradient",
        "unspecified": "nothing is said about the loss without a target (0/0 and NaN included)",
    },
    default="zero",
)
SMOOTHING = Convention(
    "smoothing",
    {
        "all": "ε is spread over all V words, the target's own among them",
        "others": "ε is spread over the V − 1 other words: as ε·V/(V − 1) over all; nothing is said of a single word",
        "but_padding": "word 0 is padding: nothing is asked where it is the target, and ε is spread over the V − 2 words that "
        "are neither it nor the target; nothing is said of fewer than three words",
    },
    default="all",
)
DIVERGENCE = Convention(
    "divergence",
    {
        "cross_entropy": "what a target costs",
        "kl": "less the entropy of the smoothed target, which no model can change: 0 where the probabilities are the target's",
    },
    default="cross_entropy",
)


def has_target(place: Index) -> Node:
    """The condition that a place has a target."""
    word = le(0, y[place])
    return by_convention("smoothing", all=word, others=word, but_padding=lt(0, y[place]))


def surprise(share: Any) -> Node:
    """A probability times its logarithm, 0 for none."""
    return case(lt(0, share), share * log(share))


some_asked = Some(has_target(l), l)
every = Sum(log_p[t, v], v)
spread = by_convention(
    "smoothing",
    all=every / V,
    others=case(lt(1, V), (every - log_p[t, y[t]]) / (V - 1), Undefined()),
    but_padding=case(lt(2, V), (every - log_p[t, y[t]] - log_p[t, 0]) / (V - 2), Undefined()),
)
rest = by_convention(
    "smoothing",
    all=surprise(1 - epsilon + epsilon / V) + (V - 1) * surprise(epsilon / V),
    others=surprise(1 - epsilon) + case(lt(1, V), (V - 1) * surprise(epsilon / (V - 1)), Undefined()),
    but_padding=surprise(1 - epsilon) + case(lt(2, V), (V - 2) * surprise(epsilon / (V - 2)), Undefined()),
)
smoothed = -(1 - epsilon) * log_p[t, y[t]] - epsilon * spread

cross_entropy = Formula(
    "objectives.cross_entropy",
    "Cross entropy",
    why="How is a model that gives every word a probability told how wrong it is? By what the words that did occur cost: minus "
    "the logarithm of the probability that it gave each of them, so that being sure of the wrong word is costly, and the mean "
    "is least where the probabilities are those of the text. Places where nothing is asked (padding; in masked language "
    "modelling, every word that stayed in sight) take no part, in the sum or in the count. Label smoothing moves a share of "
    "each target to all words alike, so that no logit has to grow without end.",
    sizes={T: "places", V: "words of the vocabulary"},
    inputs=(s, y, epsilon),
    lines=(
        define(log_p[t, v], s[t, v] - log(Sum(exp(s[t, w]), w))),
        define(
            loss[t],
            case(has_target(t), by_convention("divergence", cross_entropy=smoothed, kl=smoothed + rest)),
        ),
        define(count, Sum(1, t, where=has_target(t))),
        define(
            L,
            by_convention(
                "none_asked",
                zero=case(some_asked, Sum(loss[t], t) / count),
                unspecified=case(some_asked, Sum(loss[t], t) / count, Undefined()),
            ),
        ),
    ),
    outputs=(L,),
    conventions=(NONE_ASKED, SMOOTHING, DIVERGENCE),
    stored=("log_p", "loss"),
    pitfalls=(
        pitfall(
            "a batch without a single target: 0/0 is NaN, and one such batch spoils the weights",
            convention="none_asked",
        ),
        pitfall(
            "ignored places divide as well: the loss shrinks with the padding", mutant="ignored_in_the_count"
        ),
        pitfall("ignored places pay the smoothing", mutant="ignored_pay_smoothing"),
        pitfall(
            "three laws of one name: the share among all words, among the others, or among those that are no padding",
            convention="smoothing",
        ),
        pitfall(
            "a divergence compared with a cross entropy: less by the target's entropy",
            convention="divergence",
        ),
        pitfall("the softmax rounds to 0, and its logarithm is −∞", mutant="logarithm_of_the_softmax"),
    ),
    sources=(
        deck(2, "training loss: cross-entropy"),
        deck(4, "fine-tuning: cross-entropy loss"),
        paper("szegedy2016", "section 7: label smoothing"),
        paper("vaswani2017", "section 5.4"),
    ),
    worked=(
        Worked(
            "Two words, and a model that knows nothing: ln 2 for each of two targets; the third place is not asked",
            {"s": [[0, 0], [5, 5], [1, 7]], "y": [0, 1, -100], "epsilon": 0},
            "0.6931",
            4,
        ),
        Worked(
            "The target scores 1 more and costs ln(1 + 1/e) = 0.3133; with a tenth smoothed a twentieth of it goes to the other "
            "word, which costs 1 more: 0.05 besides",
            {"s": [[1, 0]], "y": [0], "epsilon": Rational(1, 10)},
            "0.3633",
            4,
        ),
        Worked(
            "Four words, of which 0 is padding, and a model that knows nothing: ln 4, less the entropy of (4/5, 1/10, 1/10)",
            {"s": [[0, 0, 0, 0], [1, 2, 3, 4]], "y": [1, 0], "epsilon": Rational(1, 5)},
            "0.7473",
            4,
            conventions={"smoothing": "but_padding", "divergence": "kl"},
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

PLAIN = {epsilon: 0}
COST = {"divergence": "cross_entropy"}
OVER_ALL = {"smoothing": "all", **COST}
g, c = given("g"), given("c", T)
a, x = given("a", V, domain="positive"), given("x", V)
r = given("r", T, V)
whole = cross_entropy(s, y, epsilon)
p = softmax(s)

Z = tensor("Z", T, meaning="sum of the exponentials of the logits at a place")
q = tensor("q", T, V, meaning="smoothed target: 1 − ε of the word that stood there, ε of all words alike")
cross_entropy.let(Z[t], Sum(exp(s[t, w]), w))
cross_entropy.let(q[t, v], case(has_target(t), (1 - epsilon) * delta(v, y[t]) + epsilon / V))

lack = log(Z[t]) - s[t, y[t]]
mean_lack = Sum(lack, t, where=has_target(t)) / count


def cost(logit: Node) -> Node:
    """What word v costs, where it is all that is asked and the logits are these, by word."""
    return cross_entropy(each(logit, t, v), each(v, t), 0).as_node()


A = Sum(a[v], v)
drawn = a[v] / A
entropy = -Sum(drawn * log(drawn), v)

cross_entropy.theorem(
    "gradient",
    "The gradient with respect to the logits is softmax less smoothed target over the count; 0 where nothing is asked",
    claim(whole.pullback(g, s)[t, v], "=", g * (p[t, v] - q[t, v]) / count, where=has_target(t))
    .step(
        g / count * (exp(s[t, v]) / Z[t] - (1 - epsilon) * delta(v, y[t]) - epsilon / V),
        "the cost of a target is ln Z − (1 − ε)·s[y] − ε·mean(s), and the derivative of ln Z is e^s/Z",
    )
    .because("e^s/Z is the softmax"),
    claim(whole.pullback(g, s)[t, v], "=", 0, where=some_asked & ~has_target(t)).by_definition(
        "no line reads the logits there"
    ),
    given=g,
    conventions=OVER_ALL,
)

cross_entropy.theorem(
    "ignored_without_influence",
    "The logits at places where nothing is asked do not matter",
    claim(
        cross_entropy(each(case(has_target(t), s[t, v], r[t, v]), t, v), y, epsilon), "=", L, where=some_asked
    ).by_definition("no line reads the logits there"),
    given=r,
    conventions=OVER_ALL,
)

cross_entropy.theorem(
    "shift_invariant",
    "Adding a number to all logits of a place changes nothing",
    claim(cross_entropy(each(s[t, v] + c[t], t, v), y, epsilon), "=", L, where=some_asked)
    .step(
        Sum(
            (c[t] + log(Z[t])) - (1 - epsilon) * (s[t, y[t]] + c[t]) - epsilon * Sum(s[t, v] + c[t], v) / V,
            t,
            where=has_target(t),
        )
        / count,
        "ln Σ exp(s + c) = c + ln Z",
    )
    .because("c − (1 − ε)·c − ε·c = 0"),
    given=c,
    conventions=OVER_ALL,
)

cross_entropy.theorem(
    "unsmoothed",
    "At ε = 0 it is the mean of the negative log-probabilities of the targets",
    claim(L, "=", -Sum(log(p[t, y[t]]), t, where=has_target(t)) / count, where=some_asked)
    .step(Sum(log(Z[t]) - s[t, y[t]], t, where=has_target(t)) / count, "the definition; ε = 0")
    .because("ln(e^s/Z) = s − ln Z"),
    at=PLAIN,
    conventions=OVER_ALL,
)

cross_entropy.theorem(
    "smoothing",
    "It is (1 − ε) of the plain loss, and ε of the mean cost of all words",
    claim(
        L,
        "=",
        (1 - epsilon) * cross_entropy(s, y, 0)
        - epsilon * (Sum(Sum(log_p[t, v], v) / V, t, where=has_target(t)) / count),
        where=some_asked,
    ).by_definition("the sum over the places split"),
    conventions=OVER_ALL,
)

cross_entropy.theorem(
    "not_negative",
    "The plain loss is at least 0: no probability exceeds 1",
    claim(0, "<=", L, where=some_asked)
    .step(L - mean_lack, "the definition; ε = 0")
    .because("a sum of exponentials is at least each of them, and the logarithm grows", gap=mean_lack),
    at=PLAIN,
    conventions=OVER_ALL,
)

cross_entropy.theorem(
    "at_least_entropy",
    "Words drawn by the law a/Σa cost on average at least its entropy, whatever the logits ln a + x; at x = 0, just that",
    claim(entropy, "<=", Sum(drawn * cost(log(a[v]) + x[v]), v))
    .step(
        Sum(drawn * cost(log(a[v]) + x[v]), v) - (log(Sum(a[v] * exp(x[v]), v) / A) - Sum(drawn * x[v], v)),
        "a word costs ln Σ a·e^x − ln a − x",
    )
    .because(
        "with m = Σ a·x / Σ a, the mean of x under the law: Σ a·e^(x − m) ≥ Σ a·(1 + x − m) = Σ a",
        gap=log(Sum(a[v] * exp(x[v]), v) / A) - Sum(drawn * x[v], v),
    ),
    claim(Sum(drawn * cost(log(a[v])), v), "=", entropy).by_definition("the softmax of ln a is a/Σa"),
    given=(a, x),
    sizes={T: Rational(1)},
    at=PLAIN,
    conventions=OVER_ALL,
)

cross_entropy.theorem(
    "nothing_known",
    "Where all logits of a place are alike, a target costs ln V, whatever the smoothing",
    claim(cross_entropy(each(c[t], t, v), y, epsilon), "=", log(V), where=some_asked)
    .step(
        Sum(log(V * exp(c[t])) - c[t], t, where=has_target(t)) / count,
        "(1 − ε)·c + ε·c = c, and Σ e^c = V·e^c",
    )
    .because("ln(V·e^c) = ln V + c, and the count cancels"),
    given=c,
    conventions=OVER_ALL,
)

cross_entropy.theorem(
    "none_asked",
    "Without a target the loss is 0, and so is its gradient",
    claim(L, "=", 0, where=~some_asked).by_definition("the convention"),
    claim(whole.pullback(g, s)[t, v], "=", 0, where=~some_asked).by_definition(
        "the loss does not depend on the logits there"
    ),
    given=g,
    conventions={"none_asked": "zero", **OVER_ALL},
)

share = epsilon * V / (V - 1)
cross_entropy.theorem(
    "others",
    "Spread over the other words, ε costs what ε·V/(V − 1) costs spread over all",
    claim(
        L,
        "=",
        (1 - share) * cross_entropy(s, y, 0)
        - share * (Sum(Sum(log_p[t, v], v) / V, t, where=has_target(t)) / count),
        where=some_asked & lt(1, V),
    ).by_definition("the sum over the places splits, and ε + ε/(V − 1) = ε·V/(V − 1)"),
    conventions={"smoothing": "others", **COST},
)

cross_entropy.theorem(
    "padding",
    "Where word 0 is padding and every target, nothing is asked and the loss is 0",
    claim(cross_entropy(s, each(0, t), epsilon), "=", 0).by_definition("no place has a target"),
    conventions={"none_asked": "zero", "smoothing": "but_padding"},
)

cross_entropy.theorem(
    "equal_costs",
    "Where all logits are alike the divergence is ln V less the entropy of the smoothed target",
    claim(
        cross_entropy(each(c[t], t, v), each(1, t), epsilon),
        "=",
        log(V) + surprise(1 - epsilon) + (V - 2) * surprise(epsilon / (V - 2)),
        where=lt(2, V),
    ).by_definition("(1 − ε)·c + ε·c = c, and Σ e^c = V·e^c"),
    given=c,
    conventions={"smoothing": "but_padding", "divergence": "kl"},
)
