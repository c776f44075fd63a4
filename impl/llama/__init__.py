"""Llama: as functions of its weights, and as a module that reads and writes the checkpoints of Hugging Face.

``attention``, ``layer`` and ``model`` are functions, each with the inputs of the statement of its name. ``LlamaConfig`` says what
a model is made of (``LlamaConfig.llama2("7b")``, ``llama3("8b")``); ``Llama`` is the model, with ``generate``, which keeps keys
and values.

Masks are boolean, **True for a real token**; padding may stand on either side and is never read. The module takes ``device`` and
``dtype`` by name.
"""

from impl._arguments import check_arguments
from impl.llama.config import LlamaConfig
from impl.llama.functions import AttentionWeights, LayerWeights, attention, layer, model
from impl.llama.llama import Llama

__all__ = ["AttentionWeights", "LayerWeights", "attention", "layer", "model", "LlamaConfig", "Llama"]

check_arguments(__name__)
