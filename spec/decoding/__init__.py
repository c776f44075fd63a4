"""Decoding: which words follow, given a model of the next word."""

FORMULAS = ("sample",)
"""What is stated here, in reading order: one module each."""

PROCEDURES = ("greedy", "beam")
"""Procedures: stated as what their results satisfy, with a plain reference; one module each."""
