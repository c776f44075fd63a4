"""Transformer-XL: a layer that remembers what it read before, and the model that reads a text segment by segment."""

FORMULAS = ("attention", "layer", "model")
"""What is stated here, in reading order: one module each."""
