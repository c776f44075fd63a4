"""Embedding: a token's identity becomes a vector."""

from __future__ import annotations

from spec.language import (
    Formula,
    Proof,
    Some,
    Sum,
    Theorem,
    case,
    claim,
    data,
    deck,
    define,
    delta,
    each,
    eq,
    given,
    indices,
    paper,
    parameter,
    sizes,
    tensor,
)

n, V, d = sizes("n V d")
i, c = indices("i c")

ids = data("ids", n, domain="integer", below=V)
E = parameter("E", V, d)
x = tensor("x", n, d)

token = Formula(
    "embedding.token",
    "Token embedding",
    inputs=(ids, E),
    lines=(define(x[i, c], E[ids[i], c]),),
    outputs=(x,),
    sources=(
        deck(1, "recurrent neural networks: a one-hot encoding times an embedding matrix"),
        deck(2, "word embedding, size 512"),
        deck(4, "(sub)word embeddings"),
        paper("Bengio et al. 2003", "section 2"),
    ),
    notes="Row t of E is the product of t's one-hot vector with E.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

t, l = indices("t l")
other, g = given("E_other", V, d), given("g", n, d)
looked_up = Some(eq(ids[l], t), (l, 0, n - 1))
row = token(ids, E)

token.prove(
    Theorem(
        "one_hot",
        "Looking a token up is multiplying its one-hot vector with the table",
        claims=(claim(row[i, c], "=", Sum(delta(t, ids[i]) * E[t, c], (t, 0, V - 1)), (i, n), (c, d)),),
        proofs=(Proof(why="the delta picks the row of the token, which is in the table"),),
    )
)

token.prove(
    Theorem(
        "gradient",
        "The gradient of a row is the sum over the places where its token stands; rows not looked up get none",
        given=(g,),
        claims=(
            claim(
                row.pullback(g, "E")[t, c],
                "=",
                Sum(delta(t, ids[i]) * g[i, c], (i, 0, n - 1)),
                (t, V),
                (c, d),
            ),
            claim(row.pullback(g, "E")[t, c], "=", 0, (t, V), (c, d), where=~looked_up),
        ),
        proofs=(
            Proof(why="the derivative of a looked-up entry is 1 where row and token agree, else 0"),
            Proof(why="no place holds the token, so the sum is empty"),
        ),
    )
)

token.prove(
    Theorem(
        "other_rows",
        "Rows that are not looked up have no influence",
        given=(other,),
        claims=(
            claim(
                token(ids, each(case(looked_up, E[t, c], other[t, c]), (t, V), (c, d)))[i, c],
                "=",
                row[i, c],
                (i, n),
                (c, d),
            ),
        ),
        proofs=(Proof(why="the row read at place i is that of the token that stands there"),),
    )
)
