"""Weights without effect, angles of positions, floors of divisors and gradients that stop, each as others write it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import impl.attention
import impl.normalization
import impl.positional
from tests.verify.explain.explaining import earlier, scores, weights, why
from verify import check

pytestmark = pytest.mark.usefixtures("ungraded")

ATTENTION, HEADS = "attention.scaled_dot_product", "attention.multi_head"
NORM, RMS, TABLE = "normalization.layer_norm", "normalization.rms_norm", "positional.sinusoidal"
NOTHING = "have no effect on what is read"


def linear(x, W, b):
    """One linear layer, split into heads."""
    return (x @ W.movedim(-3, -2).flatten(-2) + b.flatten()).unflatten(-1, (len(W), -1)).transpose(-2, -3)


def gpt(x, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o):
    """Causal attention with a letter of its own for the values' places."""
    q, k, v = linear(x, W_q, b_q), linear(x, W_k, b_k), linear(x, W_v, b_v)
    a = weights(scores(q, k), earlier(x, x, 0))
    z = torch.einsum("...hts,...hrd->...htd", a, v)
    return z.transpose(-2, -3).flatten(-2) @ W_o + b_o


def head_by_head(x, y, W_q, W_k, W_v, W_o, mask=None):
    """A loop over heads in which weights and values are summed before they meet."""
    found = []
    for Q, K, V in zip(W_q, W_k, W_v, strict=True):
        a = weights(scores(x @ Q, y @ K), mask)
        found.append(a.sum(-1, keepdim=True) * (y @ V).sum(-2, keepdim=True))
    return torch.cat(found, -1) @ W_o


def biased(x, y, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o, mask=None):
    """Every key has the same share."""
    v = linear(y, W_v, b_v)
    a = torch.full((x.shape[-2], y.shape[-2]), 1 / y.shape[-2], dtype=x.dtype)
    return (a @ v).transpose(-2, -3).flatten(-2) @ W_o + b_o


def permitted(q, k, v, mask=None):
    """The mean of the values that a mask permits."""
    if mask is None:
        return v.mean(-2, keepdim=True).expand(*q.shape[:-1], v.shape[-1])
    shares = mask.to(v) / mask.to(v).sum(-1, keepdim=True).clamp(min=1)
    return shares @ v


SUMS: list[tuple[str, Callable[..., Any], str]] = [
    ("attention.causal_multi_head", gpt, "sums all entries"),
    (HEADS, head_by_head, "sums all entries"),
    (
        ATTENTION,
        lambda q, k, v, mask=None: (
            weights(scores(q, k), mask).unsqueeze(-1) * v.sum(-2, keepdim=True).unsqueeze(-3)
        ).sum(-2),
        "sums all entries",
    ),
    ("attention.biased_multi_head", biased, "the mean of all"),
    (
        "attention.self",
        lambda x, W_q, W_k, W_v, mask=None: (
            (x @ W_v).mean(-2, keepdim=True).repeat_interleave(x.shape[-2], -2)
        ),
        "the mean of all",
    ),
    (
        ATTENTION,
        lambda q, k, v, mask=None: scores(q, k).unsqueeze(-1).softmax(-1).squeeze(-1) @ v,
        "sums all entries",
    ),
    (
        "attention.cross",
        lambda x, y, W_q, W_k, W_v, mask=None: weights(0 * scores(x @ W_q, y @ W_k), mask) @ (y @ W_v),
        "the mean of all entries of v[j,e] that are permitted",
    ),
    (ATTENTION, permitted, "the mean of all entries of v[j,e] that are permitted"),
    (
        ATTENTION,
        lambda q, k, v, mask=None: (torch.ones(q.shape[-2], k.shape[-2]) if mask is None else mask).to(v) @ v,
        "sums all entries of v[j,e] that are permitted",
    ),
]


@pytest.mark.parametrize(("formula", "fn", "how"), SUMS, ids=[f"{k}: {c[0]}" for k, c in enumerate(SUMS)])
def test_weights_without_effect_are_said_so(formula: str, fn: Callable[..., Any], how: str):
    """By einsum, by a loop, as a mean: whatever the weights are, the same is read."""
    found = why(fn, formula).said
    assert "the weights a[" in found
    assert NOTHING in found
    assert how in found


def place_by_place(n, d):
    """Two loops, in which the column stands where its pair belongs, twice."""
    table = torch.zeros(n, d, dtype=torch.float64)
    for at in range(n):
        for i in range(0, d, 2):
            table[at, i] = math.sin(at / 10000 ** (2 * i / d))
            if i + 1 < d:
                table[at, i + 1] = math.cos(at / 10000 ** (2 * (i + 1) / d))
    return table


def rates(n, d, rate):
    """Angles for all columns at once, and sine or cosine column by column."""
    column = torch.arange(d, dtype=torch.float64)
    angles = torch.arange(n, dtype=torch.float64).outer(rate(column))
    angles[:, 0::2], angles[:, 1::2] = angles[:, 0::2].sin(), angles[:, 1::2].cos()
    return angles


def pairs(n, d, terms, at=None):
    """A table of pairs, the last one cut where the width is odd."""
    at = torch.arange(n, dtype=torch.float64) if at is None else at
    angles = at[:, None] * terms(torch.arange(0, d, 2, dtype=torch.float64))
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(1)[:, :d]


def side_by_side(n, d):
    """Sines beside cosines, at frequencies whose exponents lack their 2."""
    half = torch.arange((d + 1) // 2, dtype=torch.float64)
    angles = torch.arange(n, dtype=torch.float64)[:, None] * torch.exp(-math.log(10000.0) * half / d)
    return torch.cat((angles.sin(), angles[:, : d // 2].cos()), 1)


ANGLES: list[tuple[Callable[..., Any], str]] = [
    (place_by_place, "each column has a frequency of its own: PE has 2·column/d"),
    (
        lambda n, d: rates(n, d, lambda c: 10000.0 ** (-c / d)),
        "each column has a frequency of its own: PE has column/d",
    ),
    (lambda n, d: pairs(n, d, lambda i: 1 / 10000 ** (i // d)), "a whole quotient"),
    (lambda n, d: pairs(n, d, lambda i: torch.exp(-i * (math.log(1000.0) / d))), "the base is 1000"),
    (side_by_side, "the exponent is halved"),
    (lambda n, d: pairs(n, d, lambda i: torch.exp(i * (math.log(10000.0) / d))), "multiplied by −1"),
    (lambda n, d: pairs(n, d, lambda i: torch.exp(i * (-math.log(10000.0) // d))), "// rounds the logarithm"),
    (
        lambda n, d: pairs(n, d, lambda i: 10000 ** (-i / d), torch.linspace(0, 1, n, dtype=torch.float64)),
        "places are divided by the largest of them",
    ),
    (lambda n, d: pairs(n, d, lambda i: 2 * math.pi / 10000 ** (i / d)), "the angle is multiplied by 2π"),
    (lambda n, d: pairs(n, d, lambda i: (i / 2 + 1e-3).exp() * 10000 ** (-i / d)), ""),
]


@pytest.mark.parametrize(("fn", "cause"), ANGLES, ids=[f"{k}: {c[1]}" for k, c in enumerate(ANGLES)])
def test_what_is_wrong_with_positions_is_named(fn: Callable[..., Any], cause: str):
    """Exponents, bases and positions written otherwise have a name; what nobody writes has none, and no convention either."""
    found = why(fn, TABLE)
    assert cause in found.said
    assert cause or not found.said
    assert not found.changes


def rms(x):
    """The root of the mean square."""
    return x.square().mean(-1, keepdim=True).sqrt()


FLOORS: list[tuple[str, Callable[..., Any], str]] = [
    (RMS, lambda x, gamma, eps: x / torch.linalg.vector_norm(x, dim=-1, keepdim=True).clamp_min(1e-12)
     * (gamma * len(gamma) ** 0.5), "the norm is not let fall below 1e-12"),
    (RMS, lambda x, gamma, eps: gamma * x * torch.rsqrt(rms(x).square().clamp(min=1e-8)), "√max(ms, 1e-08)"),
    (RMS, lambda x, gamma, eps: gamma * x / torch.maximum(rms(x), torch.full_like(x[..., :1], eps)), "max(√(ms), ε)"),
    (
        NORM,
        lambda x, gamma, beta, eps: (
            gamma * (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, correction=0).clamp(min=eps) + beta
        ),
        "a divisor is kept from 0 by a least value",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("formula", "fn", "cause"), FLOORS, ids=[f"{k}: {c[2]}" for k, c in enumerate(FLOORS)]
)
def test_how_a_divisor_is_kept_from_zero_is_said(formula: str, fn: Callable[..., Any], cause: str):
    """By a least value of the root, of what stands below it, or of a norm; ε beside the root is a convention."""
    assert cause in why(fn, formula).said


def unlearned(x, y, W_q, W_k, W_v, W_o, mask=None):
    """The keys are made without gradients."""
    with torch.no_grad():
        K = W_k.clone()
    return impl.attention.multi_head(x, y, W_q, K, W_v, W_o, mask)


def with_held_mean(x, gamma, beta, eps):
    """The mean is held constant."""
    centred = x - x.detach().mean(-1, keepdim=True)
    return gamma * centred / (x.var(-1, keepdim=True, correction=0) + eps).sqrt() + beta


STOPS: list[tuple[str, Callable[..., Any], str]] = [
    (HEADS, unlearned, "no gradient reaches W_k"),
    (NORM, with_held_mean, "mu is taken for a constant"),
    (
        RMS,
        lambda x, gamma, eps: gamma * x / (rms(x).square().detach() + eps).sqrt(),
        "ms is taken for a constant",
    ),
    (NORM, lambda x, gamma, beta, eps: F.layer_norm(x, x.shape[-1:], gamma, beta.data, eps), "no gradient reaches beta"),
    (
        "normalization.add_norm",
        lambda x, r, gamma, beta, eps: impl.normalization.add_norm(x, r.detach(), gamma, beta, eps),
        "no gradient reaches r",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("formula", "fn", "cause"), STOPS, ids=[f"{k}: {c[2]}" for k, c in enumerate(STOPS)])
def test_where_a_gradient_stops_is_said(formula: str, fn: Callable[..., Any], cause: str):
    """Values are right; the first line says at which input, or at which line, the gradient ends."""
    report = check(fn, formula, max_examples=40)
    assert report.verdict == "falsified"
    assert cause in report.headline


def test_a_convention_that_leaves_most_unsaid_does_not_hide_what_is_wrong():
    """Of odd widths closed frequencies say nothing; a table wrong at all widths does not conform under them for that."""
    found = why(lambda n, d: pairs(n, d, lambda i: 10000.0 ** (-2 * i / d)), TABLE)
    assert "closed" not in found.said
    assert "the exponent is doubled" in found.said


def test_what_is_nearly_right_is_not_explained_by_the_statement_itself():
    """Frequencies in half precision: of sines the number of the column is twice that of the pair, which changes nothing."""
    found = why(lambda n, d: pairs(n, d, lambda i: (10000.0 ** (-i / d)).half().double()).float(), TABLE)
    assert "column" not in found.said
    assert "base" not in found.said


def test_a_convention_that_is_right_about_the_rest_is_found():
    """Closed frequencies with a column of zeros where the width is odd, of which nothing is said."""

    def padded(n, d):
        table = impl.positional.sinusoidal(n, d - d % 2, frequencies="closed")
        return torch.cat((table, torch.zeros(n, d % 2)), 1)

    right = why(padded, TABLE)
    assert right.changes == {"frequencies": "closed"}


def test_other_conventions_are_found_of_what_computes_in_float32_and_stops_a_gradient():
    """Rotary positions as LLaMA has them: halves are pairs, and the table of angles is in float32, without gradients."""

    def turned(x, p):
        half = x.shape[-1] // 2
        with torch.no_grad():
            angles = p.float()[..., None] * 10000.0 ** (-torch.arange(half) / half)
            cos, sin = (part.repeat(*[1] * p.ndim, 2).to(x.dtype) for part in (angles.cos(), angles.sin()))
        return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin

    report = check(turned, "examples/formulas/rope.py:rope", conventions="auto", max_examples=40)
    assert report.found == {"layout": "halves"}
    assert "no gradient reaches p" in report.headline
