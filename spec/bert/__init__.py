"""BERT: an encoder that reads a text, or a pair of texts, in both directions, and what is read off it."""

FORMULAS = (
    "layer",
    "pooler",
    "encoder",
    "features",
    "head_mlm",
    "head_sequence",
    "head_pair",
    "head_token",
    "head_span",
)
"""What is stated here, in reading order: one module each."""

PROCEDURES = ("wordpiece", "pack")
"""Procedures: how a text becomes what the encoder reads; one module each."""
