"""The weights of the parts of an Evoformer block, by the statements' letters and in their order."""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor


class RowAttentionWeights(NamedTuple):
    """Of attention along the sequences: two normalizations, the matrix that makes biases of pairs, and the heads."""

    gamma_m: Float[Tensor, " c_m"]
    beta_m: Float[Tensor, " c_m"]
    gamma_z: Float[Tensor, " c_z"]
    beta_z: Float[Tensor, " c_z"]
    W_b: Float[Tensor, "c_z h"]
    W_q: Float[Tensor, "h c_m c"]
    W_k: Float[Tensor, "h c_m c"]
    W_v: Float[Tensor, "h c_m c"]
    W_g: Float[Tensor, "h c_m c"]
    b_g: Float[Tensor, "h c"]
    W_o: Float[Tensor, "h*c c_m"]
    b_o: Float[Tensor, " c_m"]


class ColumnAttentionWeights(NamedTuple):
    """Of attention along the columns: a normalization and the heads."""

    gamma: Float[Tensor, " c_m"]
    beta: Float[Tensor, " c_m"]
    W_q: Float[Tensor, "h c_m c"]
    W_k: Float[Tensor, "h c_m c"]
    W_v: Float[Tensor, "h c_m c"]
    W_g: Float[Tensor, "h c_m c"]
    b_g: Float[Tensor, "h c"]
    W_o: Float[Tensor, "h*c c_m"]
    b_o: Float[Tensor, " c_m"]


class TransitionWeights(NamedTuple):
    """Of a transition: a normalization and a feed-forward network of f inner units."""

    gamma: Float[Tensor, " d"]
    beta: Float[Tensor, " d"]
    W_1: Float[Tensor, "d f"]
    b_1: Float[Tensor, " f"]
    W_2: Float[Tensor, "f d"]
    b_2: Float[Tensor, " d"]


class OuterProductMeanWeights(NamedTuple):
    """Of the outer product mean: a normalization, the two factors, and what their products add to a pair."""

    gamma: Float[Tensor, " c_m"]
    beta: Float[Tensor, " c_m"]
    W_a: Float[Tensor, "c_m c"]
    b_a: Float[Tensor, " c"]
    W_b: Float[Tensor, "c_m c"]
    b_b: Float[Tensor, " c"]
    W_o: Float[Tensor, "c c c_z"]
    b_o: Float[Tensor, " c_z"]


class TriangleMultiplicationWeights(NamedTuple):
    """Of a triangle multiplication: two edges with their gates, the output and its gate, and two normalizations."""

    gamma_z: Float[Tensor, " c_z"]
    beta_z: Float[Tensor, " c_z"]
    W_a: Float[Tensor, "c_z c"]
    b_a: Float[Tensor, " c"]
    W_ag: Float[Tensor, "c_z c"]
    b_ag: Float[Tensor, " c"]
    W_b: Float[Tensor, "c_z c"]
    b_b: Float[Tensor, " c"]
    W_bg: Float[Tensor, "c_z c"]
    b_bg: Float[Tensor, " c"]
    gamma_o: Float[Tensor, " c"]
    beta_o: Float[Tensor, " c"]
    W_o: Float[Tensor, "c c_z"]
    b_o: Float[Tensor, " c_z"]
    W_g: Float[Tensor, "c_z c_z"]
    b_g: Float[Tensor, " c_z"]


class TriangleAttentionWeights(NamedTuple):
    """Of a triangle attention: a normalization, the matrix that makes biases of pairs, and the heads."""

    gamma: Float[Tensor, " c_z"]
    beta: Float[Tensor, " c_z"]
    W_b: Float[Tensor, "c_z h"]
    W_q: Float[Tensor, "h c_z c"]
    W_k: Float[Tensor, "h c_z c"]
    W_v: Float[Tensor, "h c_z c"]
    W_g: Float[Tensor, "h c_z c"]
    b_g: Float[Tensor, "h c"]
    W_o: Float[Tensor, "h*c c_z"]
    b_o: Float[Tensor, " c_z"]


class BlockWeights(NamedTuple):
    """Of a block: those of its nine parts, in the order in which they work."""

    row: RowAttentionWeights
    column: ColumnAttentionWeights
    alignment: TransitionWeights
    outer: OuterProductMeanWeights
    outgoing: TriangleMultiplicationWeights
    incoming: TriangleMultiplicationWeights
    starting: TriangleAttentionWeights
    ending: TriangleAttentionWeights
    pairs: TransitionWeights
