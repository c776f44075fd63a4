"""BERT: an encoder that reads a text, or a pair of texts, in both directions."""

FORMULAS = ("layer", "pooler", "encoder")
"""What is stated here, in reading order: one module each."""
