# Two ways of ours are compared up to torch's defaults for float32; the values themselves are held to the statement's bounds.
import math

import pytest
import torch
import torch.nn.functional as F

from impl.attention import grouped_query, scaled_dot_product
from tests.impl.attention.inputs import HIDDEN_KEY, HIDDEN_QUERY

g, r, n, m, d_k, d_v = 2, 3, 5, 11, 7, 3


@pytest.fixture
def inputs(normal):
    """Random queries, keys and values."""

    def draw(*lead, **options):
        return [normal(*lead, *shape, **options) for shape in ((g * r, n, d_k), (g, m, d_k), (g, m, d_v))]

    return draw


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_it_is_the_statement(dtype, inputs, mask, normal, stated, within):
    """Values and gradients are within the statement's bounds, with and without a mask."""
    given, seed = inputs(dtype=dtype, grad=True), normal(g * r, n, d_v, dtype=dtype)
    for each in (None, mask):
        z = grouped_query(*given, each)
        said = stated("attention.grouped_query", [*given, each], seed)
        assert within([z, *torch.autograd.grad(z, given, seed)], said)


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)], ids=str)
def test_each_head_attends_to_its_group(lead, inputs, mask):
    """Head t reads group ⌊t/r⌋; leading dimensions stand before the heads."""
    q, k, v = inputs(*lead)
    z = grouped_query(q, k, v, mask)
    assert z.shape == (*lead, g * r, n, d_v)
    for t in range(g * r):
        alone = scaled_dot_product(q[..., t, :, :], k[..., t // r, :, :], v[..., t // r, :, :], mask)
        torch.testing.assert_close(z[..., t, :, :], alone)


def test_torchs_own_grouping_is_the_same(inputs):
    """``enable_gqa`` of ``F.scaled_dot_product_attention``."""
    q, k, v = inputs(2)
    torch.testing.assert_close(
        grouped_query(q, k, v), F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    )


def test_a_mask_of_each_member_and_one_for_all_queries(inputs):
    """(b n m), and (b 1 m) as padding has it."""
    q, k, v = inputs(2)
    several = torch.rand(2, n, m) < 0.6
    for each in (several, several[:, :1]):
        z = grouped_query(q, k, v, each)
        for b in range(2):
            torch.testing.assert_close(z[b], grouped_query(q[b], k[b], v[b], each[b]))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_stands_in_a_hidden_slot_reaches_nothing(bad, inputs, mask):
    """NaN or Inf there gives the output and the gradients that 0 there gives."""

    def results(fill):
        q, k, v = (x.clone() for x in given)
        q[:, HIDDEN_QUERY], k[:, HIDDEN_KEY], v[:, HIDDEN_KEY] = fill, fill, fill
        tensors = [x.requires_grad_() for x in (q, k, v)]
        z = grouped_query(*tensors, mask)
        return [z, *torch.autograd.grad(z.square().sum(), tensors)]

    given = inputs()
    assert all(torch.equal(got, want) for got, want in zip(results(bad), results(0.0), strict=True))


@pytest.mark.usefixtures("unchecked")
def test_heads_that_are_no_multiple_of_the_groups_are_refused(inputs):
    """One line names the formula, what was expected and what was given."""
    q, k, v = inputs()
    line = r"^attention.grouped_query: expected q \(... g\*r n d_k\), k \(... g m d_k\), v \(... g m d_v\); got q \(5, 5, 7\)"
    with pytest.raises(ValueError, match=line):
        grouped_query(q[:5], k, v)
    with pytest.raises(ValueError, match=r"^attention.grouped_query: expected q"):
        grouped_query(q, k, v[:1])
    with pytest.raises(ValueError, match=r"^attention.grouped_query: expected a mask that broadcasts"):
        grouped_query(q, k, v, torch.ones(n, 13, dtype=torch.bool))


def test_torch_func_transforms_it(inputs, mask):
    """grad, vmap and jvp."""
    q, k, v = inputs()

    def f(q):
        return grouped_query(q, k, v, mask)

    func = torch.func
    assert func.vmap(f)(torch.stack((q, q))).shape == (2, g * r, n, d_v)
    assert func.jvp(f, (q,), (q,))[1].shape == (g * r, n, d_v)
    assert func.grad(lambda q: f(q).sum())(q).isfinite().all()


@pytest.mark.compiled
def test_it_compiles_as_one_graph(inputs, mask):
    """torch.compile takes the function whole."""
    given = inputs(2)
    torch.testing.assert_close(
        torch.compile(grouped_query, fullgraph=True)(*given, mask), grouped_query(*given, mask)
    )
