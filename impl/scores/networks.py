"""Scores from a small network: additive (a hidden layer over query and key) and location-based (the query alone)."""

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from impl import _refuse
from impl.kernels import load
from impl.scores.blocks import BLOCK_BYTES, plain, score_in_blocks

__all__ = ["additive", "additive_of_halves", "location"]

AdditiveBackend = Literal["auto", "math", "triton"]


def additive(
    q: Float[Tensor, "... n d_q"],
    k: Float[Tensor, "... m d_k"],
    W: Float[Tensor, "a d_q+d_k"],
    v: Float[Tensor, " a"],
    *,
    backend: AdditiveBackend = "auto",
    block: int | None = None,
) -> Float[Tensor, "... n m"]:
    """s[i,j] = vᵀ tanh(W [q[i]; k[j]]), as vᵀ tanh(W_q q[i] + W_k k[j]) with W = [W_q W_k]: the products are taken once
    for each query and each key, not for each pair. Statement: ``scores.additive``.

    The (... n m a) hidden layer is never whole in memory: it passes through ``block`` bytes (4 MiB on a CPU, 128 MiB
    elsewhere, and one pair at least), and again in the backward pass, where it is computed anew, under torch.compile too.
    A hidden layer of at most that size is kept, as usual. ``backend="math"`` is the same in plain operations with the hidden
    layer whole; derivatives of derivatives, forward mode and ``torch.func`` take it by themselves.
    ``backend="triton"`` is a kernel of ours for CUDA, in float32 inside, that keeps no hidden layer at all; its backward pass is
    that in blocks. It has been tested by Triton's interpreter, and has not run on a GPU.

    Leading dimensions of q and k broadcast. ValueError for shapes that do not fit, TypeError unless all share one
    floating dtype, which is also the result's; for the kernel also for float64, NotImplementedError but on CUDA, ImportError
    without Triton. Source: Bahdanau, Cho & Bengio 2015, "Neural Machine Translation by Jointly Learning to Align and Translate",
    appendix A.1.2.
    """
    d_q = q.shape[-1] if q.dim() else 0
    if min(q.dim(), k.dim(), W.dim()) < 2 or W.shape != (*v.shape, d_q + k.shape[-1]):
        expected = "q (... n d_q), k (... m d_k), W (a d_q+d_k), v (a)"
        raise _refuse.shapes("scores.additive", expected, q=q, k=k, W=W, v=v)
    _refuse.check_lead("scores.additive", q=q, k=k)
    _refuse.check_floating("scores.additive", q=q, k=k, W=W, v=v)
    if q.dtype.itemsize == 2:
        wide = (x.float() for x in (q, k, W, v))
        return additive(*wide, backend=backend, block=block).to(q.dtype)
    halves = F.linear(q, W[:, :d_q]), F.linear(k, W[:, d_q:])
    return additive_of_halves(*halves, v, backend=backend, block=block)


def additive_of_halves(
    query: Float[Tensor, "... n a"],
    key: Float[Tensor, "... m a"],
    v: Float[Tensor, " a"],
    *,
    backend: AdditiveBackend = "auto",
    block: int | None = None,
) -> Float[Tensor, "... n m"]:
    """s[i,j] = vᵀ tanh(query[i] + key[j]): ``additive`` where the products W_q q[i] and W_k k[j] are there already, as in
    a decoder that asks the same keys at every step. Memory, backends and errors are those of ``additive``.
    """
    if min(query.dim(), key.dim()) < 2 or not query.shape[-1:] == key.shape[-1:] == v.shape:
        raise _refuse.shapes(
            "scores.additive", "query (... n a), key (... m a), v (a)", query=query, key=key, v=v
        )
    lead = _refuse.check_lead("scores.additive", query=query, key=key)
    _refuse.check_floating("scores.additive", query=query, key=key, v=v)
    if block is not None and block < 1:
        raise ValueError(f"scores.additive: expected block >= 1 (bytes); got {block}")
    if query.dtype.itemsize == 2:  # autocast leaves them so
        wide = (x.float() for x in (query, key, v))
        return additive_of_halves(*wide, backend=backend, block=block).to(query.dtype)
    bytes_ = block or BLOCK_BYTES.get(query.device.type, BLOCK_BYTES["cuda"])
    if backend == "math":
        return plain(query, key, v)
    if backend == "triton":
        if not torch.compiler.is_compiling():
            load("additive", "scores.additive", query)
        if query.dtype != torch.float32:
            raise _refuse.dtypes("scores.additive", "at most float32 with backend='triton'", query=query)
    return score_in_blocks(query, key, v, lead, bytes_, backend == "triton")


def location(q: Float[Tensor, "... n d_q"], W: Float[Tensor, "m d_q"]) -> Float[Tensor, "... n m"]:
    """a[i,j] = softmax_j(W q[i]): the weight of place j, by the query alone. Statement: ``scores.location``.

    Unlike the other scores these are weights already: each row sums to 1. ValueError for shapes that do not fit,
    TypeError unless both share one floating dtype, which is also the result's. Source: Luong, Pham & Manning 2015,
    "Effective Approaches to Attention-based Neural Machine Translation", section 3.1.
    """
    if min(q.dim(), W.dim()) < 2 or W.shape[1:] != q.shape[-1:]:
        raise _refuse.shapes("scores.location", "q (... n d_q), W (m d_q)", q=q, W=W)
    _refuse.check_floating("scores.location", q=q, W=W)
    if q.dtype.itemsize == 2:
        return location(q.float(), W.float()).to(q.dtype)
    return torch.softmax(F.linear(q, W), -1)
