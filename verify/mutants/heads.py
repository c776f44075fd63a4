"""Variants of ``attention.multi_head``."""

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong
from verify.mutants.attention import blank, blank_queries, filled, masked
from verify.mutants.projections import attend

HEADS = "attention.multi_head"


def projected(x: Tensor, W: Tensor) -> Tensor:
    """A sequence projected for every head: (…, h, n, width)."""
    return x[..., None, :, :] @ W


def every(mask: Tensor | None) -> Tensor | None:
    """The mask for every head."""
    return None if mask is None else mask[..., None, :, :]


def merged(z: Tensor) -> Tensor:
    """The heads side by side: (…, n, h·d_v)."""
    return z.transpose(-3, -2).flatten(-2)


def heads(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    mask: Tensor | None,
    scale: float | None = None,
) -> Tensor:
    """The heads, right: (…, h, n, d_v)."""
    return attend(projected(x, W_q), projected(y, W_k), projected(y, W_v), every(mask), scale)


@wrong(HEADS)
def viewed_without_transpose(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Merges the heads by a view without the transpose: rows of different queries are mixed."""
    z = heads(x, y, W_q, W_k, W_v, mask)
    return z.reshape((*z.shape[:-3], z.shape[-2], z.shape[-3] * z.shape[-1])) @ W_o


@wrong(HEADS)
def heads_interleaved(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Concatenates component by component instead of head by head."""
    z = heads(x, y, W_q, W_k, W_v, mask)
    return z.movedim(-3, -1).flatten(-2) @ W_o


@wrong(HEADS)
def heads_reversed(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Concatenates the heads last to first."""
    return merged(heads(x, y, W_q, W_k, W_v, mask).flip(-3)) @ W_o


@wrong(HEADS)
def scaled_by_the_model_width(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Scales by 1/√d_model instead of 1/√d_k."""
    return merged(heads(x, y, W_q, W_k, W_v, mask, x.shape[-1] ** -0.5)) @ W_o


@wrong(HEADS)
def scaled_by_all_heads(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Scales by 1/√(h·d_k), the width before the split."""
    return merged(heads(x, y, W_q, W_k, W_v, mask, (W_q.shape[0] * W_q.shape[-1]) ** -0.5)) @ W_o


@wrong(HEADS)
def averaged(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Averages the heads instead of concatenating them."""
    z = heads(x, y, W_q, W_k, W_v, mask)
    blocks = W_o.reshape(W_q.shape[0], -1, W_o.shape[1])
    return (z @ blocks).mean(-3)


@wrong(HEADS)
def over_the_heads(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Normalises over the heads instead of the keys."""
    k, v = blank(projected(y, W_k), every(mask)), blank(projected(y, W_v), every(mask))
    a = torch.softmax(projected(x, W_q) @ k.mT * W_q.shape[-1] ** -0.5, -3)
    return merged((a if mask is None else a * mask[..., None, :, :]) @ v) @ W_o


@wrong(HEADS)
def first_head_masked(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Applies the mask to the first head only: it was never repeated for the others."""
    q, k, v = projected(x, W_q), projected(y, W_k), projected(y, W_v)
    one = attend(q[..., :1, :, :], k[..., :1, :, :], v[..., :1, :, :], every(mask))
    rest = attend(q[..., 1:, :, :], k[..., 1:, :, :], v[..., 1:, :, :], None)
    return merged(torch.cat((one, rest), -3)) @ W_o


@wrong(HEADS)
def mask_inverted_in_heads(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Reads the mask as nn.MultiheadAttention does: True may not be attended to."""
    return merged(heads(x, y, W_q, W_k, W_v, None if mask is None else ~mask)) @ W_o


@wrong(HEADS)
def output_transposed(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Takes W_o as nn.Linear stores it, transposed, where its shape allows it."""
    return merged(heads(x, y, W_q, W_k, W_v, mask)) @ (W_o.mT if W_o.shape[0] == W_o.shape[1] else W_o)


@wrong(HEADS)
def without_output_projection(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Leaves W_o out where the concatenation has the width of the model already."""
    z = merged(heads(x, y, W_q, W_k, W_v, mask))
    return z if W_o.shape[0] == W_o.shape[1] else z @ W_o


@wrong(HEADS)
def keys_of_the_first_head(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """All heads share the first one's keys, as in multi-query attention."""
    return merged(heads(x, y, W_q, W_k[:1].expand(W_k.shape), W_v, mask)) @ W_o


@wrong(HEADS)
def weights_detached(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Keeps the attention weights for inspection, and with them cuts the gradient to queries and keys."""
    q, k, v = projected(x, W_q), blank(projected(y, W_k), every(mask)), blank(projected(y, W_v), every(mask))
    a = masked(blank_queries(q, every(mask)) @ k.mT * W_q.shape[-1] ** -0.5, every(mask)).detach()
    return merged(a @ v) @ W_o + 0 * (q.sum() + k.sum())


@wrong(HEADS)
def dropped_in_evaluation(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Leaves dropout on the weights in evaluation."""
    q, k, v = projected(x, W_q), blank(projected(y, W_k), every(mask)), blank(projected(y, W_v), every(mask))
    a = masked(blank_queries(q, every(mask)) @ k.mT * W_q.shape[-1] ** -0.5, every(mask))
    return merged(F.dropout(a, 0.1) @ v) @ W_o


@wrong(HEADS)
def projected_once(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Where queries and keys come from one tensor, projects it once for both."""
    return merged(heads(x, y, W_q, W_q if x is y else W_k, W_v, mask)) @ W_o


@right(HEADS)
def sum_over_heads(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Each head through its own block of W_o, summed: nothing is concatenated."""
    z = heads(x, y, W_q, W_k, W_v, mask)
    return (z @ W_o.reshape(W_q.shape[0], -1, W_o.shape[1])).sum(-3)


@right(HEADS)
def head_by_head(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """A loop over the heads, as the definition reads."""
    every_head = zip(W_q, W_k, W_v, strict=True)
    return torch.cat([attend(x @ a, y @ b, y @ c, mask) for a, b, c in every_head], -1) @ W_o


@right(HEADS)
def packed_projections(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """One wide matrix for each of query, key and value, then split into heads and transposed."""

    def split(u: Tensor, W: Tensor) -> Tensor:
        wide = u @ W.movedim(0, 1).flatten(1)
        return wide.reshape((*wide.shape[:-1], W.shape[0], W.shape[2])).transpose(-3, -2)

    return merged(attend(split(x, W_q), split(y, W_k), split(y, W_v), every(mask))) @ W_o


@right(HEADS, fully_masked="filled_1e9")
def heads_filled(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """−10⁹ for masked scores, as the Annotated Transformer has it, where that is the convention."""
    s = projected(x, W_q) @ projected(y, W_k).mT * W_q.shape[-1] ** -0.5
    return merged(filled(s, every(mask), -1e9) @ projected(y, W_v)) @ W_o
