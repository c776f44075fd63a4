"""XLNet: a text predicted in any order, by two streams of attention of which one does not see the token that it predicts."""

FORMULAS = ("attention", "two_stream", "objective")
"""What is stated here, in reading order: one module each."""
