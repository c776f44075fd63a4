"""Variants of ``attention.log_sum_exp`` and ``attention.merge``."""

import math

import torch

from tests.mutants import right, wrong

LSE, MERGE = "attention.log_sum_exp", "attention.merge"


def hide(s, mask):
    """Scores with −∞ where a key is hidden."""
    return s if mask is None else s.masked_fill(~mask, -math.inf)


def total(s, mask):
    """The log-sum-exp, right; a query without a key has the logarithm of the smallest number."""
    some = torch.ones_like(s[..., :1], dtype=torch.bool) if mask is None else mask.any(-1, keepdim=True)
    return torch.where(some, hide(s, mask), 0.0).logsumexp(-1)


@wrong(LSE, cause="overflow")
def unshifted_sum(s, mask=None):
    """Exponentiates without taking the largest score off: overflows."""
    e = s.exp() if mask is None else torch.where(mask, s, -math.inf).exp()
    return e.sum(-1).clamp_min(torch.finfo(s.dtype).tiny).log()


@wrong(LSE, cause="largest|maximum|shift")
def offset_lost(s, mask=None):
    """Takes the largest score off and does not add it again."""
    s = torch.where(mask, s, -1e30) if mask is not None else s
    return (s - s.amax(-1, keepdim=True).detach()).exp().sum(-1).log()


@wrong(LSE, cause="underflow|overflow|hidden|must not read")
def masked_largest(s, mask=None):
    """Takes off the largest score of all keys, masked ones too: what is left underflows."""
    largest = s.amax(-1, keepdim=True)
    e = (s - largest).exp()
    e = e if mask is None else torch.where(mask, e, 0.0)
    return e.sum(-1).clamp_min(torch.finfo(s.dtype).tiny).log() + largest.squeeze(-1)


wrong(LSE, "base_two", "A logarithm to base 2.", cause=r"log\(2\)|base 2|0\.69|1\.44")(
    lambda s, mask=None: total(s, mask) / math.log(2)
)
wrong(LSE, "of_the_mean", "The logarithm of the mean of the exponentials.", cause="mean|log\\(m")(
    lambda s, mask=None: total(s, mask) - math.log(s.shape[-1])
)
wrong(
    LSE, "largest_alone", "The largest score: the limit of cold softmax.", cause="maximum|largest|logarithm"
)(
    lambda s, mask=None: torch.where(
        torch.isinf(largest := hide(s, mask).amax(-1)), torch.zeros_like(largest), largest
    )
)
wrong(LSE, "blind", "Takes the mask and does not look at it.", cause="mask is ignored|must not read")(
    lambda s, mask=None: s.logsumexp(-1)
)
wrong(LSE, "other_polarity", "Leaves out the keys that may be attended to.", cause="polarity")(
    lambda s, mask=None: total(s, None if mask is None else ~mask)
)
wrong(LSE, "over_queries", "Sums over the queries.", cause="axis|positions")(
    lambda s, mask=None: (
        total(s[..., : s.shape[-2]].mT if s.shape[-1] > s.shape[-2] else s, None)
        if mask is None and s.shape[-1] == s.shape[-2]
        else total(s.flip(-2), mask if mask is None else mask.flip(-2))
    )
)
wrong(LSE, "largest_not_detached", "Passes the gradient through the largest score alone.", cause="gradient")(
    lambda s, mask=None: (
        (total(s, mask) - (largest := torch.where(torch.isinf(x := hide(s, mask).amax(-1)), 0.0, x))).detach()
        + largest
    )
)
wrong(LSE, "sum_in_half", "Holds the sum of the exponentials in bfloat16.", cause="bfloat16|8 bits")(
    lambda s, mask=None: (
        (
            (
                x := torch.where(
                    torch.isfinite(y := hide(s, mask)), y, -1e30 if s.dtype != torch.float16 else -6e4
                )
            )
            - (largest := x.amax(-1, keepdim=True))
        )
        .exp()
        .sum(-1)
        .bfloat16()
        .to(s.dtype)
        .log()
        + largest.squeeze(-1)
    )
)

right(LSE, "by_torch", "torch's logsumexp.")(total)


@right(LSE)
def key_by_key(s, mask=None):
    """One pass over the keys: a running maximum, and the sum in its terms, as Milakov and Gimelshein have it."""
    largest, denominator = torch.full_like(s[..., 0], -math.inf), torch.zeros_like(s[..., 0])
    for j in range(s.shape[-1]):
        score = s[..., j]
        seen = torch.ones_like(score, dtype=torch.bool) if mask is None else mask[..., j].expand_as(score)
        new = torch.where(seen, torch.maximum(largest, score), largest).detach()
        steady = torch.where(new.isinf(), 0.0, new)
        added = torch.where(seen, torch.where(seen, score, 0.0) - steady, -math.inf).exp()
        denominator = denominator * (torch.where(new.isinf(), 0.0, largest - steady)).exp() + added
        largest = new
    return denominator.log() + torch.where(largest.isinf(), 0.0, largest)


def add(
    shares=lambda L, there: torch.softmax(torch.where(there, L, -math.inf), -2), after=lambda total: total
):
    """Blocks joined, right but for what is given."""

    def merge(z, L, mask=None):
        some = (
            torch.ones_like(L[..., :1, :], dtype=torch.bool) if mask is None else mask.any(-2, keepdim=True)
        )
        there = (torch.ones_like(L, dtype=torch.bool) if mask is None else mask.expand_as(L)) | ~some
        given = L if mask is None else torch.where(mask, L, 0.0)
        a = shares(given, there) * some if mask is None else torch.where(mask, shares(given, there), 0.0)
        clean = z if mask is None else torch.where(mask.unsqueeze(-1), z, 0.0)
        return (a.unsqueeze(-1) * clean).sum(-3), after(torch.where(there, given, -math.inf).logsumexp(-2))

    return merge


wrong(
    MERGE,
    "plain_mean",
    "The mean of the blocks, whatever they weigh.",
    cause="mean|alike|L is ignored|does not depend on L",
)(add(lambda L, there: there / there.sum(-2, keepdim=True)))


def weigh(to_weight):
    """Shares that are weights over their sum."""

    def shares(L, there):
        weight = to_weight(L, there) * there
        return weight / weight.sum(-2, keepdim=True)

    return shares


wrong(MERGE, "unshifted", "Does not take the largest log-sum-exp off: weights overflow.", cause="overflow")(
    add(weigh(lambda L, there: L.exp()))
)
wrong(
    MERGE,
    "weighed_by_the_logarithm",
    "Weighs blocks by their log-sum-exps, not by their exponentials.",
    cause="exp",
)(add(weigh(lambda L, there: L)))
wrong(
    MERGE,
    "base_two_weights",
    "Takes log-sum-exps to base 2 for natural ones.",
    cause=r"base|2\^|log\(2\)|0\.69",
)(add(weigh(lambda L, there: 2 ** (L - L.amax(-2, keepdim=True)))))
wrong(
    MERGE,
    "not_divided",
    "Adds up the blocks by their weights, and does not divide by the sum of them.",
    cause="divided|sum to 1",
)(add(lambda L, there: (L - L.amax(-2, keepdim=True)).exp() * there))
wrong(
    MERGE, "weights_detached", "Passes no gradient through the weights.", cause="gradient reaches L|constant"
)(lambda z, L, mask=None: (add()(z, L.detach(), mask)[0], add()(z, L, mask)[1]))
wrong(
    MERGE, "sum_of_logarithms", "The sum of the log-sum-exps for that of all keys.", cause="L_all|logarithm"
)(lambda z, L, mask=None: (add()(z, L, mask)[0], (L if mask is None else torch.where(mask, L, 0.0)).sum(-2)))
wrong(
    MERGE, "largest_for_all", "The largest log-sum-exp for that of all keys.", cause="L_all|largest|maximum"
)(
    lambda z, L, mask=None: (
        add()(z, L, mask)[0],
        (L if mask is None else torch.where(mask.any(-2, keepdim=True), hide(L, mask), 0.0)).amax(-2),
    )
)
wrong(MERGE, "last_two", "Joins the last two blocks and forgets those before.", cause="first|last|block")(
    lambda z, L, mask=None: add()(
        z[..., -2:, :, :], L[..., -2:, :], None if mask is None else mask[..., -2:, :]
    )
)


@wrong(MERGE, cause="mask is ignored|must not read|hidden")
def empty_counts(z, L, mask=None):
    """Counts a block without a permitted key as one of log-sum-exp 0."""
    if mask is None:
        return add()(z, L)
    return add()(torch.where(mask.unsqueeze(-1), z, 0.0), torch.where(mask, L, 0.0))


@wrong(MERGE, cause="mean|pair|order")
def halved(z, L, mask=None):
    """Joins block after block by the mean of what is there and what comes."""
    out, far = z[..., 0, :, :], L[..., 0, :]
    for t in range(1, L.shape[-2]):
        out, far = (out + z[..., t, :, :]) / 2, torch.logaddexp(far, L[..., t, :])
    return out, far


def one_by_one(join):
    """Blocks one after the other: ``join`` makes one of what is there, with its log-sum-exp, and of what comes, with its own."""

    def merge(z, L, mask=None):
        here = torch.ones_like(L, dtype=torch.bool) if mask is None else mask.expand_as(L)
        out, far, some = (
            torch.zeros_like(z[..., 0, :, :]),
            torch.zeros_like(L[..., 0, :]),
            here[..., 0, :] & False,
        )
        for t in range(L.shape[-2]):
            comes = here[..., t, :]
            both, new = (some & comes).unsqueeze(-1), comes.unsqueeze(-1)
            z_t, L_t = torch.where(new, z[..., t, :, :], 0.0), torch.where(comes, L[..., t, :], 0.0)
            joined = join(out, far.unsqueeze(-1), z_t, L_t.unsqueeze(-1))
            out = torch.where(both, joined, torch.where(new, z_t, out))
            far = torch.where(some & comes, torch.logaddexp(far, L_t), torch.where(comes, L_t, far))
            some = some | comes
        return out, far

    return merge


@wrong(MERGE, via=one_by_one, cause="digits are lost in small entries")
def joined_by_lerp(out, far, z_t, L_t):
    """Adds a share of the difference, which cancels where the share is nearly 1, and may overflow."""
    return z_t + torch.sigmoid(far - L_t) * (out - z_t)


@wrong(MERGE, via=one_by_one, cause="digits|gate|sigmoid")
def joined_by_sigmoids(out, far, z_t, L_t):
    """Takes both shares from sigmoids: where a share y is near 1, its derivative y(1 − y) has few digits."""
    return torch.sigmoid(far - L_t) * out + torch.sigmoid(L_t - far) * z_t


@right(MERGE, via=one_by_one)
def joined_by_softmax(out, far, z_t, L_t):
    """Block after block, by the softmax of two log-sum-exps."""
    a, b = torch.cat(torch.broadcast_tensors(far, L_t), -1).softmax(-1).split(1, -1)
    return a * out + b * z_t


right(MERGE, "by_shares", "As it is written.")(add())


@right(MERGE)
def by_running_sums(z, L, mask=None):
    """Block after block: a running maximum, the normalizer and the sum in its terms, divided at the end."""
    largest = torch.full_like(L[..., 0, :], -math.inf)
    normalizer, summed = torch.zeros_like(largest), torch.zeros_like(z[..., 0, :, :])
    for t in range(L.shape[-2]):
        here = (
            torch.ones_like(largest, dtype=torch.bool) if mask is None else mask[..., t, :].expand_as(largest)
        )
        given = torch.where(here, L[..., t, :], 0.0)
        new = torch.where(here, torch.maximum(largest, given), largest)
        steady = torch.where(new.isinf(), 0.0, new)
        old = torch.where(largest.isinf(), -math.inf, largest - steady).exp()
        weight = torch.where(here, given - steady, -math.inf).exp()
        normalizer = normalizer * old + weight
        part = torch.where(here.unsqueeze(-1), z[..., t, :, :], 0.0)
        summed, largest = summed * old.unsqueeze(-1) + part * weight.unsqueeze(-1), new
    some = normalizer > 0
    whole = torch.where(some, normalizer, 1.0)
    return summed / whole.unsqueeze(-1), whole.log() + torch.where(largest.isinf(), 0.0, largest)
