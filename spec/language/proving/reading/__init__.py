"""From statements as they are written to terms: definedness asked, calls entered, lines found, recurrences unfolded."""
