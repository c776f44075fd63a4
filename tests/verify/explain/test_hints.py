"""Hints: what explains a falsification."""

from __future__ import annotations

import math
import re

import pytest
import torch

import impl.attention
import impl.bert
import impl.feedforward
import impl.normalization
import impl.positional
import impl.scores
from impl.bert.functions import LayerWeights
from verify import check
from verify.properties.plain_calls import LATER
from verify.report import Reason

pytestmark = pytest.mark.usefixtures("ungraded")


def einsum(q, k, v, mask=None):
    """Masked attention in which hidden values are multiplied by 0."""
    s = torch.einsum("...nd,...md->...nm", q, k) / math.sqrt(q.shape[-1])
    return torch.einsum("...nm,...mc->...nc", impl.attention.softmax(s, mask), v)


def bias(s, mask=None):
    """A mask made of −∞ and added."""
    if mask is None:
        return torch.softmax(s, -1)
    return torch.softmax(s + torch.zeros(mask.shape, dtype=s.dtype).masked_fill(~mask, -math.inf), -1)


def test_a_leak_alone_is_told_from_explain_values():
    """If only NaN in unread slots leaks, one line says so, names the input, the remedy, and the convention that accepts it."""
    report = check(
        einsum, "attention.scaled_dot_product", max_examples=40, conventions={"unread": "isolated"}
    )
    assert [c.name for c in report.falsified] == ["robustness: NaN where nothing is read"]
    assert "values, gradients and theorems conform" in report.hint
    assert "slots of v that nothing reads" in report.hint
    assert "torch.where" in report.hint
    assert "unread=ignored this is accepted" in report.hint
    assert "\n" not in report.hint


def test_a_mask_by_filling_leaks_nothing_of_its_undefined_rows():
    """Under fully_masked=unspecified a fully masked row is NaN forward; backward, where nothing is asked of it, it is 0."""

    def filling(s, mask=None):
        return torch.softmax(s if mask is None else s.masked_fill(~mask, -math.inf), -1)

    chosen = {"fully_masked": "unspecified", "unread": "isolated"}
    report = check(filling, "attention.softmax", conventions=chosen, max_examples=60)
    assert not report.falsified
    gradients = [c for c in report.checks if c.kind == "gradient"]
    assert all(
        c.effective > 0.7 for c in gradients
    )  # in one of five no row is left anything, and nothing is asked
    first, second = (c.examples for c in gradients)
    assert first >= 30
    assert second >= 30 // LATER


def test_a_mask_that_is_added_makes_gradients_nan():
    """Where a row is left nothing: then the first line says so, under the convention that says nothing of that row."""
    report = check(bias, "attention.softmax", conventions={"fully_masked": "unspecified"}, max_examples=60)
    assert {c.kind for c in report.falsified} == {"gradient"}
    assert report.headline == "falsified: where the mask leaves a row nothing, the gradient of s is NaN"


def test_a_gradient_beside_an_undefined_entry_is_still_judged_elsewhere():
    """The same callable with its gradient cut off is falsified at inputs where everything is defined."""

    def cut(s, mask=None):
        return bias(s.detach(), mask) + 0 * torch.where(torch.isfinite(s), s, 0.0)

    report = check(cut, "attention.softmax", conventions={"fully_masked": "unspecified"}, max_examples=60)
    assert "gradient in float64" in {c.name for c in report.falsified}


def test_an_error_that_grows_with_the_inputs_is_said_to():
    """exp(s − logsumexp s) loses the digits of s: the range in which it conforms is said, or from which size on it fails."""

    def by_logsumexp(s, mask=None):
        if mask is None:
            return torch.exp(s - torch.logsumexp(s, -1, keepdim=True))
        seen = mask.any(-1, keepdim=True)
        s = torch.where(seen, s.masked_fill(~mask, -math.inf), 0.0)
        return torch.where(seen & mask, torch.exp(s - torch.logsumexp(s, -1, keepdim=True)), 0.0)

    report = check(by_logsumexp, "attention.softmax")
    assert report.verdict == "falsified"
    assert re.search(r"conforms where \|s\| ≤ |fails only where an entry of s reaches ", report.headline)


def test_a_plain_mistake_has_no_such_hint():
    """A missing scale fails everywhere: it is named, and nothing is said about the size of entries."""
    report = check(impl.scores.dot, "scores.scaled_dot", max_examples=40)
    assert report.hint == "the scale is missing: s is not divided by √(d_k)"
    assert report.headline == f"falsified: {report.hint}"


def test_a_convention_that_says_nothing_is_nearest_to_nothing():
    """A layer is missing: where all is padding nothing is said under fully_masked=unspecified, and nothing conforms for that."""

    def one_less(*given):
        *tensors, eps, mask = given
        weights = [w[:-1] if len(w) > 1 else w for w in tensors[8:]]
        return impl.bert.encoder(*tensors[:8], LayerWeights(*weights), eps, mask)

    report = check(one_less, "bert.encoder", max_examples=10, dtypes=("float64",))
    assert report.verdict == "falsified"
    assert "fully_masked=unspecified" not in report.headline


@pytest.mark.parametrize("factor", [1 + 1e-12, 1 - 1e-9])
@pytest.mark.parametrize(
    "formula", ["attention.scaled_dot_product", "feedforward.gelu", "normalization.layer_norm"]
)
def test_what_is_hardly_off_has_no_cause(formula, factor):
    """Statements that are equal on paper account for it as well as the statement itself does."""
    right = {
        "attention.scaled_dot_product": impl.attention.scaled_dot_product,
        "feedforward.gelu": impl.feedforward.gelu,
        "normalization.layer_norm": impl.normalization.layer_norm,
    }[formula]
    report = check(lambda *given: factor * right(*given), formula, max_examples=30)
    assert report.headline.startswith("falsified: the values are wrong")
    assert report.reason is Reason.NONE


def test_what_ordinary_inputs_show_is_no_matter_of_size():
    """One of the two logits alone is read: near 0 that is no matter, but no input is large where it is."""

    def second_alone(z, y):
        y = y.to(z.dtype).expand(z.shape[:-1])
        return torch.nn.functional.binary_cross_entropy_with_logits(z[..., 1], y, reduction="none").mean(-1)

    report = check(second_alone, "objectives.nsp", max_examples=50)
    assert report.verdict == "falsified"
    assert "fails only where" not in report.headline


def scaled_a_little(x, gamma, beta, eps):
    """Layer norm whose result is too small by about as much as float32 rounds."""
    return torch.nn.functional.layer_norm(x, x.shape[-1:], eps=eps) * (1 - 1e-7) * gamma + beta


def in_single(x, gamma, beta, eps):
    """Layer norm whose result, but for gain and bias, was computed in float32."""
    return torch.nn.functional.layer_norm(x.float(), x.shape[-1:], eps=eps).to(x.dtype) * gamma + beta


def test_as_little_as_float32_rounds_may_be_lost_otherwise():
    """What follows its inputs where they move by less than float32 tells apart was not computed in it."""
    report = check(scaled_a_little, "normalization.layer_norm", max_examples=40, dtypes=("float64",))
    assert report.verdict == "falsified"
    assert "inside" not in report.headline
    report = check(in_single, "normalization.layer_norm", max_examples=40, dtypes=("float64",))
    assert "float32 inside" in report.headline


def smoothed_among_the_others(s, y, epsilon):
    """Cross entropy that gives each word but the right one its share: another formula, off by as much as bfloat16 rounds."""
    law, asked = s.log_softmax(-1), y >= 0
    hit = law.gather(-1, y.clamp(min=0)[..., None])[..., 0]
    share = epsilon / max(s.shape[-1] - 1, 1)
    costs = torch.where(asked, -(1 - epsilon) * hit - share * (law.sum(-1) - hit), 0.0)
    return costs.sum(-1) / asked.sum(-1).clamp(min=1)


def test_another_formula_is_no_narrow_type():
    """What follows its inputs is not rounded, though it does not follow as it is stated to."""
    report = check(smoothed_among_the_others, "objectives.cross_entropy", max_examples=40)
    assert report.verdict == "falsified"
    assert "inside" not in report.headline


def summed_in_single(s, y, epsilon):
    """Cross entropy of which one sum is held in float32."""
    law, inside = s.log_softmax(-1), y >= 0
    hit = law.gather(-1, y.clamp(min=0)[..., None])[..., 0]
    every = law.sum(-1, dtype=torch.float32).to(s.dtype) / s.shape[-1]
    costs = torch.where(inside, -(1 - epsilon) * hit - epsilon * every, 0.0)
    return costs.sum(-1) / inside.sum(-1).clamp(min=1)


def test_one_rounding_to_float32_is_found_whatever_is_drawn():
    """A single rounding happens to change little where inputs move, now and then: each example is moved several times."""
    reports = [check(summed_in_single, "objectives.cross_entropy", max_examples=20, seed=s) for s in range(7)]
    assert [report.verdict for report in reports] == ["conforms"] * len(reports)


def test_a_factor_of_one_is_no_cause():
    """What is off by the tenth digit everywhere is not said to be one times what is stated."""
    report = check(lambda q, k: (q @ k.mT) * (1 + 1e-10), "scores.dot", max_examples=40, dtypes=("float64",))
    assert report.verdict == "falsified"
    assert "times what is stated" not in report.headline


def test_a_width_that_is_rounded_to_an_even_one_is_told():
    """A table that is made for d + 1 columns where d is odd, and cut: it fails there alone."""
    report = check(
        lambda n, d: impl.positional.sinusoidal(n, d + d % 2)[:, :d], "positional.sinusoidal", max_examples=24
    )
    assert report.hint == "fails only where d is odd: PE has 2·ceil(d/2) instead of d"
