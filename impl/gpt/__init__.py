"""GPT: as functions of its weights, and as a module that reads and writes the checkpoints of Hugging Face.

``layer`` and ``model`` are functions, each with the inputs of the statement of its name.

``GPTConfig`` says what a model is made of (``GPTConfig.gpt1()``, ``gpt2("medium")``, ``gpt3()``); ``GPT`` is the model, of
``GPTLayer``: logits, a loss, and ``generate``, which hands it as a ``CachedGPT`` to ``impl.decoding``. ``BytePairs`` makes ids
of text; ``bpe`` is its rule, as a function.

Masks are boolean, **True for a real token**; padding may stand on either side and is never read. Modules take ``device`` and
``dtype`` by name.
"""

from impl._arguments import check_arguments
from impl.bert.functions import LayerWeights
from impl.gpt.config import GPTConfig
from impl.gpt.functions import layer, model
from impl.gpt.gpt import GPT, CachedGPT, GPTLayer
from impl.gpt.tokenizer import BytePairs, bpe

__all__ = ["LayerWeights", "layer", "model", "bpe", "GPTConfig", "GPT", "GPTLayer", "CachedGPT", "BytePairs"]

check_arguments(__name__)
