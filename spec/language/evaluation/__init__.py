"""What a statement is worth: compiled once, run in floats, in balls, or with a running error bound."""
