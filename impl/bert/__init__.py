"""BERT and its relatives, as modules that read and write the checkpoints of Hugging Face.

``BertConfig`` says what a model is made of (``BertConfig.base()``, ``large``, ``roberta``, ``albert``, ``distilbert``).
``BertEncoder`` is the model, of ``BertEmbeddings`` and ``BertLayer``; ``BertForMaskedLM`` and what follows it in this list put a
head on it. ``WordPiece`` makes ids of text; ``labels_of_pieces`` and ``values_of_words`` lead from words to pieces and back.

As functions of their weights, under the names of the statements: ``features``, and the heads ``head_sequence``, ``head_pair``,
``head_token``, ``head_span`` (with ``best_span``) and ``head_mlm``; and of texts, ``pack`` and ``wordpiece``.

Masks are boolean, **True for a real token**; padding is never read, and taken out before the embeddings on the CPU.
"""

from impl.bert.config import BertConfig
from impl.bert.features import Features, features
from impl.bert.heads import best_span, head_mlm, head_pair, head_sequence, head_span, head_token
from impl.bert.layers import BertEmbeddings, BertLayer, BertPooler
from impl.bert.model import BertEncoder, Encoded
from impl.bert.packing import pack
from impl.bert.pieces import wordpiece
from impl.bert.tasks import (
    BertForMaskedLM,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    PreTraining,
    Span,
)
from impl.bert.tokenizer import Batch, Encoding, WordPiece, labels_of_pieces, values_of_words

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
    "WordPiece",
    "Encoding",
    "Batch",
    "labels_of_pieces",
    "values_of_words",
    "Features",
    "best_span",
    "features",
    "head_mlm",
    "head_pair",
    "head_sequence",
    "head_span",
    "head_token",
    "pack",
    "wordpiece",
]
