"""Embeddings: from ids to vectors."""

FORMULAS = ("token", "bert")
"""What is stated here, in reading order: one module each."""
