"""Embeddings: from ids to vectors."""

FORMULAS = ("token",)
"""What is stated here, in reading order: one module each."""
