"""Routing: which of many networks, the experts, a token is sent to, and how much each of them counts."""

FORMULAS = ("top_k", "capacity")
"""What is stated here, in reading order: one module each."""
