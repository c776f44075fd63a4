"""Scores: how well a key fits a query."""

FORMULAS = ("dot", "scaled_dot", "general", "additive", "location", "cosine")
"""What is stated here, in reading order: one module each."""
