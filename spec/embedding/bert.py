"""BERT's embedding: what stands at a place, in which segment, and where, as one normalised row."""

from spec.embedding.token import token
from spec.normalization.layer_norm import BIASED, OURS, layer_norm
from spec.positional.learned import learned
from spec.vocabulary import *

n, V, K, N, d = sizes("n V K N d")
i, c, e, t, a, p = indices(i=n, c=d, e=d, t=V, a=K, p=N)

ids = data("ids", n, domain="integer", below=V, meaning="which token stands at each place")
seg = data(
    "seg", n, domain="integer", below=K, meaning="which segment each belongs to: 0 the first, 1 the second"
)
pos = data("pos", n, domain="integer", below=N, meaning="where each token stands: 0, 1, 2, … in BERT")
E = parameter("E", V, d, meaning="table: one learned vector for each token of the vocabulary")
S = parameter("S", K, d, meaning="table: one learned vector for each segment")
P = parameter("P", N, d, meaning="table: one learned vector for each position")
gamma = parameter("gamma", d, meaning="gain of the normalization")
beta = parameter("beta", d, meaning="its bias")
eps = number("eps", "positive", meaning="a small number that keeps the divisor away from 0: 10⁻¹² in BERT")
s = tensor("s", n, d, meaning="token, segment and position of each place, added up")
x = tensor("x", n, d, meaning="the same, normalised: the row that the first layer reads")

PAIR = {
    "ids": [2, 0, 2],
    "seg": [0, 0, 1],
    "pos": [0, 1, 2],
    "E": [[1, 1, 0, 2], [9, 9, 9, 9], [1, 3, 4, 4]],
    "S": [[0, 0, 0, 0], [1, 1, 0, 0]],
    "P": [[0, 0, 1, 3], [1, 2, 3, 2], [0, 0, 0, 0]],
    "gamma": [1, 1, 1, 1],
    "beta": [0, 0, 0, 0],
    "eps": 4,
}

bert = Formula(
    "embedding.bert",
    "BERT's embedding",
    why="What does an encoder have to be told of each place of its input? Which token stands there, but also where, since "
    "attention to all tokens knows no order, and of which of two sentences it is a part, since BERT reads pairs: a question and "
    "a paragraph, a sentence and what may follow it. Each of the three has a table of learned vectors, and their sum is one row: "
    "nothing has to be longer for it, and the network is free to keep them apart in different directions. The rows are "
    "normalised before the first layer reads them, so that they come at the scale at which every later layer gets its own.",
    sizes={
        n: "tokens",
        V: "vocabulary: the tokens there are",
        K: "segments there are: two in BERT",
        N: "longest sequence: 512 in BERT",
        d: "width of a row",
    },
    inputs=(ids, seg, pos, E, S, P, gamma, beta, eps),
    lines=(
        define(s[i, c], token(ids, E)[i, c] + token(seg, S)[i, c] + learned(pos, P)[i, c]),
        define(x[i], layer_norm(s[i], gamma, beta, eps)),
    ),
    outputs=(x,),
    conventions=layer_norm.conventions,
    stored=("s",),
    pitfalls=(
        pitfall(
            "positions counted from 1: all works, and no weights of others do", mutant="positions_from_one"
        ),
        pitfall("the two rows of the segments exchanged", mutant="segments_exchanged"),
        pitfall("segments left out where there is one sentence: row 0 is not 0", theorem="one_segment"),
        pitfall("the normalization forgotten, or taken of each summand", mutant="each_normalised"),
        pitfall(
            "ε = 10⁻⁵, a library's default, instead of 10⁻¹²: seen at small rows only",
            mutant="large_eps",
        ),
    ),
    sources=(
        deck(2, "BERT: input representation"),
        deck(3, "BERT: token, segment and position embeddings"),
        deck(4, "BERT: input"),
        paper("devlin2019", "section 3 and figure 2"),
    ),
    worked=(
        Worked(
            "Two tokens and, in the second segment, the first one again: what is added up",
            PAIR,
            [["1", "3", "5", "7"], ["2", "3", "3", "4"], ["2", "4", "4", "4"]],
            0,
            output="s",
        ),
        Worked(
            "The first row has mean 4 and variance 5, so that with ε = 4 the divisor is 3",
            PAIR,
            [
                ["-1.0000", "-0.3333", "0.3333", "1.0000"],
                ["-0.4714", "0.0000", "0.0000", "0.4714"],
                ["-0.6882", "0.2294", "0.2294", "0.2294"],
            ],
            4,
        ),
    ),
    notes="BERT's positions are 0 … n − 1. RoBERTa's begin at 2, one past the id 1 of its padding, whose row of P belongs to "
    "padding: that is another pos, and no other formula. It has one segment (K = 1), and ε = 10⁻⁵.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

TABLES, NORM = (E, S, P), (gamma, beta, eps)
g, pi = given("g", n, d), given("pi", n, domain="permutation")
E_more, S_more, P_more = given("E_more", V, d), given("S_more", K, d), given("P_more", N, d)
v, r = given("v", d), given("r", domain="integer", below=K)
whole = bert(ids, seg, pos, *TABLES, *NORM)


def add_to_table(table: Tensor, by: Node, *at: Index) -> Comprehension:
    """A table with something added to its entries."""
    return each(table[at] + by, *at)


grown = (
    add_to_table(E, E_more[t, c], t, c),
    add_to_table(S, S_more[a, c], a, c),
    add_to_table(P, P_more[p, c], p, c),
)

bert.theorem(
    "additive",
    "Before the normalization it is additive in the three tables: tables that are sums give the sum of what each gives",
    claim(
        bert(ids, seg, pos, *grown, *NORM).output(s)[i, c],
        "=",
        s[i, c] + bert(ids, seg, pos, E_more, S_more, P_more, *NORM).output(s)[i, c],
    )
    .step(
        E[ids[i], c]
        + E_more[ids[i], c]
        + (S[seg[i], c] + S_more[seg[i], c])
        + (P[pos[i], c] + P_more[pos[i], c]),
        "one row of each table is read",
    )
    .because("the terms in another order"),
    given=(E_more, S_more, P_more),
    runs=False,
)

joint = layer_norm(each(s[i, e] + v[e], e), *NORM)[c]

bert.theorem(
    "shared",
    "What all rows of one table share might as well stand in another: only the sum is read",
    claim(
        bert(ids, seg, pos, E, add_to_table(S, v[c], a, c), P, *NORM)[i, c],
        "=",
        joint,
    )
    .keeping(layer_norm)
    .by_definition("every place reads one row of the segments"),
    claim(bert(ids, seg, pos, add_to_table(E, v[c], t, c), S, P, *NORM)[i, c], "=", joint)
    .keeping(layer_norm)
    .by_definition("and one of the tokens"),
    claim(bert(ids, seg, pos, E, S, add_to_table(P, v[c], p, c), *NORM)[i, c], "=", joint)
    .keeping(layer_norm)
    .by_definition("and one of the positions"),
    given=v,
    conventions=BIASED,
)

bert.theorem(
    "one_segment",
    "Where all is one segment, its row could as well be a part of every token's: it is added to all alike, and is not nothing",
    claim(
        bert(ids, each(r, i), pos, E, S, P, *NORM)[i, c],
        "=",
        bert(ids, each(r, i), pos, add_to_table(E, S[r, c], t, c), each(0, a, c), P, *NORM)[i, c],
    )
    .keeping(layer_norm)
    .by_definition("the same three numbers are added up"),
    given=r,
    conventions=BIASED,
)

bert.theorem(
    "permutation_equivariant",
    "Permuting the places, with what is told of each, permutes the rows: order is in the positions, and nowhere else",
    claim(
        bert(each(ids[pi[i]], i), each(seg[pi[i]], i), each(pos[pi[i]], i), *TABLES, *NORM)[i, c],
        "=",
        x[pi[i], c],
    )
    .keeping(layer_norm)
    .by_definition("each row is made of what stands at its own place"),
    given=pi,
    conventions=BIASED,
)

bert.theorem(
    "order_matters",
    "Tokens in another order, at the same positions, are more than the same rows in another order",
    claim(
        bert(each(ids[n - 1 - i], i), seg, pos, *TABLES, *NORM)[i, c],
        "=",
        bert(ids, seg, pos, *TABLES, *NORM)[n - 1 - i, c],
    ).by_witness(
        n=2,
        ids=[0, 1],
        seg=[0, 0],
        pos=[0, 1],
        E=[[1, 0], [0, 0]],
        S=[[0, 0]],
        P=[[1, 0], [0, 0]],
        gamma=[1, 1],
        beta=[0, 0],
        eps=1,
    ),
    exists=True,
    runs=False,
)

rows, extra = sizes("rows extra")

bert.theorem(
    "prefix",
    "The rows of the first tokens are those of the first tokens alone",
    claim(bert(ids[:rows], seg[:rows], pos[:rows], *TABLES, *NORM)[i, c], "=", x[i, c], (i, rows), c)
    .keeping(layer_norm)
    .by_definition("each row is made of what stands at its own place"),
    sizes={n: rows + extra},
    conventions=BIASED,
)

G = layer_norm(s[i], *NORM).pullback(each(g[i, e], e), "x")

bert.theorem(
    "gradients",
    "The three tables share one gradient, that of the normalization at the sum: a row gets what reached the places that read it",
    *(
        claim(whole.pullback(g, table)[at, c], "=", Sum(delta(at, read[i]) * G[c], i))
        .keeping(layer_norm)
        .by_definition("the sum passes its gradient to each summand, and a look-up to the row that was read")
        for table, read, at in ((E, ids, t), (S, seg, a), (P, pos, p))
    ),
    given=g,
    conventions=OURS,
)

bert.theorem(
    "parameters",
    "It has (V + K + N + 2)·d parameters: 23,837,184 in BERT's base model, of width 768",
    claim(parameters(bert), "=", (V + K + N + 2) * d).by_definition("three tables, a gain and a bias"),
    runs=False,
)
