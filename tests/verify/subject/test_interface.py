"""The first calls: what cannot be called so is refused with advice; sizes, types and leading dimensions are found by trying."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import impl.attention
import impl.positional
import impl.scores
from spec.language.registry import find
from verify import Unusable, check
from verify.subject.caller import Caller
from verify.subject.interface import first_calls
from verify.subject.leading_dimensions import accept_any_lead

pytestmark = pytest.mark.usefixtures("ungraded")

NORM, ATTENTION = "normalization.layer_norm", "attention.scaled_dot_product"


def norm(x, gamma, beta, eps):
    """Torch's own."""
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def raising(text, kind=RuntimeError):
    """A callable that always raises."""

    def fn(x, gamma, beta, eps):
        raise kind(text)

    return fn


@pytest.mark.parametrize(
    ("fn", "says"),
    [
        (lambda x, g, b, e: (x, g), r"returned tuple of Tensor, Tensor.*pick an output: .*\[0\]"),
        (lambda x, g, b, e: (e, norm(x, g, b, e)), r"pick an output: .*\[1\]"),
        (lambda x, g, b, e: {"out": x, "mean": e}, r"dict with 'out', 'mean'.*f\(\*inputs\)\['out'\]"),
        (lambda x, g, b, e: np.zeros(3), "returned a ndarray.*torch.as_tensor"),
        (lambda x, g, b, e: None, "let it return"),
        (lambda x, g, b, e: 1.5, "return a tensor"),
        (lambda x, g, b, e: x[..., None], r"y of shape \(3, 1\), expected \(3,\): .*squeeze\(-1\)"),
        (lambda x, g, b, e: x.outer(x)[:2, :2], r"y of shape \(2, 2\), expected \(3,\): wrap it"),
        (raising("Failed to find C compiler"), "wants a compiler"),
        (raising("No module named 'x'", ModuleNotFoundError), "install what it imports"),
        (
            raising("computer says no"),
            r"computer says no .*: in test_interface.py, line \d+: raise kind\(text\)$",
        ),
        (
            lambda x, g, b, e: x.astype(int),
            "has no attribute 'astype' .*takes NumPy's arrays: verify.adapt.numpy",
        ),
        (lambda x, g, b, e: np.mean(x, keepdims=True, axis=-1), "takes NumPy's arrays: verify.adapt.numpy"),
        (
            lambda x, g, b, e: x.numpy().astype(np.float),  # noqa: NPY001 that is the mistake
            r"no attribute 'float'.*: in test_interface.py, line \d+",
        ),
        (
            lambda x, g, b, e: x.layernorm(g),
            r"has no attribute 'layernorm' .*: in test_interface.py, line \d+",
        ),
        (
            F.layer_norm,
            "it was given input=x, normalized_shape=gamma, weight=beta, bias=eps; verify.adapt.function",
        ),
    ],
)
def test_what_gives_no_tensor_of_the_right_rank_is_refused_with_advice(fn, says):
    """One line: what was given and returned, what was expected, what to do."""
    with pytest.raises(Unusable, match=says) as caught:
        check(fn, NORM, max_examples=5)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("fn", "says"),
    [
        (lambda x, W: (1.0, 2.0), r"tuple\(torch.as_tensor\(x\) for x in f\(\*inputs\)\)"),
        (lambda x, W: {"p": 1, "logits": 2}, r"\(found\['p'\], found\['logits'\]\) of found = f\(\*inputs\)"),
        (lambda x, W: (x, x, x), "pick 2 outputs"),
    ],
)
def test_what_gives_other_than_several_tensors_is_told_how_to_give_them(fn, says):
    """Numbers, a mapping, and more than were asked for."""
    with pytest.raises(Unusable, match=says):
        check(fn, "transformer.output", max_examples=5)


def met(fn, formula_id, kinds=("float64", "float32")):
    """A caller after the first calls, and what they showed."""
    caller = Caller(fn, find(formula_id))
    return caller, first_calls(caller, kinds, typed=True)


def even_only(n, d):
    """A table of even width only."""
    if d % 2:
        raise ValueError("d must be even")
    return impl.positional.sinusoidal(n, d)


def one_width(q, k, v, mask=None):
    """Attention whose values are as wide as its keys."""
    assert v.shape[-1] == k.shape[-1]
    return impl.attention.scaled_dot_product(q, k, v, mask)


def whole_heads(x, y, W_q, W_k, W_v, W_o, mask=None):
    """Heads that split the width of the model evenly, as most modules have them."""
    assert W_q.shape[1] == W_q.shape[0] * W_q.shape[2] == W_v.shape[0] * W_v.shape[2]
    return impl.attention.multi_head(x, y, W_q, W_k, W_v, W_o, mask)


@pytest.mark.parametrize(
    ("fn", "formula_id", "options"),
    [
        (even_only, "positional.sinusoidal", ["d=even"]),
        (one_width, ATTENTION, ["d_k=d_v", "d_v=d_k"]),
        (lambda q, k: (q + 0 * k) @ k.mT, "scores.dot", ["n=m", "m=n"]),
    ],
)
def test_the_sizes_it_takes_are_found_and_can_be_pasted(fn, formula_id, options):
    """A rule that explains which calls raise, no stronger than needed."""
    caller, found = met(fn, formula_id)
    (said,) = found.sentences
    assert any(said.endswith(f"--sizes {option}") for option in options), said
    assert str(caller.sizes)


def blocks_of_8(q, k, v, mask=None):
    """Attention as a kernel for whole blocks has it."""
    if q.shape[-2] % 8 or k.shape[-2] % 8 or q.shape[-1] % 8:
        raise ValueError("sizes are multiples of 8")
    return impl.attention.scaled_dot_product(q, k, v, mask)


def usual_heads(q, k, v, mask=None):
    """Attention for heads of usual widths only."""
    assert q.shape[-1] in (32, 64, 128)
    return impl.attention.scaled_dot_product(q, k, v, mask)


@pytest.mark.parametrize(
    ("fn", "rules"),
    [
        (blocks_of_8, {"n = 8 * any", "m = 8 * any", "d_k = 8 * any"}),
        (usual_heads, {"d_k = 32 or 64 or 128"}),
    ],
)
def test_whole_blocks_and_usual_widths_are_found(fn, rules):
    """A size may have to be a multiple of a number, or one of the widths that heads have."""
    caller, _ = met(fn, ATTENTION)
    assert set(str(caller.sizes).split(", ")) == rules


def from_eight_on(q, k):
    """Raises below a size, and at no other."""
    if q.shape[-1] < 8:
        raise ValueError("too narrow")
    return q @ k.mT


def test_a_size_that_has_to_reach_a_number_is_found():
    """No multiple is named where every number from one on will do."""
    caller, _ = met(from_eight_on, "scores.dot")
    assert str(caller.sizes) == "d_k = 8.."


def unlucky_and_off(q, k):
    """Raises at one size, and is wrong at every other odd one."""
    if q.shape[-1] == 3:
        raise ValueError("unlucky")
    return q @ k.mT * (1.01 if q.shape[-1] % 2 else 1.0)


def test_no_rule_is_believed_beyond_which_calls_succeed():
    """Else what is wrong at odd sizes would be judged at even ones alone, for it raises at 3."""
    caller, found = met(unlucky_and_off, "scores.dot")
    assert not str(caller.sizes)
    assert not found.sentences
    assert check(unlucky_and_off, "scores.dot", max_examples=20).verdict == "falsified"


def test_several_rules_are_found_together():
    """d_model = h·d_k and d_v = d_k, in an order in which each speaks of sizes that are settled."""
    caller, found = met(whole_heads, "attention.multi_head")
    (said,) = found.sentences
    assert "*" in said
    assert "d_v" in said
    sizes = dict(zip(caller.sizes.rules[0].names, (5, 7), strict=False))
    assert sizes
    report = check(whole_heads, "attention.multi_head", max_examples=10)
    assert report.verdict == "conforms", str(report)
    assert report.sizes


def test_what_follows_no_rule_is_left_to_be_falsified():
    """A callable that raises at one size of many is wrong."""

    def unlucky(q, k):
        if q.shape[-1] == 7:
            raise ValueError("unlucky")
        return impl.scores.dot(q, k)

    report = check(unlucky, "scores.dot", max_examples=40)
    assert report.verdict == "falsified"
    assert "unlucky" in report.falsified[0].message


@pytest.mark.parametrize(
    ("ranks", "allowed", "words"),
    [
        ((3,), (1,), "exactly one leading dimension"),
        ((4,), (2,), "exactly two"),
        ((2,), (0,), "no leading dimension"),
        ((2, 3), (0, 1), "at most one"),
        ((3, 4), (1, 2), "at least one"),
    ],
)
def test_the_leading_dimensions_it_takes_are_found(ranks, allowed, words):
    """It is called with as many as it takes, whatever the example has, and judged."""

    def fn(q, k, v, mask=None):
        if q.ndim not in ranks:
            raise ValueError(f"{q.ndim} dimensions")
        return impl.attention.scaled_dot_product(q, k, v, mask)

    caller, found = met(fn, ATTENTION)
    assert caller.leading == allowed
    assert words in found.sentences[0]
    report = check(fn, ATTENTION, max_examples=10)
    assert report.verdict == "conforms", str(report)
    assert any(c.name.endswith("two leading dimensions") and c.verdict == "conforms" for c in report.checks)


def test_a_mistake_behind_a_leading_dimension_is_found():
    """What is added and taken off hides nothing."""

    def fn(q, k, v, mask=None):
        _b, _n, d = q.shape
        return impl.attention.scaled_dot_product(q * math.sqrt(d), k, v, mask)

    assert check(fn, ATTENTION, max_examples=10).verdict == "falsified"


def test_leading_dimensions_are_added_and_removed():
    """Values and gradients are those of the plain call; sums of small integers are exact in any order."""
    formula = find("scores.dot")
    q, k = (torch.arange(2.0 * 3 * rows * 7).reshape(2, 3, rows, 7) % 11 - 5 for rows in (5, 4))
    q.requires_grad_()
    for allowed in ((0,), (1,), (0, 1)):
        out = accept_any_lead(lambda q, k: q @ k.mT, formula, allowed)(q, k)
        assert torch.equal(out, q @ k.mT)
        (gradient,) = torch.autograd.grad(out.sum(), q)
        assert torch.equal(gradient, k.sum(-2, keepdim=True).expand_as(q))
    assert accept_any_lead(lambda q, k: q @ k.mT, formula, (2,))(q[0, 0], k[0, 0]).shape == (5, 4)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, g, b, e: norm(x, g, b, e) if x.dtype == torch.float32 else 1 / 0,
        lambda x, g, b, e: norm(x.float(), g.float(), b.float(), e),
        lambda x, g, b, e: norm(x, g, b, e) if x.dtype == torch.float32 else (x, x),
    ],
)
def test_a_type_in_which_no_call_succeeds_is_unsupported(fn):
    """It is judged in the other; where the arithmetic is judged, it is falsified."""
    report = check(fn, NORM, max_examples=10)
    assert report.verdict == "conforms", str(report)
    assert {each.name: each.option for each in report.properties}["arithmetic"] == "float32"
    assert {c.verdict for c in report.checks if c.dtype == "float64"} == {"inconclusive"}
    strict = {"arithmetic": "given", "shapes": "every"}
    assert check(fn, NORM, max_examples=5, conventions=strict).verdict == "falsified"


def test_a_shape_of_the_right_rank_is_a_verdict():
    """A transposed output is wrong, not unusable."""
    assert check(lambda q, k: k @ q.mT, "scores.dot", max_examples=5).verdict == "falsified"


def of_lengths(s, mask=None):
    """A softmax whose mask says how many keys there are."""
    hidden = torch.arange(s.shape[-1]) >= (s.shape[-1] if mask is None else mask[:, None, None])
    return torch.softmax(s.masked_fill(hidden, -math.inf), -1)


def test_what_raises_wherever_a_mask_is_passed_is_told_to_say_how():
    """What it takes for a mask is not the statement's: no verdict on calls without one says more than they show."""
    with pytest.raises(
        Unusable, match="wherever a mask is passed, and nowhere else; say how a mask is passed"
    ):
        check(of_lengths, "attention.softmax", max_examples=5)


def gist(logits, temperature, top_k, top_p):
    """A token for one row, drawn from the global generator."""
    assert logits.dim() == 1
    kept = logits / temperature
    kept = kept.masked_fill(kept < kept.topk(min(top_k, len(kept)))[0][-1], -math.inf)
    chances, order = kept.softmax(-1).sort(descending=True)
    chances = chances.masked_fill(chances.cumsum(-1) - chances >= top_p, 0.0)
    return order[torch.multinomial(chances, 1)]


def of_numpy(logits, temperature, top_k, top_p):
    """The same in NumPy, by its own global generator; a number comes back."""
    scaled = np.asarray(logits, np.float64) / temperature
    order = np.argsort(-scaled)[:top_k]
    chances = np.exp(scaled[order] - scaled.max())
    chances /= chances.sum()
    chances = chances * (np.cumsum(chances) - chances < top_p)
    return np.random.choice(order, p=chances / chances.sum())  # noqa: NPY002


@pytest.mark.parametrize("fn", [gist, of_numpy])
def test_a_sampler_of_one_row_is_given_one_after_the_other(fn):
    """It draws from a global generator, which is seeded before each call from that of the example."""
    caller, found = met(fn, "decoding.sample")
    assert caller.left_out == {"generator"}
    assert found.sentences == ["it draws for one position: called with one after the other"]
    assert "the global ones are seeded before each call" in caller.taken.said
    rows, draw = torch.tensor([[0.0, 9.0, 0.0], [9.0, 0.0, 0.0]]).expand(2, 2, 3), torch.Generator
    first, again = (caller(rows, 1.0, 3, 0.5, draw().manual_seed(5)) for _ in range(2))
    assert first.tolist() == again.tolist() == [[1, 0], [1, 0]]
    even = torch.zeros(1000, 2)
    one, other = (caller(even, 1.0, 2, 1.0, draw().manual_seed(seed)) for seed in (5, 6))
    assert not torch.equal(one, other)
    assert 400 < one.sum() < 600


def smoothed(s, y, epsilon):
    """A loss that wants some smoothing."""
    assert 0 < epsilon < 1, "some, and not all"
    return F.cross_entropy(s, y, label_smoothing=epsilon, reduction="none").sum() / (y != -100).sum().clamp(
        min=1
    )


def test_where_a_number_is_refused_is_found_and_can_be_pasted():
    """It is judged between the values at which calls return; refused in their midst, it follows no rule."""
    caller, found = met(smoothed, "objectives.cross_entropy")
    assert str(caller.sizes.within) == "1e-09 ≤ epsilon ≤ 0.75"
    assert "--range epsilon=1e-09..0.75" in found.sentences[-1]
    report = check(smoothed, "objectives.cross_entropy", max_examples=15)
    assert report.headline == "conforms within 1e-09 ≤ epsilon ≤ 0.75"

    def choosy(s, y, epsilon):
        assert epsilon != 0.35
        return smoothed(s, y, epsilon or 0.5)

    assert met(choosy, "objectives.cross_entropy")[0].sizes.within is None
