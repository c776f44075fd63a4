"""The Transformer: layers of attention and feed-forward networks, stacked into an encoder and a decoder."""

FORMULAS = (
    "encoder_layer",
    "encoder",
    "decoder_layer",
    "biased_decoder_layer",
    "decoder",
    "output",
    "model",
    "cost",
)
"""What is stated here, in reading order: one module each."""
