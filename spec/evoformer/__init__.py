"""AlphaFold 2's Evoformer: an alignment of sequences and what holds between pairs of residues inform each other."""

FORMULAS = (
    "gated_attention",
    "row_attention",
    "column_attention",
    "transition",
    "outer_product_mean",
    "triangle_multiplication",
    "triangle_attention",
    "block",
)
"""What is stated here, in reading order: one module each."""
