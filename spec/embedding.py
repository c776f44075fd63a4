"""Embedding: a token's identity becomes a vector."""

from __future__ import annotations

from spec.language import Formula, data, deck, define, indices, paper, parameter, sizes, tensor

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
