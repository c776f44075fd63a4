"""BERT: what goes into its encoder, and what is read off it.

Letters are the statements': rows of d entries, n tokens, K classes, V words.
"""

from impl.bert.features import Features, features
from impl.bert.heads import best_span, head_mlm, head_pair, head_sequence, head_span, head_token
from impl.bert.packing import pack
from impl.bert.pieces import wordpiece

__all__ = [
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
