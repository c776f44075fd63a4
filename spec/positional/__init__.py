"""Positions: what tells an order to a network that has none."""

FORMULAS = ("sinusoidal", "learned", "turned", "rotary", "partial_rotary", "frequencies", "yarn")
"""What is stated here, in reading order: one module each."""
