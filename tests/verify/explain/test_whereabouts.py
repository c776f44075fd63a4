"""Where and when a callable fails is said in the first line, if no cause is known."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from impl import bert
from impl.attention import scaled_dot_product
from impl.bert.functions import LayerWeights
from impl.normalization import layer_norm as norm
from impl.routing import top_k
from tests.mutants.blocks_of_keys import joined_by_lerp
from tests.mutants.routing import rest_shared, the_whole_token
from tests.verify.explain.explaining import probed, scores, weights
from verify import check
from verify.explain.alterations import find_term
from verify.explain.digits import in_small_entries, overflows, values_roundabout
from verify.explain.explain import Explanation
from verify.explain.probes import looks_ahead, unread_inputs
from verify.report import Reason
from verify.subject.sandbox import use_seed

pytestmark = pytest.mark.usefixtures("ungraded")

ATTENTION, NORM = "attention.scaled_dot_product", "normalization.layer_norm"


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
    assert report.reason is Reason.UNSTEADY


def test_what_always_fails_is_not_said_to_fail_now_and_then() -> None:
    """Not even where no cause is known."""
    report = check(lambda x, gamma, beta, eps: norm(x, gamma, beta, eps) * torch.cos(x), NORM)
    assert report.verdict == "falsified"
    assert report.reason is not Reason.UNSTEADY


def test_a_generator_of_its_own_is_no_dropout_of_a_global_one() -> None:
    """Equal states of the global ones give other results."""
    own = torch.Generator().manual_seed(0)

    def noisy(x, gamma, beta, eps):
        return norm(x, gamma, beta, eps) + 0.1 * torch.randn(x.shape, generator=own, dtype=x.dtype)

    report = check(noisy, NORM, dtypes=["float64"])
    assert report.reason is Reason.UNSTEADY
    assert "a generator of its own" in report.hint


def test_a_little_dropout_is_told_by_its_generator() -> None:
    """What it drops is too rare to be seen in a mean; the scale that goes with it is always there."""

    def dropped(x, W_1, b_1, W_2, b_2):
        return F.dropout(F.relu(x @ W_1 + b_1), 0.001, training=True) @ W_2 + b_2

    assert "global random generator" in check(dropped, "feedforward.relu").hint


def test_what_goes_wrong_seldom_by_chance_is_found() -> None:
    """Each call finds the generators as they were before the check: other states are tried on purpose."""

    def flipped(x, gamma, beta, eps):
        return norm(x, gamma, beta, eps) * (-1 if random.random() < 0.15 else 1)

    with use_seed(0):  # the first draw is 0.84
        report = check(flipped, NORM)
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

    assert check(buffered, NORM).hint.startswith("a later call writes over an earlier result")


@pytest.mark.parametrize(
    ("given", "said"),
    [(False, "fails only where no mask is passed"), (True, "fails only where a mask is passed")],
)
def test_that_it_is_wrong_only_with_a_mask_or_only_without_one_is_said(given: bool, said: str) -> None:
    """Attention that is causal in the one case: no range of entries, and no regime of them, tells that."""

    def attend(q, k, v, mask=None):
        if (mask is not None) == given:
            seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(k.shape[-2] - q.shape[-2])
            mask = seen if mask is None else mask & seen
        return scaled_dot_product(q, k, v, mask)

    report = check(attend, ATTENTION, max_examples=30, grades=False)
    assert (report.hint, report.reason) == (said, Reason.SIZES)
    assert report.range is None


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
            *others, eps, mask = rest
            heads = W_v.shape[0]
            W_o = W_o.unflatten(0, (heads, -1)).transpose(0, 1).flatten(0, 1)
            given = LayerWeights(W_q, b_q, W_k, torch.zeros_like(b_k), W_v, b_v, W_o, *others)
            return bert.layer(x, given, eps, mask)

        assert probed(lambda evidence: evidence.everywhere, other_rows, "bert.layer")
        assert probed(unread_inputs, other_rows, "bert.layer") == ""

    def test_a_variance_in_one_pass_where_only_the_mean_is_coarse(self) -> None:
        """A large mean in float32 is as bad where entries lie far from 0, but the errors are not those of one pass."""

        def two_passes(x, gamma, beta, eps):
            mean = x.mean(-1, keepdim=True)
            d = x - torch.where(mean.abs() > 50, mean.float().to(x.dtype), mean)
            return d / ((d * d).mean(-1, keepdim=True) + eps).sqrt() * gamma + beta

        def one_pass(x, gamma, beta, eps):
            mean = x.mean(-1, keepdim=True)
            return (x - mean) / ((x * x).mean(-1, keepdim=True) - mean**2 + eps).sqrt() * gamma + beta

        assert probed(values_roundabout, two_passes, NORM) == ""
        assert "subtract the mean first" in probed(values_roundabout, one_pass, NORM)

    def test_an_overflow_where_a_logarithm_of_nothing_is_taken(self) -> None:
        """The softmax is safe; what it makes 0 has no logarithm."""

        def naive(s, y, epsilon):
            counted, p = y >= 0, s.softmax(-1).log()
            loss = -(1 - epsilon) * p.gather(-1, y.clamp(min=0)[..., None])[..., 0] - epsilon * p.mean(-1)
            return torch.where(counted, loss, 0.0).sum(-1) / counted.sum(-1).clamp(min=1)

        hint = check(naive, "objectives.cross_entropy", dtypes=["float64"]).hint
        assert hint.startswith("a logarithm is taken of a share that vanishes")

    def test_an_overflow_of_exponentials_where_values_overflow(self) -> None:
        """Sums of large values do, and no score is too large."""

        def attend(q, k, v, mask=None):
            large = torch.finfo(v.dtype).max / 1e3
            return weights(scores(q, k), mask) @ (v * large) / large

        assert probed(overflows, attend, ATTENTION) == ""

    def test_an_overflow_where_digits_cancel(self) -> None:
        """A difference of large numbers, of which little is left; NaN where nothing is said is no overflow."""

        def merge(z, L, mask=None):
            gathered, total = joined_by_lerp(z, L, mask)
            return gathered, total if mask is None else total.masked_fill(~mask.any(-2), torch.nan)

        assert probed(overflows, merge, "attention.merge") == ""
        assert probed(in_small_entries, merge, "attention.merge").startswith("digits are lost")

    def test_entries_that_must_not_be_read_where_entries_are_compared(self) -> None:
        """A full expert is told by comparisons of tokens before, in which NaN shows nothing."""
        assert probed(looks_ahead, the_whole_token, "routing.capacity") == ""

    def test_an_input_that_is_ignored_in_some_calls_alone(self) -> None:
        """Logits count, but where all experts are asked."""

        def route(s, k):
            return torch.full_like(s, 1 / s.shape[-1]) if k >= s.shape[-1] else top_k(s, k)

        assert probed(unread_inputs, route, "routing.top_k") == ""

    def test_a_constant_term_whose_place_is_told_by_the_data(self) -> None:
        """Experts that are not asked share a hundredth: which these are depends on the logits."""
        assert probed(find_term, rest_shared, "routing.top_k") == ""

    def test_float16_where_weights_are_bfloat16(self) -> None:
        """Averages of rounded weights are as far off as either; both are named."""

        def rounded(q, k, v, mask=None):
            return weights(scores(q, k), mask).to(torch.bfloat16).to(v.dtype) @ v

        assert check(rounded, ATTENTION, dtypes=["float64"]).hint.startswith("float16 or bfloat16 inside")


def test_what_is_raised_is_told_where_nothing_else_is_wrong():
    """By values that it does not take, wherever these stand."""

    def norm(x, gamma, beta, eps):
        if (x == x[..., :1]).all() and x.shape[-1] > 1:
            raise RuntimeError("all entries are alike")
        return torch.nn.functional.layer_norm(x, x.shape[-1:], gamma, beta, eps)

    report = check(norm, "normalization.layer_norm")
    assert report.headline == "falsified: it raises RuntimeError: all entries are alike"


def test_no_range_is_offered_where_sizes_tell_where_it_fails():
    """A limit on entries would not make it right there."""
    assert not Explanation("fails only where n ≥ 17", Reason.SIZES).has_range
    assert Explanation("fails only where an entry of x reaches 30", Reason.ENTRIES).has_range
    assert Explanation("the scale is missing", Reason.CAUSE).has_range
    assert not Explanation("conforms under convention eps=outside", Reason.CONVENTIONS).has_range
