"""In which line of its statement a callable loses digits is said in the first line of a report."""

from __future__ import annotations

import torch
import torch.nn.functional as F

import impl.attention
from verify import check


def test_the_line_in_which_digits_are_lost_is_told_before_the_nearest_convention():
    """Scores in half of the digits: what leaves unsaid where that shows is near, and explains nothing."""

    def layer(x, W_q, W_k, W_v, W_o, g_1, b_1, W_1, c_1, W_2, c_2, g_2, b_2, eps, mask=None):
        z = impl.attention.multi_head(x, x, W_q, W_k, W_v, W_o, mask)
        s = F.layer_norm(x + z, x.shape[-1:], g_1, b_1, eps)
        s = s.half().to(s.dtype) if s.dtype == torch.float32 else s
        return F.layer_norm(s + (s @ W_1 + c_1).relu() @ W_2 + c_2, x.shape[-1:], g_2, b_2, eps)

    report = check(layer, "transformer.encoder_layer")
    assert report.headline == "falsified: as if `s` were held in float16"


def test_where_it_shows_stands_beside_the_line_in_which_digits_are_lost():
    """Weights in half of the digits where there are many keys: both are told."""

    def attention(q, k, v, mask=None):
        s = q @ k.mT / q.shape[-1] ** 0.5
        a = impl.attention.softmax(s, mask)
        return (a.half().to(a.dtype) if a.shape[-1] >= 7 and a.dtype == torch.float32 else a) @ v

    headline = check(attention, "attention.scaled_dot_product").headline
    assert headline.startswith("falsified: as if `a` were held in float16")
