"""Where and when a callable fails is said in the first line, if no cause is known."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from impl import bert
from tests.verify.search.explaining import scores, weights
from verify import check
from verify.search.whereabouts import unsteady

ATTENTION, NORM = "attention.scaled_dot_product", "normalization.layer_norm"


def attention(q, k, v, mask=None):
    """As it is stated."""
    return weights(scores(q, k), mask) @ v


def norm(x, gamma, beta, eps):
    """As it is stated."""
    return F.layer_norm(x, (x.shape[-1],), gamma, beta, eps)


def some_keys(q, k, v, mask=None):
    """Keys behind the 21st are forgotten."""
    return attention(q, k[..., :21, :], v[..., :21, :], None if mask is None else mask[..., :21])


def along_queries(q, k, v, mask=None):
    """The softmax of square scores is taken along the wrong axis, if there are more than three and no mask."""
    if q.shape[-2] == k.shape[-2] > 3 and mask is None:
        return torch.softmax(scores(q, k), -2) @ v
    return attention(q, k, v, mask)


def in_blocks(q, k, v, mask=None):
    """A factor that whole blocks of 16 entries get alone."""
    return attention(q * (1.01 if q.shape[-1] % 16 == 0 else 1), k, v, mask)


def wide_rows(x, gamma, beta, eps):
    """Another ε for rows of more than 37 entries."""
    return norm(x, gamma, beta, eps if x.shape[-1] <= 37 else 2 * eps)


def rows_of_one(x, gamma, beta, eps):
    """Rows of one entry are refused."""
    if x.shape[-1] == 1:
        raise ValueError("more than one value per row is wanted")
    return norm(x, gamma, beta, eps)


SOME_SIZES = [
    (some_keys, ATTENTION, "fails only where m ≥ 22"),
    (along_queries, ATTENTION, "fails only where n = m ≥ 4 and there is no mask"),
    (in_blocks, ATTENTION, "fails only where d_k is a multiple of 16"),
    (wide_rows, NORM, "fails only where d ≥ 38"),
    (
        rows_of_one,
        NORM,
        "fails only where d = 1: it raises ValueError: more than one value per row is wanted",
    ),
]


@pytest.mark.parametrize(("fn", "formula", "said"), SOME_SIZES, ids=[f.__name__ for f, *_ in SOME_SIZES])
def test_the_sizes_are_named(fn: Callable[..., Any], formula: str, said: str) -> None:
    """At which alone it fails, to the edge."""
    report = check(fn, formula)
    assert report.verdict == "falsified"
    assert report.hint == said


def test_of_two_conditions_one_is_named() -> None:
    """It fails nowhere else; that it needs the other one, too, no rule says."""

    def two_conditions(q, k, v, mask=None):
        if q.shape[-1] == v.shape[-1] and q.shape[-2] == k.shape[-2] > 1:
            q = q.flip(-1)
        return attention(q, k, v, mask)

    assert check(two_conditions, ATTENTION).hint in {"fails only where d_k = d_v", "fails only where n = m"}


def test_a_size_that_has_nothing_to_do_with_it_is_not_named() -> None:
    """Whatever the sizes are, cosines are wrong."""
    report = check(lambda q, k, v, mask=None: attention(q, k, v, mask) * torch.cos(v.sum()), ATTENTION)
    assert report.verdict == "falsified"
    assert "only where" not in report.hint


class TestWrites:
    """A callable that writes to what it is given is said to, whatever fails with it."""

    def test_to_queries_that_it_scales(self) -> None:
        """Values are right, and gradients are not."""

        def scaled(q, k, v, mask=None):
            q.data.mul_(1 / math.sqrt(q.shape[-1]))
            return weights(q @ k.transpose(-1, -2), mask) @ v

        report = check(scaled, ATTENTION)
        assert report.hint == "it writes to its input q: the caller's tensor is another after the call"

    def test_to_what_it_returns(self) -> None:
        """Where nothing is differentiated, it returns its input, normalised."""

        def returned(x, gamma, beta, eps):
            if x.requires_grad:
                return norm(x, gamma, beta, eps)
            return x.copy_(norm(x, gamma, beta, eps))

        report = check(returned, NORM)
        assert report.verdict == "falsified"
        assert report.hint.startswith("it writes to its input x")


def test_what_fails_now_and_then_is_said_to() -> None:
    """Every fortieth call is off; nothing claims that a script shows it."""
    turns = iter(range(10**9))

    def counted(x, gamma, beta, eps):
        return norm(x, gamma, beta, eps) + (1e-3 if next(turns) % 40 == 39 else 0)

    report = check(counted, NORM)
    assert report.verdict == "falsified"
    assert unsteady(report.hint)


def test_what_always_fails_is_not_said_to_fail_now_and_then() -> None:
    """Not even where no cause is known."""
    report = check(lambda x, gamma, beta, eps: norm(x, gamma, beta, eps) * torch.cos(x), NORM)
    assert report.verdict == "falsified"
    assert not unsteady(report.hint)


def test_a_little_dropout_is_told_by_its_generator() -> None:
    """What it drops is too rare to be seen in a mean; the scale that goes with it is always there."""

    def dropped(x, W_1, b_1, W_2, b_2):
        return F.dropout(F.relu(x @ W_1 + b_1), 0.001, training=True) @ W_2 + b_2

    assert "global random generator" in check(dropped, "feedforward.relu").hint


def test_what_goes_wrong_seldom_by_chance_is_found() -> None:
    """Each call finds the generators as they were before the check: other states are tried on purpose."""

    def flipped(x, gamma, beta, eps):
        return norm(x, gamma, beta, eps) * (-1 if random.random() < 0.15 else 1)

    state = random.getstate()
    random.seed(0)  # the first draw is 0.84
    report = check(flipped, NORM)
    random.setstate(state)
    assert report.verdict == "falsified"
    assert "other states of global generators" in report.hint


def test_use_that_plain_calls_do_not_show_is_named() -> None:
    """A buffer of its own is returned each time."""
    kept: dict[Any, torch.Tensor] = {}

    def buffered(x, gamma, beta, eps):
        y = norm(x, gamma, beta, eps)
        if y.requires_grad:
            return y
        return kept.setdefault((y.shape, y.dtype), torch.empty_like(y)).copy_(y)

    assert check(buffered, NORM).hint == "plain calls conform; wrong in: “same shapes, other values”"


class TestCausesThatAreNone:
    """Explanations that would do as well for anything are not given."""

    def test_a_fill_of_hidden_scores_where_digits_are_lost(self) -> None:
        """exp(s − log Σ exp s) loses them where scores are large; any fill agrees with it to half of the digits."""

        def subtracted(s, mask=None):
            s = s if mask is None else s.masked_fill(~mask, -torch.inf)
            total = torch.logsumexp(s, -1, keepdim=True)
            return torch.exp(s - total.masked_fill(total.isneginf(), 0.0))

        report = check(subtracted, "attention.softmax")
        assert report.verdict == "falsified"
        assert "hidden" not in report.hint

    def test_an_input_that_cancels_in_the_statement_is_not_ignored(self) -> None:
        """A key's bias adds the same to all scores of a row: who leaves it out, and is wrong elsewhere, ignores nothing."""

        def other_rows(x, W_q, b_q, W_k, b_k, W_v, b_v, W_o, *rest):
            heads = W_v.shape[0]
            W_o = W_o.unflatten(0, (heads, -1)).transpose(0, 1).flatten(0, 1)
            return bert.layer(x, W_q, b_q, W_k, torch.zeros_like(b_k), W_v, b_v, W_o, *rest)

        report = check(other_rows, "bert.layer")
        assert report.verdict == "falsified"
        assert "b_k" not in report.hint

    def test_an_overflow_where_a_logarithm_of_nothing_is_taken(self) -> None:
        """The softmax is safe; what it makes 0 has no logarithm."""

        def naive(s, y, epsilon):
            counted, p = y >= 0, s.softmax(-1).log()
            loss = -(1 - epsilon) * p.gather(-1, y.clamp(min=0)[..., None])[..., 0] - epsilon * p.mean(-1)
            return torch.where(counted, loss, 0.0).sum(-1) / counted.sum(-1).clamp(min=1)

        hint = check(naive, "objectives.cross_entropy").hint
        assert hint.startswith("a logarithm is taken of a share that vanishes")

    def test_float16_where_weights_are_bfloat16(self) -> None:
        """Averages of rounded weights are as far off as either; both are named."""

        def rounded(q, k, v, mask=None):
            return weights(scores(q, k), mask).to(torch.bfloat16).to(v.dtype) @ v

        assert check(rounded, ATTENTION).hint.startswith("float16 or bfloat16 inside")
