"""Statements compiled once: from flattened lines to Python closures that touch nothing symbolic when they run."""
