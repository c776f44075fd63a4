"""The triangle update by attention: each pair attends to the pairs that share one of its residues.

Inputs: the pairs z; gain and bias of their normalization; W_b, which makes the heads' biases; the heads' W_q … b_o; ε; whether
they share the ending residue; which pairs take part.
"""

from spec.attention.masks import FULLY_MASKED, POLARITY
from spec.evoformer.gated_attention import gated_attention
from spec.evoformer.parts import *
from spec.evoformer.row_attention import row_attention
from spec.normalization.layer_norm import layer_norm
from spec.vocabulary import *

WEIGHTS = attention_weights()
NORM, W_b, HEADS_OF = WEIGHTS[:2], WEIGHTS[2], WEIGHTS[3:]
W_q, W_k, W_v, W_g, b_g, W_o, b_o = HEADS_OF
ending = number(
    "ending",
    "boolean",
    meaning="whether pairs attend to those that end where they end; else to those that start alike",
)
x = tensor("x", n_res, n_res, c_z, meaning="the pairs, normalised")
b = tensor(
    "b",
    h,
    n_res,
    n_res,
    meaning="in each head, the bias that a pair gives to triangles of which it is the third side",
)
q = tensor("q", h, n_res, n_res, c, meaning="queries: what a pair looks for")
k = tensor("k", h, n_res, n_res, c, meaning="keys: what a pair is found by")
v = tensor("v", h, n_res, n_res, c, meaning="values: what a pair hands over")
g = tensor("g", h, n_res, n_res, c, domain="share", meaning="gates: how much of what is found passes")
head = tensor(
    "head",
    h,
    n_res,
    n_res,
    c,
    meaning="what each head has gathered and let pass, of the pairs with one shared residue for each other one",
)
concat = tensor("concat", n_res, n_res, h * c, meaning="what all heads let pass, side by side, head by head")
u = tensor("u", n_res, n_res, c_z, meaning="the update: what is added to the pairs")

r, o = indices(r=n_res, o=n_res)


def around(array: Tensor) -> Comprehension:
    """What pairs hold in a head that share residue r: a row for the other residue o of each."""
    return each(case(ending, array[t, o, r, e], array[t, r, o, e]), o, e)


third_side = each(case(ending, b[t, l, o], b[t, o, l]), o, l)
partners = each(case(ending, mask[l, r], mask[r, l]), o, l)

SHARED = {
    "z": [[[1, -1], [-1, 1]], [[0, 0], [0, 0]]],
    "gamma": ["5/4", "5/4"],
    "beta": [0, 0],
    "W_b": [[0], [0]],
    "W_q": [[[0], [0]]],
    "W_k": [[[0], [0]]],
    "W_v": [[[6], [0]]],
    "W_g": [[[0], [0]]],
    "b_g": [[0]],
    "W_o": [[1, 0]],
    "b_o": [0, 0],
    "eps": "9/16",
}

triangle_attention = Formula(
    "evoformer.triangle_attention",
    "Triangle attention",
    why="Which triangles should a pair heed? A sum over all third residues counts each alike. Here pair (i, j) attends "
    "to the pairs (i, l) that start where it starts, and picks those that matter. Of the triangle i, j, l the third side is "
    "(j, l): from it comes the bias of the score, so that all three sides take part. Around the ending residue it is the "
    "same with all pairs turned about.",
    sizes={**RESIDUES, c_z: "width of what is known of a pair", **HEADS},
    inputs=(z, *WEIGHTS, eps, ending, mask),
    lines=(
        define(x[i, j], layer_norm(z[i, j], *NORM, eps)),
        define(b[t, i, j], Sum(x[i, j, d] * W_b[d, t], d)),
        define(q[t, i, j, e], Sum(x[i, j, d] * W_q[t, d, e], d)),
        define(k[t, i, j, e], Sum(x[i, j, d] * W_k[t, d, e], d)),
        define(v[t, i, j, e], Sum(x[i, j, d] * W_v[t, d, e], d)),
        define(g[t, i, j, e], sigmoid(Sum(x[i, j, d] * W_g[t, d, e], d) + b_g[t, e])),
        define(
            head[t, r],
            gated_attention(around(q), around(k), around(v), third_side, around(g), partners),
        ),
        define(concat[i, j, t * c + e], case(ending, head[t, j, i, e], head[t, i, j, e])),
        define(u[i, j, d], Sum(concat[i, j, y] * W_o[y, d], y) + b_o[d]),
    ),
    outputs=(u,),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("x", "b", "q", "k", "v", "g", "head"),
    pitfalls=(
        pitfall(
            "starting and ending exchanged: unnoticed while the pairs are symmetric", mutant="other_node"
        ),
        pitfall(
            "the bias of the pair itself, (i, j), or of (l, j), instead of (j, l)",
            mutant="bias_of_the_third_side_turned",
        ),
        pitfall("the ending residue: pairs turned, but not turned back", mutant="not_turned_back"),
        pitfall("the mask not turned with the pairs", mutant="mask_not_turned"),
        pitfall("the gate before the attention, on the values", mutant="triangle_gate_on_the_values"),
    ),
    sources=(
        paper(
            "jumper2021",
            "supplement, algorithms 13 and 14 (TriangleAttentionStartingNode, TriangleAttentionEndingNode)",
        ),
        deck(0, "proteins: AlphaFold 2"),
    ),
    worked=(
        Worked(
            "Equal weights, gates half open: pairs that start at 0 have values of 6 and −6, whose mean is 0",
            SHARED | {"ending": False},
            [[["0", "0"], ["0", "0"]], [["0", "0"], ["0", "0"]]],
            0,
        ),
        Worked(
            "The pairs that end at 0 have values of 6 and 0, those that end at 1 of −6 and 0: half of the means 3 and −3 passes",
            SHARED | {"ending": True},
            [[["1.5", "0"], ["-1.5", "0"]], [["1.5", "0"], ["-1.5", "0"]]],
            1,
        ),
        Worked(
            "Pair (0, 1) is the third side of (0, 0) with residue 1, and has a bias of log 3, as (0, 0) has one of −log 3: of 6 "
            "and −6 pair (0, 0) takes 1/10 and 9/10, and half of −4.8 passes",
            SHARED | {"ending": False, "W_b": [["-log(3)"], [0]]},
            [[["-2.4", "0"], ["0", "0"]], [["0", "0"], ["0", "0"]]],
            1,
        ),
    ),
    notes="The supplement has no mask. Where all the pairs that one may attend to are masked, implementations differ.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

transposed = each(z[j, i, d], i, j, d)
turned = each(mask[j, i], i, j)

triangle_attention.theorem(
    "transposed",
    "Around the ending residue it is attention around the starting one, of the transposed pairs and transposed back; and the "
    "reverse",
    claim(triangle_attention(transposed, *WEIGHTS, eps, ~ending, turned)[j, i, d], "=", u[i, j, d])
    .keeping(layer_norm, gated_attention)
    .by_definition("pair (i, j) is (j, i) of the transpose, and so are its partners and the third side"),
    conventions=OURS,
)

triangle_attention.theorem(
    "rows",
    "Around the starting residue it is row-wise attention of the pairs taken for an alignment, with the pairs themselves as bias",
    claim(
        triangle_attention(z, *WEIGHTS, eps, ~TRUE, mask)[i, j, d],
        "=",
        row_attention(z, z, *NORM, *NORM, W_b, *HEADS_OF, eps, mask)[i, j, d],
    )
    .keeping(layer_norm, gated_attention)
    .by_definition("residue i is the sequence: its pairs (i, j) attend to (i, l), with the bias of (j, l)"),
    conventions=OURS,
)

triangle_attention.theorem(
    "relabelled",
    "Relabelling the residues permutes the result",
    claim(
        triangle_attention(permute_pairs(z), *WEIGHTS, eps, ending, MASKED_PAIRS)[i, j, d],
        "=",
        u[pi[i], pi[j], d],
    )
    .keeping(layer_norm)
    .by_definition("each sum over the third residue has the same terms in another order"),
    given=pi,
    conventions=OURS,
)

triangle_attention.theorem(
    "parameters",
    "It has 2·c_z + c_z·h + 4·h·c_z·c + h·c + h·c·c_z + c_z parameters: 82,944 in AlphaFold",
    claim(parameters(triangle_attention), "=", 2 * c_z + c_z * h + count_heads(c_z)).by_definition(
        "a normalization, the matrix of the biases, and the heads"
    ),
    runs=False,
)
