"""Variants of ``attention.cached``."""

import torch

from impl.attention import causal, scaled_dot_product, window
from tests.mutants import right, wrong

CACHED = "attention.cached"


def behind(kept, new):
    """What is new behind what is kept, right."""
    return torch.cat((kept, new), -2)


def keep(join=behind, attend=causal, leave=None):
    """Attention with a cache, right but for what is given."""

    def cached(q, k, v, K, V):
        keys, values = join(K, k), join(V, v)
        left = leave or behind
        return attend(q, keys, values), left(K, k), left(V, v)

    return cached


wrong(CACHED, "new_in_front", "Puts what is new in front of what is kept.", cause="front|order|p - |n \\+")(
    keep(lambda kept, new: torch.cat((new, kept), -2), leave=lambda kept, new: torch.cat((new, kept), -2))
)
wrong(
    CACHED,
    "upper_left",
    "Lets the first new token see the first key alone.",
    cause="alignment|first key|aligned",
)(keep(attend=lambda q, k, v: causal(q, k, v, alignment="upper_left")))
wrong(CACHED, "unmasked", "Lets new tokens see those after them.", cause="look-ahead|future|must not read")(
    keep(attend=scaled_dot_product)
)
wrong(
    CACHED,
    "asked_before_kept",
    "Asks before the new key is kept: a token does not see itself.",
    cause="itself|too few|< |own",
)(
    keep(
        attend=lambda q, k, v: scaled_dot_product(
            q,
            k,
            v,
            torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(k.shape[-2] - q.shape[-2] - 1),
        )
    )
)
wrong(CACHED, "one_ahead", "Lets a token see its successor.", cause="after|too many|must not read|\\+ 1")(
    keep(
        attend=lambda q, k, v: scaled_dot_product(
            q,
            k,
            v,
            torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(k.shape[-2] - q.shape[-2] + 1),
        )
    )
)
wrong(
    CACHED,
    "cache_alone",
    "Asks what was kept before, and not what is new.",
    cause="k is ignored|v is ignored|new",
)(lambda q, k, v, K, V: (scaled_dot_product(q, K, V), behind(K, k), behind(V, v)))
wrong(CACHED, "new_alone", "Asks what is new, and not what was kept.", cause="K is ignored|V is ignored")(
    lambda q, k, v, K, V: (causal(q, k, v), behind(K, k), behind(V, v))
)
wrong(
    CACHED,
    "oldest_dropped",
    "Drops the oldest key once a new one comes.",
    cause="first|oldest|dropped|K\\b.*row",
)(keep(attend=lambda q, k, v: window(q, k, v, k.shape[-2] - 2)))
wrong(
    CACHED,
    "last_overwritten",
    "Writes the first new key over the last that is kept.",
    cause="last|row|overwritten|K_all",
)(
    keep(
        join=lambda kept, new: torch.cat((kept[..., :-1, :], new[..., :1, :], new), -2),
        leave=lambda kept, new: torch.cat((kept[..., :-1, :], new[..., :1, :], new), -2),
    )
)
wrong(CACHED, "cache_detached", "Passes no gradient to what is kept.", cause="gradient reaches K|constant")(
    keep(lambda kept, new: torch.cat((kept.detach(), new), -2))
)


_BUFFERS = {}


@wrong(CACHED, cause="overwrit|kept|earlier|same memory|later call|buffer")
def one_buffer(q, k, v, K, V):
    """Returns views of buffers that the next call overwrites."""
    z, *left = keep()(q, k, v, K, V)
    views = []
    for name, new in zip("kv", left, strict=True):
        if new.requires_grad:
            views.append(new)
            continue
        buffer = _BUFFERS.setdefault((name, new.dtype), torch.empty(0, dtype=new.dtype))
        if buffer.numel() < new.numel():
            buffer = _BUFFERS[name, new.dtype] = new.new_empty(2 * new.numel())
        views.append(buffer[: new.numel()].view(new.shape).copy_(new))
    return z, *views


right(CACHED, "put_behind", "As it is written.")(keep())


@right(CACHED)
def token_by_token(q, k, v, K, V):
    """One new token after another, without a mask."""
    found = []
    for i in range(q.shape[-2]):
        K, V = behind(K, k[..., i : i + 1, :]), behind(V, v[..., i : i + 1, :])
        found.append(scaled_dot_product(q[..., i : i + 1, :], K, V))
    return torch.cat(found, -2), K, V
