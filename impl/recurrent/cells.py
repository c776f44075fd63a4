"""Recurrent cells: one step from a state and an input to the next state, in plain operations.

Letters are the statements': an input x of p entries, a state h of d entries (an LSTM has a second one, s), r outputs.
Differentiable to any order, in either mode, and inside every ``torch.func`` transform. A float16 or bfloat16 step is computed
in float32 and rounded once.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from impl import _refuse
from impl._axes import Axes

__all__ = ["lstm_cell", "rnn_cell"]

_RNN = Axes("x (... p), h (... d), W_xh (d p), W_hh (d d), W_hy (r d)")
_LSTM = Axes(
    "x (... p), h (... d), s (... d), W_gx (d p), W_gh (d d), b_g (d), W_ix (d p), W_ih (d d), b_i (d), "
    "W_fx (d p), W_fh (d d), b_f (d), W_ox (d p), W_oh (d d), b_o (d)"
)


def rnn_cell(
    x: Float[Tensor, "... p"],
    h: Float[Tensor, "... d"],
    W_xh: Float[Tensor, "d p"],
    W_hh: Float[Tensor, "d d"],
    W_hy: Float[Tensor, "r d"],
) -> tuple[Float[Tensor, "... d"], Float[Tensor, "... r"]]:
    """h' = tanh(W_hh h + W_xh x), and the output o = W_hy h'. Statement: ``recurrent.rnn_cell``.

    Leading dimensions of x and h broadcast. ValueError for shapes that do not fit, TypeError unless all share one floating
    dtype, which is also the results'. Source: Elman 1990, "Finding Structure in Time".
    """
    _RNN.fit("recurrent.rnn_cell", x=x, h=h, W_xh=W_xh, W_hh=W_hh, W_hy=W_hy)
    _refuse.check_belonging("recurrent.rnn_cell", x.shape[:-1], 1, h=h)
    x, h, W_xh, W_hh, W_hy = (each.to(wide(dtype := x.dtype)) for each in (x, h, W_xh, W_hh, W_hy))
    h = rnn_step(x, h, W_xh, W_hh)
    return h.to(dtype), (h @ W_hy.mT).to(dtype)


def lstm_cell(
    x: Float[Tensor, "... p"],
    h: Float[Tensor, "... d"],
    s: Float[Tensor, "... d"],
    W_gx: Float[Tensor, "d p"],
    W_gh: Float[Tensor, "d d"],
    b_g: Float[Tensor, " d"],
    W_ix: Float[Tensor, "d p"],
    W_ih: Float[Tensor, "d d"],
    b_i: Float[Tensor, " d"],
    W_fx: Float[Tensor, "d p"],
    W_fh: Float[Tensor, "d d"],
    b_f: Float[Tensor, " d"],
    W_ox: Float[Tensor, "d p"],
    W_oh: Float[Tensor, "d d"],
    b_o: Float[Tensor, " d"],
) -> tuple[Float[Tensor, "... d"], Float[Tensor, "... d"]]:
    """The next state h' = tanh(s') ⊙ o and internal state s' = g ⊙ i + s ⊙ f, from the input node
    g = tanh(W_gx x + W_gh h + b_g) and the input, forget and output gates i, f and o, which are σ of the same with their own
    weights. Statement: ``recurrent.lstm_cell``.

    Leading dimensions of x, h and s broadcast. ValueError for shapes that do not fit, TypeError unless all share one
    floating dtype, which is also the results'. Source: Hochreiter & Schmidhuber 1997, "Long Short-Term Memory"; Gers,
    Schmidhuber & Cummins 2000 for the forget gate.
    """
    given = {"W_gx": W_gx, "W_gh": W_gh, "b_g": b_g, "W_ix": W_ix, "W_ih": W_ih, "b_i": b_i}
    given |= {"W_fx": W_fx, "W_fh": W_fh, "b_f": b_f, "W_ox": W_ox, "W_oh": W_oh, "b_o": b_o}
    _LSTM.fit("recurrent.lstm_cell", x=x, h=h, s=s, **given)
    _refuse.check_belonging("recurrent.lstm_cell", x.shape[:-1], 1, h=h, s=s)
    x, h, s, *weights = (each.to(wide(dtype := x.dtype)) for each in (x, h, s, *given.values()))
    h, s = lstm_step(x, h, s, *weights)
    return h.to(dtype), s.to(dtype)


def rnn_step(x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor) -> Tensor:
    """The recurrence of ``rnn_cell``."""
    return torch.tanh(h @ W_hh.mT + x @ W_xh.mT)


def lstm_step(x: Tensor, h: Tensor, s: Tensor, *weights: Tensor) -> tuple[Tensor, Tensor]:
    """The recurrence of ``lstm_cell``, whose weights these are, in its order."""
    W_gx, W_gh, b_g, W_ix, W_ih, b_i, W_fx, W_fh, b_f, W_ox, W_oh, b_o = weights
    g = torch.tanh(x @ W_gx.mT + h @ W_gh.mT + b_g)
    i = torch.sigmoid(x @ W_ix.mT + h @ W_ih.mT + b_i)
    f = torch.sigmoid(x @ W_fx.mT + h @ W_fh.mT + b_f)
    o = torch.sigmoid(x @ W_ox.mT + h @ W_oh.mT + b_o)
    s = g * i + s * f
    return torch.tanh(s) * o, s


def gru_step(
    x: Tensor,
    h: Tensor,
    W_x: Tensor,
    W_h: Tensor,
    b_x: Tensor,
    b_h: Tensor,
    before: bool = False,
    renews: bool = False,
) -> Tensor:
    """The recurrence of ``gru_cell`` with blocks in torch's order; reset ``before`` the product, and a gate that ``renews``."""
    r, z, n = (x @ W_x.mT + b_x).chunk(3, -1)
    (W_r, W_z, W_n), (b_r, b_z, b_n) = W_h.chunk(3), b_h.chunk(3)
    r, z = torch.sigmoid(r + h @ W_r.mT + b_r), torch.sigmoid(z + h @ W_z.mT + b_z)
    n = torch.tanh(n + ((r * h) @ W_n.mT + b_n if before else r * (h @ W_n.mT + b_n)))
    return torch.lerp(h, n, z) if renews else torch.lerp(n, h, z)


def wide(dtype: torch.dtype) -> torch.dtype:
    """The dtype in which to compute: float32 for the 16-bit ones, whose roundings would add up from step to step."""
    return torch.float32 if dtype.itemsize == 2 else dtype
