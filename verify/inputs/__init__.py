"""The inputs of a formula, drawn from its declaration alone: sizes, regimes, arrays, and the sizes that a callable supports."""
