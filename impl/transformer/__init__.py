"""The Transformer: as functions of its weights, and as modules with a cache for decoding.

The functions are the statements': ``encoder_layer``, ``encoder``, ``decoder_layer``, ``decoder``, ``output``, ``model``. They
take the weights as arguments, those of layers as an ``EncoderLayerWeights`` or a ``DecoderLayerWeights``, and have neither
dropout nor biases in attention; ``biased_decoder_layer`` has these, in a ``BiasedDecoderLayerWeights``.

Of the modules, ``TransformerConfig`` says what a model is made of, ``Transformer`` is the model; ``Encoder`` and ``Decoder`` are
its stacks, over vectors; ``EncoderLayer`` and ``DecoderLayer`` what they are stacked of. ``Cache`` keeps keys and values while a
target is written word by word, and to ``impl.decoding`` a model is handed by ``Conditioned``, with its sources, or by
``CachedModel``, a GPT or a Llama; or by ``GraphedModel``, for CUDA graphs.
``impl.transformer.adapters`` exchanges parameters with ``nn.Transformer`` and hands them to ``model``;
``impl.transformer.counts`` says how many there are, and its ``cost`` how many operations a layer takes.

Masks are boolean. One over words (... n) is **True for a real token**; what stands where it is False reaches neither the logits
nor a gradient. One over pairs (... n m), which layers take, is True where a token may attend. Neither has more leading dimensions
than the tokens. Modules take ``device`` and ``dtype`` by name.
"""

from impl._arguments import check_arguments
from impl.transformer.cache import Cache
from impl.transformer.config import TransformerConfig
from impl.transformer.counts import cost
from impl.transformer.functions import (
    BiasedDecoderLayerWeights,
    DecoderLayerWeights,
    EncoderLayerWeights,
    biased_decoder_layer,
    decoder,
    decoder_layer,
    encoder,
    encoder_layer,
    model,
    output,
)
from impl.transformer.generation import CachedModel, GraphedModel
from impl.transformer.layers import DecoderLayer, EncoderLayer
from impl.transformer.stacks import Decoder, Encoder
from impl.transformer.transformer import Conditioned, Transformer

__all__ = [
    "EncoderLayerWeights",
    "DecoderLayerWeights",
    "BiasedDecoderLayerWeights",
    "encoder_layer",
    "encoder",
    "decoder_layer",
    "biased_decoder_layer",
    "decoder",
    "output",
    "model",
    "cost",
    "TransformerConfig",
    "Transformer",
    "Encoder",
    "Decoder",
    "EncoderLayer",
    "DecoderLayer",
    "Cache",
    "CachedModel",
    "GraphedModel",
    "Conditioned",
]

check_arguments(__name__)
