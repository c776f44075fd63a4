"""ELMo: a language model that reads in both directions, and the vectors mixed from its layers."""

from __future__ import annotations

from spec.language import (
    Formula,
    Index,
    Node,
    Sum,
    Tensor,
    data,
    deck,
    define,
    exp,
    indices,
    log,
    paper,
    parameter,
    sizes,
    tensor,
)

L, d, T, V = sizes("L d T V")
j, c, k, l, v = indices("j c k l v")

h, w, gamma = data("h", L + 1, d), parameter("w", L + 1), parameter("gamma")
a, m = tensor("a", L + 1), tensor("m", d)

elmo_mix = Formula(
    "recurrent.elmo_mix",
    "ELMo's mix of layers",
    inputs=(h, w, gamma),
    lines=(
        define(a[j], exp(w[j]) / Sum(exp(w[l]), (l, 0, L))),
        define(m[c], gamma.value * Sum(a[j] * h[j, c], (j, 0, L))),
    ),
    outputs=(m,),
    stored=("a",),
    sources=(deck(1, "ELMo"), deck(3, "ELMo, steps 1 to 3"), paper("Peters et al. 2018", "eq. 1")),
)

ids = data("ids", T, domain="integer", below=V)
s_f, s_b = data("s_f", T, V), data("s_b", T, V)
forward, backward, total = tensor("forward", T), tensor("backward", T), tensor("J")


def log_probability(scores: Tensor, at: Index) -> Node:
    """The logarithm of the softmax of a row of scores, at the word that stands there."""
    return scores[at, ids[at]] - log(Sum(exp(scores[at, v]), (v, 0, V - 1)))


bilm_objective = Formula(
    "recurrent.bilm_objective",
    "Objective of the bidirectional language model",
    inputs=(ids, s_f, s_b),
    lines=(
        define(forward[k], log_probability(s_f, k)),
        define(backward[k], log_probability(s_b, k)),
        define(total, Sum(forward[k] + backward[k], (k, 0, T - 1))),
    ),
    outputs=(total,),
    stored=("forward", "backward"),
    sources=(deck(1, "ELMo"), deck(3, "ELMo"), paper("Peters et al. 2018", "section 3.1")),
)
