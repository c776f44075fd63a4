"""Attention by relative positions: what a query heeds depends on how far away it stands, not on where the text begins.

``r`` has a row for every distance that two places can have, from left to right: row 0 for the key farthest behind, m − 1 places,
row m − 1 for a query's own place, the rows after it for keys ahead. Where a mask hides those, they are not read.
"""

from typing import Any

from spec.attention.masks import FULLY_MASKED, OURS, POLARITY, mix
from spec.attention.relative_scores import relative_scores
from spec.attention.scaled_dot_product import scaled_dot_product
from spec.attention.softmax import softmax
from spec.vocabulary import *

n, m, d_k, d_v = sizes("n m d_k d_v")
i, j, l, c, e = indices(i=n, j=m, l=m, c=d_k, e=d_v)
(p,) = indices(p=n + m - 1)

q = data("q", n, d_k, meaning="queries: what each place looks for; the last one stands beside the last key")
k = data("k", m, d_k, meaning="keys: what each place offers to be found by, in their order")
v = data("v", m, d_v, meaning="values: what each place hands over")
r = data(
    "r",
    n + m - 1,
    d_k,
    meaning="distances: one row for each, from the farthest behind to the farthest ahead; a query's own place is row m − 1",
)
u = parameter("u", d_k, meaning="bias of content: what every query looks for in a key")
w = parameter("w", d_k, meaning="bias of position: what every query looks for in a distance")
mask = optional_mask("mask", n, m, meaning="which keys a query may attend to")
s = tensor("s", n, m, meaning="score: how well each key, at its distance, fits each query")
a = tensor("a", n, m, meaning="attention weight: the share of its attention that a query gives to each key")
z = tensor("z", n, d_v, meaning="context: the mean of the values, weighted by attention")

NOTHING_ASKED = {"q": [[0], [0]], "k": [[1], [1], [1]], "v": [[6], [3], [9]], "u": [0]}

relative = Formula(
    "attention.relative",
    "Attention by relative positions",
    why="Where does a word stand, if a text is read in pieces? Positions added to the words say where each stands in its piece; "
    "once the words of the piece before are kept, two of them bear the same number, and order is lost. What matters is how far "
    "away a word is. So positions leave the words and enter the score: a query is compared with each key, and with the encoding "
    "of its distance. Two learned vectors take the place of the query's own position: u says which keys are heeded by all, w "
    "which distances.",
    sizes={
        n: "queries",
        m: "keys and values: those kept from before, then one beside each query",
        d_k: "width of a key",
        d_v: "width of a value",
    },
    inputs=(q, k, v, r, u, w, mask),
    lines=(
        define(s, relative_scores(q, k, r, u, w)),
        define(a, softmax(s, mask)),
        define(z[i, e], mix(a, v, mask, i, j, l, e)),
    ),
    outputs=(z,),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("a",),
    pitfalls=(
        pitfall(
            "distances in the other order: the key farthest behind is heeded as if it stood beside the query",
            mutant="distances_reversed",
        ),
        pitfall("u and w exchanged: each learned for what the other does", mutant="biases_exchanged"),
        pitfall(
            "the shift of distances behind alone, without the causal mask: what it leaves beyond a query's own place belongs to "
            "the next query",
            theorem="unmasked_shift",
        ),
        pitfall("the score of the distance not divided by √d_k", mutant="distance_unscaled"),
        pitfall("a mask of the other polarity: in some libraries True drops a key", convention="polarity"),
    ),
    sources=(
        paper("dai2019", "section 3.3 and appendix B"),
        paper("shaw2018", "section 3.2, equation 5: an encoding of the distance, in the keys"),
    ),
    worked=(
        Worked(
            "Queries and u of 0, so that w and the distance alone decide: rows log 2 for two places behind, 0 for one and for a "
            "query's own, log 4 for one ahead. The first query has the shares 1/6, 1/6 and 4/6, the second 2/4, 1/4 and 1/4",
            {**NOTHING_ASKED, "r": [["log(2)"], [0], [0], ["log(4)"]], "w": [1]},
            [["7.5"], ["6.0"]],
            1,
        ),
        Worked(
            "The same where no query sees what is ahead of it: the first has two keys, alike to it",
            {
                **NOTHING_ASKED,
                "r": [["log(2)"], [0], [0], ["log(4)"]],
                "w": [1],
                "mask": [[True, True, False], [True, True, True]],
            },
            [["4.5"], ["6.0"]],
            1,
        ),
    ),
    notes="Query i stands beside key i + (m − n), as in attention.causal. In Transformer-XL, of which this is one head, r is "
    "W·R with R sines and cosines of the distance, and a query sees no key ahead; XLNet's two streams see both sides.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

rows, cols, extra = sizes("rows cols extra")


relative.theorem(
    "four_terms",
    "A score has four parts: what the query finds in the key and in the distance, and what every query finds in both",
    claim(
        s[i, j],
        "=",
        (
            Sum(q[i, c] * k[j, c], c)
            + Sum(u[c] * k[j, c], c)
            + Sum(q[i, c] * r[j - i + n - 1, c], c)
            + Sum(w[c] * r[j - i + n - 1, c], c)
        )
        / sqrt(d_k),
    ).by_definition("both products expanded"),
)

relative.theorem(
    "piece",
    "Only the distance counts: cut out of the middle of a text, queries and keys have the scores that they have in it",
    claim(
        relative_scores(
            q[extra : extra + rows], k[extra : extra + cols], r[extra : extra + rows + cols - 1], u, w
        )[i, j],
        "=",
        s[extra + i, extra + j],
        (i, rows),
        (j, cols),
    ).by_definition("both are counted from a later place, and their difference is the same"),
    sizes={n: extra + rows, m: extra + cols},
)

query, key = given("query", d_k), given("key", d_k)
alike = relative_scores(each(query[c], i, c), each(key[c], j, c), r, u, w)

relative.theorem(
    "distance",
    "Of two words alike, the same at every place, only their distance shows: one place further both have the same score",
    claim(alike[1 + i, 1 + j], "=", alike[i, j], (i, rows), (j, cols)).by_definition(
        "j + 1 − (i + 1) = j − i"
    ),
    given=(query, key),
    sizes={n: rows + 1, m: cols + 1},
)

relative.theorem(
    "plain",
    "Where all distances are encoded by 0, and u is 0, it is plain attention",
    claim(
        relative(q, k, v, each(0, p, c), each(0, c), w, mask)[i, e],
        "=",
        scaled_dot_product(q, k, v, mask)[i, e],
    ).by_definition("nothing is added to the queries, and the second product is 0"),
    conventions=OURS,
)

(x,) = indices(x=m)
B, r_other = given("B", n, m), given("r_other", n + m - 1, d_k)


def shift(array: Tensor | Comprehension, at: Any) -> Node:
    """Entry ``at`` of row i of an n × m array with a column of 0 in front, read as m + 1 rows of n without the first."""
    place = n + i * m + at
    row = floor(place / (m + 1))
    column = place - (m + 1) * row
    return case(eq(column, 0), 0, array[row, column - 1])


own = i + (m - n)
causal = each(le(j, own), i, j)
upto = each(mask[i, j] & le(j, own), i, j)

relative.theorem(
    "shift",
    "The shift: put a column of 0 before an n × m array, read it as m + 1 rows of n, drop the first, and read it as n rows of m: "
    "up to a query's own place, entry j of row i is entry j − i + n − 1 of that row, its distance. Beyond stand a 0 and then the "
    "row of the next query",
    claim(shift(B, j), "=", B[i, j - i + n - 1], where=le(j, own)).by_definition(
        "n + i·m + j = i·(m + 1) + (j − i + n), which is in row i of the padded array as long as j − i + n ≤ m"
    ),
    claim(shift(B, own + 1), "=", 0, where=le(0, own + 1) & lt(own + 1, m)).by_definition(
        "it is the first of row i + 1"
    ),
    claim(shift(B, own + 2 + x), "=", B[i + 1, x], where=le(0, own + 2) & lt(own + 2 + x, m)).by_definition(
        "it is in row i + 1, m + 1 places further"
    ),
    given=B,
)

behind = each(Sum((q[i, c] + w[c]) * r[j, c], c), i, j)
scored = each((Sum((q[i, c] + u[c]) * k[j, c], c) + shift(behind, j)) / sqrt(d_k), i, j)

relative.theorem(
    "masked_shift",
    "Under the causal mask the distances behind and 0 suffice, and the shift puts each where it belongs",
    claim(
        Sum(softmax(scored, causal)[i, j] * v[j, e], j), "=", relative(q, k, v, r, u, w, causal)[i, e]
    ).by_definition("what stands beyond a query's own place is in none of its sums"),
    conventions=OURS,
)

relative.theorem(
    "unmasked_shift",
    "Without the mask they do not: what the shift leaves beyond takes part",
    claim(Sum(softmax(scored)[i, j] * v[j, e], j), "=", relative(q, k, v, r, u, w)[i, e]).by_witness(
        n=2,
        m=2,
        d_k=1,
        d_v=1,
        q=[[1], [1]],
        k=[[0], [0]],
        v=[[0], [1]],
        r=[[0], [0], [1]],
        u=[0],
        w=[0],
    ),
    exists=True,
    runs=False,
    conventions=OURS,
)

ahead = each(case(lt(p, m), r[p, c], r_other[p, c]), p, c)

relative.theorem(
    "ahead",
    "Where no query sees what is ahead of it, the encodings of distances ahead are not read: they may be anything",
    claim(
        relative(q, k, v, ahead, u, w, upto)[i, e], "=", relative(q, k, v, r, u, w, upto)[i, e]
    ).by_definition("row j − i + n − 1 is one of the first m as long as j ≤ i + (m − n)"),
    given=r_other,
    conventions=OURS,
)

relative.theorem(
    "last_queries",
    "The last queries gather what they gather beside the others: each is asked by itself, of the distances that it has",
    claim(
        relative(q[extra : extra + rows], k, v, r[: rows + m - 1], u, w, mask[extra : extra + rows])[i, e],
        "=",
        z[extra + i, e],
        (i, rows),
        e,
    ).by_definition("query i is now the first but i of the last, at the same distance from every key"),
    sizes={n: extra + rows},
    conventions=OURS,
)

relative.theorem(
    "prefix",
    "Where no query sees what is ahead of it, the first queries gather what they would gather without the last keys",
    claim(
        relative(q[:rows], k[:cols], v[:cols], r[extra : extra + rows + cols - 1], u, w, upto[:rows, :cols])[
            i, e
        ],
        "=",
        relative(q, k, v, r, u, w, upto)[i, e],
        (i, rows),
        e,
    ).by_definition("its sums run up to its own place, which is as far from each key as before"),
    sizes={n: rows + extra, m: cols + extra},
    conventions=OURS,
)

real, k_other, v_other = (
    given("real", m, domain="boolean"),
    given("k_other", m, d_k),
    given("v_other", m, d_v),
)
shown = each(mask[i, j] & real[j], i, j)

relative.theorem(
    "hidden_keys",
    "Keys and values that are hidden from every query have no influence: others in their places change nothing",
    claim(
        relative(
            q,
            each(case(real[j], k[j, c], k_other[j, c]), j, c),
            each(case(real[j], v[j, e], v_other[j, e]), j, e),
            r,
            u,
            w,
            shown,
        )[i, e],
        "=",
        relative(q, k, v, r, u, w, shown)[i, e],
    ).by_definition("every key in a sum is one of those that stay"),
    given=(real, k_other, v_other),
    conventions=OURS,
)
