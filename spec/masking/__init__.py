"""Masking: how pre-training corrupts its input, and pairs its sentences."""

FORMULAS = ("mlm", "nsp")
"""What is stated here, in reading order: one module each."""
