"""Recurrent networks over a sequence: in one layer, in several, and in both directions.

Letters are the statements': T elements x[t] of p entries, states h[t] of d entries. How sequences run, lengths included, is
said in the package.
"""

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from impl._axes import Axes
from impl.recurrent._running import Backend, batch, directions, layers, restore_lead, zero_padding

__all__ = ["bidirectional", "rnn", "stacked"]

_RNN = Axes("x (... T p), h (... d), W_xh (d p), W_hh (d d), W_hy (r d)")
_STACKED = Axes("x (... T p), h (... L+1 d), W_xh (d p), W_hh (L+1 d d), U (L d d)")
_BIDIRECTIONAL = Axes("x (... T p), h (... 2 d), W_xf (d p), W_hf (d d), W_xb (d p), W_hb (d d)")


def rnn(
    x: Float[Tensor, "... T p"],
    h: Float[Tensor, "... d"],
    W_xh: Float[Tensor, "d p"],
    W_hh: Float[Tensor, "d d"],
    W_hy: Float[Tensor, "r d"],
    *,
    lengths: Integer[Tensor, "..."] | None = None,
    backend: Backend = "auto",
) -> tuple[Float[Tensor, "... T d"], Float[Tensor, "... T r"]]:
    """The states h[t] = tanh(W_hh h[t−1] + W_xh x[t]), from the initial state h on, and p[t] = softmax(W_hy h[t]), both of
    every element. Statement: ``recurrent.rnn``.

    Leading dimensions of x, h and lengths broadcast; beyond a sequence's length states and p are 0. ValueError for shapes
    that do not fit and for lengths outside 1..T, TypeError unless all but the integer lengths share one floating dtype,
    which is also the results'. Source: Elman 1990, "Finding Structure in Time".
    """
    _RNN.fit("recurrent.rnn", x=x, h=h, W_xh=W_xh, W_hh=W_hh, W_hy=W_hy)
    given = batch("recurrent.rnn", x, (h,), lengths, single=True)
    W_xh, W_hh, W_hy = (each.to(given.x.dtype) for each in (W_xh, W_hh, W_hy))
    states, _ = layers("recurrent.rnn", given, [(W_xh, W_hh)], backend)
    p = torch.softmax(states @ W_hy.mT, -1)
    return restore_lead(given, states), restore_lead(given, zero_padding(given, p))


def stacked(
    x: Float[Tensor, "... T p"],
    h: Float[Tensor, "... K d"],
    W_xh: Float[Tensor, "d p"],
    W_hh: Float[Tensor, "K d d"],
    U: Float[Tensor, "L d d"],
    *,
    lengths: Integer[Tensor, "..."] | None = None,
    backend: Backend = "auto",
) -> tuple[Float[Tensor, "... T d"], Float[Tensor, "... K d"]]:
    """L layers above a first one, each of which reads the states of the one below through its U. Returns the states of the
    top layer, and of every layer the state after the last element. Statement: ``recurrent.stacked``.

    Leading dimensions of x, h and lengths broadcast; beyond a sequence's length the states are 0, and its last state is the
    one at its own end. Raises what ``rnn`` raises. Source: Graves, Mohamed & Hinton 2013, "Speech
    Recognition with Deep Recurrent Neural Networks".
    """
    _STACKED.fit("recurrent.stacked", x=x, h=h, W_xh=W_xh, W_hh=W_hh, U=U)
    given = batch("recurrent.stacked", x, (h,), lengths)
    W_xh, W_hh, U = (each.to(given.x.dtype) for each in (W_xh, W_hh, U))
    weights = list(zip((W_xh, *U), W_hh, strict=True))
    states, (last,) = layers("recurrent.stacked", given, weights, backend)
    return restore_lead(given, states), restore_lead(given, last)


def bidirectional(
    x: Float[Tensor, "... T p"],
    h: Float[Tensor, "... 2 d"],
    W_xf: Float[Tensor, "d p"],
    W_hf: Float[Tensor, "d d"],
    W_xb: Float[Tensor, "d p"],
    W_hb: Float[Tensor, "d d"],
    *,
    lengths: Integer[Tensor, "..."] | None = None,
    backend: Backend = "auto",
) -> Float[Tensor, "... T 2*d"]:
    """The states [forward ; backward] of two recurrences with their own weights and initial states h[0] and h[1]: one reads
    from the first element on, the other from the last back. Statement: ``recurrent.bidirectional``.

    Leading dimensions of x, h and lengths broadcast; beyond a sequence's length the states are 0, and the backward direction
    begins at its own end. Raises what ``rnn`` raises. Source: Schuster & Paliwal 1997, "Bidirectional Recurrent Neural
    Networks".
    """
    _BIDIRECTIONAL.fit("recurrent.bidirectional", x=x, h=h, W_xf=W_xf, W_hf=W_hf, W_xb=W_xb, W_hb=W_hb)
    given = batch("recurrent.bidirectional", x, (h,), lengths)
    W_xf, W_hf, W_xb, W_hb = (each.to(given.x.dtype) for each in (W_xf, W_hf, W_xb, W_hb))
    return restore_lead(
        given, directions("recurrent.bidirectional", given, [(W_xf, W_hf), (W_xb, W_hb)], backend)
    )
