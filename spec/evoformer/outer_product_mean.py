"""What an alignment says of each pair of residues: the mean over its sequences of outer products.

Inputs: the alignment m; gain and bias of its normalization; the two projections' W_a, b_a, W_b, b_b; W_o, b_o; ε.
"""

from spec.evoformer.parts import *
from spec.normalization.layer_norm import layer_norm
from spec.vocabulary import *

(f,) = indices(f=c)

WEIGHTS = outer_weights()
NORM, (W_a, b_a, W_b, b_b, W_o, b_o) = WEIGHTS[:2], WEIGHTS[2:]
x = tensor("x", n_seq, n_res, c_m, meaning="the alignment, normalised")
a = tensor("a", n_seq, n_res, c, meaning="first factor: what a residue offers where it comes first in a pair")
b = tensor("b", n_seq, n_res, c, meaning="second factor: what it offers where it comes second")
o = tensor("o", n_res, n_res, c, c, meaning="the mean over the sequences of the outer product of the two")
u = tensor("u", n_res, n_res, c_z, meaning="the update: what is added to the pairs")

TWO = {
    "gamma": ["5/4", "5/4"],
    "beta": [0, 0],
    "W_a": [[1], [0]],
    "b_a": [0],
    "W_b": [[1], [0]],
    "b_b": [0],
    "W_o": [[[3]]],
    "b_o": [1],
    "eps": "9/16",
}

outer_product_mean = Formula(
    "evoformer.outer_product_mean",
    "Outer product mean",
    why="How does what related sequences have in common become knowledge about pairs? Two residues that touch in the fold change "
    "together over the ages: where one mutates, the other has to fit. That shows in no single sequence, but in how often two "
    "things occur together over all of them: a mean of products, as in a covariance. All products of c entries at one place "
    "with c entries at the other are taken, so that any two features can be found to go together.",
    sizes={**ALIGNMENT, c_z: "width of what is known of a pair", c: "width of the two factors"},
    inputs=(m, *WEIGHTS, eps),
    lines=(
        define(x[s, i], layer_norm(m[s, i], *NORM, eps)),
        define(a[s, i, e], Sum(x[s, i, p] * W_a[p, e], p) + b_a[e]),
        define(b[s, i, e], Sum(x[s, i, p] * W_b[p, e], p) + b_b[e]),
        define(o[i, j, e, f], Sum(a[s, i, e] * b[s, j, f], s) / n_seq),
        define(u[i, j, d], Sum(o[i, j, e, f] * W_o[e, f, d], e, f) + b_o[d]),
    ),
    outputs=(u,),
    stored=("x", "a", "b", "o"),
    pitfalls=(
        pitfall("the sum over the sequences: it grows with the alignment", mutant="sum_for_mean"),
        pitfall("the outer sum, which has nothing to say about occurring together", mutant="outer_sum"),
        pitfall("the product of the means for the mean of the products", mutant="product_of_means"),
        pitfall("the two factors exchanged: unnoticed while all is symmetric", mutant="factors_exchanged"),
    ),
    sources=(
        paper("jumper2021", "supplement, algorithm 10 (OuterProductMean)"),
        deck(0, "proteins: AlphaFold 2"),
    ),
    worked=(
        Worked(
            "Two sequences of two residues, ±1 when normalised: the residues are alike in both, every mean of products is 1",
            TWO | {"m": [[[1, -1], [1, -1]], [[-1, 1], [-1, 1]]]},
            [[["4"], ["4"]], [["4"], ["4"]]],
            0,
        ),
        Worked(
            "They are alike in one and unlike in the other: pairs of different residues have a mean of 0",
            TWO | {"m": [[[1, -1], [1, -1]], [[-1, 1], [1, -1]]]},
            [[["4"], ["1"]], [["1"], ["4"]]],
            0,
        ),
    ),
    notes="The supplement flattens the outer product row by row: row e·c + f of its matrix is W_o[e, f].",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

outer_product_mean.theorem(
    "relabelled",
    "Relabelling the residues permutes the pairs; the order of the sequences does not matter",
    claim(outer_product_mean(permute_alignment(m), *WEIGHTS, eps)[i, j, d], "=", u[pi[i], pi[j], d])
    .step(
        Sum(Sum(a[sigma[s], pi[i], e] * b[sigma[s], pi[j], f], s) / n_seq * W_o[e, f, d], e, f) + b_o[d],
        "the factors of each entry are made from it alone",
    )
    .keeping(layer_norm)
    .because("the sum over the sequences has the same terms in another order"),
    given=(pi, sigma),
)

outer_product_mean.theorem(
    "transposed",
    "With the factors and the first two axes of W_o exchanged, the pairs are transposed",
    claim(
        outer_product_mean(m, *NORM, W_b, b_b, W_a, b_a, each(W_o[f, e, d], e, f, d), b_o, eps)[j, i, d],
        "=",
        u[i, j, d],
    )
    .step(
        Sum(Sum(b[s, j, e] * a[s, i, f], s) / n_seq * W_o[f, e, d], e, f) + b_o[d],
        "the definition, with the factors exchanged",
    )
    .keeping(layer_norm)
    .because("the sums over the two entries exchanged"),
)

outer_product_mean.theorem(
    "parameters",
    "It has 2·c_m + 2·(c_m·c + c) + c²·c_z + c_z parameters: 148,160 in AlphaFold",
    claim(parameters(outer_product_mean), "=", 2 * c_m + 2 * (c_m * c + c) + c**2 * c_z + c_z).by_definition(
        "a normalization, two projections, the output"
    ),
    runs=False,
)
