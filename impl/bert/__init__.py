"""BERT and its relatives, as modules that read and write the checkpoints of Hugging Face.

``BertConfig`` says what a model is made of (``BertConfig.base()``, ``large``, ``roberta``, ``albert``, ``distilbert``).
``BertEncoder`` is the model, of ``BertEmbeddings`` and ``BertLayer``; ``BertForMaskedLM`` and what follows it in this list put a
head on it.

Masks are boolean, **True for a real token**; padding is never read, and taken out before the embeddings on the CPU.
"""

from impl.bert.config import BertConfig
from impl.bert.layers import BertEmbeddings, BertLayer, BertPooler
from impl.bert.model import BertEncoder, Encoded
from impl.bert.tasks import (
    BertForMaskedLM,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    PreTraining,
    Span,
)

__all__ = [
    "BertConfig",
    "BertEncoder",
    "Encoded",
    "BertEmbeddings",
    "BertLayer",
    "BertPooler",
    "BertForMaskedLM",
    "BertForPreTraining",
    "PreTraining",
    "BertForSequenceClassification",
    "BertForTokenClassification",
    "BertForQuestionAnswering",
    "Span",
]
