"""Attention with a paged cache: keys and values lie in pages, and a table says which pages are a text's."""

from spec.attention.causal import causal
from spec.attention.grouped_query import grouped_query
from spec.attention.masks import FULLY_MASKED
from spec.vocabulary import *

g, r, n, p, f, s, d_k, d_v = sizes("g r n p f s d_k d_v")
a, b, x, i, u, o, c, e = indices(a=g, b=r, x=f, i=n, u=p, o=s, c=d_k, e=d_v)
(j,) = indices(j=p * s)

q = data("q", g * r, n, d_k, meaning="queries: of the last n tokens, r heads for each group")
K = parameter(
    "K", f, s, g, d_k, meaning="memory for keys, one for all texts: pages of s slots, each with g heads"
)
V = parameter("V", f, s, g, d_v, meaning="memory for values, laid out likewise")
table = data(
    "table", p, domain="integer", below=f, meaning="which pages the text has, in the order of its tokens"
)
last = number(
    "last",
    domain="integer",
    below=p * s,
    meaning="the last token's slot, counted along the table; no slot after it is read",
)
K_all = tensor("K_all", g, p * s, d_k, meaning="the keys, gathered in the order of the tokens")
V_all = tensor("V_all", g, p * s, d_v, meaning="the values, gathered likewise")
z = tensor(
    "z", g * r, n, d_v, meaning="contexts: in each head, the mean of the values up to each token's own"
)
seen = le(j - i + n - 1, last)

THREE_PAGES = {
    "q": [[[0]]],
    "K": [[[[1]], [[2]]], [[[3]], [[4]]], [[[5]], [[6]]]],
    "V": [[[[9]], [[100]]], [[[70]], [[70]]], [[[3]], [[6]]]],
    "table": [2, 0],
    "last": 2,
}

paged = Formula(
    "attention.paged",
    "Attention with a paged cache",
    why="Where is room for keys and values, when nobody knows how long a text becomes? Set aside for the longest, most of the "
    "memory lies idle. Here it is cut into pages of a few tokens: a text is given one when its last is full, from anywhere, and "
    "a table keeps their order. What is computed stays the same; texts that begin alike share pages, and what ends gives its "
    "pages back.",
    sizes={
        g: "groups: heads of keys and values",
        r: "heads of queries in each group",
        n: "queries",
        p: "pages of the text",
        f: "pages in memory",
        s: "slots of a page: tokens that it holds",
        d_k: "width of a key",
        d_v: "width of a value",
    },
    inputs=(q, K, V, table, last),
    lines=(
        define(K_all[a, u * s + o, c], K[table[u], o, a, c]),
        define(V_all[a, u * s + o, e], V[table[u], o, a, e]),
        define(z, grouped_query(q, K_all, V_all, each(seen, i, j))),
    ),
    outputs=(z,),
    conventions=(FULLY_MASKED,),
    stored=("K_all", "V_all"),
    pitfalls=(
        pitfall("pages read in the order of memory, the table not looked at", mutant="table_ignored"),
        pitfall("slots behind the last token, left from another text, read along", mutant="whole_pages_read"),
        pitfall("slot and page exchanged where an address is split", mutant="strided_slots"),
        pitfall("the last query beside the last slot of the last page", mutant="aligned_at_the_page"),
        pitfall("pages of keys by the table, those of values in order", mutant="values_in_order"),
    ),
    sources=(paper("kwon2023", "section 4.1 and eq. 4"),),
    worked=(
        Worked(
            "Pages of two slots; the text has pages 2 and 0 and three tokens, whose values are 3, 6 and 9; a query of 0 takes "
            "their mean, and neither the slot behind them nor page 1",
            THREE_PAGES,
            [[["6.0"]]],
            1,
        ),
    ),
    notes="The query of the last token sees slot `last`, the one before it a slot less. A query in front of the text sees "
    "nothing. Entries of the table behind the last token's may be anything that is a page.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

pi = given("pi", f, domain="permutation")
head = a * r + b

paged.theorem(
    "gathered",
    "Where pages are full each head is causal attention to the keys and values of its group, gathered in order",
    claim(
        paged(q, K, V, table, p * s - 1)[head, i, e], "=", causal(q[head], K_all[a], V_all[a])[i, e]
    ).by_definition("the last query stands beside the last slot"),
    conventions={"fully_masked": "zero"},
)

paged.theorem(
    "anywhere",
    "Pages may lie anywhere: moved in memory, with the table's entries following, they give the same",
    claim(
        paged(q, each(K[pi[x], o, a, c], x, o, a, c), each(V[pi[x], o, a, e], x, o, a, e), table, last)[
            head, i, e
        ],
        "=",
        paged(q, K, V, each(pi[table[u]], u), last)[head, i, e],
    ).by_definition("both read page π(table) of K and V"),
    given=pi,
    conventions={"fully_masked": "zero"},
)

paged.theorem(
    "unread",
    "What is left in slots behind the last token is not read: it could as well be 0",
    claim(
        grouped_query(
            q,
            each(case(le(j, last), K_all[a, j, c], 0), a, j, c),
            each(case(le(j, last), V_all[a, j, e], 0), a, j, e),
            each(seen, i, j),
        )[head, i, e],
        "=",
        z[head, i, e],
    ).by_definition("no query stands behind the last token"),
    conventions={"fully_masked": "zero"},
)
