"""Recurrent networks: a state that is carried from one element of a sequence to the next.

Letters are the statements': a sequence of T elements of p entries, states h (and s, an LSTM's internal state) of d entries, r
outputs, L layers above the first. Weights act from the left (W x). Leading dimensions of data are batches and broadcast;
states and lengths have no more of them than the sequences, parameters none. Modules take ``device`` and ``dtype`` by name.

Sequences run on torch's fused kernel, the one that ``nn.RNN``, ``nn.GRU`` and ``nn.LSTM`` call. Within ``torch.func`` it
follows one ``grad``; whatever is beyond that (vmap, jvp, hessian, …) runs the cell step by step instead, by itself. For
``torch.autograd.forward_ad`` ask for that with ``backend="loop"``: the cell, as it is stated, in a Python loop, differentiable
to any order in either mode, at about twice the time. Under ``torch.compile`` the kernel is a graph break, as it is in
``nn.LSTM`` (the compiler would unroll every step); the loop is compiled whole. 16-bit sequences are computed in float32 and
rounded once, at the end: roundings of a state would add up from step to step. Under autocast the kernel runs in autocast's
type on CUDA and in float32 on the CPU, and the result has x's.

On CUDA the kernel is cuDNN's, whose tanh and σ in float32 are good to some 17 bits; the loop has torch's own. Products are as
exact as torch's others: of factors rounded to TF32 only where ``torch.backends.cuda.matmul.fp32_precision`` says so. (Left to
itself, ``nn.LSTM`` rounds them on CUDA whatever is said of other products.)

``lengths`` gives each sequence of a padded batch its own length: it gets what it alone would get, its last state is the one
at its own end, and the backward direction begins there. Beyond it states are 0, and what stands in the padding, NaN
included, reaches neither output nor gradient.
"""

from impl._arguments import check_arguments
from impl.recurrent.cells import lstm_cell, rnn_cell
from impl.recurrent.gru import gru, gru_cell
from impl.recurrent.language_model import BiLM, BiLMConfig, ElmoMix, bilm_objective, elmo_mix
from impl.recurrent.lstm import lstm, lstm_bidirectional, lstm_stacked
from impl.recurrent.sequences import bidirectional, rnn, stacked

__all__ = [
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
    "BiLMConfig",
    "BiLM",
    "ElmoMix",
]

check_arguments(__name__)
