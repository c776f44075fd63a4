"""Images read by an encoder: in patches, which stand where a text has its words."""

FORMULAS = ("patches", "encoder", "classifier")
"""What is stated here, in reading order: one module each."""
