"""Decoding: which words follow a prompt, given a model of the next word.

=============  ==============================================================================
``steps``      what a model has to offer: ``start``, ``step``, a state that can be reordered
``search``     ``greedy`` and ``beam``: the likeliest word at each step, the k best beginnings
``penalties``  ``penalised``: a log-probability divided by a power of the length
``drawing``    ``sample``: one word from logits; ``sampled``: a whole continuation
=============  ==============================================================================

Statements: ``decoding.greedy``, ``decoding.beam``, ``decoding.sample``.
"""

from impl._arguments import check_arguments
from impl.decoding.drawing import sample, sampled
from impl.decoding.penalties import penalised
from impl.decoding.search import Beams, Decoded, beam, greedy
from impl.decoding.steps import Recomputed, State, StepModel

__all__ = [
    "greedy",
    "beam",
    "sample",
    "sampled",
    "penalised",
    "Beams",
    "Decoded",
    "State",
    "StepModel",
    "Recomputed",
]

check_arguments(__name__)
