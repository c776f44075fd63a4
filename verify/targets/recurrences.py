"""PyTorch's recurrent modules: their weights are the formulas' parameters, and their second bias is 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from verify.adapt import Adapter, State, module

BOTH_WAYS = ("0", "0_reverse")


def _layers(
    inward: Sequence[Tensor],
    across: Sequence[Tensor],
    biases: Sequence[Tensor] = (),
    ends: Sequence[str] = (),
) -> State:
    """The weights of layers, or of the two ways of one, which the names of parameters end with."""
    ends = ends or [str(layer) for layer in range(len(inward))]
    packed = {"weight_ih_l": inward, "weight_hh_l": across, "bias_ih_l": biases}
    made = {name + end: w for name, each in packed.items() for end, w in zip(ends, each, strict=False)}
    return {**made, "bias_hh*": 0}


def _turn(*states: Tensor) -> tuple[Tensor, ...]:
    """States with the layers before the batch, as the modules have them; and back."""
    return tuple(state.transpose(0, 1).contiguous() for state in states)


def rnn_cell() -> Adapter:
    """``nn.RNNCell`` and a product for the output."""
    return module(
        lambda p, d: nn.RNNCell(p, d, bias=False),
        lambda W_xh, W_hh: {"weight_ih": W_xh, "weight_hh": W_hh},
        pick=lambda out, W_hy: (out, out @ W_hy.T),
    )


def _rnn(weights: Any, call: Any, pick: Any = 0, **how: Any) -> Adapter:
    return module(
        lambda p, d, L=0: nn.RNN(p, d, L + 1, bias=False, batch_first=True, **how),
        weights, call, pick=pick, train=True,
    )  # fmt: skip


def rnn() -> Adapter:
    """``nn.RNN``, a product and ``torch.softmax``."""
    return _rnn(
        lambda W_xh, W_hh: _layers([W_xh], [W_hh]),
        lambda rnn, x, h: rnn(x, h.unsqueeze(0))[0],
        lambda out, W_hy: (out, torch.softmax(out @ W_hy.T, -1)),
    )


def stacked() -> Adapter:
    """``nn.RNN`` with ``num_layers``."""
    return _rnn(
        lambda W_xh, U, W_hh: _layers([W_xh, *U], W_hh),
        lambda rnn, x, h: rnn(x, *_turn(h)),
        lambda out: (out[0], *_turn(out[1])),
    )


def bidirectional() -> Adapter:
    """``nn.RNN`` with ``bidirectional``."""
    return _rnn(
        lambda W_xf, W_hf, W_xb, W_hb: _layers([W_xf, W_xb], [W_hf, W_hb], ends=BOTH_WAYS),
        lambda rnn, x, h: rnn(x, *_turn(h)),
        bidirectional=True,
    )


def lstm_cell() -> Adapter:
    """``nn.LSTMCell`` with the four gates' weights packed in its order: input, forget, node, output."""

    def weights(**w: Tensor) -> State:
        packed = {"weight_ih": "W_{}x", "weight_hh": "W_{}h", "bias_ih": "b_{}"}
        made = {name: torch.cat([w[of.format(gate)] for gate in "ifgo"]) for name, of in packed.items()}
        return {**made, "bias_hh": 0}

    return module(lambda p, d: nn.LSTMCell(p, d), weights, lambda cell, x, h, s: cell(x, (h, s)))


def _lstm(weights: Any, call: Any, pick: Any = 0, **how: Any) -> Adapter:
    return module(
        lambda p, d, L=0: nn.LSTM(p, d, L + 1, batch_first=True, **how), weights, call, pick=pick, train=True
    )


def lstm() -> Adapter:
    """``nn.LSTM``."""
    return _lstm(
        lambda W_x, W_h, b: _layers([W_x], [W_h], [b]),
        lambda lstm, x, h, s: lstm(x, (h.unsqueeze(0), s.unsqueeze(0))),
        lambda out: (out[0], out[1][1][0]),
    )


def lstm_stacked() -> Adapter:
    """``nn.LSTM`` with ``num_layers``."""
    return _lstm(
        lambda W_x, U, W_h, b: _layers([W_x, *U], W_h, b),
        lambda lstm, x, h, s: lstm(x, _turn(h, s)),
        lambda out: (out[0], *_turn(*out[1])),
    )


def lstm_bidirectional() -> Adapter:
    """``nn.LSTM`` with ``bidirectional``."""
    return _lstm(
        lambda W_x, W_h, b: _layers(W_x, W_h, b, BOTH_WAYS),
        lambda lstm, x, h, s: lstm(x, _turn(h, s)),
        bidirectional=True,
    )


def gru_cell() -> Adapter:
    """``nn.GRUCell``."""
    return module(
        lambda p, d: nn.GRUCell(p, d),
        lambda W_x, W_h, b_x, b_h: {"weight_ih": W_x, "weight_hh": W_h, "bias_ih": b_x, "bias_hh": b_h},
    )


def gru() -> Adapter:
    """``nn.GRU``."""
    return module(
        lambda p, d: nn.GRU(p, d, batch_first=True),
        lambda W_x, W_h, b_x, b_h: {**_layers([W_x], [W_h], [b_x]), "bias_hh_l0": b_h},
        lambda gru, x, h: gru(x, h.unsqueeze(0)),
        train=True,
    )
