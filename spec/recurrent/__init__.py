"""Recurrent networks: a state that is carried from one element of a sequence to the next."""

from spec.recurrent.cells import lstm_cell, rnn_cell
from spec.recurrent.language_model import bilm_objective, elmo_mix
from spec.recurrent.lstm import lstm, lstm_bidirectional, lstm_stacked
from spec.recurrent.sequences import bidirectional, rnn, stacked

# Theorems follow the formulas they are about.
from spec.recurrent import cells_theorems as cells_theorems  # isort: skip
from spec.recurrent import sequences_theorems as sequences_theorems  # isort: skip
from spec.recurrent import layers_theorems as layers_theorems  # isort: skip
from spec.recurrent import lstm_theorems as lstm_theorems  # isort: skip
from spec.recurrent import lstm_layers_theorems as lstm_layers_theorems  # isort: skip
from spec.recurrent import language_model_theorems as language_model_theorems  # isort: skip

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
