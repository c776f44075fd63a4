"""Scores: how well a key answers a query."""

from spec.scores.products import cosine, dot, general, scaled_dot

from spec.scores.networks import additive, location  # isort: skip

# Theorems follow the formulas they are about.
from spec.scores import networks_theorems as networks_theorems  # isort: skip
from spec.scores import products_theorems as products_theorems  # isort: skip

__all__ = ["dot", "scaled_dot", "general", "additive", "location", "cosine"]
