"""Activations: functions of one number by which a network bends, and the softmax of a row in logarithms."""

FORMULAS = ("relu", "gelu", "silu", "log_softmax")
"""What is stated here, in reading order: one module each."""
