"""Fast, readable PyTorch implementations, one module per subject.

========================  =========================================================================
``impl.similarity``       ``dot``, ``cosine`` of two vectors
``impl.embedding``        ``token``: a row of a table for each id; ``bert``: of three tables, normalised
``impl.recurrent``        cells; RNNs, LSTMs, GRUs over sequences, stacked and bidirectional; ELMo's model
``impl.scores``           query against key: dot, scaled, general, additive, location, cosine
``impl.attention``        soft, hard, local, causal, windows, Linformer, BigBird; multi-head, grouped; cached, paged, merged
``impl.positional``       ``sinusoidal``, ``learned``; ``turned``, ``rotary``, ``partial_rotary``, ``frequencies``, ``yarn``
``impl.normalization``    ``layer_norm``, ``rms_norm``, ``residual``, ``add_norm``, ``add_rms_norm``
``impl.activation``       ``relu``, ``gelu``, ``silu``, entry by entry; ``log_softmax`` of a row
``impl.feedforward``      ``relu``, ``gelu``: two layers, the same at every position; ``gated``: three, with a gate
``impl.masking``          ``mlm``, ``whole_words``: what masked language modelling hides; ``nsp``: pairs of sentences
``impl.objectives``       cross entropy of logits and of a linear layer, distillation; of hidden words and pairs; warm-up
``impl.routing``          ``top_k``, ``capacity``: which experts a token is sent to, and how much each counts
``impl.optimization``     ``adamw``: a step of training, as a function
``impl.decoding``         ``greedy``, ``beam``, ``sample``: a text from a model of the next token
``impl.seq2seq``          encoder and decoder as modules: without attention, Bahdanau's, Luong's
``impl.transformer``      the Transformer: layers (biased, too), stacks, ``model``, ``cost``; also as modules, with a cache
``impl.transformer_xl``   Transformer-XL: attention with a memory, a layer, the model, as functions and as a module
``impl.bert``             BERT: functions of its weights, features, heads; it and its relatives as modules; checkpoints; WordPiece
``impl.gpt``              GPT: functions of its weights; GPT-1, 2 and 3 as a module, with a cache; checkpoints; BPE
``impl.llama``            Llama: functions of its weights; Llama 2 and 3 as a module; checkpoints
``impl.xlnet``            XLNet: a head of its attention, a layer in two streams, its objective; and as a module
``impl.vision``           ``patches``, ``encoder``, ``classifier``: the Vision Transformer, and as a module; checkpoints
``impl.evoformer``        AlphaFold 2's: attention of an alignment, triangle updates of pairs; a block, as a function and a module
``impl.scaling``          ``kaplan``: laws of scale; ``fit``: a power law; ``filter_normalised``: directions of a landscape
========================  =========================================================================

Each function implements the statement of the same name (``impl.attention.causal`` is ``attention.causal``) and
uses its letters. Everything here leans on torch and jaxtyping alone, but ``impl.bert`` and ``impl.gpt``, which read files with
safetensors and tokenizers. A module is imported when it is first named, so ``import impl`` does not import torch. Annotations are
enforced in the tests only. At run time each public function refuses, in one line, what is no tensor, no integer, no number and no
option where it says so; what else it refuses is said in its docstring.
"""

from importlib import import_module
from types import ModuleType

__all__ = [
    "activation",
    "attention",
    "bert",
    "decoding",
    "embedding",
    "evoformer",
    "feedforward",
    "gpt",
    "llama",
    "masking",
    "normalization",
    "objectives",
    "optimization",
    "positional",
    "recurrent",
    "routing",
    "scaling",
    "scores",
    "seq2seq",
    "similarity",
    "transformer",
    "transformer_xl",
    "vision",
    "xlnet",
]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return import_module(f"impl.{name}")
    raise AttributeError(f"module 'impl' has no attribute {name!r}; its modules are {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
