"""BERT: what is read off its encoder, for pre-training, for fine-tuning and as features."""

FORMULAS = ("features", "head_mlm", "head_sequence", "head_pair", "head_token", "head_span")
"""What is stated here, in reading order: one module each."""

PROCEDURES = ("wordpiece", "pack")
"""Procedures: how a text becomes what the encoder reads; one module each."""
