"""Transformer-XL: a Transformer that reads a text segment by segment, each layer attending to what it read before.

``attention``, ``layer`` and ``model`` are functions, each with the inputs of the statement of its name; distances are told by
``impl.attention.relative``. Letters are the statements': n tokens of d_model entries, M rows of memory, h heads, L layers.

``TransformerXLConfig`` says what a model is made of, ``TransformerXL`` is the model: logits, a loss, and the memory that goes
from one segment to the next; ``load_transfo_xl`` takes the weights of pytorch-transformers.

Masks are boolean, **True for "may attend"**, over memory and segment (n M+n), and hold for what stands up to a token's own place.
"""

from impl._arguments import check_arguments
from impl.transformer_xl.functions import AttentionWeights, LayerWeights, attention, layer, model
from impl.transformer_xl.module import TransformerXL, TransformerXLConfig

__all__ = [
    "AttentionWeights",
    "LayerWeights",
    "attention",
    "layer",
    "model",
    "TransformerXLConfig",
    "TransformerXL",
]

check_arguments(__name__)
