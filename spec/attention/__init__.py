"""Attention: scores become weights, weights mix values."""

from spec.attention.causality import causal
from spec.attention.weights import scaled_dot_product, softmax

# Theorems follow the formulas they are about.
from spec.attention import causality_theorems as causality_theorems  # isort: skip
from spec.attention import weights_theorems as weights_theorems  # isort: skip

__all__ = ["softmax", "scaled_dot_product", "causal"]
