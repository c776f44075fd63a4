"""The whole check: right implementations conform, wrong ones are falsified, and the report says what is what."""

import json
import math

import pytest
import torch
import torch.nn.functional as F

import impl.attention
import impl.normalization
import impl.positional
import impl.scores
import impl.similarity
from verify import check
from verify.edges import STRICT

pytestmark = pytest.mark.usefixtures("as_found", "ungraded")

RIGHT = {
    "scores.dot": impl.scores.dot,
    "scores.scaled_dot": impl.scores.scaled_dot,
    "attention.softmax": impl.attention.softmax,
    "attention.scaled_dot_product": impl.attention.scaled_dot_product,
    "attention.causal": impl.attention.causal,
    "positional.sinusoidal": impl.positional.sinusoidal,
    "positional.learned": impl.positional.learned,
    "normalization.layer_norm": impl.normalization.layer_norm,
}


@pytest.mark.parametrize("formula_id", RIGHT)
@pytest.mark.parametrize("seed", [0, 1])
def test_our_implementations_conform(formula_id, seed):
    """Every check of every formula, in every type; the largest float32 ratio says that the bound is a bound."""
    kinds = ("float64", "float32", "bfloat16", "float16")
    report = check(RIGHT[formula_id], formula_id, max_examples=40, seed=seed, dtypes=kinds)
    assert report.verdict == "conforms", str(report)
    assert not report.falsified
    for each in report.checks:
        if each.kind == "value":
            assert each.effective > 0.3
            if each.dtype == "float32" and formula_id != "positional.learned":
                assert 1e-3 < each.worst_ratio < 1


def off_scale(q, k):
    """A scale wrong by 1e-5."""
    return q @ k.mT / (math.sqrt(q.shape[-1]) * (1 + 1e-5))


def outside(x, gamma, beta, eps):
    """ε outside the root."""
    return (
        gamma * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0).sqrt() + eps) + beta
    )


def one_pass(x, gamma, beta, eps):
    """E[x²] − E[x]²."""
    mu = x.mean(-1, keepdim=True)
    var = ((x * x).mean(-1, keepdim=True) - mu * mu).clamp_min(0)
    return gamma * (x - mu) / (var + eps).sqrt() + beta


def single(x, gamma, beta, eps):
    """Float32 inside float64."""
    return F.layer_norm(x.float(), x.shape[-1:], gamma.float(), beta.float(), eps).to(x.dtype)


def detached(x, gamma, beta, eps):
    """Statistics without gradient."""
    mu, var = x.mean(-1, keepdim=True).detach(), x.var(-1, keepdim=True, correction=0).detach()
    return gamma * (x - mu) / (var + eps).sqrt() + beta


def mixing(x, gamma, beta, eps):
    """Statistics over the whole batch."""
    mu = x.mean()
    return gamma * (x - mu) / (((x - mu) ** 2).mean() + eps).sqrt() + beta


def filled(s, mask=None):
    """Fills with −1e9."""
    return torch.softmax(s if mask is None else s.masked_fill(~mask, -1e9), -1)


def unshifted(s, mask=None):
    """No shift by the maximum."""
    e = s.exp() if mask is None else s.exp().masked_fill(~mask, 0.0)
    return torch.where(e.sum(-1, keepdim=True) == 0, 0.0, e / e.sum(-1, keepdim=True))


def upper_left(q, k, v):
    """Torch's is_causal."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def exponent(n, d):
    """The exponent is i/d, not 2i/d."""
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange((d + 1) // 2) / d)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)[:, :d]


class Stale:
    """Remembers its result by shape."""

    def __init__(self):
        self.kept = {}

    def __call__(self, q, k):
        """The remembered result."""
        return self.kept.setdefault((q.shape, k.shape, q.dtype), impl.scores.dot(q, k).detach())


WRONG = [
    ("scores.scaled_dot", off_scale, "value in float64", ""),
    ("scores.scaled_dot", lambda q, k: (k @ q.mT).mT, "value in float64", ""),
    ("scores.dot", lambda q, k: (q.bfloat16() @ k.mT.bfloat16()).to(q.dtype), "value in float32", ""),
    ("scores.dot", Stale(), "robustness: same shapes, other values", ""),
    ("normalization.layer_norm", outside, "value in float64", "eps=outside"),
    ("normalization.layer_norm", one_pass, "value in float64", ""),
    ("normalization.layer_norm", single, "value in float64", ""),
    ("normalization.layer_norm", detached, "gradient in float64", ""),
    ("normalization.layer_norm", mixing, "robustness: a batch equals its members", ""),
    ("attention.softmax", filled, "value in float64", ""),
    ("attention.softmax", unshifted, "value in float32", "conforms where |s| ≤"),
    ("attention.causal", upper_left, "value in float64", "alignment=upper_left"),
    ("positional.sinusoidal", exponent, "value", ""),
]


@pytest.mark.parametrize(
    ("formula_id", "fn", "by", "hint"),
    WRONG,
    ids=lambda x: getattr(x, "__name__", x if isinstance(x, str) else type(x).__name__),
)
def test_realistic_mistakes_are_falsified(formula_id, fn, by, hint):
    """Each mistake is found at the default number of examples, by the check one would expect, without a crash."""
    report = check(fn, formula_id, conventions=STRICT, causes=bool(hint))
    names = {c.name for c in report.falsified}
    if by not in names:  # a stale cache and a batch mixer show elsewhere first
        assert by.startswith("robustness"), (by, names)
        assert report.verdict == "falsified"
    assert hint in " ".join((report.headline, *report.notes))
    for bad in report.falsified:
        assert bad.message
        assert "\n" not in bad.message
        assert formula_id in bad.message
    json.dumps(report.to_dict(), allow_nan=False)


def test_another_convention_conforms_when_asked_for():
    """The same callable conforms under the convention it follows."""
    assert check(outside, "normalization.layer_norm", conventions={"eps": "outside"}).verdict == "conforms"
    report = check(
        upper_left, "attention.causal", conventions={"alignment": "upper_left", "fully_masked": "unspecified"}
    )
    assert {c.kind for c in report.falsified} <= {"robustness"}, str(report)


def test_the_same_seed_gives_the_same_report():
    """A report is determined by its seed; only how many calls a failure's simplification found time for is not."""
    first, second = (
        check(one_pass, "normalization.layer_norm", seed=3, max_examples=30).to_dict() for _ in range(2)
    )
    for report in (first, second):
        report.pop("seconds")
    shown = [
        [(c["name"], c["verdict"], "leaves" in c["name"] or c["examples"]) for c in r["checks"]]
        for r in (first, second)
    ]
    assert shown[0] == shown[1]


def test_an_output_without_gradient_is_inconclusive_for_the_gradient_only():
    """No gradient: nothing is said about it."""
    report = check(lambda q, k: impl.scores.dot(q.detach(), k.detach()), "scores.dot", max_examples=10)
    assert {c.verdict for c in report.checks if c.kind == "gradient"} == {"inconclusive"}
    assert report.verdict == "conforms"


def test_nothing_is_conclusive_when_every_type_is_unsupported():
    """All types unsupported: the report is inconclusive."""

    def never(q, k):
        raise NotImplementedError("never")

    assert check(never, "scores.dot", max_examples=5).verdict == "inconclusive"


def test_progress_and_time_limit():
    """Progress names each check; a time limit ends the whole and says so."""
    seen = []
    report = check(impl.scores.dot, "scores.dot", time_limit=0.0, progress=lambda *at: seen.append(at))
    assert report.verdict == "inconclusive"
    assert [place for _, place, _ in seen] == list(range(len(seen)))
    assert any("time" in c.message for c in report.checks)
    assert "time ran out: 0 of about" in report.headline


def test_the_first_line_says_where_gradients_could_not_be_judged():
    """What computes without a graph conforms in values alone."""
    report = check(torch.no_grad()(impl.scores.dot), "scores.dot", max_examples=20)
    assert report.headline == "conforms, without gradients"


def test_gradients_in_sixteen_bits_are_reported_not_judged():
    """The 16-bit gradient check never falsifies and gives its ratio."""
    report = check(impl.attention.softmax, "attention.softmax", dtypes=["bfloat16"], max_examples=20)
    (gradient,) = [c for c in report.checks if c.kind == "gradient"]
    assert gradient.verdict == "inconclusive"
    assert gradient.worst_ratio is not None


def test_a_check_may_stop_at_the_first_violation():
    """Once something compared is wrong the rest is not begun, and the report says so; what is right is checked to its end."""

    def twice(q, k):
        return 2 * impl.scores.dot(q, k)

    whole, short = (
        check(twice, "scores.dot", max_examples=10, causes=False, until_falsified=stops)
        for stops in (False, True)
    )
    assert len(whole.falsified) > 1
    assert len(short.falsified) == 1
    assert len(short.checks) < len(whole.checks)
    assert short.falsified[0].name == whole.falsified[0].name
    assert "the other checks were not begun: a violation was found" in short.notes
    right = check(impl.scores.dot, "scores.dot", max_examples=10, until_falsified=True)
    assert right.verdict == "conforms"
    assert not any("not begun" in note for note in right.notes)


def test_an_exception_alone_does_not_stop_it():
    """What else is wrong may have been compared."""

    def refuses(q, k):
        if q.dtype == torch.float64:
            raise ValueError("not in this type")
        return 2 * impl.scores.dot(q, k)

    report = check(
        refuses, "scores.dot", max_examples=10, causes=False, until_falsified=True, conventions=STRICT
    )
    assert report.falsified[0].counterexample is None or report.falsified[0].counterexample.got is None
    assert report.falsified[-1].counterexample.got is not None


@pytest.mark.parametrize("error", [NotImplementedError, RuntimeError], ids=["declined", "raises"])
def test_the_only_type_that_is_supported_is_tried_at_all_examples(error):
    """A second type is tried at fewer for what the first has shown; a type that is not supported shows nothing."""

    def single(s, mask=None):
        if s.dtype != torch.float32:
            raise error("expected scalar type Float but found Double")
        return impl.attention.softmax(s, mask)

    alone, beside = (
        {(c.kind, c.dtype): c.examples for c in check(fn, "attention.softmax", max_examples=20).checks}
        for fn in (single, impl.attention.softmax)
    )
    assert [alone["value", dtype] for dtype in ("float64", "float32")] == [0, 20]
    assert [beside["value", dtype] for dtype in ("float64", "float32")] == [20, 10]
    assert alone["gradient", "float32"] == beside["gradient", "float64"] == 2 * beside["gradient", "float32"]


def test_a_buffer_that_is_returned_again_violates_no_theorem():
    """Its values are right when they are returned; what a later call makes of them is a check of its own."""
    held = {}

    def buffered(s, mask=None):
        out = impl.attention.softmax(s, mask)
        if out.requires_grad:
            return out
        buffer = held.setdefault((out.shape, out.dtype), torch.empty_like(out))
        return buffer.copy_(out)

    report = check(buffered, "attention.softmax", max_examples=30, causes=False)
    assert {c.kind for c in report.falsified} == {"robustness"}


def test_a_callable_that_is_wrong_whenever_it_has_seen_its_inputs_is_caught_by_calling_it_twice():
    """A plain call afterwards is wrong, too, and is no excuse."""
    seen = set()

    def again(x, y):
        key = x.dtype, x.shape, x.detach().numpy().tobytes(), y.detach().numpy().tobytes()
        found = impl.similarity.dot(x, y) * (1.5 if key in seen else 1)
        seen.add(key)
        return found

    names = {c.name for c in check(again, "similarity.dot", max_examples=20, causes=False).falsified}
    assert "robustness: same inputs twice" in names
