# Two ways of ours are compared up to torch's defaults for float32; the values themselves are held to the statement's bounds.
import math

import pytest
import torch

from impl.attention import grouped_query, log_sum_exp, scaled_dot_product, sinks, softcap
from impl.scores import scaled_dot
from tests.impl.attention.inputs import HIDDEN_KEY, HIDDEN_QUERY

g, r, n, m, d_k, d_v = 2, 3, 5, 11, 7, 3


@pytest.fixture
def grouped(normal):
    """Random queries, keys, values and sinks."""

    def draw(*lead, **options):
        shapes = (g * r, n, d_k), (g, m, d_k), (g, m, d_v)
        return [*(normal(*lead, *shape, **options) for shape in shapes), normal(g * r, **options)]

    return draw


@pytest.fixture
def single(normal):
    """Random queries, keys and values of one head."""
    return lambda *lead, **options: [
        normal(*lead, *shape, **options) for shape in ((n, d_k), (m, d_k), (m, d_v))
    ]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_they_are_their_statements(dtype, grouped, single, mask, normal, stated, within):
    """Values and gradients, with and without a mask."""
    with_sinks, capped = grouped(dtype=dtype, grad=True), single(dtype=dtype, grad=True)
    for each in (None, mask):
        for name, function, inputs, given, shape in (
            ("attention.sinks", sinks, with_sinks, with_sinks, (g * r, n, d_v)),
            ("attention.softcap", softcap, capped, [*capped, 1.5], (n, d_v)),
        ):
            seed = normal(*shape, dtype=dtype)
            z = function(*given, each)
            said = stated(name, [*given, each], seed)
            assert within([z, *torch.autograd.grad(z, inputs, seed)], said)


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)], ids=str)
def test_a_sink_is_a_gate_on_what_is_gathered_without_it(lead, grouped, mask):
    """σ(L − b) times grouped-query attention; a query without a key gets 0."""
    q, k, v, sink = grouped(*lead)
    L = log_sum_exp(scaled_dot(q, k.repeat_interleave(r, -3)), mask)
    expected = torch.sigmoid(L - sink[:, None]).unsqueeze(-1) * grouped_query(q, k, v, mask)
    torch.testing.assert_close(sinks(q, k, v, sink, mask), expected)
    assert not sinks(q, k, v, sink, mask)[..., HIDDEN_QUERY, :].any()


def test_without_weight_a_sink_is_nothing_and_a_far_cap_is_none(grouped, single, mask):
    """A sink of −∞, and a cap of 10⁶."""
    q, k, v, sink = grouped()
    torch.testing.assert_close(sinks(q, k, v, sink - math.inf), grouped_query(q, k, v))
    q, k, v = single()
    torch.testing.assert_close(softcap(q, k, v, 1e6, mask), scaled_dot_product(q, k, v, mask))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_stands_in_a_hidden_slot_reaches_nothing(bad, grouped, single, mask):
    """NaN or Inf there gives the output and the gradients that 0 there gives."""

    def results(fill):
        found = []
        for function, (q, k, v, *others) in ((sinks, many), (softcap, [*one, 1.5])):
            q, k, v = (x.clone() for x in (q, k, v))
            q[..., HIDDEN_QUERY, :], k[..., HIDDEN_KEY, :], v[..., HIDDEN_KEY, :] = fill, fill, fill
            tensors = [x.requires_grad_() for x in (q, k, v)]
            z = function(*tensors, *others, mask)
            found += [z, *torch.autograd.grad(z.square().sum(), tensors)]
        return found

    many, one = grouped(), single()
    assert all(torch.equal(got, want) for got, want in zip(results(bad), results(0.0), strict=True))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_16_bits_are_rounded_once(dtype, grouped, single, mask):
    """The results are those of float32, rounded."""
    many, one = grouped(2, dtype=dtype), single(2, dtype=dtype)
    assert torch.equal(sinks(*many, mask), sinks(*(x.float() for x in many), mask).to(dtype))
    assert torch.equal(softcap(*one, 1.5, mask), softcap(*(x.float() for x in one), 1.5, mask).to(dtype))


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused(grouped, single):
    """One line names the formula, what was expected and what was given."""
    q, k, v, sink = grouped()
    with pytest.raises(
        ValueError,
        match=r"^attention.sinks: expected q \(... h n d_k\), sink \(h\); got q \(6, 5, 7\), sink \(5,\)",
    ):
        sinks(q, k, v, sink[1:])
    with pytest.raises(ValueError, match=r"^attention.softcap: expected a finite cap > 0; got 0$"):
        softcap(*single(), 0)
