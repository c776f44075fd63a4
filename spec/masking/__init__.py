"""Masking: how pre-training corrupts its input."""

FORMULAS = ("mlm",)
"""What is stated here, in reading order: one module each."""
