"""Objectives: what a model is trained for, and how fast."""

FORMULAS = (
    "cross_entropy",
    "linear_cross_entropy",
    "autoregressive",
    "distillation",
    "warmup",
    "mlm",
    "nsp",
    "bert",
)
"""What is stated here, in reading order: one module each."""
