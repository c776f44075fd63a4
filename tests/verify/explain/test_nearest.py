"""Sound callables under other conventions: these are found, whatever the seed, and said first."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import impl.attention
import impl.bert
import impl.feedforward
import impl.normalization
import impl.positional
import impl.transformer
from impl.attention import window
from impl.transformer.functions import EncoderLayerWeights
from tests.mutants.transformer_layers import annotated_norm, normed_by
from tests.verify.explain.explaining import earlier, scores, weights, why
from verify import check
from verify.adapt import function
from verify.explain import conventions
from verify.faults import Unusable
from verify.properties.judge import Expected
from verify.targets.objectives import kl_div_of_words
from verify.targets.ours import flatten

pytestmark = pytest.mark.usefixtures("ungraded")

SOFTMAX, ATTENTION, CAUSAL = "attention.softmax", "attention.scaled_dot_product", "attention.causal"
NORM, HEADS = "normalization.layer_norm", "attention.multi_head"
MEAN, UNSAID = "fully_masked=mean", "fully_masked=unspecified"
DROPS = "polarity=true_drops"


def softmax(fill: float | None, drops: bool = False, added: bool = False):
    """Softmax with hidden scores replaced by a fill, or lowered by it."""

    def function(s, mask=None):
        if mask is None:
            return torch.softmax(s, -1)
        hidden = mask if drops else ~mask
        if fill is None:
            return torch.softmax(s.masked_fill(hidden, -math.inf), -1).nan_to_num(0.0)
        if added:
            return torch.softmax(s + torch.zeros_like(s).masked_fill(hidden, fill), -1)
        return torch.softmax(s.masked_fill(hidden, fill), -1)

    return function


def blank(z, mask, drops: bool = False):
    """NaN in rows that see nothing, from which none gets into any gradient."""
    seen = mask if mask is None or not drops else ~mask
    return z if seen is None else torch.where(seen.any(-1, keepdim=True), z, math.nan)


def attention(*given, **more):
    """Attention by such a softmax; without a fill and to be blank, with NaN in rows that see nothing."""
    blanked = more.pop("blanked", False)
    function = softmax(*given, **more)

    def attend(q, k, v, mask=None):
        z = function(scores(q, k), mask) @ v
        return blank(z, mask, more.get("drops", False)) if blanked else z

    return attend


def multi_head(*given, **more):
    """Multi-head attention by such a softmax."""
    blanked = more.pop("blanked", False)
    function = softmax(*given, **more)

    def heads(x, y, W_q, W_k, W_v, W_o, mask=None):
        q, k, v = (torch.einsum("...nd,hdk->...hnk", a, W) for a, W in ((x, W_q), (y, W_k), (y, W_v)))
        a = function(scores(q, k), None if mask is None else mask.unsqueeze(-3))
        z = (a @ v).transpose(-2, -3).flatten(-2) @ W_o
        return blank(z, mask, more.get("drops", False)) if blanked else z

    return heads


def causal(lower: bool, fill: float | None):
    """Causal attention, lower or upper aligned, by a fill or exactly."""

    def function(q, k, v):
        seen = earlier(q, k, k.shape[-2] - q.shape[-2] if lower else 0)
        s = scores(q, k)
        if fill is None:
            return weights(s, seen) @ v
        if fill == -math.inf:
            return blank(weights(s, seen) @ v, seen)
        return torch.softmax(s.masked_fill(~seen, fill), -1) @ v

    return function


def norm(outside: bool, unbiased: bool):
    """Layer norm with ε outside of the root, or the variance divided by d − 1."""

    def function(x, gamma, beta, eps):
        var = x.var(-1, keepdim=True, correction=int(unbiased))
        spread = var.sqrt() + eps if outside else (var + eps).sqrt()
        return gamma * (x - x.mean(-1, keepdim=True)) / spread + beta

    return function


def local(q, k, v, W_p, v_p, D, mask=None):
    """Local attention under a mask of the other polarity."""
    return impl.attention.local(q, k, v, W_p, v_p, D, mask if mask is None else ~mask)


LOW = torch.finfo(torch.float32).min

FILLED = {-(10.0**power): f"fully_masked=filled_1e{power}" for power in (4, 6, 9)}
"""The options for common fills; one far below every score gives what a mean over all keys would."""

SOUND: list[tuple[str, Callable[..., Any], str]] = [
    *((SOFTMAX, softmax(fill), FILLED.get(fill, MEAN)) for fill in (-1e4, -1e6, -1e9, -1e20, LOW)),
    *((SOFTMAX, softmax(fill, drops=True), f"{DROPS}, {FILLED.get(fill, MEAN)}") for fill in (-1e9, LOW)),
    (SOFTMAX, softmax(-math.inf), UNSAID),
    (SOFTMAX, softmax(-math.inf, drops=True), f"{DROPS}, {UNSAID}"),
    (SOFTMAX, softmax(None, drops=True), DROPS),
    *((ATTENTION, attention(fill), FILLED.get(fill, MEAN)) for fill in (-1e4, -1e9, LOW)),
    *((ATTENTION, attention(fill, drops=True), f"{DROPS}, {FILLED[fill]}") for fill in (-1e4, -1e9)),
    (ATTENTION, attention(None, blanked=True), UNSAID),
    (ATTENTION, attention(None, drops=True, blanked=True), f"{DROPS}, {UNSAID}"),
    (ATTENTION, attention(None, drops=True), DROPS),
    *((HEADS, multi_head(fill), FILLED.get(fill, MEAN)) for fill in (-1e9, LOW)),
    (HEADS, multi_head(None, drops=True, blanked=True), f"{DROPS}, {UNSAID}"),
    (HEADS, multi_head(None, drops=True), DROPS),
    (CAUSAL, causal(False, None), "alignment=upper_left"),
    (CAUSAL, causal(True, -1e9), FILLED[-1e9]),
    (CAUSAL, causal(True, -math.inf), UNSAID),
    (NORM, norm(True, False), "eps=outside"),
    (NORM, norm(False, True), "divisor=unbiased"),
    (NORM, norm(True, True), "eps=outside, divisor=unbiased"),
    (
        "feedforward.gelu",
        lambda x, W_1, b_1, W_2, b_2: F.gelu(x @ W_1 + b_1, approximate="tanh") @ W_2 + b_2,
        "approximation=tanh",
    ),
    (
        "positional.sinusoidal",
        lambda n, d: impl.positional.sinusoidal(n, d, layout="concatenated"),
        "layout=concatenated",
    ),
    ("attention.local", local, DROPS),
    (
        "transformer.encoder_layer",
        lambda x, *rest: impl.transformer.encoder_layer(
            x, EncoderLayerWeights(*rest[:12]), *rest[12:], norm="pre"
        ),
        "norm=pre",
    ),
    (
        "transformer.encoder_layer",
        normed_by(annotated_norm, annotated_norm),
        "norm=pre, eps=outside, divisor=unbiased",
    ),
    (
        "bert.layer",
        partial(flatten(impl.bert.layer), norm="pre", activation="relu"),
        "norm=pre, activation=relu",
    ),
    (
        "normalization.rms_norm",
        lambda x, gamma, eps: x / (x.square().mean(-1, keepdim=True).sqrt() + eps) * (1 + gamma),
        "eps=outside, gain=one_plus",
    ),
    ("objectives.cross_entropy", kl_div_of_words(), "smoothing=but_padding, divergence=kl"),
]


@pytest.mark.parametrize(
    ("formula", "fn", "expected"), SOUND, ids=[f"{n}: {c[0]} {c[2]}" for n, c in enumerate(SOUND)]
)
def test_the_conventions_of_a_sound_callable_are_found(formula: str, fn: Callable[..., Any], expected: str):
    """All combinations are tried; extreme examples, such as scores beyond the fill of a mask, do not hide the right one."""
    found = why(fn, formula)
    assert found.said.removeprefix("conforms under convention ").partition(" at ")[0] == expected
    assert ", ".join(f"{name}={option}" for name, option in found.changes.items()) == expected
    assert found.alike == ()


def test_conventions_that_fare_alike_are_told_apart_where_they_differ():
    """Of a statement that is costly few examples are drawn; further ones, at which a mean and a fill differ, are looked for."""

    def heads(x, y, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o, mask=None):
        q = torch.einsum("...nd,hdk->...hnk", x, W_q) + b_q[:, None]
        k = torch.einsum("...nd,hdk->...hnk", y, W_k) + b_k[:, None]
        v = torch.einsum("...nd,hdk->...hnk", y, W_v) + b_v[:, None]
        a = softmax(-1e9)(scores(q, k), None if mask is None else mask.unsqueeze(-3))
        return (a @ v).transpose(-2, -3).flatten(-2) @ W_o + b_o

    report = check(heads, "attention.biased_multi_head", conventions="auto", max_examples=12)
    assert report.headline == "conforms under fully_masked=filled_1e9"


def test_conventions_that_nothing_tells_apart_are_all_said():
    """Where no score comes near to a fill, a fill of any size is a mean."""
    how = {"ranges": {"s": 5e4}, "max_examples": 12}
    report = check(softmax(-1e9), SOFTMAX, conventions="auto", **how)
    said = (
        "fully_masked=mean or fully_masked=filled_1e6 or fully_masked=filled_1e9, which nothing tells apart"
    )
    assert report.headline == f"conforms under {said} within |s| ≤ 5e4"
    assert report.to_dict()["alike"] == [{"fully_masked": "filled_1e6"}, {"fully_masked": "filled_1e9"}]
    assert (
        f"falsified within |s| ≤ 5e4: conforms under convention {said}"
        == check(softmax(-1e9), SOFTMAX, **how).headline
    )


def test_a_convention_is_judged_where_it_says_something():
    """Frequencies of which there is one alone are 0/0: a table that cannot be made there follows the convention where it can."""

    def table(n, d):
        step = math.log(10000) / (d // 2 - 1)
        angle = torch.arange(n).double()[:, None] * torch.exp(-step * torch.arange(d // 2).double())
        return F.pad(torch.cat([angle.sin(), angle.cos()], 1), (0, d % 2))

    report = check(table, "positional.sinusoidal", conventions="auto", max_examples=24)
    assert report.headline == "conforms under layout=concatenated, frequencies=closed where d = 4.."


def test_no_convention_is_said_to_hold_of_what_raises_at_most_examples():
    """A callable that takes no such mask conforms under several where it is given none; that explains nothing."""

    def of_lengths(s, mask=None):
        hidden = torch.zeros(s.shape, dtype=torch.bool) if mask is None else torch.arange(3) >= mask[:, None]
        return torch.softmax(s.masked_fill(hidden, -1e6), -1)

    assert "fully_masked" not in why(of_lengths, SOFTMAX).said


def test_the_answer_does_not_change_with_the_seed():
    """What is drawn to find conventions is the same at every seed."""
    assert len({why(softmax(-1e9), SOFTMAX, seed).said for seed in (0, 1, 17, 404)}) == 1


def test_a_check_finds_the_conventions_and_judges_under_them():
    """With conventions="auto" the report is that under the conventions found, and says so first."""
    report = check(norm(True, True), NORM, conventions="auto", max_examples=40)
    assert report.verdict == "conforms"
    assert report.found == {"eps": "outside", "divisor": "unbiased"}
    assert report.conventions["eps"] == "outside"
    assert ": conforms under eps=outside, divisor=unbiased\n" in str(report)


def test_ours_stay_where_they_hold():
    """Nothing is sought where our conventions hold; without "auto" others are a hint, and the verdict is ours."""
    ours = check(impl.normalization.layer_norm, NORM, conventions="auto", max_examples=24)
    assert (ours.verdict, ours.found, ours.headline) == ("conforms", {}, "conforms")
    judged = check(norm(True, False), NORM, max_examples=24)
    assert judged.headline == "falsified: conforms under convention eps=outside"


def test_a_convention_that_does_not_hold_in_all_is_the_nearest_one():
    """Values follow another convention, gradients none: nothing "conforms" that a whole check under it refuses."""

    def half(x, gamma, beta, eps):
        return norm(True, False)(x, gamma, beta.detach(), eps)

    report = check(half, NORM, max_examples=24)
    assert "convention" not in report.headline
    assert any(note.startswith("nearest to convention eps=outside: gradient") for note in report.notes)


def test_conventions_are_found_where_masks_are_of_keys():
    """Nothing is said of an example in which every key is hidden; the others tell that it conforms where something is."""

    def padded(q, k, v, mask):
        return attention(None, blanked=True)(q, k, v, mask if mask is None else mask.unsqueeze(-2))

    adapted = function(padded, mask="keys", batch=1)
    report = check(adapted, ATTENTION, conventions="auto", max_examples=12)
    assert (report.verdict, report.found) == ("conforms", {"fully_masked": "unspecified"})


def test_what_is_named_stays_where_the_others_are_sought():
    """Of two conventions one is named, and the other is found; a wrong name is not changed, and fails."""
    report = check(norm(True, True), NORM, conventions={"eps": "outside", "*": "auto"}, max_examples=24)
    assert report.headline == "conforms under eps=outside, divisor=unbiased"
    wrong = check(norm(True, True), NORM, conventions={"divisor": "biased", "*": "auto"}, max_examples=24)
    assert wrong.verdict == "falsified"
    assert wrong.conventions["divisor"] == "biased"
    assert wrong.found == {}


def test_of_others_auto_alone_can_be_said():
    """One line says what the star may stand beside."""
    with pytest.raises(Unusable, match="conventions that are not named can be 'auto' only"):
        check(norm(True, True), NORM, conventions={"eps": "outside", "*": "inside"})


def in_float32(q, k, v, mask=None):
    """Attention whose softmax is in float32, and says nothing of a row that sees nothing."""
    a = weights_in_float32(scores(q, k).float(), mask).to(q.dtype)
    return blank(a.nan_to_num() @ v, mask)


def weights_in_float32(s, mask):
    """The softmax of such."""
    return torch.softmax(s if mask is None else s.masked_fill(~mask, -math.inf), -1)


def test_conventions_are_found_of_what_computes_in_float32():
    """Its float64 results are wrong under every convention: those that hold in float32 are taken, and the arithmetic is said."""
    report = check(in_float32, ATTENTION, conventions="auto", max_examples=12)
    assert (report.verdict, report.found) == ("conforms", {"fully_masked": "unspecified"})
    assert [each.option for each in report.properties if each.name == "arithmetic"] == ["float32"]
    strict = check(in_float32, ATTENTION, conventions={"arithmetic": "given", "*": "auto"}, max_examples=12)
    assert strict.verdict == "falsified"


def added(s, mask=None):
    """Softmax by a mask that is added: 0 in rows that see nothing, whose gradients are NaN."""
    if mask is None:
        return torch.softmax(s, -1)
    e = (s + mask.to(s.dtype).log()).exp() if s.abs().max() < 80 else None
    if e is None:
        return torch.softmax(s.masked_fill(~mask, -math.inf), -1).nan_to_num(0.0)
    return torch.where(mask.any(-1, keepdim=True), e / e.sum(-1, keepdim=True), 0.0)


def test_no_convention_excuses_gradients_that_are_nan():
    """Its values are ours, its gradients are NaN where nothing is permitted, though nothing is asked of these rows."""
    report = check(added, SOFTMAX, conventions="auto", max_examples=24)
    assert (report.verdict, report.found) == ("falsified", {})
    assert report.headline.endswith("where the mask leaves a row nothing, the gradient of s is NaN")


def test_a_convention_that_never_says_anything_of_what_is_wrong_explains_nothing():
    """Of two outputs the second is wrong, and nothing is ever asked of it: whatever it were, it would conform."""

    def judge(*bounds):
        said = [Expected(f"out{place}", np.zeros(3), np.full(3, bound)) for place, bound in enumerate(bounds)]
        return SimpleNamespace(expect_batch=lambda *_: said)

    failing = [SimpleNamespace(example=None, kind="", got=[np.zeros(3), np.ones(3)])]
    evidence = SimpleNamespace(judge=judge(0.1, 0.1))
    assert conventions._is_silent(evidence, judge(0.1, math.inf), failing, failing)
    assert not conventions._is_silent(evidence, judge(math.inf, 0.1), failing, failing)


def test_what_makes_gradients_nan_is_said_beside_the_nearest_convention():
    """The usual attention is nearest to saying nothing of a row that sees nothing: the gradients of all values are NaN."""
    report = check(attention(-math.inf), ATTENTION, max_examples=24)
    assert report.headline == (
        "falsified: under convention fully_masked=unspecified, where the mask leaves a row nothing, the gradient of v is NaN"
    )


def test_conventions_are_found_where_few_examples_show_no_wrong_value():
    """So few examples hide all from no row, and a theorem does: more are drawn to find the convention."""

    def layer(x, *rest):
        *weights, eps, mask = rest
        result = impl.transformer.encoder_layer(x, EncoderLayerWeights(*weights), eps, mask)
        hidden = torch.zeros(()) if mask is None else ~mask.any(-1, keepdim=True)
        return result.masked_fill(hidden.bool(), math.nan)

    report = check(layer, "transformer.encoder_layer", conventions="auto", max_examples=4)
    assert (report.verdict, report.found) == ("conforms", {"fully_masked": "unspecified"})


def test_where_the_convention_that_says_more_fails_the_next_is_tried():
    """Scores lowered by 10⁹ come to a mean where they are small beside its rounding, and to nothing known where they are not."""

    def lowered(s, mask=None):
        return torch.softmax(s if mask is None else s - 1e9 * (~mask).to(s.dtype), -1)

    report = check(lowered, SOFTMAX, conventions="auto", dtypes=["float32"], max_examples=60)
    assert (report.verdict, report.found) == ("conforms", {"fully_masked": "unspecified"})


def test_where_values_are_a_mean_and_gradients_are_not_nothing_is_said():
    """A lowest number that is added gives a mean of a row that sees nothing, through which gradients still reach the scores."""

    def lowest(s, mask=None):
        low = torch.zeros_like(s)
        return torch.softmax(
            s + (low if mask is None else low.masked_fill(~mask, torch.finfo(s.dtype).min)), -1
        )

    report = check(lowest, SOFTMAX, conventions="auto", max_examples=40)
    assert (report.verdict, report.found) == ("conforms", {"fully_masked": "unspecified"})


def cut(polarity: bool):
    """Attention whose weights have no gradient, and which says nothing of a row that sees nothing."""

    def function(q, k, v, mask=None):
        mask = mask if mask is None or polarity else ~mask
        return weights_in_float32(scores(q, k), mask).detach() @ v

    return function


@pytest.mark.parametrize(("polarity", "found"), [(True, {}), (False, {"polarity": "true_drops"})])
def test_what_is_falsified_under_every_convention_is_not_judged_where_less_is_said(polarity, found):
    """A convention that leaves something unsaid hides NaN: what is wrong even so is judged under the nearest that says all."""
    report = check(cut(polarity), ATTENTION, conventions="auto", max_examples=24)
    assert (report.verdict, report.found) == ("falsified", found)
    assert report.conventions["fully_masked"] == "zero"
    assert (
        "under convention fully_masked=unspecified, where the mask leaves a row nothing, the gradient"
        in report.hint
    )


def test_a_convention_that_is_named_may_leave_something_unsaid():
    """What is asked for stays, though it says less."""
    asked = {"fully_masked": "unspecified", "*": "auto"}
    report = check(cut(True), ATTENTION, conventions=asked, max_examples=24)
    assert (report.verdict, report.conventions["fully_masked"]) == ("falsified", "unspecified")


def test_a_law_is_held_to_every_convention():
    """A law has no single examples: it is drawn from under each combination."""

    def exact(ids, special, mask_id, vocab_size, generator):
        order = torch.rand(ids.shape, generator=generator).masked_fill(special, 2.0).argsort(-1).argsort(-1)
        free = (~special).sum(-1, keepdim=True)
        chosen = (order < (0.15 * free.double()).round().clamp(min=1)) & ~special
        kind = torch.rand(ids.shape, generator=generator)
        other = torch.randint(vocab_size, ids.shape, generator=generator)
        new = torch.where(kind < 0.8, mask_id, torch.where(kind < 0.9, other, ids))
        return torch.where(chosen, new, ids), torch.where(chosen, ids, -100)

    assert check(exact, "masking.mlm", conventions="auto").headline == "conforms under selection=exact_count"


def test_another_word_than_auto_is_refused():
    """One line says what conventions are."""
    with pytest.raises(Unusable, match="conventions map names to options, or are 'auto'; got 'ours'"):
        check(norm(True, True), NORM, conventions="ours")  # type: ignore[arg-type]


def test_whole_numbers_stay_whole_where_constants_are_rounded():
    """What computes in float32 is told of a formula of whole numbers, too: of a window of w keys."""

    def narrow(q, k, v, w):
        return window(q.float(), k.float(), v.float(), w).to(q.dtype)

    assert check(narrow, "attention.window", max_examples=12).verdict == "conforms"
