"""The Vision Transformer: from an image to a logit for each class.

Inputs: the image; the matrix of the patches and its bias; the parameters of vision.encoder; the matrix of the head and its bias.
"""

from spec.bert.head_sequence import head_sequence
from spec.bert.weights import weights
from spec.transformer.parts import WIDTHS, L, d_model, normalization
from spec.vision.encoder import CONVENTIONS, LAYER, SMALL, ZERO, encoder
from spec.vision.patches import FOUR, C, n_c, n_r, p, patches
from spec.vocabulary import *

(K,) = sizes("K")
c, a, l, m, q = indices(c=C, a=p, l=d_model, m=n_r * n_c + 1, q=K)

image = data("image", C, n_r * p, n_c * p, meaning="the image: for each channel its rows of pixels")
W = parameter(
    "W", C, p, p, d_model, meaning="for each entry of a patch, by channel, row and column, a row of numbers"
)
b = parameter("b", d_model, meaning="what is added to every patch")
cls = parameter("cls", d_model, meaning="the row of the class token")
P = parameter(
    "P", n_r * n_c + 1, d_model, meaning="positions: a row for the class token, and one for each patch"
)
WEIGHTS = (cls, P, *weights(L), *normalization(0, "last layer"))
W_h = parameter(
    "W_h", d_model, K, meaning="the head: for each class a column, what speaks for it in the row of the image"
)
b_h = parameter("b_h", K, meaning="what speaks for each class in any case")
z = tensor("z", n_r * n_c, d_model, meaning="the patches: one row for each")
y = tensor(
    "y", n_r * n_c + 1, d_model, meaning="the features: that of the image is row 0, then one for each patch"
)
logits = tensor("logits", K, meaning="how much speaks for each class, in logarithms")

ON_IMAGE = {name: value for name, value in SMALL.items() if name != "z"} | {
    "P": [[0, 0], [0, 0], [0, 0]],
    "W_h": [[1, 0, 0], [0, 0, 1]],
    "b_h": [0, 0, 0],
}

classifier = Formula(
    "vision.classifier",
    "Vision Transformer",
    why="What does a network of images look like that is a network of texts? An image becomes a sequence of patches, the encoder "
    "adds a class token, and a linear layer reads the classes off that token's feature. All of it was there before: only the "
    "patches, 0.7 % of the base model's parameters, know that it is an image.",
    sizes={
        C: "channels: 3 in a coloured image",
        p: "pixels along a side of a patch",
        n_r: "patches from top to bottom",
        n_c: "patches from left to right",
        L: "layers",
        K: "classes: 1,000 in ImageNet",
        **WIDTHS,
    },
    inputs=(image, W, b, *WEIGHTS, W_h, b_h),
    lines=(
        define(z, patches(image, W, b)),
        define(y, encoder(z, *WEIGHTS)),
        define(logits, head_sequence(y[0], W_h, b_h)),
    ),
    outputs=(logits,),
    conventions=CONVENTIONS,
    stored=("z", "y"),
    pitfalls=(
        pitfall("the mean of the patches instead of the class token", mutant="mean_of_patches"),
        pitfall("a tanh before the head, as BERT's pooler has it", mutant="pooled_by_tanh"),
        pitfall(
            "the class token's row read before the last normalization", mutant="not_normed_below_the_head"
        ),
        pitfall("patches counted down the columns: each has the position of another", mutant="columns_first"),
        pitfall("ε = 10⁻¹² with weights that were trained with 10⁻⁶", convention="epsilon"),
    ),
    sources=(paper("dosovitskiy2021", "section 3.1 and table 1"),),
    worked=(
        Worked(
            "Two patches of 2 × 2 pixels, (7, 15/2) and (11, 23/2), behind a class token (1, 0)",
            FOUR | ON_IMAGE,
            [["7.0", "7.5"], ["11.0", "11.5"]],
            1,
            output="z",
        ),
        Worked(
            "Of the three tokens, (1, −1) and twice (−1, 1) when normalised, the class token gathers twice the mean, −2/3, and "
            "gets 0.8413 from the network: (1.1747, 0), normalised (1, −1), with gains (1, 2) and biases (0, 1)",
            FOUR | ON_IMAGE,
            ["1.0", "0.0", "-1.0"],
            1,
        ),
    ),
    notes="The features of all tokens, without a head, are those of vision.encoder of vision.patches. While the original is "
    "trained from scratch a layer with tanh stands before the head.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

COUNT = (C * p**2 + 1) * d_model + (n_r * n_c + 4) * d_model + L * LAYER + (d_model + 1) * K

classifier.theorem(
    "parameters",
    "It has (C·p² + 1)·d_model parameters in its patches, (n_r·n_c + 4)·d_model beside the layers, (d_model + 1)·K in its head, "
    "and L times those of a layer: 86,567,656 in ViT-B/16, 304,326,632 in ViT-L/16 and 632,045,800 in ViT-H/14, of 224 × 224 "
    "pixels in three channels and of 1,000 classes",
    claim(parameters(classifier), "=", COUNT).by_definition("the sizes of the parts"),
    runs=False,
)

whole = classifier(image, W, b, *WEIGHTS, W_h, b_h)
g = given("g", K)

classifier.theorem(
    "composed",
    "It is the head, read off the class token's feature, of the encoder of the patches",
    claim(
        whole[q],
        "=",
        Sum(encoder(patches(image, W, b), *WEIGHTS)[0, l] * W_h[l, q], l) + b_h[q],
    )
    .keeping(encoder, patches)
    .by_definition("the head is linear, and reads row 0"),
    conventions=ZERO,
)

classifier.theorem(
    "head",
    "With g the gradient of the logits, column q of the head gets g_q times the class token's feature, and its bias g_q: no "
    "other feature is read",
    claim(whole.pullback(g, W_h)[l, q], "=", y[0, l] * g[q])
    .keeping(encoder, patches)
    .by_definition("the head is linear"),
    claim(whole.pullback(g, b_h)[q], "=", g[q])
    .keeping(encoder, patches)
    .by_definition("each bias stands in one logit"),
    given=g,
    conventions=ZERO,
)
