"""The cosine score: how nearly a key points where the query points, lengths apart."""

from spec.similarity.cosine import EPS, ZERO_VECTOR, claim_bounds
from spec.similarity.cosine import cosine as cosine_of
from spec.vocabulary import *

n, m, d_k = sizes("n m d_k")
i, j, c = indices(i=n, j=m, c=d_k)

q = data("q", n, d_k, meaning="queries: what each position looks for")
k = data("k", m, d_k, meaning="keys: what each slot offers to be found by")
s = tensor("s", n, m, meaning="scores: the cosine of the angle between each query and each key")

tokens = [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]]

cosine = Formula(
    "scores.cosine",
    "Cosine score",
    why="Should a long key win because it is long? In a dot product it does: a slot can draw attention by growing, whatever "
    "the query asks. The cosine score compares directions only, as a memory that is addressed by content does. All scores lie "
    "between −1 and 1, so a softmax after it needs a factor of its own to become sharp.",
    sizes={n: "queries", m: "keys", d_k: "width of a query and of a key"},
    inputs=(q, k),
    lines=(define(s[i, j], cosine_of(q[i], k[j])),),
    outputs=(s,),
    conventions=(ZERO_VECTOR, EPS),
    pitfalls=(
        pitfall("0/0 for rows of zeros, such as padding: NaN in every weight", convention="zero_vector"),
        pitfall("lengths along the sequence instead of along a row", mutant="normalised_over_the_sequence"),
        pitfall("a small number added to each length: short rows score too low", convention="eps"),
    ),
    sources=(deck(2, "attention scoring: cosine similarity"), paper("graves2014", "eq. 6")),
    worked=(
        Worked(
            "The three tokens against themselves: the first two share no entry, the third lies at 45° to both",
            {"q": tokens, "k": tokens},
            [["1.0000", "0.0000", "0.7071"], ["0.0000", "1.0000", "0.7071"], ["0.7071", "0.7071", "1.0000"]],
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

OURS = {"zero_vector": "zero", "eps": "none"}
a, b = given("a", n, domain="positive"), given("b", m, domain="positive")

q_norm = tensor("q_norm", n, meaning="length of each query")
k_norm = tensor("k_norm", m, meaning="length of each key")
qhat = tensor("qhat", n, d_k, meaning="queries, at length 1")
khat = tensor("khat", m, d_k, meaning="keys, at length 1")
cosine.let(q_norm[i], sqrt(Sum(q[i, c] ** 2, c)))
cosine.let(k_norm[j], sqrt(Sum(k[j, c] ** 2, c)))
cosine.let(qhat[i, c], q[i, c] / q_norm[i])
cosine.let(khat[j, c], k[j, c] / k_norm[j])

neither_zero = lt(0, q_norm[i]) & lt(0, k_norm[j])
longer = a[i] * b[j] * Sum(q[i, c] * k[j, c], c) / (a[i] * q_norm[i] * (b[j] * k_norm[j]))
exchanged = Sum(k[j, c] * q[i, c], c) / (k_norm[j] * q_norm[i])

cosine.theorem(
    "pairwise",
    "Each score is the cosine of its query and its key",
    claim(s[i, j], "=", cosine_of(q[i], k[j]), where=neither_zero).by_definition("row by row"),
    conventions={"eps": "none"},
)

cosine.theorem(
    "bounded",
    "The score of a query and a key, neither of them zero, lies between -1 and 1",
    *claim_bounds(s[i, j], qhat[i, c], khat[j, c], c, neither_zero),
    conventions={"eps": "none"},
)

cosine.theorem(
    "scale_invariant",
    "Positive factors, one for each query and each key, change nothing",
    claim(cosine(each(a[i] * q[i, c], i, c), each(b[j] * k[j, c], j, c))[i, j], "=", s[i, j])
    .step(case(neither_zero, longer), "lengths grow by the same factors, which are positive")
    .because("the factors are not 0, so they cancel"),
    given=(a, b),
    conventions=OURS,
)

cosine.theorem(
    "symmetric",
    "Exchanging queries and keys transposes the scores",
    claim(s[i, j], "=", cosine(k, q)[j, i])
    .step(case(neither_zero, exchanged), "the factors of each product exchanged")
    .because("the definition, with the keys as queries"),
    conventions=OURS,
)
