"""Masking: how pre-training corrupts its input, and pairs its sentences."""

FORMULAS = ("mlm", "whole_words", "nsp")
"""What is stated here, in reading order: one module each."""
