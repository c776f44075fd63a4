"""The encoder of images: from the rows of patches to what it says of each, and of the image.

Inputs: the patches; the row of the class token; the positions; the parameters of bert.layer, each with one axis more in front,
its layer; gain and bias of the last normalization.
"""

from dataclasses import replace

from spec.attention.masks import FULLY_MASKED
from spec.bert.layer import ONE_HEAD, layer
from spec.bert.weights import ZERO as OF_LAYERS
from spec.bert.weights import weights
from spec.normalization.layer_norm import layer_norm
from spec.transformer.parts import NORM, WIDTHS, L, d_ff, d_k, d_model, d_v, h, n, normalization
from spec.vocabulary import *

k, i, l, t, u = indices(k=n, i=n + 1, l=d_model, t=L, u=L + 1)

z = data("z", n, d_model, meaning="the patches: one row for each, as vision.patches makes them")
cls = parameter(
    "cls", d_model, meaning="the row of the class token, which stands in front and is no part of the image"
)
P = parameter(
    "P", n + 1, d_model, meaning="positions: one learned row for the class token, and one for each patch"
)
LAYERS = weights(L)
LAST = normalization(0, "last layer")
WEIGHTS = (cls, P, *LAYERS, *LAST)
x = tensor(
    "x", n + 1, d_model, meaning="the tokens: the class token, then the patches, each with its position"
)
H = tensor("H", L + 1, n + 1, d_model, meaning="the tokens after so many layers")
y = tensor(
    "y",
    n + 1,
    d_model,
    meaning="the features: the tokens after all layers, normalised; that of the image is row 0",
)

EPSILON = Convention(
    "epsilon",
    {
        "original": "ε is 10⁻⁶ in every normalization, as in the original, timm and torchvision",
        "transformers": "ε is 10⁻¹², as in transformers unless told otherwise",
    },
    default="original",
)
BEFORE = replace(NORM, default="pre")
ZERO = {name: option for name, option in OF_LAYERS.items() if name != "fully_masked"} | {"norm": "pre"}
"""The conventions under which theorems are stated."""
eps = by_convention("epsilon", original=lift(Rational(1, 10**6)), transformers=lift(Rational(1, 10**12)))
CONVENTIONS = (BEFORE, EPSILON, *(c for c in layer.conventions if c not in (NORM, FULLY_MASKED)))


def own(t: object) -> tuple[Comprehension, ...]:
    """The parameters of layer t."""
    return tuple(part[t] for part in LAYERS)


SMALL = {
    "z": [[0, 1]],
    "cls": [1, 0],
    "P": [[0, 0], [0, 0]],
    **{name: [value] for name, value in ONE_HEAD.items() if name not in ("x", "eps")},
    "gamma_0": [1, 2],
    "beta_0": [0, 1],
}

encoder = Formula(
    "vision.encoder",
    "Encoder of images",
    why="Does an image need a network that is made for images? Convolutions build in that neighbours belong together and that a "
    "thing is the same wherever it stands; the Vision Transformer leaves that to learning, for which it needs many images. The "
    "rows of patches go through the layers that read texts. One more row, the class token, is put in front, which shows nothing "
    "and gathers from the patches what the image is. Where a patch stands is told by a learned row that is added to it; that two "
    "positions are neighbours is not told.",
    sizes={n: "patches: 196 where 224 × 224 pixels are cut 16 by 16", L: "layers: 12, 24 or 32", **WIDTHS},
    inputs=(z, *WEIGHTS),
    lines=(
        define(x[0, l], cls[l] + P[0, l]),
        define(x[k + 1, l], z[k, l] + P[k + 1, l]),
        define(H[0], x),
        define(H[t], layer(H[t - 1], *own(t - 1), eps), (t, 1, L)),
        define(y[i], layer_norm(H[L, i], *LAST, eps)),
    ),
    outputs=(y,),
    conventions=CONVENTIONS,
    stored=("H",),
    pitfalls=(
        pitfall(
            "ε = 10⁻¹² of a library with weights that were trained with 10⁻⁶, or the other way",
            convention="epsilon",
        ),
        pitfall("normalised after each sum, as in BERT", convention="norm"),
        pitfall("the last normalization forgotten", mutant="not_normed_at_the_end"),
        pitfall(
            "the class token behind the patches: the position of each is that of the next",
            mutant="class_behind",
        ),
        pitfall("a class token without a position", mutant="class_without_position"),
        pitfall(
            "weights that the original code trained, which go with GELU's form with tanh, read with Φ itself; or the other way",
            convention="approximation",
        ),
        pitfall("order expected to matter without positions", theorem="permutation_equivariant"),
    ),
    sources=(paper("dosovitskiy2021", "section 3.1, eqs. 1–4"), paper("xiong2020", "figure 1 (b)")),
    worked=(
        Worked(
            "One patch, (0, 1), behind a class token (1, 0) that has no position: what the layer reads",
            SMALL | {"P": [[0, 0], [1, 0]]},
            [["1", "0"], ["1", "1"]],
            0,
            output="x",
        ),
        Worked(
            "One layer of one head, which hands over twice the first entry of the normalised rows, (1, −1) and (−1, 1): on the "
            "average nothing. The network adds Φ(1) = 0.8413 to the first entry",
            SMALL,
            [[["1.0000", "0.0000"], ["0.0000", "1.0000"]], [["1.8413", "0.0000"], ["0.8413", "1.0000"]]],
            4,
            output="H",
        ),
        Worked(
            "The features. The entries of the second row are close to each other, so that ε = 10⁻⁶ is seen in the fourth decimal",
            SMALL,
            [["1.0000", "-1.0000"], ["-0.9999", "2.9998"]],
            4,
        ),
        Worked(
            "The same with ε = 10⁻¹²",
            SMALL,
            [["1.0000", "-1.0000"], ["-1.0000", "3.0000"]],
            4,
            conventions={"epsilon": "transformers"},
        ),
    ),
    notes="The base, large and huge models have L = 12, 24, 32, d_model = 768, 1,024, 1,280, h = 12, 16, 16, "
    "d_ff = 4·d_model and d_k = d_v = 64, 64, 80. For images of another size than it was trained on, P is read as a grid and "
    "interpolated, which is no part of what is stated here. The original code takes JAX's GELU, whose default is the form with "
    "tanh: its weights were trained with that. transformers reads them with Φ itself.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

pi = given("pi", n + 1, domain="permutation")
top = "the top layer is one of the layers, and the last normalization is done row by row"


def zeros(*axes: Index) -> Comprehension:
    """An array of zeros."""
    return each(0, *axes)


def token(place: Node) -> Node:
    """What stands at a place: the class token at 0, then the patches."""
    return case(eq(place, 0), cls[l], z[place - 1, l])


whole = encoder(z, *WEIGHTS)
moved = encoder(zeros(k, l), zeros(l), x, *LAYERS, *LAST)
unplaced = encoder(z, cls, zeros(i, l), *LAYERS, *LAST)
permuted = encoder(zeros(k, l), zeros(l), each(token(pi[i]), i, l), *LAYERS, *LAST)
of_class = delta(pi[i], 0)


def of_the_permuted(claimed: Claim) -> Claim:
    """A claim that follows from what the layers make of permuted tokens."""
    return claimed.by_induction(
        u,
        claim(permuted.output(H)[u, i, l], "=", unplaced.output(H)[u, pi[i], l], i, l),
        last=L,
        base=derive().because("a sum with 0 is what is added to it"),
        step=derive()
        .citing("permutation_equivariant", layer(unplaced.output(H)[u], *own(u), eps), pi=pi)
        .because("a layer is permutation equivariant"),
    ).keeping(layer_norm)


encoder.theorem(
    "permutation_equivariant",
    "Without positions, permuting the tokens permutes the outputs: wherever it and the patches "
    "stand, the class token's is the same",
    of_the_permuted(claim(permuted[i, l], "=", unplaced[pi[i], l])).because(top),
    of_the_permuted(claim(Sum(of_class * permuted[i, l], i), "=", unplaced[0, l]))
    .step(Sum(of_class * unplaced[pi[i], l], i), top)
    .because("π reaches the class token once"),
    given=pi,
    conventions=ZERO,
)

encoder.theorem(
    "sums",
    "Positions are told by nothing but sums: what is added to a patch could as well be added to the position of its place",
    claim(whole[i, l], "=", moved[i, l])
    .by_induction(
        u,
        claim(whole.output(H)[u, i, l], "=", moved.output(H)[u, i, l], i, l),
        last=L,
        base=derive().because("the first layer reads the sums"),
    )
    .keeping(layer, layer_norm)
    .because(top),
    conventions=ZERO,
)

encoder.theorem(
    "order_matters",
    "With positions the class token tells in which order patches stand",
    claim(encoder(each(z[n - 1 - k, l], k, l), *WEIGHTS)[0, l], "=", whole[0, l]).by_witness(
        n=2,
        **SMALL
        | {
            "z": [[1, 0], [0, 0]],
            "cls": [0, 0],
            "P": [[0, 0], [2, 0], [0, 1]],
            "b_1": [[0]],
            "beta_0": [0, 0],
        },
    ),
    exists=True,
    runs=False,
    conventions=ZERO,
)

LAYER = (
    h * (d_model + 1) * (2 * d_k + d_v) + (h * d_v + 1) * d_model + 2 * d_model * d_ff + d_ff + 5 * d_model
)
COUNT = (n + 4) * d_model + L * LAYER

encoder.theorem(
    "parameters",
    "It has (n + 4)·d_model parameters, n + 1 rows of positions among them, and L times those of a layer",
    claim(parameters(encoder), "=", COUNT).by_definition(
        "a row, the positions, a gain and a bias; then the sizes of the layers"
    ),
    runs=False,
)
