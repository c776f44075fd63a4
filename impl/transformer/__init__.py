"""The Transformer: encoder, decoder and what joins them."""

from impl.transformer.functions import decoder, decoder_layer, encoder, encoder_layer, model, output

__all__ = ["encoder_layer", "encoder", "decoder_layer", "decoder", "output", "model"]
