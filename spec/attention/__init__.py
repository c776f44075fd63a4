"""Attention: scores become weights, weights mix values."""

from spec.attention.causality import causal
from spec.attention.projections import cross, multi_head
from spec.attention.projections import self_ as self
from spec.attention.sampling import hard
from spec.attention.steps import bahdanau_step, luong_step
from spec.attention.weights import scaled_dot_product, softmax
from spec.attention.windows import local

# Theorems follow the formulas they are about.
from spec.attention import causality_theorems as causality_theorems  # isort: skip
from spec.attention import sampling_theorems as sampling_theorems  # isort: skip
from spec.attention import projections_theorems as projections_theorems  # isort: skip
from spec.attention import heads_theorems as heads_theorems  # isort: skip
from spec.attention import steps_theorems as steps_theorems  # isort: skip
from spec.attention import weights_theorems as weights_theorems  # isort: skip
from spec.attention import windows_theorems as windows_theorems  # isort: skip

__all__ = [
    "softmax",
    "scaled_dot_product",
    "self",
    "cross",
    "causal",
    "multi_head",
    "hard",
    "local",
    "bahdanau_step",
    "luong_step",
]
