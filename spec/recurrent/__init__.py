"""Recurrent networks: a state that is carried from one element of a sequence to the next."""

from spec.recurrent.cells import lstm_cell, rnn_cell
from spec.recurrent.language_model import bilm_objective, elmo_mix
from spec.recurrent.lstm import lstm, lstm_bidirectional, lstm_stacked
from spec.recurrent.sequences import bidirectional, rnn, stacked

__all__ = [
    "rnn_cell",
    "rnn",
    "stacked",
    "bidirectional",
    "lstm_cell",
    "lstm",
    "lstm_stacked",
    "lstm_bidirectional",
    "elmo_mix",
    "bilm_objective",
]
