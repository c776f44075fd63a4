"""Symbolic statements of attention, Transformers and BERT, one module for each subject, and their theorems."""
