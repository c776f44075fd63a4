"""PyTorch's recurrent modules, adapted to the declared inputs: their weights are the formulas' parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from verify.targets.flattening import called, flat, hollow, opened

Adapted = Callable[..., Any]
Layer = tuple[Tensor, Tensor, Tensor | None]
"""The weights of one layer in one direction: from its input, from its state, and the bias of the first."""


@lru_cache(maxsize=256)
def _module(kind: str, p: int, d: int, layers: int, bias: bool, both: bool) -> nn.Module:
    if kind.endswith("Cell"):
        return hollow(lambda: getattr(nn, kind)(p, d, bias=bias))
    return hollow(
        lambda: getattr(nn, kind)(p, d, layers, bias=bias, batch_first=True, bidirectional=both),
        training=True,
    )


def _run(kind: str, x: Tensor, states: tuple[Tensor, ...], layers: list[Layer], both: bool = False) -> Any:
    """Call ``nn.RNN`` or ``nn.LSTM``: one batch dimension, states (layers, batch, d), weights by name."""
    lead, d = x.shape[:-2], layers[0][1].shape[1]
    depth = len(layers) // (2 if both else 1)
    biased = layers[0][2] is not None
    weights: dict[str, Tensor] = {}
    for place, (W_x, W_h, b) in enumerate(layers):
        end = f"_l{place // 2}{'_reverse' if place % 2 else ''}" if both else f"_l{place}"
        weights |= {f"weight_ih{end}": W_x, f"weight_hh{end}": W_h}
        if b is not None:
            weights |= {f"bias_ih{end}": b, f"bias_hh{end}": torch.zeros_like(b)}
    first = tuple(flat(s, lead, 2).transpose(0, 1).contiguous() for s in states)
    module = _module(kind, x.shape[-1], d, depth, biased, both)
    out, last = called(module, weights, flat(x, lead, 2), first if kind == "LSTM" else first[0])
    ends = last if isinstance(last, tuple) else (last,)
    return opened(out, lead), tuple(opened(end.transpose(0, 1), lead) for end in ends)


def rnn_cell() -> Adapted:
    """``nn.RNNCell`` and a product for the output."""

    def cell(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> tuple[Tensor, Tensor]:
        lead = x.shape[:-1]
        module = _module("RNNCell", x.shape[-1], h.shape[-1], 1, False, False)
        new = called(module, {"weight_ih": W_xh, "weight_hh": W_hh}, flat(x, lead, 1), flat(h, lead, 1))
        new = opened(new, lead)
        return new, F.linear(new, W_hy)

    return cell


def rnn() -> Adapted:
    """``nn.RNN``, a product and ``torch.softmax``."""

    def sequence(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, W_hy: Tensor) -> tuple[Tensor, Tensor]:
        states, _ = _run("RNN", x, (h.unsqueeze(-2),), [(W_xh, W_hh, None)])
        return states, torch.softmax(F.linear(states, W_hy), -1)

    return sequence


def stacked() -> Adapted:
    """``nn.RNN`` with ``num_layers``."""

    def layers(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor) -> tuple[Tensor, Tensor]:
        inward: list[Tensor] = [W_xh, *U]
        states, (last,) = _run("RNN", x, (h,), [(a, b, None) for a, b in zip(inward, W_hh, strict=True)])
        return states, last

    return layers


def bidirectional() -> Adapted:
    """``nn.RNN`` with ``bidirectional``."""

    def both(x: Tensor, h: Tensor, W_xf: Tensor, W_hf: Tensor, W_xb: Tensor, W_hb: Tensor) -> Tensor:
        states, _ = _run("RNN", x, (h,), [(W_xf, W_hf, None), (W_xb, W_hb, None)], both=True)
        return states  # type: ignore[no-any-return]

    return both


def lstm_cell() -> Adapted:
    """``nn.LSTMCell`` with the four gates' weights packed in its order: input, forget, node, output."""

    def cell(x: Tensor, h: Tensor, s: Tensor, *gates: Tensor) -> tuple[Tensor, Tensor]:
        lead = x.shape[:-1]
        g, i, f, o = (gates[3 * k : 3 * k + 3] for k in range(4))
        W_x, W_h, b = (torch.cat([gate[k] for gate in (i, f, g, o)]) for k in range(3))
        module = _module("LSTMCell", x.shape[-1], h.shape[-1], 1, True, False)
        weights = {"weight_ih": W_x, "weight_hh": W_h, "bias_ih": b, "bias_hh": torch.zeros_like(b)}
        state = flat(h, lead, 1), flat(s, lead, 1)
        new, inner = called(module, weights, flat(x, lead, 1), state)
        return opened(new, lead), opened(inner, lead)

    return cell


def lstm() -> Adapted:
    """``nn.LSTM``."""

    def sequence(
        x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor
    ) -> tuple[Tensor, Tensor]:
        states = h.unsqueeze(-2), s.unsqueeze(-2)
        out, (_, last) = _run("LSTM", x, states, [(W_x, W_h, b)])
        return out, last.squeeze(-2)

    return sequence


def lstm_stacked() -> Adapted:
    """``nn.LSTM`` with ``num_layers``."""

    def layers(
        x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, U: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        inward: list[Tensor] = [W_x, *U]
        out, (state, inner) = _run("LSTM", x, (h, s), list(zip(inward, W_h, b, strict=True)))
        return out, state, inner

    return layers


def lstm_bidirectional() -> Adapted:
    """``nn.LSTM`` with ``bidirectional``."""

    def both(x: Tensor, h: Tensor, s: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Tensor:
        out, _ = _run("LSTM", x, (h, s), list(zip(W_x, W_h, b, strict=True)), both=True)
        return out  # type: ignore[no-any-return]

    return both


def gru_cell() -> Adapted:
    """``nn.GRUCell``."""

    def cell(x: Tensor, h: Tensor, W_x: Tensor, W_h: Tensor, b_x: Tensor, b_h: Tensor) -> Tensor:
        lead = x.shape[:-1]
        module = _module("GRUCell", x.shape[-1], h.shape[-1], 1, True, False)
        weights = {"weight_ih": W_x, "weight_hh": W_h, "bias_ih": b_x, "bias_hh": b_h}
        return opened(called(module, weights, flat(x, lead, 1), flat(h, lead, 1)), lead)

    return cell


def gru() -> Adapted:
    """``nn.GRU``."""

    def sequence(x: Tensor, h: Tensor, W_x: Tensor, W_h: Tensor, b_x: Tensor, b_h: Tensor) -> Tensor:
        lead = x.shape[:-2]
        module = _module("GRU", x.shape[-1], h.shape[-1], 1, True, False)
        weights = {"weight_ih_l0": W_x, "weight_hh_l0": W_h, "bias_ih_l0": b_x, "bias_hh_l0": b_h}
        first = flat(h.unsqueeze(-2), lead, 2).transpose(0, 1).contiguous()
        return opened(called(module, weights, flat(x, lead, 2), first)[0], lead)

    return sequence
