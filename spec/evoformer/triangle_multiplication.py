"""The triangle update by products: each pair learns from the two pairs that share a third residue with it.

Inputs: the pairs z; gain and bias of their normalization; for each of the two edges a projection and its gate, W_a, b_a, W_ag,
b_ag and W_b, b_b, W_bg, b_bg; gain and bias of the normalization of the sum; W_o, b_o; the gate's W_g, b_g; ε; whether the edges
come in; which pairs take part.
"""

from spec.evoformer.parts import *
from spec.normalization.layer_norm import layer_norm
from spec.vocabulary import *

WIDTHS = {**RESIDUES, c_z: "width of what is known of a pair", c: "width of an edge: c_z in AlphaFold"}

WEIGHTS = multiplication_weights()
NORM, FIRST, SECOND, REST = WEIGHTS[:2], WEIGHTS[2:6], WEIGHTS[6:10], WEIGHTS[10:]
W_a, b_a, W_ag, b_ag, W_b, b_b, W_bg, b_bg = FIRST + SECOND
gamma_o, beta_o, W_o, b_o, W_g, b_g = REST
incoming = number(
    "incoming",
    "boolean",
    meaning="whether the edges come in at i and j from a third residue; else they go out to it",
)
x = tensor("x", n_res, n_res, c_z, meaning="the pairs, normalised")
a = tensor("a", n_res, n_res, c, meaning="first edge: what a pair hands over as the one side of a triangle")
b = tensor("b", n_res, n_res, c, meaning="second edge: what it hands over as the other side")
o = tensor(
    "o", n_res, n_res, c, meaning="the sum, over all third residues, of the products of the two other edges"
)
w = tensor("w", n_res, n_res, c, meaning="the sums, normalised")
g = tensor("g", n_res, n_res, c_z, domain="share", meaning="gate: how much of the update passes")
u = tensor("u", n_res, n_res, c_z, meaning="the update: what is added to the pairs")


def gated(W: Tensor, bias: Tensor, W_gate: Tensor, b_gate: Tensor) -> Node:
    """Entry p of what a pair hands over as an edge."""
    gate = sigmoid(Sum(x[i, j, d] * W_gate[d, e], d) + b_gate[e])
    return gate * (Sum(x[i, j, d] * W[d, e], d) + bias[e])


outgoing_sum = Sum(a[i, k, e] * b[j, k, e], k, where=mask[i, k] & mask[j, k])
incoming_sum = Sum(a[k, i, e] * b[k, j, e], k, where=mask[k, i] & mask[k, j])

OPEN = {
    "gamma_z": [1, 1],
    "beta_z": [0, 0],
    "W_a": [[0, 0], [5, 0]],
    "b_a": [0, 0],
    "W_ag": [[0, 0], [0, 0]],
    "b_ag": [0, 0],
    "W_b": [[0, 0], [0, 0]],
    "b_b": [2, 0],
    "W_bg": [[0, 0], [0, 0]],
    "b_bg": [0, 0],
    "gamma_o": [1, 1],
    "beta_o": [0, 0],
    "W_o": [[5, 0], [0, 5]],
    "b_o": [0, 0],
    "W_g": [[0, 0], [0, 0]],
    "b_g": [0, 0],
    "eps": "9/16",
}
ONE_EDGE = {"z": [[[0, 0], [-1, 1]], [[0, 0], [0, 0]]]}

triangle_multiplication = Formula(
    "evoformer.triangle_multiplication",
    "Triangle multiplication",
    why="What do two distances say of a third? If residue k is near i and near j, then i and j cannot be far apart: the three "
    "distances of a triangle are not free. Numbers for pairs that are found one by one need not fit together, and then no "
    "fold has them. So each pair (i, j) looks at the two other sides of all its triangles, the edges from i and from j to "
    "every third residue k, multiplies the two and sums over k, as in a product of matrices. Edges have a direction: one "
    "update takes those that go out of i and j, another those that come in.",
    sizes=WIDTHS,
    inputs=(z, *WEIGHTS, eps, incoming, mask),
    lines=(
        define(x[i, j], layer_norm(z[i, j], *NORM, eps)),
        define(a[i, j, e], gated(*FIRST)),
        define(b[i, j, e], gated(*SECOND)),
        define(o[i, j, e], case(incoming, incoming_sum, outgoing_sum)),
        define(w[i, j], layer_norm(o[i, j], gamma_o, beta_o, eps)),
        define(g[i, j, d], sigmoid(Sum(x[i, j, y] * W_g[y, d], (y, c_z)) + b_g[d])),
        define(u[i, j, d], g[i, j, d] * (Sum(w[i, j, e] * W_o[e, d], e) + b_o[d])),
    ),
    outputs=(u,),
    stored=("x", "a", "b", "o", "w", "g"),
    pitfalls=(
        pitfall(
            "the edges of the other direction: unnoticed while the pairs are symmetric",
            mutant="edges_transposed",
        ),
        pitfall(
            "incoming taken for outgoing of the transposed pairs with the projections as they are",
            mutant="projections_not_exchanged",
        ),
        pitfall(
            "a product of the matrices, over the second index of one and the first of the other",
            mutant="matrix_product",
        ),
        pitfall(
            "the outer gate from the update, or before the output's projection",
            mutant="gate_before_the_output",
        ),
        pitfall(
            "the mean over the third residues for the sum: ε alone tells them apart",
            mutant="mean_over_residues",
        ),
    ),
    sources=(
        paper(
            "jumper2021",
            "supplement, algorithms 11 and 12 (TriangleMultiplicationOutgoing, TriangleMultiplicationIncoming)",
        ),
        deck(0, "proteins: AlphaFold 2"),
    ),
    worked=(
        Worked(
            "One pair, (0, 1), is not 0: its first edge is half of 4, that of the others 0; every second edge is half of 2. Out "
            "of residue 0 it goes, and so it counts for both pairs that begin there",
            OPEN | ONE_EDGE | {"incoming": False},
            [[["2", "0"], ["2", "0"]], [["0", "0"], ["0", "0"]]],
            0,
            output="o",
        ),
        Worked(
            "Into residue 1 it comes, and so it counts for both pairs that begin there",
            OPEN | ONE_EDGE | {"incoming": True},
            [[["0", "0"], ["0", "0"]], [["2", "0"], ["2", "0"]]],
            0,
            output="o",
        ),
        Worked(
            "(2, 0) is ±4/5 when normalised with ε = 9/16; half of five times that passes the gate",
            OPEN | ONE_EDGE | {"incoming": False},
            [[["2", "-2"], ["2", "-2"]], [["0", "0"], ["0", "0"]]],
            0,
        ),
    ),
    notes="As the paper has it, the first edge of a pair (k, i) is multiplied by the second of (k, j). The published code, for "
    "edges that come in, multiplies the first of (k, j) by the second of (k, i): its weights of that update fit what is stated "
    "here with the two projections exchanged, gates and biases too. For edges that go out the two agree.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

transposed = each(z[j, i, d], i, j, d)
turned = each(mask[j, i], i, j)

triangle_multiplication.theorem(
    "transposed",
    "Incoming edges are outgoing edges of the transposed pairs, the two projections exchanged, and the result transposed back; "
    "and the reverse",
    claim(
        triangle_multiplication(transposed, *NORM, *SECOND, *FIRST, *REST, eps, ~incoming, turned)[j, i, d],
        "=",
        u[i, j, d],
    )
    .keeping(layer_norm)
    .by_definition("the same products, their factors exchanged"),
)

triangle_multiplication.theorem(
    "relabelled",
    "Relabelling the residues permutes the result",
    claim(
        triangle_multiplication(permute_pairs(z), *WEIGHTS, eps, incoming, MASKED_PAIRS)[i, j, d],
        "=",
        u[pi[i], pi[j], d],
    )
    .keeping(layer_norm)
    .by_definition("the sum over the third residue has the same terms in another order"),
    given=pi,
)

triangle_multiplication.theorem(
    "parameters",
    "It has 2·c_z + 4·(c_z·c + c) + 2·c + c·c_z + c_z + c_z² + c_z parameters: 99,584 in AlphaFold",
    claim(
        parameters(triangle_multiplication),
        "=",
        2 * c_z + 4 * (c_z * c + c) + 2 * c + c * c_z + c_z**2 + 2 * c_z,
    ).by_definition("two normalizations, two edges with their gates, the output and its gate"),
    runs=False,
)
