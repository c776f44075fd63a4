"""Proofs: a normal form with recorded obligations, named rules, and the checker that decides every step."""
