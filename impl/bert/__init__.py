"""BERT and its relatives: as functions of their weights, and as modules that read and write the checkpoints of Hugging Face.

``layer``, ``encoder``, ``pooler``, ``features``, the heads, ``pack`` and ``wordpiece`` are functions, each with the inputs of the
statement of its name; ``impl.bert.adapters`` gives them a module's weights.

``BertConfig`` says what a model is made of (``BertConfig.base()``, ``large``, ``roberta``, ``albert``, ``distilbert``).
``BertEncoder`` is the model, of ``BertEmbeddings`` and ``BertLayer``; ``BertForMaskedLM`` and what follows it in this list put a
head on it. ``WordPiece`` makes ids of text; ``labels_of_pieces`` and ``values_of_words`` lead from words to pieces and back.

Masks are boolean, **True for a real token**; modules never read padding, and take it out before the embeddings on the CPU.
They take ``device`` and ``dtype`` by name; a head is put where its encoder is.
"""

from impl._arguments import check_arguments
from impl.bert.config import BertConfig
from impl.bert.features import Features, features
from impl.bert.functions import LayerWeights, encoder, layer, pooler
from impl.bert.heads import best_span, head_mlm, head_pair, head_sequence, head_span, head_token
from impl.bert.layers import BertEmbeddings, BertLayer, BertPooler
from impl.bert.model import BertEncoder, Encoded, embed
from impl.bert.pieces import pack, wordpiece
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
    "LayerWeights",
    "layer",
    "pooler",
    "encoder",
    "Features",
    "features",
    "head_mlm",
    "head_sequence",
    "head_pair",
    "head_token",
    "head_span",
    "best_span",
    "pack",
    "wordpiece",
    "BertConfig",
    "BertEncoder",
    "Encoded",
    "embed",
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
]

check_arguments(__name__)
