"""Long short-term memory over a sequence: in one layer, in several, and in both directions.

Letters are the statements': T elements x[t] of p entries, states h[t] and internal states s[t] of d entries. The weights of
the four blocks (input gate i, forget gate f, input node g, output gate o) are packed one below the other, d rows each;
``gate_order`` says in which order. ``"ifgo"`` is torch's and Keras's, ``"iofg"`` ONNX's, ``"igfo"`` early TensorFlow's,
``"gifo"`` that in which the equations are usually listed. How sequences run, lengths included, is said in the package.
"""

from typing import Literal

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from impl._axes import Axes
from impl.recurrent._checks import in_order
from impl.recurrent._running import Backend, batch, directions, layers, restore_lead

__all__ = ["lstm", "lstm_bidirectional", "lstm_stacked"]

GateOrder = Literal["ifgo", "iofg", "igfo", "gifo"]

_LSTM = Axes("x (... T p), h (... d), s (... d), W_x (4*d p), W_h (4*d d), b (4*d)")
_STACKED = Axes(
    "x (... T p), h (... L+1 d), s (... L+1 d), W_x (4*d p), W_h (L+1 4*d d), b (L+1 4*d), U (L 4*d d)"
)
_BIDIRECTIONAL = Axes("x (... T p), h (... 2 d), s (... 2 d), W_x (2 4*d p), W_h (2 4*d d), b (2 4*d)")


def lstm(
    x: Float[Tensor, "... T p"],
    h: Float[Tensor, "... d"],
    s: Float[Tensor, "... d"],
    W_x: Float[Tensor, "4*d p"],
    W_h: Float[Tensor, "4*d d"],
    b: Float[Tensor, "4*d"],
    *,
    gate_order: GateOrder = "ifgo",
    lengths: Integer[Tensor, "..."] | None = None,
    backend: Backend = "auto",
) -> tuple[Float[Tensor, "... T d"], Float[Tensor, "... d"]]:
    """The cell of ``lstm_cell`` over a sequence, from the initial states h and s on: the states h[t] of every element, and
    the internal state after the last one. Statement: ``recurrent.lstm``.

    Leading dimensions of x, h, s and lengths broadcast; beyond a sequence's length the states are 0, and its last internal
    state is the one at its own end. ValueError for shapes that do not fit, for lengths outside 1..T and for an unknown
    gate_order, TypeError unless all but the integer lengths share one floating dtype, which is also the results'. Source:
    Hochreiter & Schmidhuber 1997, "Long Short-Term Memory"; Gers, Schmidhuber & Cummins 2000 for the forget gate.
    """
    _LSTM.fit("recurrent.lstm", x=x, h=h, s=s, W_x=W_x, W_h=W_h, b=b)
    given = batch("recurrent.lstm", x, (h, s), lengths, single=True)
    weights = _torch_order(gate_order, given.x.dtype, W_x, W_h, b)
    states, (_, last) = layers("recurrent.lstm", given, [weights], backend)
    return restore_lead(given, states), restore_lead(given, last).squeeze(-2)


def lstm_stacked(
    x: Float[Tensor, "... T p"],
    h: Float[Tensor, "... K d"],
    s: Float[Tensor, "... K d"],
    W_x: Float[Tensor, "4*d p"],
    W_h: Float[Tensor, "K 4*d d"],
    b: Float[Tensor, "K 4*d"],
    U: Float[Tensor, "L 4*d d"],
    *,
    gate_order: GateOrder = "ifgo",
    lengths: Integer[Tensor, "..."] | None = None,
    backend: Backend = "auto",
) -> tuple[Float[Tensor, "... T d"], Float[Tensor, "... K d"], Float[Tensor, "... K d"]]:
    """L layers above a first one, each of which reads the states of the one below through its U. Returns the states of the
    top layer, and of every layer both states after the last element. Statement: ``recurrent.lstm_stacked``.

    Leading dimensions and lengths as in ``lstm``, and it raises what that raises. Source: Graves, Mohamed & Hinton 2013,
    "Speech Recognition with Deep Recurrent Neural Networks".
    """
    _STACKED.fit("recurrent.lstm_stacked", x=x, h=h, s=s, W_x=W_x, W_h=W_h, b=b, U=U)
    given = batch("recurrent.lstm_stacked", x, (h, s), lengths)
    W_x, W_h, U, b = _torch_order(gate_order, given.x.dtype, W_x, W_h, U, b)
    weights = list(zip((W_x, *U), W_h, b, strict=True))
    states, (last_h, last_s) = layers("recurrent.lstm_stacked", given, weights, backend)
    return restore_lead(given, states), restore_lead(given, last_h), restore_lead(given, last_s)


def lstm_bidirectional(
    x: Float[Tensor, "... T p"],
    h: Float[Tensor, "... 2 d"],
    s: Float[Tensor, "... 2 d"],
    W_x: Float[Tensor, "2 4*d p"],
    W_h: Float[Tensor, "2 4*d d"],
    b: Float[Tensor, "2 4*d"],
    *,
    gate_order: GateOrder = "ifgo",
    lengths: Integer[Tensor, "..."] | None = None,
    backend: Backend = "auto",
) -> Float[Tensor, "... T 2*d"]:
    """The states [forward ; backward] of two networks, index 0 and 1 of all that is theirs: one reads from the first element
    on, the other from the last back. Statement: ``recurrent.lstm_bidirectional``.

    Leading dimensions and lengths as in ``lstm``, where the backward direction begins at a sequence's own end; it raises
    what that raises. Source: Graves & Schmidhuber 2005, "Framewise Phoneme Classification with Bidirectional LSTM".
    """
    _BIDIRECTIONAL.fit("recurrent.lstm_bidirectional", x=x, h=h, s=s, W_x=W_x, W_h=W_h, b=b)
    given = batch("recurrent.lstm_bidirectional", x, (h, s), lengths)
    W_x, W_h, b = _torch_order(gate_order, given.x.dtype, W_x, W_h, b)
    weights = list(zip(W_x, W_h, b, strict=True))
    return restore_lead(given, directions("recurrent.lstm_bidirectional", given, weights, backend))


def _torch_order(gate_order: str, dtype: torch.dtype, *packed: Tensor) -> tuple[Tensor, ...]:
    """Packed weights (... 4d c), and last the bias (... 4d), with their blocks in torch's order."""
    *weights, bias = (each.to(dtype) for each in packed)
    return *in_order(gate_order, "ifgo", *weights, axis=-2), *in_order(gate_order, "ifgo", bias, axis=-1)
