"""Slips: one thing in a statement written otherwise, as programs have it by mistake; and statements with one of them made."""
