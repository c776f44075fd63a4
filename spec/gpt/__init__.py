"""GPT: a layer of the decoder that asks no source, and the language model that it is stacked into."""

FORMULAS = ("layer", "model")
"""What is stated here, in reading order: one module each."""

PROCEDURES = ("bpe",)
"""Procedures: how a text becomes what the model reads; one module each."""
