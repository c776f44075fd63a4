"""Scaling: how the loss falls as model, text and compute grow, and how a picture of the loss is brought to one scale."""

FORMULAS = ("kaplan", "filter_normalised")
"""What is stated here, in reading order: one module each."""
