"""Llama: today's decoder. Rotary positions, grouped queries, a gated network, and root mean square normalization before each
step.
"""

FORMULAS = ("attention", "layer", "model")
"""What is stated here, in reading order: one module each."""
