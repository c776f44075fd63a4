"""Formulas that draw at random: samples of a callable held to the law that the statement declares."""
