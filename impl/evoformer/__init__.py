"""The Evoformer of AlphaFold 2: an alignment of related sequences and what is known of pairs of residues inform each other.

Letters are the statements': the alignment m (n_seq n_res c_m), the pairs z (n_res n_res c_z), heads of c entries each. Leading
dimensions are batches. Each function gives an update, which ``block`` and ``Block`` add to what it was made from. A mask is
boolean, and **True means "takes part"**. Weights of a part are a named tuple, in the statement's order and letters.

Source: Jumper et al. 2021, "Highly accurate protein structure prediction with AlphaFold", supplement, algorithms 6 to 15.
"""

from impl._arguments import check_arguments
from impl.evoformer.functions import (
    block,
    column_attention,
    gated_attention,
    outer_product_mean,
    row_attention,
    transition,
    triangle_attention,
    triangle_multiplication,
)
from impl.evoformer.modules import Block
from impl.evoformer.weights import (
    BlockWeights,
    ColumnAttentionWeights,
    OuterProductMeanWeights,
    RowAttentionWeights,
    TransitionWeights,
    TriangleAttentionWeights,
    TriangleMultiplicationWeights,
)

__all__ = [
    "gated_attention",
    "row_attention",
    "column_attention",
    "transition",
    "outer_product_mean",
    "triangle_multiplication",
    "triangle_attention",
    "block",
    "Block",
    "RowAttentionWeights",
    "ColumnAttentionWeights",
    "TransitionWeights",
    "OuterProductMeanWeights",
    "TriangleMultiplicationWeights",
    "TriangleAttentionWeights",
    "BlockWeights",
]

check_arguments(__name__)
