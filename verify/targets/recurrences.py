"""PyTorch's recurrent modules: their weights are the formulas' parameters, and their second bias is 0."""

from __future__ import annotations

from torch import nn

from verify.adapt import Adapter, module

STATES = "x, (h.transpose(0, 1).contiguous(), s.transpose(0, 1).contiguous())"
"""A call with states for each layer, which the module has before the batch."""


def rnn_cell() -> Adapter:
    """``nn.RNNCell`` and a product for the output."""
    weights = {"weight_ih": "W_xh", "weight_hh": "W_hh"}
    return module(nn.RNNCell, weights, arguments="p, d, bias=False", pick="out, out @ W_hy.T")


def rnn() -> Adapter:
    """``nn.RNN``, a product and ``torch.softmax``."""
    weights, arguments = (
        {"weight_ih_l0": "W_xh", "weight_hh_l0": "W_hh"},
        "p, d, bias=False, batch_first=True",
    )
    pick = "out[0], softmax(out[0] @ W_hy.T, -1)"
    return module(nn.RNN, weights, "x, h.unsqueeze(0)", arguments=arguments, pick=pick, train=True)


def stacked() -> Adapter:
    """``nn.RNN`` with ``num_layers``."""
    weights = {"weight_ih_l0": "W_xh", "weight_ih_l{t}": "U[t - 1]", "weight_hh_l{t}": "W_hh[t]"}
    arguments, call = "p, d, L + 1, bias=False, batch_first=True", "x, h.transpose(0, 1).contiguous()"
    return module(
        nn.RNN, weights, call, arguments=arguments, pick="out[0], out[1].transpose(0, 1)", train=True
    )


def bidirectional() -> Adapter:
    """``nn.RNN`` with ``bidirectional``."""
    weights = {"*ih_l0": "W_xf", "*hh_l0": "W_hf", "*ih_l0_reverse": "W_xb", "*hh_l0_reverse": "W_hb"}
    arguments = "p, d, bias=False, batch_first=True, bidirectional=True"
    return module(nn.RNN, weights, "x, h.transpose(0, 1).contiguous()", arguments=arguments, train=True)


def lstm_cell() -> Adapter:
    """``nn.LSTMCell`` with the four gates' weights packed in its order: input, forget, node, output."""
    weights = {"weight_ih": "cat(W_ix, W_fx, W_gx, W_ox)", "weight_hh": "cat(W_ih, W_fh, W_gh, W_oh)"}
    bias = {"bias_ih": "cat(b_i, b_f, b_g, b_o)", "bias_hh": 0}
    return module(nn.LSTMCell, {**weights, **bias}, "x, (h, s)", arguments="p, d")


def lstm() -> Adapter:
    """``nn.LSTM``."""
    weights = {"weight_ih_l0": "W_x", "weight_hh_l0": "W_h", "bias_ih_l0": "b", "bias_hh_l0": 0}
    call, arguments = "x, (h.unsqueeze(0), s.unsqueeze(0))", "p, d, batch_first=True"
    return module(nn.LSTM, weights, call, arguments=arguments, pick="out[0], out[1][1][0]", train=True)


def lstm_stacked() -> Adapter:
    """``nn.LSTM`` with ``num_layers``."""
    weights = {
        "weight_ih_l0": "W_x",
        "weight_ih_l{t}": "U[t - 1]",
        "weight_hh_l{t}": "W_h[t]",
        "bias_ih_l{t}": "b[t]",
    }
    pick = "out[0], out[1][0].transpose(0, 1), out[1][1].transpose(0, 1)"
    arguments = "p, d, L + 1, batch_first=True"
    return module(nn.LSTM, {**weights, "bias_hh*": 0}, STATES, arguments=arguments, pick=pick, train=True)


def lstm_bidirectional() -> Adapter:
    """``nn.LSTM`` with ``bidirectional``."""
    ways = {"weight_ih": "W_x", "weight_hh": "W_h", "bias_ih": "b"}
    weights = {
        f"{name}_l0{end}": f"{of}[{k}]" for name, of in ways.items() for k, end in enumerate(("", "_reverse"))
    }
    arguments = "p, d, batch_first=True, bidirectional=True"
    return module(nn.LSTM, {**weights, "bias_hh*": 0}, STATES, arguments=arguments, train=True)


def gru_cell() -> Adapter:
    """``nn.GRUCell``."""
    weights = {"weight_ih": "W_x", "weight_hh": "W_h", "bias_ih": "b_x", "bias_hh": "b_h"}
    return module(nn.GRUCell, weights, arguments="p, d")


def gru() -> Adapter:
    """``nn.GRU``."""
    weights = {"weight_ih_l0": "W_x", "weight_hh_l0": "W_h", "bias_ih_l0": "b_x", "bias_hh_l0": "b_h"}
    call, arguments = "x, h.unsqueeze(0)", "p, d, batch_first=True"
    return module(nn.GRU, weights, call, arguments=arguments, pick="out[0]", train=True)
