"""What a statement is worth: one interpreter over float64, over balls, and over values with a running error bound."""
