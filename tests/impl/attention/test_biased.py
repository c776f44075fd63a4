"""impl.attention.biased_multi_head: several heads, each projection with a bias."""

import pytest
import torch

from impl.attention import MultiHeadAttention, biased_multi_head, layouts, multi_head

n, m, d_model, d_k, d_v, h = 5, 13, 7, 3, 2, 11
FORMULA = "attention.biased_multi_head"


@pytest.fixture
def given(normal):
    """Two sequences, or batches of them, and weights with their biases."""

    def draw(*lead, **options):
        keys, values = [(h, d_model, d_k), (h, d_k)], [(h, d_model, d_v), (h, d_v)]
        sequences = [(*lead, n, d_model), (*lead, m, d_model)]
        shapes = [*sequences, *keys, *keys, *values, (h * d_v, d_model), (d_model,)]
        return [normal(*shape, **options) for shape in shapes]

    return draw


@pytest.fixture
def mask(normal):
    """Which tokens may be attended to; the third query sees none."""
    seen = normal(n, m) > 0
    seen[2] = False
    return seen


@pytest.mark.parametrize("backend", ["auto", "math"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_it_is_its_statement(backend, dtype, given, mask, normal, stated, within):
    """Values and gradients are within the statement's bounds, under a mask that leaves one query nothing."""
    inputs = given(dtype=dtype, grad=True)
    z = biased_multi_head(*inputs, mask, backend=backend)
    g = normal(*z.shape, dtype=dtype)
    assert within([z, *torch.autograd.grad(z, inputs, g)], stated(FORMULA, [*inputs, mask], g))
    assert torch.equal(z[2], inputs[-1])


def test_each_member_of_a_batch_gets_what_it_gets_alone(given, stated, within):
    """Leading dimensions are batches."""
    x, y, *weights = given(2, 3)
    z = biased_multi_head(x, y, *weights)
    assert z.shape == x.shape
    assert within([z[1, 2]], stated(FORMULA, [x[1, 2], y[1, 2], *weights]))


def test_without_biases_it_is_multi_head(given, mask):
    """All four of them 0."""
    x, y, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o = given(dtype=torch.float64)
    z = biased_multi_head(x, y, W_q, 0 * b_q, W_k, 0 * b_k, W_v, 0 * b_v, W_o, 0 * b_o, mask)
    torch.testing.assert_close(z, multi_head(x, y, W_q, W_k, W_v, W_o, mask))


def test_the_module_computes_it_with_the_same_weights_packed(given, mask):
    """``MultiHeadAttention`` and ``layouts.from_per_head``, with the biases one behind the other."""
    x, y, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o = given(dtype=torch.float64)
    module = MultiHeadAttention(d_model, h, d_k=d_k, d_v=d_v).double()
    biases = {"qkv.bias": torch.cat([b.flatten() for b in (b_q, b_k, b_v)]), "out.bias": b_o}
    module.load_state_dict(layouts.from_per_head(W_q, W_k, W_v, W_o) | biases)
    z = biased_multi_head(x, y, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o, mask)
    torch.testing.assert_close(z, module(x, y, mask))


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused_in_one_line(given):
    """Biases of another shape, sequences of another width, types that differ, masks that are none."""
    x, y, *weights = given()
    wrong = [*weights[:1], weights[1].T, *weights[2:]]
    with pytest.raises(
        ValueError, match=r"^attention.biased_multi_head: expected b_q \(h d_k\) with d_k = .* got b_q"
    ):
        biased_multi_head(x, y, *wrong)
    with pytest.raises(
        ValueError, match=r"expected y \(... m d_model\) with d_model = 7 from .*; got y \(13, 6\)$"
    ):
        biased_multi_head(x, y[:, 1:], *weights)
    with pytest.raises(TypeError, match="expected one floating dtype"):
        biased_multi_head(x, y.half(), *weights)
    with pytest.raises(TypeError, match="expected a boolean mask"):
        biased_multi_head(x, y, *weights, torch.ones(n, m))
