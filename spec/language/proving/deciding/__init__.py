"""Deciding a derivation: each step at its place, what induction shows shown first."""
