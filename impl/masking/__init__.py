"""What masked language modelling and next sentence prediction draw: corrupted words, and pairs of sentences.

Letters are the statements': n tokens in a row, ids from a vocabulary of V words; n pairs from N sentences.
"""

from impl._arguments import check_arguments
from impl.masking.pairs import nsp
from impl.masking.words import mlm, whole_words

__all__ = ["mlm", "nsp", "whole_words"]

check_arguments(__name__)
