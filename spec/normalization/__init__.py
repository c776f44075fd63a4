"""Normalization: a row brought to a common scale, so that what comes next need not follow its size."""

FORMULAS = ("layer_norm", "rms_norm", "residual", "add_norm", "add_rms_norm")
"""What is stated here, in reading order: one module each."""
