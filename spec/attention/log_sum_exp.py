"""The logarithm of softmax's denominator: what a block of keys has to hand on besides its mean of the values."""

from spec.attention.masks import POLARITY, permitted
from spec.attention.softmax import softmax
from spec.vocabulary import *

n, m = sizes("n m")
i, j, l = indices(i=n, j=m, l=m)

s = data("s", n, m, meaning="score: how well each key fits each query")
mask = optional_mask("mask", n, m, meaning="which keys a query may attend to")
L = tensor("L", n, meaning="log-sum-exp: the logarithm of the sum of the exponentials of a query's scores")

has_key = Some(permitted(mask, i, l), l)

log_sum_exp = Formula(
    "attention.log_sum_exp",
    "Log-sum-exp of the scores",
    why="What must be kept of a softmax whose scores are thrown away? Fused kernels never store the weights, and blocks of keys "
    "are worked on apart. One number for each query is enough: the logarithm of its denominator. With it each weight is the "
    "exponential of a difference, which neither overflows nor has to be divided; two blocks can be joined, and the way back can "
    "begin.",
    sizes={n: "queries", m: "keys"},
    inputs=(s, mask),
    lines=(
        define(
            L[i],
            case(has_key, log(Sum(exp(s[i, j]), j, where=permitted(mask, i, j))), Undefined()),
        ),
    ),
    outputs=(L,),
    conventions=(POLARITY,),
    pitfalls=(
        pitfall("the largest score subtracted and not added again", mutant="offset_lost"),
        pitfall(
            "the largest score of all keys subtracted, masked ones too: what is left underflows",
            mutant="masked_largest",
        ),
        pitfall("a logarithm to base 2, in which kernels count, handed on as it is", mutant="base_two"),
        pitfall("a mask of the other polarity: in some libraries True drops a key", convention="polarity"),
    ),
    sources=(
        paper("milakov2018", "section 3"),
        paper("dao2022", "appendix B.3: what is kept for the way back"),
    ),
    worked=(
        Worked(
            "Scores 14 and 12: log(e¹⁴ + e¹²) = 14 + log(1 + e⁻²)",
            {"s": [[14, 12]]},
            ["14.1269"],
            4,
        ),
        Worked(
            "Two scores of 0 and one that is masked: log 2",
            {"s": [[0, 0, 9]], "mask": [[True, True, False]]},
            ["0.6931"],
            4,
        ),
    ),
    notes="Of a query without a permitted key nothing is said: the logarithm of 0 is no number. Implementations return −∞ there, "
    "or 0. What can be joined without exception is the sum itself, which is then 0.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

OURS = {"polarity": "true_attends"}
some_key = Some(mask[i, l], l)
t, g, pi = given("t", n), given("g", n), given("pi", m, domain="permutation")
whole, weights = log_sum_exp(s, mask), softmax(s, mask)

log_sum_exp.theorem(
    "weights",
    "A permitted key's weight is the exponential of its score less the log-sum-exp",
    claim(weights[i, j], "=", exp(s[i, j] - L[i]), where=mask[i, j])
    .step(exp(s[i, j]) / Sum(exp(s[i, l]), l, where=mask[i, l]), "the definition of softmax")
    .because("exp(a − log b) = exp(a)/b, and b is positive"),
    conventions=OURS,
)

log_sum_exp.theorem(
    "gradient",
    "Its gradient is the softmax: a score counts as much as its key is heeded",
    claim(whole.pullback(g, s)[i, j], "=", g[i] * weights[i, j])
    .step(
        case(mask[i, j], g[i] * exp(s[i, j]) / Sum(exp(s[i, l]), l, where=mask[i, l])),
        "the derivative of a logarithm is 1 over what it is of, that of an exponential itself",
    )
    .because("the definition of softmax"),
    given=g,
    assuming=(Every(some_key, i),),
    conventions=OURS,
)

log_sum_exp.theorem(
    "shift",
    "A number added to all scores of a query is added to it: so the largest may be taken off first",
    claim(log_sum_exp(each(s[i, j] + t[i], i, j), mask)[i], "=", L[i] + t[i], where=some_key)
    .step(log(exp(t[i]) * Sum(exp(s[i, j]), j, where=mask[i, j])), "the factor eᵗ does not depend on j")
    .because("the logarithm of a product"),
    given=t,
    conventions=OURS,
)

log_sum_exp.theorem(
    "largest",
    "It is at least every score: a smooth maximum, never below the largest",
    claim(s[i, j], "<=", L[i], where=mask[i, j])
    .step(log(exp(s[i, j])), "the logarithm undoes the exponential")
    .because("a sum of positive numbers is at least each of them, and the logarithm grows"),
    conventions=OURS,
)

log_sum_exp.theorem(
    "permutation",
    "The order of the keys does not matter",
    claim(log_sum_exp(each(s[i, pi[j]], i, j))[i], "=", log_sum_exp(s)[i]).by_definition(
        "the same terms in another order"
    ),
    given=pi,
    conventions=OURS,
)

first, second = sizes("first second")
log_sum_exp.theorem(
    "two_blocks",
    "Of two blocks of keys it is the log-sum-exp of theirs",
    claim(log_sum_exp(s)[i], "=", log(exp(log_sum_exp(s[:, :first])[i]) + exp(log_sum_exp(s[:, first:])[i])))
    .step(log(Sum(exp(s[i, j]), (j, first)) + Sum(exp(s[i, first + j]), (j, second))), "the sum in two parts")
    .because("the exponential undoes the logarithm"),
    sizes={m: first + second},
    conventions=OURS,
)
