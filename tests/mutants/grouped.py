"""Variants of ``attention.grouped_query``."""

import math

import torch

from impl.attention import scaled_dot_product
from tests.mutants import right, wrong

GROUPED = "attention.grouped_query"


def repeat(x, times):
    """Each head r times in a row, right."""
    return x.repeat_interleave(times, -3)


def grouped(keys=repeat, values=None, attend=scaled_dot_product, masks=lambda mask: mask, divided=True):
    """Grouped-query attention, right but for what is given."""

    def attention(q, k, v, mask=None):
        times = q.shape[-3] // k.shape[-3]
        mask = None if mask is None else masks(mask.unsqueeze(-3))
        return attend(q, keys(k, times), (values or keys)(v, times), mask)

    return attention


def tile(x, times):
    """All heads, r times over."""
    return torch.cat([x] * times, -3)


def first(x, times):
    """The first head for all."""
    return x[..., :1, :, :].expand(*x.shape[:-3], x.shape[-3] * times, *x.shape[-2:])


def average(x, times):
    """The mean of all heads for each, as a checkpoint is made multi-query."""
    return first(x.mean(-3, keepdim=True), times * x.shape[-3])


def weigh(divisor, share=lambda a: a):
    """Attention in plain operations with another divisor of the scores, or with other shares."""

    def attend(q, k, v, mask):
        hidden = torch.zeros_like(q[..., :1]) if mask is None else torch.where(mask, 0.0, -math.inf)
        if mask is not None:
            some = mask.any(-1, keepdim=True)
            hidden = torch.where(some, hidden, 0.0)
            q = torch.where(some, q, 0.0)
            seen = mask.any(-2).unsqueeze(-1)
            k, v = torch.where(seen, k, 0.0), torch.where(seen, v, 0.0)
        a = share(torch.softmax(q @ k.mT / divisor(q, k) + hidden, -1))
        return (a if mask is None else torch.where(mask, a, 0.0)) @ v

    return attend


def root(q, k):
    """√d_k, right."""
    return math.sqrt(q.shape[-1])


wrong(
    GROUPED,
    "tiled",
    "Repeats the groups as a whole, not each in a row.",
    cause="must not read.*heads|heads.*(order|group)",
)(grouped(tile))
wrong(
    GROUPED,
    "first_group",
    "Gives all heads the keys and values of the first group.",
    cause="first (head|group)|other heads",
)(grouped(first))
wrong(GROUPED, "averaged", "Gives all heads the mean of the groups.", cause="mean of (the|all)")(
    grouped(average)
)
wrong(
    GROUPED, "keys_tiled", "Repeats the keys in another order than the values.", cause=r"\bk\b.*(order|heads)"
)(grouped(tile, repeat))
wrong(GROUPED, "values_of_the_first", "Keys of the own group, values of the first.", cause=r"\bv\b.*first")(
    grouped(repeat, first)
)
wrong(
    GROUPED, "unscaled", "Does not divide the scores by √d_k.", cause=r"not divided by √\(?d_k|divided by √"
)(grouped(attend=weigh(lambda q, k: 1.0)))
wrong(
    GROUPED,
    "scaled_by_all_heads",
    "Divides the scores by √(g·r·d_k), from before the split.",
    cause=r"not divided by √\(?d_k|divided by √",
)(grouped(attend=weigh(lambda q, k: math.sqrt(q.shape[-1] * q.shape[-3]))))
wrong(
    GROUPED, "mask_ignored", "Takes the mask and does not look at it.", cause="mask is ignored|must not read"
)(grouped(masks=lambda mask: None))
wrong(GROUPED, "mask_inverted", "Hides the keys that may be attended to.", cause="polarity")(
    grouped(masks=lambda mask: ~mask)
)
wrong(
    GROUPED,
    "mask_after",
    "Sets weights to 0 afterwards: what is left does not sum to 1.",
    cause="mask .*after|do not sum to 1|sum to less",
)(
    lambda q, k, v, mask=None: (
        grouped()(q, k, v)
        if mask is None
        else (
            torch.softmax(q @ repeat(k, q.shape[-3] // k.shape[-3]).mT / root(q, k), -1) * mask.unsqueeze(-3)
        )
        @ repeat(v, q.shape[-3] // v.shape[-3])
    )
)
wrong(
    GROUPED,
    "groups_detached",
    "Passes the gradient of the first head of a group only.",
    cause="gradient .*(first|heads)",
)(
    grouped(
        lambda x, times: torch.cat(
            (x[..., None, :, :], x[..., None, :, :].detach().expand(*x.shape[:-2], times - 1, *x.shape[-2:])),
            -3,
        ).flatten(-4, -3)
    )
)


@wrong(GROUPED, cause="heads.*(order|group)")
def heads_by_a_view(q, k, v, mask=None):
    """Takes head t for number t mod g of a group: queries split as (r, g), not as (g, r)."""
    g = k.shape[-3]
    mask = None if mask is None else mask[..., None, None, :, :]
    split = q.unflatten(-3, (-1, g))
    return scaled_dot_product(split, k.unsqueeze(-4), v.unsqueeze(-4), mask).flatten(-4, -3)


right(GROUPED, "by_repeating", "Repeats keys and values, each head in a row.")(grouped())
right(GROUPED, "in_plain_operations", "The same without a kernel.")(grouped(attend=weigh(root)))


@right(GROUPED)
def group_by_group(q, k, v, mask=None):
    """One group after another, with its own keys and values."""
    g = k.shape[-3]
    mask = None if mask is None else mask.unsqueeze(-3)
    parts = [
        scaled_dot_product(of, k[..., a : a + 1, :, :], v[..., a : a + 1, :, :], mask)
        for a, of in enumerate(q.chunk(g, -3))
    ]
    return torch.cat(parts, -3)
