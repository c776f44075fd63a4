"""Variants of ``attention.multi_head``."""

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong
from tests.mutants.attention import blank, blank_queries, filled, inverse, masked, times
from tests.mutants.projections import attend

HEADS = "attention.multi_head"


def projected(x, W):
    """A sequence projected for every head: (…, h, n, width)."""
    return x[..., None, :, :] @ W


def every(mask):
    """The mask for every head."""
    return None if mask is None else mask[..., None, :, :]


def merged(z):
    """The heads side by side: (…, n, h·d_v)."""
    return z.transpose(-3, -2).flatten(-2)


def heads(x, y, W_q, W_k, W_v, mask, scale=None, one=attend):
    """The heads, right, or of another attention ``one``: (…, h, n, d_v)."""
    given = () if scale is None else (scale,)
    return one(projected(x, W_q), projected(y, W_k), projected(y, W_v), every(mask), *given)


def multi_head(
    join=lambda z, W_o, W_q: merged(z) @ W_o, one=attend, scale=lambda x, W_q: None, masks=lambda mask: mask
):
    """Multi-head attention, right but for what is given; ``join`` has the heads, W_o and W_q."""

    def attention(x, y, W_q, W_k, W_v, W_o, mask=None):
        return join(heads(x, y, W_q, W_k, W_v, masks(mask), scale(x, W_q), one), W_o, W_q)

    return attention


def of_weights(change):
    """The attention of a head whose weights, 0 where hidden, are changed."""

    def attention(q, k, v, mask):
        q, k, v = blank_queries(q, mask), blank(k, mask), blank(v, mask)
        return change(masked(q @ k.mT * q.shape[-1] ** -0.5, mask)) @ v

    return attention


def blocks(W_o, W_q):
    """Each head's block of W_o."""
    return W_o.reshape(W_q.shape[0], -1, W_o.shape[1])


wrong(
    HEADS,
    "viewed_without_transpose",
    "Merges the heads by a view: rows of different queries are mixed.",
    cause="merged by a view",
)(multi_head(lambda z, W_o, W_q: z.reshape((*z.shape[:-3], z.shape[-2], z.shape[-3] * z.shape[-1])) @ W_o))
wrong(
    HEADS,
    "heads_interleaved",
    "Concatenates component by component instead of head by head.",
    cause="interleav|axes swapped: concat",
)(multi_head(lambda z, W_o, W_q: z.movedim(-3, -1).flatten(-2) @ W_o))
wrong(HEADS, "heads_reversed", "Concatenates the heads last to first.", cause=r"revers|end along h\b")(
    multi_head(lambda z, W_o, W_q: merged(z.flip(-3)) @ W_o)
)
wrong(
    HEADS,
    "scaled_by_the_model_width",
    "Scales by 1/√d_model instead of 1/√d_k.",
    cause="d_model instead of d_k",
)(multi_head(scale=lambda x, W_q: x.shape[-1] ** -0.5))
wrong(
    HEADS,
    "scaled_by_all_heads",
    "Scales by 1/√(h·d_k), the width before the split.",
    cause="(d_k·h|h·d_k) instead of d_k",
)(multi_head(scale=lambda x, W_q: (W_q.shape[0] * W_q.shape[-1]) ** -0.5))
wrong(
    HEADS, "averaged", "Averages the heads instead of concatenating them.", cause=r"divided by h\b|1/h times"
)(multi_head(lambda z, W_o, W_q: (z @ blocks(W_o, W_q)).mean(-3)))


@wrong(HEADS, via=lambda step: multi_head(one=step), cause="wrong axis.* over t where")
def over_the_heads(q, k, v, mask):
    """Normalises over the heads instead of the keys."""
    k, v = blank(k, mask), blank(v, mask)
    return times(torch.softmax(q @ k.mT * q.shape[-1] ** -0.5, -3), mask) @ v


@wrong(HEADS, via=lambda step: multi_head(one=step), cause="must not read|first head")
def first_head_masked(q, k, v, mask):
    """Applies the mask to the first head only: it was never repeated."""
    one = attend(q[..., :1, :, :], k[..., :1, :, :], v[..., :1, :, :], mask)
    rest = attend(q[..., 1:, :, :], k[..., 1:, :, :], v[..., 1:, :, :], None)
    return torch.cat((one, rest), -3)


wrong(
    HEADS,
    "mask_inverted_in_heads",
    "Reads the mask as nn.MultiheadAttention does: True drops.",
    cause="polarity|inverted",
)(multi_head(masks=inverse))
wrong(
    HEADS,
    "output_transposed",
    "Takes W_o as nn.Linear stores it, transposed, where its shape allows it.",
    cause=r"W_o is read as its transp|reads W_o\[l",
)(multi_head(lambda z, W_o, W_q: merged(z) @ (W_o.mT if W_o.shape[0] == W_o.shape[1] else W_o)))
wrong(
    HEADS,
    "without_output_projection",
    "Leaves W_o out where the heads have the model's width already.",
    cause=r"W_o\S* is ignored|multiplied by W_o",
)(multi_head(lambda z, W_o, W_q: merged(z) if W_o.shape[0] == W_o.shape[1] else merged(z) @ W_o))
wrong(
    HEADS,
    "keys_of_the_first_head",
    "All heads share the first one's keys, as in multi-query attention.",
    cause=r"W_k\[0|first .*W_k|W_k .*first",
)(
    lambda x, y, W_q, W_k, W_v, W_o, mask=None: multi_head()(
        x, y, W_q, W_k[:1].expand(W_k.shape), W_v, W_o, mask
    )
)


@wrong(HEADS, cause="^[sa] .*constant|reaches .*W_q, W_k")
def weights_detached(x, y, W_q, W_k, W_v, W_o, mask=None):
    """Keeps the attention weights for inspection, and with them cuts the gradient to queries and keys."""
    q, k = projected(x, W_q), blank(projected(y, W_k), every(mask))
    found = heads(x, y, W_q, W_k, W_v, mask, one=of_weights(lambda a: a.detach()))
    return merged(found) @ W_o + 0 * (q.sum() + k.sum())


wrong(
    HEADS,
    "dropped_in_evaluation",
    "Leaves dropout on the weights in evaluation.",
    cause="dropout is left on|result is random",
)(multi_head(one=of_weights(lambda a: F.dropout(a, 0.1))))
wrong(
    HEADS,
    "projected_once",
    "Projects queries and keys that come from one tensor once for both.",
    cause="W_q (is read )?where W_k|W_k is ignored|one tensor",
)(lambda x, y, W_q, W_k, W_v, W_o, mask=None: multi_head()(x, y, W_q, W_q if x is y else W_k, W_v, W_o, mask))
right(HEADS, "sum_over_heads", "Each head through its own block of W_o, summed: nothing is concatenated.")(
    multi_head(lambda z, W_o, W_q: (z @ blocks(W_o, W_q)).sum(-3))
)


@right(HEADS)
def head_by_head(x, y, W_q, W_k, W_v, W_o, mask=None):
    """A loop over the heads, as the definition reads."""
    every_head = zip(W_q, W_k, W_v, strict=True)
    return torch.cat([attend(x @ a, y @ b, y @ c, mask) for a, b, c in every_head], -1) @ W_o


@right(HEADS)
def packed_projections(x, y, W_q, W_k, W_v, W_o, mask=None):
    """One wide matrix for each of query, key and value, then split into heads and transposed."""

    def split(u, W):
        wide = u @ W.movedim(0, 1).flatten(1)
        return wide.reshape((*wide.shape[:-1], W.shape[0], W.shape[2])).transpose(-3, -2)

    return merged(attend(split(x, W_q), split(y, W_k), split(y, W_v), every(mask))) @ W_o


right(HEADS, "heads_filled", "−10⁹ for masked scores, by that convention.", fully_masked="filled_1e9")(
    multi_head(one=lambda q, k, v, mask: filled(q @ k.mT * q.shape[-1] ** -0.5, mask, -1e9) @ v)
)
