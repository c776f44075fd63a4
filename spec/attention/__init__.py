"""Attention: scores become weights, weights mix values."""

FORMULAS = (
    "softmax",
    "additive_weights",
    "scaled_dot_product",
    "log_sum_exp",
    "merge",
    "self",
    "cross",
    "causal",
    "cached",
    "multi_head",
    "biased_multi_head",
    "causal_multi_head",
    "grouped_query",
    "sinks",
    "softcap",
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
