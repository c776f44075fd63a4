"""Scores of queries against keys, one number for every pair.

Letters are the statements': n queries of d_q entries and m keys of d_k; a units in the hidden layer of the additive score.
Queries and keys may bring leading dimensions, which broadcast; parameters have none. A float16 or bfloat16 score is computed
in float32 and rounded once.

The functions are the statements. The modules hold a score's parameters behind one call, ``score(q, k)`` → (... n m), whose
softmax over the keys is the attention weights (``impl.attention.Attention`` takes any of them); ``SCORES`` names them.
"""

from impl._arguments import check_arguments
from impl.scores.modules import SCORES, Additive, Cosine, Dot, General, Location, ScaledDot, Score
from impl.scores.networks import additive, additive_of_halves, location
from impl.scores.products import cosine, dot, general, scaled_dot

__all__ = [
    "dot",
    "scaled_dot",
    "general",
    "additive",
    "additive_of_halves",
    "location",
    "cosine",
    "Score",
    "Dot",
    "ScaledDot",
    "General",
    "Additive",
    "Location",
    "Cosine",
    "SCORES",
]

check_arguments(__name__)
