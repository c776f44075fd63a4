"""Recurrent networks: a state that is carried from element to element."""

FORMULAS = (
    "rnn_cell",
    "rnn",
    "stacked",
    "bidirectional",
    "lstm_cell",
    "lstm",
    "lstm_stacked",
    "lstm_bidirectional",
    "gru_cell",
    "gru",
    "elmo_mix",
    "bilm_objective",
)
"""What is stated here, in reading order: one module each."""
