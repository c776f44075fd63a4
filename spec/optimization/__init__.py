"""Optimization: what one step of training makes of the weights, once their gradient is known."""

FORMULAS = ("adamw",)
"""What is stated here, in reading order: one module each."""
