"""Hard attention: a query looks at one key, drawn from its attention weights."""

from spec.attention.log_weights import log_weights
from spec.attention.masks import OURS, POLARITY, permitted
from spec.attention.scaled_dot_product import THINKING, TOKENS, scaled_dot_product
from spec.attention.softmax import softmax
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import *

n, m, d_k, d_v = sizes("n m d_k d_v")
i, j, l, e = indices(i=n, j=m, l=m, e=d_v)

q = data("q", n, d_k, meaning="query: what each position looks for")
k = data("k", m, d_k, meaning="key: what each position offers to be found by")
v = data("v", m, d_v, meaning="value: what each position passes on where it is drawn")
generator = Tensor(
    "generator", (), "generator", "generator", meaning="where draws take their randomness from"
)
mask = optional_mask("mask", n, m, meaning="which keys a query may attend to")
s = tensor("s", n, m, meaning="score: how well each key fits each query")
a = tensor("a", n, m, meaning="probability that a query draws a key: its attention weight")
z = tensor("z", n, d_v, meaning="context: the value of the key that was drawn")
index = tensor("index", n, domain="integer", meaning="the key that each query drew")

NOTHING_PERMITTED = Convention(
    "fully_masked",
    {
        "zero": "a query without a permitted key draws no key: its index is −1 and its context 0",
        "unspecified": "nothing is said about such a query",
    },
    default="zero",
)
has_key = Some(permitted(mask, i, l), l)
is_key = le(0, index[i]) & lt(index[i], m)
none, empty = eq(index[i], -1), eq(z[i, e], 0)
drawn, read = is_key & permitted(mask, i, index[i]), is_key & eq(z[i, e], v[index[i], e])

hard = Formula(
    "attention.hard",
    "Hard attention",
    why="Must a model take a little from everywhere, or may it look at one place only? Soft attention reads all keys and mixes "
    "them, which costs much where there are many and blurs what it finds. Hard attention draws one key with the same weights "
    "as probabilities and reads that one alone. A draw has no derivative, so it is trained by the score-function estimator, "
    "whose variance a baseline has to tame.",
    sizes={n: "queries", m: "keys and values", d_k: "width of a key", d_v: "width of a value"},
    inputs=(q, k, v, generator, mask),
    lines=(define(s, scaled_dot(q, k)), define(a, softmax(s, mask))),
    outputs=(a,),
    conventions=(POLARITY, NOTHING_PERMITTED),
    law=Law(
        probability=a,
        returns=(z, index),
        outcome=(index[i],),
        over=((i, n),),
        axioms=(
            Axiom(
                "the key is a permitted one",
                "the index is that of a permitted key, or −1 where there is none",
                by_convention("fully_masked", zero=case(has_key, drawn, none), unspecified=~has_key | drawn),
            ),
            Axiom(
                "the context is that key's value",
                "the context is the value at the index, bit for bit, or 0 where there is none",
                by_convention("fully_masked", zero=case(has_key, read, empty), unspecified=~has_key | read),
                over=((i, n), (e, d_v)),
            ),
        ),
    ),
    pitfalls=(
        pitfall("the key of largest weight taken, as in a search: then nothing is drawn", mutant="likeliest"),
        pitfall("context and index drawn one after the other, so that they disagree", mutant="drawn_twice"),
        pitfall("one random number for all queries, so that they move together", mutant="one_number"),
        pitfall("the mean reward taken for the best baseline: another varies less", theorem="least_variance"),
    ),
    sources=(
        deck(2, "soft vs hard attention: features randomly sampled with respect to the attention map"),
        paper("xu2015", "section 4.1, stochastic “hard” attention"),
        paper("williams1992", "section 3, the characteristic eligibility: the gradient of log aᵢⱼ"),
    ),
    worked=(
        Worked(
            "“Thinking Machines”, scores 14 and 12: about seven draws of eight read the value of “Thinking”",
            {**THINKING, "v": [[1], [0]]},
            [["0.88", "0.12"]],
            2,
        ),
        Worked(
            "The first of three tokens, scores (2, 4, 4): the probabilities of drawing each",
            {"q": [["sqrt(3)", 0, "2*sqrt(3)"]], **TOKENS},
            [["0.06", "0.47", "0.47"]],
            2,
        ),
    ),
    notes="a[i, j] is the probability that query i draws key j; queries, and calls, draw independently of each other.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

some_key = Some(mask[i, l], l)
law = hard(q, k, v, generator, mask)

hard.theorem(
    "sums_to_one",
    "The probabilities of a query's permitted keys sum to 1, those of the others are 0",
    claim(Sum(law[i, j], j, where=mask[i, j]), "=", 1, where=some_key)
    .step(
        Sum(exp(s[i, j]), j, where=mask[i, j]) / Sum(exp(s[i, l]), l, where=mask[i, l]),
        "the probabilities are the weights of softmax, whose denominator does not depend on j",
    )
    .because("numerator and denominator are the same positive sum"),
    claim(law[i, j], "=", 0, where=~mask[i, j]).by_definition("softmax gives a masked key the weight 0"),
    conventions=OURS,
)

hard.theorem(
    "expectation",
    "On average hard attention is soft attention: the expected context is the weighted mean of the values",
    claim(Sum(law[i, j] * v[j, e], j, where=mask[i, j]), "=", scaled_dot_product(q, k, v, mask)[i, e])
    .step(
        Sum(a[i, j] * v[j, e], j, where=mask[i, j]),
        "value j is what comes out where key j is drawn, and that has probability aᵢⱼ",
    )
    .because("soft attention, by definition: its weights are the same"),
    conventions=OURS,
)

# The gradient, estimated from draws: t are the scores that a query draws by, r its reward for each key.

t, r, b = given("t", n, m), given("r", n, m), given("b", n)
x, y = indices(x=n, y=m)
p = tensor("p", n, m, meaning="probability that each key is drawn at scores t")
g = tensor("g", n, m, m, meaning="derivative of the log probability of key j with respect to score l")
G = tensor("G", n, m, meaning="expected square of that derivative")
D = tensor("D", n, m, meaning="the expected estimate, whatever the baseline")
b_best = tensor("b_best", n, m, meaning="the baseline of least variance")
u = tensor("u", n, m, m, meaning="error of the estimate where key j is drawn, with baseline b")
h = tensor("h", n, m, m, meaning="error of the estimate where key j is drawn, with the best baseline")
hard.let(p[i, j], softmax(t, mask)[i, j])
hard.let(g[i, j, l], delta(j, l) - p[i, l])


def mean(value: Node) -> Node:
    """The expectation of a value over the key j that query i draws."""
    return Sum(p[i, j] * value, j, where=mask[i, j])


hard.let(D[i, l], mean(r[i, j] * g[i, j, l]))
hard.let(G[i, l], mean(g[i, j, l] ** 2))
hard.let(b_best[i, l], mean(r[i, j] * g[i, j, l] ** 2) / G[i, l])
hard.let(u[i, j, l], (r[i, j] - b[i]) * g[i, j, l] - D[i, l])
hard.let(h[i, j, l], (r[i, j] - b_best[i, l]) * g[i, j, l] - D[i, l])
estimate, gradient = log_weights(t, mask), softmax(t, mask).pullback(r, "s")
one_key = each(delta(x, i) * delta(y, j), x, y)

hard.theorem(
    "log_gradient",
    "∂ ln aⱼ/∂sₗ = δⱼₗ − aₗ: its mean over the draw is 0, its mean square aₗ(1 − aₗ)",
    claim(estimate.pullback(one_key, "s")[i, l], "=", g[i, j, l], where=mask[i, j])
    .step(
        delta(j, l) - case(mask[i, l], exp(t[i, l]) / Sum(exp(t[i, y]), y, where=mask[i, y])),
        "ln pⱼ = tⱼ − ln Z, and ∂ ln Z/∂tₗ = exp(tₗ)/Z",
    )
    .because("the quotient is the weight"),
    claim(mean(g[i, j, l]), "=", 0)
    .step(p[i, l] - p[i, l] * Sum(p[i, j], j), "the delta picks j = l; pₗ does not depend on j")
    .because("the probabilities sum to 1, or are all 0"),
    claim(G[i, l], "=", p[i, l] * (1 - p[i, l]))
    .step(mean(delta(j, l)) - 2 * p[i, l] * mean(delta(j, l)) + p[i, l] ** 2 * Sum(p[i, j], j), "δ² = δ")
    .because("the delta picks pₗ, so this is pₗ − 2pₗ² + pₗ²"),
    given=t,
    conventions=OURS,
    runs=False,
)

hard.theorem(
    "score_function",
    "The gradient of an expected reward is the expectation of the reward times the gradient of the log weight drawn",
    claim(estimate.pullback(each(p[i, j] * r[i, j], i, j), "s")[i, l], "=", gradient[i, l])
    .step(mean(r[i, j] * g[i, j, l]), "∂ ln pⱼ/∂tₗ = δⱼₗ − pₗ")
    .step(
        Sum(r[i, j] * (delta(j, l) * p[i, j] - p[i, j] * p[i, l]), j, where=mask[i, j]),
        "p·∂ ln p = ∂p, an entry of the Jacobian of softmax",
    )
    .because("the chain rule for the expected reward Σⱼ pⱼrⱼ"),
    given=(t, r),
    conventions=OURS,
)

hard.theorem(
    "baseline",
    "A baseline that does not depend on the key drawn leaves the expected estimate as it is, whatever its value",
    claim(estimate.pullback(each(p[i, j] * (r[i, j] - b[i]), i, j), "s")[i, l], "=", gradient[i, l])
    .step(mean((r[i, j] - b[i]) * g[i, j, l]), "∂ ln pⱼ/∂tₗ = δⱼₗ − pₗ")
    .step(mean(r[i, j] * g[i, j, l]) - b[i] * mean(g[i, j, l]), "b does not depend on j")
    .step(
        mean(r[i, j] * g[i, j, l]) - b[i] * (p[i, l] - p[i, l] * Sum(p[i, j], j)),
        "the delta picks j = l; pₗ does not depend on j",
    )
    .step(D[i, l], "the probabilities sum to 1 (or are all 0), so b is multiplied by 0")
    .because("the score-function estimator without a baseline"),
    given=(t, r, b),
    conventions=OURS,
)

spread, least, off = mean(u[i, j, l] ** 2), mean(h[i, j, l] ** 2), b[i] - b_best[i, l]

hard.theorem(
    "least_variance",
    "The variance of the estimate is least at the baseline b* = E[r·g²]/E[g²], g = ∂ ln a: any other adds (b − b*)²·E[g²]",
    claim(spread, "=", least + off**2 * G[i, l], where=lt(0, G[i, l]))
    .step(mean((h[i, j, l] - off * g[i, j, l]) ** 2), "r − b = (r − b*) − (b − b*)")
    .step(
        least - 2 * off * mean(h[i, j, l] * g[i, j, l]) + off**2 * G[i, l],
        "the square of a difference; b and b* do not depend on j",
    )
    .step(
        least - 2 * off * (mean(r[i, j] * g[i, j, l] ** 2) - b_best[i, l] * G[i, l]) + off**2 * G[i, l],
        "E[h·g] = E[r·g²] − b*·E[g²] − D·E[g], and E[g] = 0",
    )
    .because("b*·E[g²] = E[r·g²] by the choice of b*"),
    claim(least, "<=", spread, where=lt(0, G[i, l]))
    .at_most(least + off**2 * G[i, l], "a square times a mean square is not negative", gap=off**2 * G[i, l])
    .because("the equation above"),
    given=(t, r, b),
    conventions=OURS,
    runs=False,
)
