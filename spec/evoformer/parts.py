"""What the formulas of the Evoformer share: sizes, the weights of their parts, and the conventions of their theorems.

Each ``…_weights`` takes a letter that tells the part where several stand in one formula, as in ``evoformer.block``.
"""

from spec.attention.masks import OURS as OURS
from spec.vocabulary import *

n_seq, n_res, c_m, c_z, c, h = sizes("n_seq n_res c_m c_z c h")
RESIDUES = {n_res: "residues: places of the protein"}
ALIGNMENT = {n_seq: "sequences of the alignment", **RESIDUES, c_m: "width of an entry of the alignment"}
PAIRS = {**RESIDUES, c_z: "width of what is known of a pair"}
HEADS = {c: "width of queries, keys and values", h: "heads"}

i, j, k, l, s, t, e = indices(i=n_res, j=n_res, k=n_res, l=n_res, s=n_seq, t=h, e=c)
p, d, y = indices(p=c_m, d=c_z, y=h * c)

m = data("m", n_seq, n_res, c_m, meaning="the alignment: what is known of each residue in each sequence")
z = data("z", n_res, n_res, c_z, meaning="what is known of each pair of residues")
mask = optional_mask("mask", n_res, n_res, meaning="which pairs take part: padding does not")
pi = given("pi", n_res, domain="permutation")
sigma = given("sigma", n_seq, domain="permutation")


def epsilon() -> Tensor:
    """The ε that all normalizations share."""
    return number(
        "eps", "positive", meaning="a small number that keeps the divisors of all normalizations away from 0"
    )


eps = epsilon()


def norm_weights(width: Node, of: str, mark: str = "") -> tuple[Tensor, Tensor]:
    """Gain and bias of the layer normalization ``of`` something."""
    mark = f"_{mark}" if mark else ""
    return (
        parameter(f"gamma{mark}", width, meaning=f"gain of the normalization of {of}"),
        parameter(f"beta{mark}", width, meaning="its bias"),
    )


def linear_weights(mark: str, *axes: Node, meaning: str) -> tuple[Tensor, Tensor]:
    """A matrix and its bias, one number for each of the last axes."""
    return (
        parameter(f"W_{mark}", *axes, meaning=meaning),
        parameter(f"b_{mark}", *axes[1:], meaning="its bias"),
    )


def head_weights(width: Node, mark: str = "", h: Node = h) -> tuple[Tensor, ...]:
    """The weights of gated attention in h heads, W_q, W_k, W_v, W_g, b_g, W_o, b_o."""
    return (
        parameter(f"W_q{mark}", h, width, c, meaning="for each head, what makes its queries"),
        parameter(f"W_k{mark}", h, width, c, meaning="for each head, what makes its keys"),
        parameter(f"W_v{mark}", h, width, c, meaning="for each head, what makes its values"),
        parameter(f"W_g{mark}", h, width, c, meaning="for each head, what opens its gates"),
        parameter(f"b_g{mark}", h, c, meaning="how far the gates are open in any case: 1 at first"),
        *linear_weights(f"o{mark}", h * c, width, meaning="joins what the heads found"),
    )


def bias_weight(mark: str = "", h: Node = h) -> Tensor:
    """The matrix that makes the biases of the heads."""
    return parameter(f"W_b{mark}", c_z, h, meaning="for each head, what makes its bias of a pair")


def row_weights(mark: str = "") -> tuple[Tensor, ...]:
    """All weights of row-wise attention."""
    norms = norm_weights(c_m, "the alignment", f"m{mark}"), norm_weights(c_z, "the pairs", f"z{mark}")
    return (*norms[0], *norms[1], bias_weight(mark), *head_weights(c_m, mark))


def column_weights(mark: str = "") -> tuple[Tensor, ...]:
    """All weights of column-wise attention."""
    return (*norm_weights(c_m, "the alignment", mark), *head_weights(c_m, mark))


def transition_weights(d: Node, f: Node, mark: str = "") -> tuple[Tensor, ...]:
    """All weights of a transition of f inner units."""
    return (
        *norm_weights(d, "the row", mark),
        *linear_weights(f"1{mark}", d, f, meaning="what each inner unit looks for"),
        *linear_weights(f"2{mark}", f, d, meaning="what each inner unit adds where it is active"),
    )


def outer_weights(mark: str = "") -> tuple[Tensor, ...]:
    """All weights of the outer product mean."""
    return (
        *norm_weights(c_m, "the alignment", mark),
        *linear_weights(f"a{mark}", c_m, c, meaning="what makes the first factor"),
        *linear_weights(f"b{mark}", c_m, c, meaning="what makes the second factor"),
        parameter(
            f"W_o{mark}",
            c,
            c,
            c_z,
            meaning="what each product of an entry of the one and one of the other adds to a pair",
        ),
        parameter(f"b_o{mark}", c_z, meaning="what is added in any case"),
    )


def multiplication_weights(mark: str = "", c: Node = c) -> tuple[Tensor, ...]:
    """All weights of a triangle multiplication, its edges c wide."""
    return (
        *norm_weights(c_z, "the pairs", f"z{mark}"),
        *linear_weights(f"a{mark}", c_z, c, meaning="what makes the first edge"),
        *linear_weights(f"ag{mark}", c_z, c, meaning="what opens its gate"),
        *linear_weights(f"b{mark}", c_z, c, meaning="what makes the second edge"),
        *linear_weights(f"bg{mark}", c_z, c, meaning="what opens its gate"),
        *norm_weights(c, "the sums", f"o{mark}"),
        *linear_weights(f"o{mark}", c, c_z, meaning="what the sums say of a pair"),
        *linear_weights(f"g{mark}", c_z, c_z, meaning="what opens the gate of the update"),
    )


def attention_weights(mark: str = "", h: Node = h) -> tuple[Tensor, ...]:
    """All weights of a triangle attention."""
    return (*norm_weights(c_z, "the pairs", mark), bias_weight(mark, h), *head_weights(c_z, mark, h))


def count_heads(width: Node) -> Node:
    """How many parameters those are."""
    return 4 * h * width * c + h * c + h * c * width + width


def permute_alignment(array: Tensor) -> Comprehension:
    """The alignment with its sequences and its residues in another order."""
    return each(array[sigma[s], pi[i], p], s, i, p)


def permute_pairs(array: Tensor) -> Comprehension:
    """What is known of the pairs, the residues in another order."""
    return each(array[pi[i], pi[j], d], i, j, d)


MASKED_PAIRS = each(mask[pi[i], pi[j]], i, j)
"""The mask of the pairs with the residues in that order."""
