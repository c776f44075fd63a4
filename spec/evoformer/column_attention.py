"""Attention along each column of an alignment: of a residue, between the sequences.

Inputs: the alignment m; gain and bias of its normalization; the heads' W_q … b_o; ε; which entries take part.
"""

from spec.attention.masks import FULLY_MASKED, POLARITY
from spec.evoformer.gated_attention import gated_attention
from spec.evoformer.parts import *
from spec.evoformer.row_attention import row_attention
from spec.normalization.layer_norm import layer_norm
from spec.vocabulary import *

(r,) = indices(r=n_seq)

WEIGHTS = column_weights()
NORM, HEADS_OF = WEIGHTS[:2], WEIGHTS[2:]
W_q, W_k, W_v, W_g, b_g, W_o, b_o = HEADS_OF
mask = optional_mask(
    "mask", n_seq, n_res, meaning="which entries of the alignment take part: padding does not"
)
x = tensor("x", n_seq, n_res, c_m, meaning="the alignment, normalised")
q = tensor("q", n_res, h, n_seq, c, meaning="queries: what a sequence looks for at a residue")
k = tensor("k", n_res, h, n_seq, c, meaning="keys: what a sequence is found by there")
v = tensor("v", n_res, h, n_seq, c, meaning="values: what a sequence hands over there")
g = tensor("g", n_res, h, n_seq, c, domain="share", meaning="gates: how much of what is found passes")
head = tensor("head", n_res, h, n_seq, c, meaning="what each head has gathered and let pass")
concat = tensor("concat", n_seq, n_res, h * c, meaning="what all heads let pass, side by side, head by head")
u = tensor("u", n_seq, n_res, c_m, meaning="the update: what is added to the alignment")

column_attention = Formula(
    "evoformer.column_attention",
    "Column-wise attention of an alignment",
    why="What does a residue learn from its counterparts in related proteins? A column of the alignment holds the same place of "
    "the protein in every sequence: where all have the same amino acid, it matters; where two columns change together, they "
    "touch. Attention along rows never leaves a sequence, so attention along columns takes turns with it. Which sequences are "
    "related is not known beforehand: no bias is added here.",
    sizes={**ALIGNMENT, **HEADS},
    inputs=(m, *WEIGHTS, eps, mask),
    lines=(
        define(x[s, i], layer_norm(m[s, i], *NORM, eps)),
        define(q[i, t, s, e], Sum(x[s, i, p] * W_q[t, p, e], p)),
        define(k[i, t, s, e], Sum(x[s, i, p] * W_k[t, p, e], p)),
        define(v[i, t, s, e], Sum(x[s, i, p] * W_v[t, p, e], p)),
        define(g[i, t, s, e], sigmoid(Sum(x[s, i, p] * W_g[t, p, e], p) + b_g[t, e])),
        define(
            head[i, t],
            gated_attention(q[i, t], k[i, t], v[i, t], each(0, s, r), g[i, t], each(mask[r, i], s, r)),
        ),
        define(concat[s, i, t * c + e], head[i, t, s, e]),
        define(u[s, i, p], Sum(concat[s, i, y] * W_o[y, p], y) + b_o[p]),
    ),
    outputs=(u,),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("x", "q", "k", "v", "g", "head"),
    pitfalls=(
        pitfall("attention along the rows, where columns are meant", mutant="column_along_rows"),
        pitfall("a gate from what was found, not from the asking entry", mutant="column_gate_of_the_found"),
        pitfall("the softmax over the queries", mutant="column_softmax_over_queries"),
        pitfall("sequences expected to have an order", theorem="relabelled"),
    ),
    sources=(
        paper("jumper2021", "supplement, algorithm 8 (MSAColumnAttention)"),
        deck(0, "proteins: AlphaFold 2"),
    ),
    worked=(
        Worked(
            "Two sequences hold 1 and −1 when normalised; equal weights find 0, and the output's bias is what remains",
            {
                "m": [[[1, -1]], [[-1, 1]]],
                "gamma": ["5/4", "5/4"],
                "beta": [0, 0],
                "W_q": [[[0], [0]]],
                "W_k": [[[0], [0]]],
                "W_v": [[[1], [0]]],
                "W_g": [[[0], [0]]],
                "b_g": [[0]],
                "W_o": [[2, 4]],
                "b_o": [0, 1],
                "eps": "9/16",
            },
            [[["0", "1"]], [["0", "1"]]],
            0,
        ),
        Worked(
            "Asked by ½ log 3, the first takes 3/4 of 1 and 1/4 of −1, the second the reverse, and half of ±½ passes",
            {
                "m": [[[1, -1]], [[-1, 1]]],
                "gamma": ["5/4", "5/4"],
                "beta": [0, 0],
                "W_q": [[["log(3)/2"], [0]]],
                "W_k": [[[1], [0]]],
                "W_v": [[[1], [0]]],
                "W_g": [[[0], [0]]],
                "b_g": [[0]],
                "W_o": [[2, 4]],
                "b_o": [0, 1],
                "eps": "9/16",
            },
            [[["0.5", "2"]], [["-0.5", "0"]]],
            1,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

zeta = given("zeta", n_seq, n_seq, c_z)
gain, shift = given("gain", c_z), given("shift", c_z)

column_attention.theorem(
    "rows",
    "It is row-wise attention of the transposed alignment, transposed back, where no pair has a bias",
    claim(
        u[s, i, p],
        "=",
        row_attention(
            each(m[s, i, p], i, s, p),
            zeta,
            *NORM,
            gain,
            shift,
            each(0, d, t),
            *HEADS_OF,
            eps,
            each(mask[s, i], i, s),
        )[i, s, p],
    )
    .keeping(layer_norm)
    .by_definition("a row of the transpose is a column"),
    given=(zeta, gain, shift),
    conventions=OURS,
)

column_attention.theorem(
    "relabelled",
    "Relabelling the residues, or putting the sequences in another order, permutes the result",
    claim(
        column_attention(permute_alignment(m), *WEIGHTS, eps, each(mask[sigma[s], pi[i]], s, i))[s, i, p],
        "=",
        u[sigma[s], pi[i], p],
    )
    .keeping(layer_norm)
    .by_definition("each sum over sequences has the same terms in another order"),
    given=(pi, sigma),
    conventions=OURS,
)

column_attention.theorem(
    "parameters",
    "It has 2·c_m + 4·h·c_m·c + h·c + h·c·c_m + c_m parameters: 328,704 in AlphaFold",
    claim(parameters(column_attention), "=", 2 * c_m + count_heads(c_m)).by_definition(
        "a normalization and the heads"
    ),
    runs=False,
)
