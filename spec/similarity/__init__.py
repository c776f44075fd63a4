"""Similarity: how alike two vectors are."""

FORMULAS = ("dot", "cosine")
"""What is stated here, in reading order: one module each."""
