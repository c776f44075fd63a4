"""Query-key normalization: queries and keys are brought to one size before they are compared."""

from spec.attention.grouped_query import grouped_query
from spec.attention.masks import FULLY_MASKED, OURS, POLARITY
from spec.normalization.rms_norm import rms_norm
from spec.scores.scaled_dot import scaled_dot
from spec.transformer.parts import epsilon
from spec.vocabulary import *

g, r, n, m, d_k, d_v = sizes("g r n m d_k d_v")
a, b, t, i, j, c, e = indices(a=g, b=r, t=g * r, i=n, j=m, c=d_k, e=d_v)

q = data("q", g * r, n, d_k, meaning="queries: r heads for each group, group by group")
k = data("k", g, m, d_k, meaning="keys: one head for each group")
v = data("v", g, m, d_v, meaning="values: one head for each group")
gamma_q = parameter("gamma_q", d_k, meaning="gain of the queries, one for all heads")
gamma_k = parameter("gamma_k", d_k, meaning="gain of the keys, one for all heads")
eps = epsilon()
mask = optional_mask("mask", n, m, meaning="which keys a query may attend to, in every head")
Q = tensor("Q", g * r, n, d_k, meaning="the queries, normalised over the width of their head")
K = tensor("K", g, m, d_k, meaning="the keys, normalised likewise")
z = tensor("z", g * r, n, d_v, meaning="contexts: in each head, the mean of its group's values")

ONE_HEAD = {
    "q": [[[3]]],
    "k": [[[0], [3]]],
    "v": [[[4], [8]]],
    "gamma_q": ["25/9*log(3)"],
    "gamma_k": [1],
    "eps": 16,
}

qk_norm = Formula(
    "attention.qk_norm",
    "Query-key normalization",
    why="What if scores grow without end? In training queries and keys get longer, one head's softmax becomes a choice of one "
    "key, its gradient vanishes, and large models break down. Here each query and each key is first divided by its own size, "
    "over the width of its head. Only directions are compared: a score is at most √d_k times the gains, however large the "
    "weights that made them, and how sharply a head chooses is what the gains learn.",
    sizes={
        g: "groups: heads of keys and values",
        r: "heads of queries in each group",
        n: "queries",
        m: "keys and values",
        d_k: "width of a key",
        d_v: "width of a value",
    },
    inputs=(q, k, v, gamma_q, gamma_k, eps, mask),
    lines=(
        define(Q[t, i], rms_norm(q[t, i], gamma_q, eps)),
        define(K[a, j], rms_norm(k[a, j], gamma_k, eps)),
        define(z, grouped_query(Q, K, v, mask)),
    ),
    outputs=(z,),
    conventions=(POLARITY, FULLY_MASKED, *rms_norm.conventions),
    stored=("Q", "K"),
    pitfalls=(
        pitfall("normalised over all heads together, as OLMo 2 has it", mutant="over_all_heads"),
        pitfall("one gain for both, or the two exchanged", mutant="gains_exchanged"),
        pitfall("a gain of 1 + γ, as Gemma 3's weights have it, read as γ", convention="gain"),
        pitfall(
            "scores not divided by √d_k any more, as if normalised rows had length 1: theirs is √d_k",
            mutant="undivided",
        ),
        pitfall("values normalised as well", mutant="values_normalised"),
    ),
    sources=(
        paper("henry2020", "rows of length 1, and a learned scale"),
        paper("dehghani2023", "section 2: layer normalization of queries and keys"),
        paper("qwen2025", "section 2"),
        paper("gemma2025", "section 2: instead of soft-capping"),
    ),
    worked=(
        Worked(
            "A query 3, keys 0 and 3 at ε = 16: 3/5 and 3/5 with a gain of 25/9·log 3 give the score log 3 beside 0, so that the "
            "second key weighs three times as much",
            ONE_HEAD,
            [[["7.0000"]]],
            4,
        ),
    ),
    notes="Where queries and keys are turned by their positions (positional.rotary) they are normalised before; turning keeps "
    "their length, and so the bound. The gains stand for each entry of a head, not for each head.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

PLAIN = {**OURS, "eps": "inside", "gain": "gamma"}
w = given("w", domain="nonnegative")
head = a * r + b
score = scaled_dot(Q[head], K[a])[i, j]
ms_q, ms_k = Sum(q[head, i, c] ** 2, c) / d_k, Sum(k[a, j, c] ** 2, c) / d_k
x_q, x_k = q[head, i, c] / sqrt(ms_q + eps), k[a, j, c] / sqrt(ms_k + eps)
gains = gamma_q[c] * gamma_k[c]


def bound(sign: int) -> Claim:
    """The claim that a score, or minus a score, is at most w·√d_k."""
    return (
        claim(score if sign > 0 else -score, "<=", w * sqrt(d_k))
        .step(Sum(sign * gains * x_q * x_k, c) / sqrt(d_k), "the definition")
        .at_most(
            Sum(w * (x_q**2 + x_k**2), c) / (2 * sqrt(d_k)),
            "twice a product is at most the sum of the squares",
            gap=Sum((w - gains) * (x_q + sign * x_k) ** 2 + (w + gains) * (x_q - sign * x_k) ** 2, c)
            / (4 * sqrt(d_k)),
        )
        .step(
            w * sqrt(d_k) / 2 * (ms_q / (ms_q + eps) + ms_k / (ms_k + eps)),
            "the mean square of a normalised row",
        )
        .because("it is at most 1", gap=w * sqrt(d_k) / 2 * (eps / (ms_q + eps) + eps / (ms_k + eps)))
    )


qk_norm.theorem(
    "bounded",
    "No score is larger than w·√d_k, or smaller than −w·√d_k, where no product of the two gains is larger than w in size",
    bound(1),
    bound(-1),
    given=w,
    assuming=(Every(le(gains, w), c), Every(le(-w, gains), c)),
    conventions=PLAIN,
)

by_q, by_k = given("by_q", n, domain="positive"), given("by_k", m, domain="positive")
longer_q = each(rms_norm(each(by_q[i] * q[head, i, c], c), gamma_q, eps)[c], i, c)
longer_k = each(rms_norm(each(by_k[j] * k[a, j, c], c), gamma_k, eps)[c], j, c)
qk_norm.theorem(
    "scale_invariant",
    "At ε = 0 a query or a key that is not zero may be multiplied by any positive number: no score changes",
    claim(
        scaled_dot(longer_q, longer_k)[i, j],
        "=",
        score,
        where=lt(0, Sum(q[head, i, c] ** 2, c)) & lt(0, Sum(k[a, j, c] ** 2, c)),
    ).by_definition("the number stands in the root as well, and cancels"),
    given=(by_q, by_k),
    at={eps: 0},
    conventions=PLAIN,
    runs=False,
)

qk_norm.theorem(
    "temperature",
    "A gain multiplied by a number multiplies all scores by it: how sharply a head chooses is learned",
    claim(
        qk_norm(q, k, v, each(w * gamma_q[c], c), gamma_k, eps, mask)[head, i, e],
        "=",
        grouped_query(each(w * Q[t, i, c], t, i, c), K, v, mask)[head, i, e],
    )
    .keeping(grouped_query)
    .by_definition("a normalised row is linear in its gain"),
    given=w,
    conventions=PLAIN,
)
