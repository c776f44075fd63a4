"""Gated recurrent unit: the cell, and over a sequence.

Letters are the statements': T elements x[t] of p entries, a state h of d entries. The weights of the three blocks (reset gate
r, update gate z, candidate n) are packed one below the other, d rows each. How sequences run, lengths included, is said in the
package; torch's kernel resets after the product, and its update gate keeps: other networks run as a loop.
"""

from functools import partial
from typing import Literal

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from impl import _refuse
from impl._axes import Axes
from impl.recurrent._checks import in_order
from impl.recurrent._running import Backend, batch, layers, restore_lead, run_loop
from impl.recurrent.cells import gru_step, wide

__all__ = ["gru", "gru_cell"]

GateOrder = Literal["rzn", "zrn"]
Reset = Literal["after", "before"]
Update = Literal["keeps", "renews"]

_CELL = Axes("x (... p), h (... d), W_x (3*d p), W_h (3*d d), b_x (3*d), b_h (3*d)")
_GRU = Axes("x (... T p), h (... d), W_x (3*d p), W_h (3*d d), b_x (3*d), b_h (3*d)")


def gru_cell(
    x: Float[Tensor, "... p"],
    h: Float[Tensor, "... d"],
    W_x: Float[Tensor, "3*d p"],
    W_h: Float[Tensor, "3*d d"],
    b_x: Float[Tensor, "3*d"],
    b_h: Float[Tensor, "3*d"],
    *,
    gate_order: GateOrder = "rzn",
    reset: Reset = "after",
    update: Update = "keeps",
) -> Float[Tensor, "... d"]:
    """The next state h' = (1 − z) ⊙ n + z ⊙ h, with the gates r and z, which are σ of W_x x + b_x + W_h h + b_h in their
    blocks, and the candidate n = tanh(W_x x + b_x + r ⊙ (W_h h + b_h)) in its own. Statement: ``recurrent.gru_cell``.

    ``gate_order="zrn"`` is Keras's and ONNX's; ``reset="before"`` is the paper's: n = tanh(W_x x + b_x + W_h (r ⊙ h) + b_h);
    with ``update="renews"`` z is the share of n. Leading dimensions of x and h broadcast. ValueError for shapes that do not
    fit and for an unknown option, TypeError unless all share one floating dtype, which is also the result's. Source: Cho et
    al. 2014, "Learning Phrase Representations using RNN Encoder–Decoder for Statistical Machine Translation".
    """
    _CELL.fit("recurrent.gru_cell", x=x, h=h, W_x=W_x, W_h=W_h, b_x=b_x, b_h=b_h)
    _refuse.check_belonging("recurrent.gru_cell", x.shape[:-1], 1, h=h)
    dtype = x.dtype
    weights = _torch_order(gate_order, wide(dtype), W_x, W_h, b_x, b_h)
    x, h = x.to(wide(dtype)), h.to(wide(dtype))
    step = partial(gru_step, before=reset == "before", renews=update == "renews")
    return step(x, h, *weights).to(dtype)


def gru(
    x: Float[Tensor, "... T p"],
    h: Float[Tensor, "... d"],
    W_x: Float[Tensor, "3*d p"],
    W_h: Float[Tensor, "3*d d"],
    b_x: Float[Tensor, "3*d"],
    b_h: Float[Tensor, "3*d"],
    *,
    gate_order: GateOrder = "rzn",
    reset: Reset = "after",
    update: Update = "keeps",
    lengths: Integer[Tensor, "..."] | None = None,
    backend: Backend = "auto",
) -> Float[Tensor, "... T d"]:
    """The cell of ``gru_cell`` over a sequence, from the initial state h on: the state after every element. Statement:
    ``recurrent.gru``.

    Leading dimensions of x, h and lengths broadcast; beyond a sequence's length the states are 0. ValueError for shapes that
    do not fit, for lengths outside 1..T and for an unknown option, TypeError unless all but the integer lengths share one
    floating dtype, which is also the result's. Source: Cho et al. 2014, "Learning Phrase Representations using RNN
    Encoder–Decoder for Statistical Machine Translation".
    """
    _GRU.fit("recurrent.gru", x=x, h=h, W_x=W_x, W_h=W_h, b_x=b_x, b_h=b_h)
    given = batch("recurrent.gru", x, (h,), lengths, single=True)
    weights = _torch_order(gate_order, given.x.dtype, W_x, W_h, b_x, b_h)
    if reset == "after" and update == "keeps":
        return restore_lead(given, layers("recurrent.gru", given, [weights], backend)[0])
    step = partial(gru_step, before=reset == "before", renews=update == "renews")
    return restore_lead(given, run_loop(given, [weights], lambda *each: (step(*each),))[0])


def _torch_order(gate_order: str, dtype: torch.dtype, *packed: Tensor) -> tuple[Tensor, ...]:
    """Weights and biases with their blocks in torch's order."""
    return in_order(gate_order, "rzn", *(each.to(dtype) for each in packed), axis=0)
