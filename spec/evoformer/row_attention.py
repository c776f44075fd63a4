"""Attention along each sequence of an alignment, with a bias from what is known of the pairs.

Inputs: the alignment m and the pairs z; gain and bias of the normalizations of the two; the heads' W_q … b_o, with W_b, which
makes their biases; ε; which entries of the alignment take part.
"""

from spec.attention.masks import FULLY_MASKED, POLARITY
from spec.evoformer.gated_attention import gated_attention
from spec.evoformer.parts import *
from spec.normalization.layer_norm import layer_norm
from spec.vocabulary import *

WEIGHTS = row_weights()
NORM_M, NORM_Z, W_b, HEADS_OF = WEIGHTS[:2], WEIGHTS[2:4], WEIGHTS[4], WEIGHTS[5:]
W_q, W_k, W_v, W_g, b_g, W_o, b_o = HEADS_OF
mask = optional_mask(
    "mask", n_seq, n_res, meaning="which entries of the alignment take part: padding does not"
)
x = tensor("x", n_seq, n_res, c_m, meaning="the alignment, normalised")
w = tensor("w", n_res, n_res, c_z, meaning="the pairs, normalised")
b = tensor("b", h, n_res, n_res, meaning="in each head, how much a residue heeds another whatever they hold")
q = tensor("q", n_seq, h, n_res, c, meaning="queries: what a residue looks for")
k = tensor("k", n_seq, h, n_res, c, meaning="keys: what a residue is found by")
v = tensor("v", n_seq, h, n_res, c, meaning="values: what a residue hands over")
g = tensor("g", n_seq, h, n_res, c, domain="share", meaning="gates: how much of what is found passes")
head = tensor("head", n_seq, h, n_res, c, meaning="what each head has gathered and let pass")
concat = tensor("concat", n_seq, n_res, h * c, meaning="what all heads let pass, side by side, head by head")
u = tensor("u", n_seq, n_res, c_m, meaning="the update: what is added to the alignment")

UNIT = {
    "gamma_m": ["5/4", "5/4"],
    "beta_m": [0, 0],
    "gamma_z": ["5/4", "5/4"],
    "beta_z": [0, 0],
    "W_q": [[[0], [0]]],
    "W_k": [[[0], [0]]],
    "W_v": [[[1], [0]]],
    "W_g": [[[0], [0]]],
    "b_g": [[0]],
    "W_o": [[2, 4]],
    "b_o": [0, 1],
    "eps": "9/16",
}
TWO_RESIDUES = {"m": [[[1, -1], [-1, 1]]], "z": [[[0, 0], [0, 0]], [[0, 0], [1, -1]]]}

row_attention = Formula(
    "evoformer.row_attention",
    "Row-wise attention of an alignment, with a bias of pairs",
    why="How can the sequences of related proteins be read in the light of what is known of their common fold? Each row of the "
    "alignment is one protein's sequence, and its residues attend to one another as words do. Which residues are near in the "
    "fold is no matter of one sequence: it is kept for each pair, from which each head makes a bias of its scores, the same "
    "for all rows. So what the pairs have learned steers what the sequences gather.",
    sizes={**ALIGNMENT, c_z: "width of what is known of a pair", **HEADS},
    inputs=(m, z, *WEIGHTS, eps, mask),
    lines=(
        define(x[s, i], layer_norm(m[s, i], *NORM_M, eps)),
        define(w[i, j], layer_norm(z[i, j], *NORM_Z, eps)),
        define(b[t, i, j], Sum(w[i, j, d] * W_b[d, t], d)),
        define(q[s, t, i, e], Sum(x[s, i, p] * W_q[t, p, e], p)),
        define(k[s, t, i, e], Sum(x[s, i, p] * W_k[t, p, e], p)),
        define(v[s, t, i, e], Sum(x[s, i, p] * W_v[t, p, e], p)),
        define(g[s, t, i, e], sigmoid(Sum(x[s, i, p] * W_g[t, p, e], p) + b_g[t, e])),
        define(
            head[s, t],
            gated_attention(q[s, t], k[s, t], v[s, t], b[t], g[s, t], each(mask[s, j], i, j)),
        ),
        define(concat[s, i, t * c + e], head[s, t, i, e]),
        define(u[s, i, p], Sum(concat[s, i, y] * W_o[y, p], y) + b_o[p]),
    ),
    outputs=(u,),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("x", "w", "b", "q", "k", "v", "g", "head"),
    pitfalls=(
        pitfall("the bias of the pair (j, i) instead of that of (i, j)", mutant="row_bias_transposed"),
        pitfall("the bias of another head", mutant="row_bias_of_the_next_head"),
        pitfall("the gate before the attention, on the values", mutant="row_gate_on_the_values"),
        pitfall("pairs read as they are, not normalised", mutant="row_pairs_as_they_are"),
        pitfall(
            "the heads' width taken for c/h, as elsewhere: here c is that of one head",
            mutant="row_scaled_by_all_heads",
        ),
    ),
    sources=(
        paper("jumper2021", "supplement, algorithm 7 (MSARowAttentionWithPairBias)"),
        deck(0, "proteins: AlphaFold 2"),
    ),
    worked=(
        Worked(
            "Two residues hold ±1 when normalised; queries are 0, and no pair has a bias: each gathers 0; gates are half open",
            UNIT | TWO_RESIDUES | {"W_b": [[0], [0]]},
            [[["0", "1"], ["0", "1"]]],
            0,
        ),
        Worked(
            "The pair of the second with itself has a bias of log 3: of 1 and −1 it takes 1/4 and 3/4, and half of −1/2 passes",
            UNIT | TWO_RESIDUES | {"W_b": [["log(3)"], [0]]},
            [[["0", "1"], ["-0.5", "0"]]],
            1,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

row_attention.theorem(
    "relabelled",
    "Relabelling the residues, or putting the sequences in another order, permutes the result",
    claim(
        row_attention(
            permute_alignment(m), permute_pairs(z), *WEIGHTS, eps, each(mask[sigma[s], pi[j]], s, j)
        )[s, i, p],
        "=",
        u[sigma[s], pi[i], p],
    )
    .keeping(layer_norm)
    .by_definition(
        "each sum over residues has the same terms in another order, and all else is done entry by entry"
    ),
    given=(pi, sigma),
    conventions=OURS,
)

row_attention.theorem(
    "parameters",
    "It has 2·c_m + 2·c_z + c_z·h + 4·h·c_m·c + h·c + h·c·c_m + c_m parameters: 329,984 in AlphaFold",
    claim(parameters(row_attention), "=", 2 * c_m + 2 * c_z + c_z * h + count_heads(c_m)).by_definition(
        "two normalizations, the matrix of the biases, and the heads"
    ),
    runs=False,
)
