"""Attention: scores become weights, weights mix values."""

FORMULAS = (
    "softmax",
    "additive_weights",
    "scaled_dot_product",
    "self",
    "cross",
    "causal",
    "multi_head",
    "biased_multi_head",
    "causal_multi_head",
    "grouped_query",
    "relative",
    "hard",
    "local",
    "window",
    "linformer",
    "bigbird",
    "random_blocks",
    "bahdanau_step",
    "luong_step",
)
"""What is stated here, in reading order: one module each."""
