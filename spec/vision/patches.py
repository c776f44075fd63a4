"""Patches of an image, each made a row of an encoder's width by one matrix."""

from spec.vocabulary import *

C, p, n_r, n_c, d = sizes("C p n_r n_c d")
c, u, v, i, j, l = indices(c=C, u=p, v=p, i=n_r, j=n_c, l=d)

image = data("image", C, n_r * p, n_c * p, meaning="the image: for each channel its rows of pixels")
W = parameter(
    "W", C, p, p, d, meaning="for each entry of a patch, by channel, row and column, a row of d numbers"
)
b = parameter("b", d, meaning="what is added to every patch")
z = tensor("z", n_r * n_c, d, meaning="one row for each patch, in the order in which one reads a page")

READ = Sum(image[c, i * p + u, j * p + v] * W[c, u, v, l], c, u, v) + b[l]
FOUR = {
    "image": [[[1, 2, 3, 4], [5, 6, 7, 8]]],
    "W": [[[[1, 0], [0, 1]], [[0, 1], [1, 0]]]],
    "b": [0, "1/2"],
}

patches = Formula(
    "vision.patches",
    "Patches of an image",
    why="What is a word of an image? An encoder reads rows of one width, and every row looks at every other: with a row for each "
    "pixel of an image of 224 × 224 there would be 50,176 of them, and two and a half billion pairs. So the image is cut into "
    "squares that do not overlap, 16 pixels wide and high: 196 rows remain. The numbers of a square, of all channels, are "
    "multiplied by one matrix that all squares share. Little else of what is known about images is built in: which squares are "
    "neighbours has to be learned.",
    sizes={
        C: "channels: 3 in a coloured image",
        p: "pixels along a side of a patch: 16 in most models",
        n_r: "patches from top to bottom",
        n_c: "patches from left to right",
        d: "width of a row",
    },
    inputs=(image, W, b),
    lines=(define(z[i * n_c + j, l], READ),),
    outputs=(z,),
    pitfalls=(
        pitfall("patches counted down the columns", mutant="patches_by_columns"),
        pitfall(
            "the matrix flattened with channels last, as the original's is, and read with channels first",
            mutant="channels_last",
        ),
        pitfall("rows and columns of a patch exchanged", mutant="patch_transposed"),
        pitfall("patches of each channel rather than of all", mutant="channels_averaged"),
        pitfall(
            "a stride that is not the kernel: patches overlap or leave pixels out", theorem="convolution"
        ),
    ),
    sources=(paper("dosovitskiy2021", "section 3.1 and eq. 1"),),
    worked=(
        Worked(
            "Two patches of 2 × 2 pixels, of one channel: (1, 2, 5, 6) and (3, 4, 7, 8). The first entry adds up one diagonal, "
            "the second the other and 1/2",
            FOUR,
            [["7.0", "7.5"], ["11.0", "11.5"]],
            1,
        ),
    ),
    notes="As a matrix W has C·p² rows, in the order of its axes, and d columns. torch's nn.Conv2d holds it as (d, C, p, p), the "
    "original, in JAX, as (p, p, C, d). An image whose sides are no multiples of p is cropped or padded before.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

other = given("other", C, n_r * p, n_c * p)
row, column = indices(row=n_r * p, column=n_c * p)
rho, sigma = given("rho", n_r, domain="permutation"), given("sigma", n_c, domain="permutation")
at_row, at_column = floor(row / p), floor(column / p)
conv = tensor(
    "conv",
    n_r * p - p + 1,
    n_c * p - p + 1,
    d,
    meaning="what the kernel W gives wherever it fits on the image",
)
down, across = indices(down=n_r * p - p + 1, across=n_c * p - p + 1)
patches.let(conv[down, across, l], Sum(image[c, down + u, across + v] * W[c, u, v, l], c, u, v) + b[l])

patches.theorem(
    "convolution",
    "It is a convolution whose stride is its kernel: of all places where the kernel W fits, every p-th, down and across",
    claim(z[i * n_c + j, l], "=", conv[i * p, j * p, l]).by_definition(
        "the square at (i·p, j·p) is patch (i, j)"
    ),
)

patches.theorem(
    "linear",
    "Without b it is linear in the image: a sum of two images gives the sum of their rows",
    claim(
        patches(each(image[c, row, column] + other[c, row, column], c, row, column), W, b)[i * n_c + j, l],
        "=",
        z[i * n_c + j, l] + patches(other, W, b)[i * n_c + j, l] - b[l],
    ).by_definition("the product distributes over the sum, and each of the two has b once"),
    given=other,
)

patches.theorem(
    "permutation_equivariant",
    "Exchanging bands of patches, whole ones from top to bottom or from left to right, exchanges the rows: all patches share W",
    claim(
        patches(
            each(
                image[
                    c, rho[at_row] * p + (row - p * at_row), sigma[at_column] * p + (column - p * at_column)
                ],
                c,
                row,
                column,
            ),
            W,
            b,
        )[i * n_c + j, l],
        "=",
        z[rho[i] * n_c + sigma[j], l],
    ).by_definition("patch (i, j) is now what patch (ρ(i), σ(j)) was"),
    given=(rho, sigma),
)

patches.theorem(
    "own_pixels",
    "No pixel outside of a patch has any influence on its row: patches do not overlap",
    claim(
        patches(
            each(
                case(eq(at_row, i) & eq(at_column, j), image[c, row, column], other[c, row, column]),
                c,
                row,
                column,
            ),
            W,
            b,
        )[i * n_c + j, l],
        "=",
        z[i * n_c + j, l],
    ).by_definition("the pixels that are read are those of patch (i, j)"),
    given=other,
)

patches.theorem(
    "parameters",
    "It has (C·p² + 1)·d parameters, however large the image: 590,592 where 16 × 16 pixels of three channels become rows of 768",
    claim(parameters(patches), "=", (C * p**2 + 1) * d).by_definition("the matrix, and b"),
    runs=False,
)
