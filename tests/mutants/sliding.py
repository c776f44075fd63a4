"""Variants of ``attention.window``."""

import math

import torch

from tests.mutants import right, wrong
from tests.mutants.attention import blanked, masked, raw

WINDOW = "attention.window"


def reach(behind=lambda w: w, ahead=lambda w: 0, place=lambda n, m: m - n):
    """The mask of a window from a query's place, right but for what is given."""

    def mask(q, k, w):
        n, m = q.shape[-2], k.shape[-2]
        distance = torch.arange(m) - torch.arange(n)[:, None] - place(n, m)
        return (distance >= -behind(w)) & (distance <= ahead(w))

    return mask


def sliding(mask=None, weights=masked, scores=raw, mix=lambda a, v: a @ v, **parts):
    """Attention in a window, right but for what is given."""
    mask = mask or reach(**parts)

    def attention(q, k, v, w):
        seen = mask(q, k, w)
        q, k, v = blanked(q, k, v, seen)
        return mix(weights(scores(q, k), seen), v)

    return attention


wrong(
    WINDOW,
    "own_key_counted",
    "A window of w keys with the query's own among them: w − 1 before it.",
    cause="too few is seen|w . 1|off by one",
)(sliding(behind=lambda w: max(w - 1, 0)))
wrong(WINDOW, "one_more", "w + 1 keys before the query's own.", cause="too many is seen|w . 1|off by one")(
    sliding(behind=lambda w: w + 1)
)
wrong(WINDOW, "far_past_seen", "Causal, with no end to the past.", cause="not applied|too many is seen")(
    sliding(behind=lambda w: math.inf)
)
wrong(WINDOW, "future_seen", "The window to both sides where one was asked for.", cause="sides=both")(
    sliding(ahead=lambda w: w)
)
wrong(WINDOW, "past_alone", "One side alone where both were asked for.", sides="both", cause="sides=before")(
    sliding()
)
wrong(
    WINDOW,
    "half_to_each_side",
    "w keys in all, half of them to each side.",
    sides="both",
    cause="too few is seen|w / 2",
)(sliding(behind=lambda w: w // 2, ahead=lambda w: w // 2))
wrong(
    WINDOW,
    "blocks_of_w",
    "Cuts the text into blocks of w + 1 that see themselves alone.",
    cause="too few is seen",
)(
    sliding(
        lambda q, k, w: (
            reach()(q, k, w)
            & (
                (torch.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2]) // (w + 1)
                == torch.arange(k.shape[-2]) // (w + 1)
            )
        )
    )
)
wrong(
    WINDOW,
    "places_from_the_start",
    "The first query stands beside the first key, also where there are more keys.",
    cause="aligned|n = m|m . n",
)(sliding(place=lambda n, m: 0))
wrong(WINDOW, "strided", "Every second key of the window, as a dilated one has it.", cause="too few is seen")(
    sliding(
        lambda q, k, w: (
            reach()(q, k, w)
            & (
                (torch.arange(q.shape[-2])[:, None] - torch.arange(k.shape[-2]) - q.shape[-2] + k.shape[-2])
                % 2
                == 0
            )
        )
    )
)
wrong(
    WINDOW,
    "padded_keys_counted",
    "Keys of 0 stand before the first and take their share: windows at the beginning are watered down.",
    cause="1 place|first|not normali|sum to|wrong at",
)(
    lambda q, k, v, w: sliding(place=lambda n, m: m - n)(
        q, *(torch.cat((x.new_zeros(*x.shape[:-2], w, x.shape[-1]), x), -2) for x in (k, v)), w
    )
)
wrong(WINDOW, "window_after", "Softmax over all keys before, then the window.", cause="sum to 1|not applied")(
    lambda q, k, v, w: masked(raw(q, k), reach(behind=lambda w: math.inf)(q, k, w)) * reach()(q, k, w) @ v
)
wrong(
    WINDOW,
    "window_of_fill",
    "Scores out of reach are lowered by 100.",
    cause=r"lowered by 100\b|set to a finite",
)(sliding(weights=lambda s, mask: masked(s - 100.0 * ~mask, None) * mask.any(-1, keepdim=True)))
wrong(WINDOW, "nan_before_the_first", "Queries before the first key are NaN.", cause="a row nothing")(
    sliding(weights=lambda s, mask: torch.softmax(s.masked_fill(~mask, -math.inf), -1))
)
wrong(WINDOW, "window_without_scale", "Scores are not divided by √d_k.", cause="scale is missing|√")(
    sliding(scores=lambda q, k: q @ k.mT)
)
wrong(WINDOW, "window_values_detached", "Values of a rolling cache pass no gradient.", cause=r"reaches v\b")(
    sliding(mix=lambda a, v: a @ v.detach())
)

right(WINDOW, "window_masked", "A full matrix of scores under the window's mask.")(sliding())
right(WINDOW, "window_masked_both", "The same to both sides.", sides="both")(sliding(ahead=lambda w: w))


@right(WINDOW)
def window_of_slices(q, k, v, w):
    """Each query with a slice of the keys, as a decoder with a rolling cache."""
    n, m = q.shape[-2], k.shape[-2]
    rows = []
    for i in range(n):
        last = i + m - n + 1
        seen = slice(max(last - w - 1, 0), max(last, 0))
        rows.append(torch.softmax(raw(q[..., i : i + 1, :], k[..., seen, :]), -1) @ v[..., seen, :])
    return torch.cat(rows, -2)
