"""Claims in numbers: points that meet the hypotheses, the guard of what is proved, witnesses and enclosures."""
