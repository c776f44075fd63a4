"""The Transformer: encoder and decoder as layers, stacks and a model, with a cache for decoding.

``TransformerConfig`` says what a model is made of, ``Transformer`` is the model; ``Encoder`` and ``Decoder`` are its stacks, over
vectors; ``EncoderLayer`` and ``DecoderLayer`` what they are stacked of. ``Cache`` keeps keys and values while a target is written
word by word, and ``Conditioned`` hands a model with its sources to ``impl.decoding``. ``impl.transformer.adapters`` exchanges
parameters with ``nn.Transformer``, ``impl.transformer.counts`` says how many there are.

The functions are the statements, one each: parameters are arguments, in the statement's order and letters.

Masks are boolean. One over words (... n) is **True for a real token**; what stands where it is False reaches neither the logits
nor a gradient. One over pairs (... n m), which layers take, is True where a token may attend.
"""

from impl.transformer.cache import Cache
from impl.transformer.config import TransformerConfig
from impl.transformer.functions import decoder, decoder_layer, encoder, encoder_layer, model, output
from impl.transformer.layers import DecoderLayer, EncoderLayer
from impl.transformer.stacks import Decoder, Encoder
from impl.transformer.steps import Conditioned
from impl.transformer.transformer import Transformer

__all__ = [
    "encoder_layer",
    "encoder",
    "decoder_layer",
    "decoder",
    "output",
    "model",
    "TransformerConfig",
    "Transformer",
    "Encoder",
    "Decoder",
    "EncoderLayer",
    "DecoderLayer",
    "Cache",
    "Conditioned",
]
