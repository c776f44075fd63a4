"""The cause of a defect is named: those found in public code written anew, and their like."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import impl.normalization
import impl.recurrent
import impl.scores
from spec.language.registry import find
from tests.verify.explain.explaining import earlier, scores, weights, why
from verify import check
from verify.explain.lines import rename_tensors

pytestmark = pytest.mark.usefixtures("ungraded")

ATTENTION, HEADS = "attention.scaled_dot_product", "attention.multi_head"
NORM, CAUSAL, CELL = "normalization.layer_norm", "attention.causal", "recurrent.lstm_cell"
Defects = list[tuple[str, Callable[..., Any], str]]


def split(x, W):
    """Heads split by a view of what lies in memory as positions, then heads."""
    return torch.einsum("...nd,hdk->...nhk", x, W).reshape(*x.shape[:-2], W.shape[0], x.shape[-2], -1)


def heads(x, W):
    """The projections of all heads."""
    return torch.einsum("...nd,hdk->...hnk", x, W)


def joined(
    x, y, W_q, W_k, W_v, W_o, mask, project=heads, merge=lambda o: o.transpose(-2, -3).flatten(-2), d=None
):
    """Multi-head attention with some part of it replaced."""
    q, k, v = project(x, W_q), project(y, W_k), project(y, W_v)
    s = q @ k.transpose(-1, -2) / math.sqrt(d or q.shape[-1])
    return merge(weights(s, None if mask is None else mask.unsqueeze(-3)) @ v) @ W_o


def one_pass(x, gamma, beta, eps):
    """Layer norm by the mean of squares."""
    mean = x.mean(-1, keepdim=True)
    return gamma * (x - mean) / ((x * x).mean(-1, keepdim=True) - mean**2 + eps).sqrt() + beta


def after(q, k, v, mask=None):
    """A mask that is multiplied in after the softmax."""
    a = torch.softmax(scores(q, k), -1)
    return (a if mask is None else a * mask) @ v


def unscaled(q, k, v, mask=None):
    """Attention without a scale."""
    return weights(q @ k.transpose(-1, -2), mask) @ v


def filled(value):
    """Attention with hidden scores set to a number."""

    def attention(q, k, v, mask=None):
        s = scores(q, k)
        return torch.softmax(s if mask is None else s.masked_fill(~mask, value), -1) @ v

    return attention


def even(n, d):
    """A sinusoidal table for even d alone."""
    t, i = torch.arange(n, dtype=torch.float64)[:, None], torch.arange(0, d, 2, dtype=torch.float64)
    table = torch.zeros(n, d, dtype=torch.float64)
    table[:, 0::2], table[:, 1::2] = (t * 10000.0 ** (-i / d)).sin(), (t * 10000.0 ** (-i / d)).cos()
    return table


def gates(*, f=torch.sigmoid, g=torch.tanh, last=torch.tanh, forget=0.0):
    """An LSTM cell with some functions replaced."""

    def cell(x, h, s, W_gx, W_gh, b_g, W_ix, W_ih, b_i, W_fx, W_fh, b_f, W_ox, W_oh, b_o):
        made = [
            x @ a.T + h @ b.T + c
            for a, b, c in (
                (W_gx, W_gh, b_g),
                (W_ix, W_ih, b_i),
                (W_fx, W_fh, b_f + forget),
                (W_ox, W_oh, b_o),
            )
        ]
        new = g(made[0]) * torch.sigmoid(made[1]) + s * f(made[2])
        return last(new) * torch.sigmoid(made[3]), new

    return cell


def exchanged(x, h, s, *p):
    """An LSTM cell whose input and forget gates are exchanged."""
    return impl.recurrent.lstm_cell(x, h, s, *p[:3], *p[6:9], *p[3:6], *p[9:])


def exponentials(s, mask=None):
    """A softmax that does not subtract the largest score."""
    e = torch.exp(s) if mask is None else torch.where(mask, torch.exp(s), 0.0)
    total = e.sum(-1, keepdim=True)
    return e / torch.where(total == 0, 1.0, total)


def below_all(s, mask=None):
    """A softmax below the largest of all scores, hidden ones among them."""
    e = torch.exp(s - s.amax(-1, keepdim=True))
    e = e if mask is None else e * mask
    total = e.sum(-1, keepdim=True)
    return torch.where(total > 0, e / total, 0.0)


def attend(q, k, v):
    """Without a mask."""
    return weights(scores(q, k), None) @ v


PLAIN: Defects = [
    # The kinds that were found in public code.
    (
        HEADS,
        lambda *a: joined(*a, project=split),
        "axes swapped: q, k and v are reshaped where axes have to be permuted",
    ),
    (
        HEADS,
        lambda *a: joined(*a, merge=lambda o: o.reshape(*o.shape[:-3], o.shape[-2], -1)),
        "merged by a view without the transpose",
    ),
    ("attention.softmax", below_all, "hidden entries of s have weight"),
    (
        ATTENTION,
        lambda q, k, v, mask=None: torch.einsum("...nm,...jc->...nc", weights(scores(q, k), mask), v),
        "sums all entries",
    ),
    (ATTENTION, after, "weights do not sum to 1"),
    (NORM, one_pass, "one-pass variance"),
    (CAUSAL, lambda q, k, v: torch.softmax(scores(q, k), -1) @ v, "look-ahead"),
    # Masks.
    (ATTENTION, lambda q, k, v, mask=None: torch.softmax(scores(q, k), -1) @ v, "mask is ignored"),
    (
        ATTENTION,
        lambda q, k, v, mask=None: torch.softmax(scores(q, k) + (0 if mask is None else mask), -1) @ v,
        "a boolean mask is added to the scores as if it were additive",
    ),
    (
        ATTENTION,
        lambda q, k, v, mask=None: torch.softmax(scores(q, k) * (1 if mask is None else mask), -1) @ v,
        "the scores are multiplied by the mask",
    ),
    (ATTENTION, filled(-10.0), "hidden scores are set to -10"),
    (
        ATTENTION,
        lambda q, k, v, mask=None: weights(scores(q, k), None if mask is None else mask[..., :1, :]) @ v,
        "of mask the first row is read for all",
    ),
    (
        "attention.self",
        lambda x, W_q, W_k, W_v, mask=None: (
            weights(scores(x @ W_q, x @ W_k), earlier(x, x, 0) & (True if mask is None else mask)) @ (x @ W_v)
        ),
        "later positions are hidden, too",
    ),
    (
        "attention.softmax",
        lambda s, mask=None: weights(s.mT, None if mask is None else mask.mT).mT,
        "the wrong axis",
    ),
    ("attention.softmax", exponentials, "an exponential overflows"),
    # Scales.
    (ATTENTION, unscaled, "the scale is missing"),
    (
        ATTENTION,
        lambda q, k, v, mask=None: weights(scores(q, k) / math.sqrt(q.shape[-1]), mask) @ v,
        "the scale is doubled",
    ),
    (HEADS, lambda *a: joined(*a, d=a[0].shape[-1]), "d_model instead of d_k"),
    ("scores.scaled_dot", lambda q, k: q @ k.mT * 0.125, "the scale is fixed: s is divided by √(64)"),
    ("objectives.cross_entropy", lambda *a: 3 * impl.objectives.cross_entropy(*a), "3 times what is stated"),
    ("objectives.cross_entropy", lambda *a: -impl.objectives.cross_entropy(*a), "the sign of"),
    # The diagonal.
    (
        CAUSAL,
        lambda q, k, v: weights(scores(q, k), earlier(q, k, k.shape[-2] - q.shape[-2] - 1)) @ v,
        "one entry too few is seen",
    ),
    (
        CAUSAL,
        lambda q, k, v: weights(scores(q, k), earlier(q, k, k.shape[-2] - q.shape[-2] + 1)) @ v,
        "one entry too many is seen, the next one",
    ),
    # ε.
    (
        NORM,
        lambda x, gamma, beta, eps: F.layer_norm(x, x.shape[-1:], gamma, beta, 1e-5),
        "eps is not read: it is fixed at 1e-05",
    ),
    (
        NORM,
        lambda x, gamma, beta, eps: F.layer_norm(x, x.shape[-1:], gamma, beta, 1e-6),
        "eps is not read: it is fixed at 1e-06",
    ),
    (
        NORM,
        lambda x, gamma, beta, eps: (
            gamma * (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, correction=0) + beta
        ),
        "eps is not added",
    ),
    # Types, randomness, form.
    (
        NORM,
        lambda x, g, b, eps: F.layer_norm(x.float(), x.shape[-1:], g.float(), b.float(), eps).to(x.dtype),
        "float32 inside",
    ),
    (
        ATTENTION,
        lambda q, k, v, mask=None: (weights(scores(q.bfloat16(), k.bfloat16()), mask) @ v.bfloat16()).to(
            v.dtype
        ),
        "bfloat16 inside",
    ),
    (
        ATTENTION,
        lambda q, k, v, mask=None: F.dropout(weights(scores(q, k), mask), 0.1) @ v,
        "dropout is left on",
    ),
    (
        ATTENTION,
        lambda q, k, v, mask=None: (weights(scores(q, k), mask) @ v, weights(scores(q, k), mask)),
        "returns a tuple of 2, and its entry [0] conforms",
    ),
    (ATTENTION, lambda q, k, v, mask=None: (weights(scores(q, k), mask) @ v).numpy(), "returns ndarray"),
    ("scores.dot", lambda q, k: k @ q.mT, "axes swapped: the result is right but transposed"),
    ("scores.general", lambda q, k, W: q @ W.T @ k.mT, "W is read as its transpose"),
    (
        "feedforward.relu",
        lambda x, W_1, b_1, W_2, b_2: F.linear(F.relu(F.linear(x, W_1, b_1)), W_2, b_2),
        "W_1, W_2 are read as their transposes, as nn.Linear keeps its weight",
    ),
    ("positional.sinusoidal", even, "supports only even d"),
    (CELL, lambda *a: impl.recurrent.lstm_cell(*a)[::-1], "the results are exchanged"),
    # What is left out, exchanged or put instead of something else.
    ("feedforward.relu", lambda x, W_1, b_1, W_2, b_2: torch.relu(x @ W_1 + b_1) @ W_2, "b_2 is ignored"),
    (
        "feedforward.relu",
        lambda x, W_1, b_1, W_2, b_2: F.gelu(x @ W_1 + b_1) @ W_2 + b_2,
        "GELU of a[u], not ReLU",
    ),
    (
        "normalization.add_norm",
        lambda x, r, gamma, beta, eps: impl.normalization.layer_norm(x, gamma, beta, eps),
        "r is ignored",
    ),
    (
        "normalization.rms_norm",
        lambda x, gamma, eps: impl.normalization.rms_norm(x - x.mean(-1, keepdim=True), gamma, eps),
        "the mean of x is subtracted first",
    ),
    (CELL, exchanged, "the parameters of f and i are exchanged"),
    (CELL, gates(forget=1.0), "1 is added to b_f"),
    (CELL, gates(last=lambda x: x), "h' has no tanh"),
    (CELL, gates(g=torch.sigmoid), "g has sigmoid instead of tanh"),
    (
        "recurrent.elmo_mix",
        lambda h, w, gamma: torch.einsum("l,...lc->...c", torch.softmax(w, -1), h),
        "gamma is ignored",
    ),
]


@pytest.mark.parametrize(
    ("formula", "fn", "cause"), PLAIN, ids=[f"{place}: {case[2]}" for place, case in enumerate(PLAIN)]
)
def test_the_cause_of_a_defect_is_named(formula: str, fn: Callable[..., Any], cause: str):
    """One sentence names it, in the words and letters of the statement."""
    found = why(fn, formula)
    assert cause in found.said
    assert not found.changes
    assert "\n" not in found.said


@pytest.mark.parametrize(
    ("fn", "cause"),
    [
        (lambda v, k, q: attend(q, k, v), "where m = d_v, n = d_v, d_k = d_v: q and v are exchanged"),
        (lambda k, q, v: attend(q, k, v), "where n = m: q and k are exchanged"),
        (lambda q, v, k: attend(q, k, v), "where d_k = d_v: k and v are exchanged"),
        (lambda k, v, q: attend(q, k, v), "q, k, v are taken in the order k, v, q"),
        (lambda v, q, k: attend(q, k, v), "q, k, v are taken in the order v, q, k"),
    ],
)
def test_another_order_of_inputs_is_named_where_it_can_be_called(fn: Callable[..., Any], cause: str):
    """What takes its inputs in another order raises an error at most sizes; at those at which it does not, that is the cause."""
    report = check(fn, ATTENTION, conventions="auto", max_examples=20)
    assert report.verdict == "falsified"
    assert cause in report.headline


def _in_one_norm(first: float | None, second: float | None) -> Callable[..., Any]:
    """BERT's layer with an ε of its own in one of the two norms."""

    def layer(
        x, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o, g_1, c_1, W_1, b_1, W_2, b_2, g_2, c_2, eps, mask=None
    ):
        z = impl.attention.biased_multi_head(x, x, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o, mask)
        s = impl.normalization.add_norm(x, z, g_1, c_1, first or eps)
        f = impl.feedforward.gelu(s, W_1, b_1, W_2, b_2)
        return impl.normalization.add_norm(s, f, g_2, c_2, second or eps)

    return layer


def test_another_epsilon_in_one_of_two_norms_is_named_with_the_norm():
    """It is right in the other: the line is told by the parameters that enter it."""
    where = "y (of normalization.layer_norm: the normalised row), the line with gamma_2 and beta_2: it is fixed at 1e-06"
    assert why(_in_one_norm(None, 1e-6), "bert.layer").said == f"eps is not read in {where}"


def test_the_first_line_of_a_report_names_the_cause():
    """A report begins with its verdict and the cause; what failed follows."""
    report = check(after, ATTENTION, conventions="auto", max_examples=40)
    first = str(report).splitlines()[0]
    assert ".after against attention.scaled_dot_product: falsified: weights do not sum to 1" in first
    assert not report.found


def test_shares_of_a_law_that_are_off_are_said():
    """Masking at 81, 10 and 9 % instead of 80, 10 and 10: each share stands beside the one stated."""

    def masked(ids, special, mask_id, vocab_size, generator):
        chosen = (torch.rand(ids.shape, generator=generator) < 0.15) & ~special
        kind = torch.rand(ids.shape, generator=generator)
        other = torch.randint(vocab_size, ids.shape, generator=generator)
        new = torch.where(kind < 0.81, mask_id, torch.where(kind < 0.91, other, ids))
        return torch.where(chosen, new, ids), torch.where(chosen, ids, -100)

    report = check(masked, "masking.mlm")
    assert report.hint.startswith("the shares of what selected positions become are off: mask_id 8")
    for said in (
        "(stated 80.0 %)",
        "left as it was 9.0 % (stated 10.0 %)",
        "another word 10.0 % (stated 10.0 %)",
    ):
        assert said in report.hint


def test_two_lines_of_one_name_are_told_apart():
    """Where a sentence speaks of an inner line by a letter that the formula itself has, it says of which formula that line is."""
    flat = find("transformer.decoder_layer").flat()
    inner = next(
        line.name for line in flat.lines if flat.origin.get(line.name) == ("normalization.add_norm", "s")
    )
    assert (
        rename_tensors(flat, f"q reads {inner} where s belongs")
        == "q reads s (of normalization.add_norm) where s belongs"
    )
    assert rename_tensors(flat, "t is read where s belongs") == "t is read where s belongs"
