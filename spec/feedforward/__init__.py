"""Feed-forward networks: what a layer computes at each position by itself."""

FORMULAS = ("relu", "gelu", "gated")
"""What is stated here, in reading order: one module each."""
