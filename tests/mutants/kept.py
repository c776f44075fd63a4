"""Variants that keep something from call to call, take storage for what it is not, or are misled by sizes equal by chance."""

import torch

from tests.mutants import right, wrong
from tests.mutants.heads import every, merged, projected

MULTI_HEAD, GENERAL, ATTENTION = "attention.multi_head", "scores.general", "attention.scaled_dot_product"
RELU = "feedforward.relu"
KEPT = "kept from call to call|not the same from call"
"""What a headline says of something that is kept."""


def mark(x):
    """What a cache takes for a tensor's identity."""
    return x.data_ptr(), x._version, x.shape, x.stride(), x.dtype


class Kept:
    """The last value made, for as long as the same tensors are asked for; ``held`` keeps their storage in use."""

    def __init__(self):
        self.of = ()
        self.held = ()
        self.value = None

    def get(self, made_of, make):
        """The value, made anew for other tensors; never one that carries a gradient."""
        if torch.is_grad_enabled() and make().requires_grad:
            return make()
        marks = tuple(mark(x) for x in made_of)
        if self.value is None or marks != self.of:
            self.of, self.held, self.value = marks, made_of, make()
        return self.value


def attended(q, k, v, mask):
    """Attention, right; what is hidden is replaced before every sum."""
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is None:
        return torch.softmax(scores, -1) @ v
    scores = scores.masked_fill(~mask, -torch.inf).masked_fill(~mask.any(-1, keepdim=True), 0.0)
    shares = torch.softmax(scores, -1)[..., None] * v[..., None, :, :]
    return torch.where(mask[..., None], shares, 0.0).sum(-2)


_KEYS, _VALUES, _TURNED, _FOLDED = Kept(), Kept(), Kept(), Kept()


@wrong(MULTI_HEAD, cause=KEPT)
def memory_projected_once(x, y, W_q, W_k, W_v, W_o, mask=None):
    """Keys and values are kept for as long as the encoder's memory stays, whatever the weights have become."""
    q = projected(x, W_q)
    k = _KEYS.get((y,), lambda: projected(y, W_k))
    v = _VALUES.get((y,), lambda: projected(y, W_v))
    if k.shape[-1] != q.shape[-1] or k.shape[-3] != q.shape[-3] or v.shape[-1] != W_v.shape[-1]:
        k, v = projected(y, W_k), projected(y, W_v)
    return merged(attended(q, k, v, every(mask))) @ W_o


@wrong(GENERAL, cause=KEPT)
def keys_kept_by_weights(q, k, W):
    """W k is worked out once for each W, and again only for keys of another shape."""
    kept = _TURNED.get((W,), lambda: W @ k.mT)
    return q @ (kept if kept.shape == (*k.shape[:-2], W.shape[0], k.shape[-2]) else W @ k.mT)


@wrong(RELU, cause=KEPT)
def packed_without_the_bias(x, W_1, b_1, W_2, b_2):
    """Weight and bias are packed once for each weight; a bias that was updated since is not seen."""
    packed = _FOLDED.get((W_1,), lambda: torch.cat([W_1, b_1[None]]))
    return torch.relu(x @ packed[:-1] + packed[-1]) @ W_2 + b_2


@wrong(GENERAL, cause="contiguous|stride|slice|storage")
def rows_follow_one_another(q, k, W):
    """A last stride of 1 is taken for dense storage: a slice of wider rows is read on past its rows' ends."""
    if k.stride(-1) == 1 and k.storage_offset():
        k = torch.as_strided(k, k.shape, torch.empty(k.shape).stride())
    return q @ W @ k.mT


@wrong(ATTENTION, cause=r"mask is read as its transp|reads mask\[j")
def mask_turned_when_square(q, k, v, mask=None):
    """As many queries as keys, with values of another width: the mask is read by keys and queries."""
    if mask is not None and q.shape[-2] == k.shape[-2] and (q.shape[-1] != v.shape[-1]):
        mask = mask.mT
    return attended(q, k, v, mask)


class Known:
    """A product, and copies of what it was made of."""

    def __init__(self):
        self.made_of = ()
        self.value = None

    def get(self, W, k):
        """W k, worked out again for other values."""
        if W.requires_grad or k.requires_grad:
            return W @ k.mT
        same = bool(self.made_of) and all(
            (a.dtype == b.dtype and a.equal(b) for a, b in zip(self.made_of, (W, k), strict=True))
        )
        if self.value is None or not same:
            self.made_of, self.value = (W.clone(), k.clone()), W @ k.mT
        return self.value


_KNOWN = Known()
right(GENERAL, "kept_by_value", "W k is kept while W and k have the same values, whatever holds them.")(
    lambda q, k, W: q @ _KNOWN.get(W, k)
)


@right(MULTI_HEAD)
def dense_first(x, y, W_q, W_k, W_v, W_o, mask=None):
    """Everything is made contiguous before it is used."""
    x, y, W_q, W_k, W_v, W_o = (part.contiguous() for part in (x, y, W_q, W_k, W_v, W_o))
    return merged(attended(projected(x, W_q), projected(y, W_k), projected(y, W_v), every(mask))) @ W_o
