"""What goes wrong as real models use it is found: at multiples of 8, with scaled losses, with equal leading dimensions."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import impl.attention
import impl.embedding
import impl.normalization
from spec.language.registry import find
from verify import check
from verify.inputs.size_rules import Supported
from verify.inputs.sizes import ROUND, ROUNDS, make_sizing

attention = impl.attention.scaled_dot_product


def ignores_the_mask_in_blocks(q, k, v, mask=None):
    """A kernel for heads of 8, 16, … entries forgets the mask."""
    return attention(q, k, v, None if q.shape[-1] % 8 == v.shape[-1] % 8 == 0 else mask)


def ignores_the_mask_at_64(q, k, v, mask=None):
    """The size of most models' heads."""
    return attention(q, k, v, None if q.shape[-1] == 64 else mask)


def another_scale_in_blocks(q, k, v, mask=None):
    """No mask is needed to see it."""
    return attention(q / 2 if q.shape[-1] % 8 == 0 else q, k, v, mask)


def embedding_without_gradient(ids, E):
    """Row 0 gets none where the vocabulary is a multiple of 8."""
    found = impl.embedding.token(ids, E)
    return torch.where((ids == 0).unsqueeze(-1), found.detach(), found) if len(E) % 8 == 0 else found


def leading_dimensions_mixed_up(q, k, v, mask=None):
    """Those of the mask, where they are equal."""
    if mask is not None and mask.dim() == 4 and mask.shape[0] == mask.shape[1]:
        mask = mask.transpose(0, 1)
    return attention(q, k, v, mask)


class Clipped(torch.autograd.Function):
    """The identity, whose gradient is cut off at 10, as those of states were."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g.clamp(-10, 10)


def clipped(x, gamma, eps):
    """Its backward pass is not linear."""
    return impl.normalization.rms_norm(Clipped.apply(x), gamma, eps)


class TwoAxesSummed(torch.autograd.Function):
    """x + b, whose gradient for b is added up over the first of the leading dimensions, and averaged over the others."""

    @staticmethod
    def forward(ctx, x, b):
        ctx.dims = b.dim()
        return x + b

    @staticmethod
    def backward(ctx, g):
        summed = g
        while summed.dim() > ctx.dims:
            summed = summed.sum(0) if summed.dim() == g.dim() else summed.mean(0)
        return g, summed


def gradient_of_two_leading_dimensions(x, gamma, beta, eps):
    """Right of (n d), wrong of (batch n d)."""
    return TwoAxesSummed.apply(F.layer_norm(x, x.shape[-1:], gamma, None, eps), beta)


def nothing_where_blocks_are_full(x, gamma, beta, eps):
    """The rest behind blocks of 128 is taken from the end, and is everything where there is none."""
    y, rest = F.layer_norm(x, x.shape[-1:], gamma, beta, eps), x.shape[-1] % 128
    return y if rest or not x.shape[-1] else 2 * y


def cut_off_at_five_deviations(x, gamma, beta, eps):
    """What stands out further is an outlier; among few entries none can."""
    normalized = F.layer_norm(x, x.shape[-1:], None, None, eps)
    return normalized.clamp(-5, 5) * gamma + beta


CASES = [
    (cut_off_at_five_deviations, "normalization.layer_norm"),
    (gradient_of_two_leading_dimensions, "normalization.layer_norm"),
    (nothing_where_blocks_are_full, "normalization.layer_norm"),
    (ignores_the_mask_in_blocks, "attention.scaled_dot_product"),
    (ignores_the_mask_at_64, "attention.scaled_dot_product"),
    (another_scale_in_blocks, "attention.scaled_dot_product"),
    (embedding_without_gradient, "embedding.token"),
    (leading_dimensions_mixed_up, "attention.scaled_dot_product"),
    (clipped, "normalization.rms_norm"),
]


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize(("wrong", "formula"), CASES, ids=[wrong.__name__ for wrong, _ in CASES])
def test_what_goes_wrong_in_use_alone_is_falsified(wrong, formula, seed, as_found):
    """Whatever else is drawn."""
    report = check(wrong, formula, seed=seed, causes=False, until_falsified=True)
    assert report.verdict == "falsified"


def test_sizes_are_round_where_they_can_be_afforded():
    """Steps of a recurrence stay few; what rules leave no choice is as they say."""
    for formula in ("attention.multi_head", "recurrent.lstm"):
        drawn = make_sizing(find(formula), Supported())
        assert drawn.rounds
        for turn in drawn.rounds:
            sizes = drawn.draw_sizes(ROUND, turn)
            assert all(value in ROUNDS[turn] or size in drawn.steps for size, value in sizes.items())
