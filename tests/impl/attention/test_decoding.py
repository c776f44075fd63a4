"""impl.attention.causal_multi_head: several heads, biases, no future."""

import pytest
import torch

from impl.attention import MultiHeadAttention, causal_mask, causal_multi_head, layouts

n, d_model, d_k, d_v, h = 5, 7, 3, 2, 11
FORMULA = "attention.causal_multi_head"
BACKENDS = pytest.mark.parametrize("backend", ["auto", "math"])


@pytest.fixture
def given(normal):
    """A sequence, or a batch of them, and weights with their biases."""

    def draw(*lead, **options):
        keys, values = [(h, d_model, d_k), (h, d_k)], [(h, d_model, d_v), (h, d_v)]
        shapes = [(*lead, n, d_model), *keys, *keys, *values, (h * d_v, d_model), (d_model,)]
        return [normal(*shape, **options) for shape in shapes]

    return draw


@BACKENDS
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_it_is_its_statement(backend, dtype, given, normal, stated, within):
    """Values and gradients are within the statement's bounds."""
    inputs = given(dtype=dtype, grad=True)
    z = causal_multi_head(*inputs, backend=backend)
    g = normal(*z.shape, dtype=dtype)
    assert within([z, *torch.autograd.grad(z, inputs, g)], stated(FORMULA, inputs, g))


@BACKENDS
def test_each_member_of_a_batch_gets_what_it_gets_alone(backend, given, stated, within):
    """Leading dimensions are batches."""
    x, *weights = given(2, 3)
    z = causal_multi_head(x, *weights, backend=backend)
    assert z.shape == x.shape
    assert within([z[1, 2]], stated(FORMULA, [x[1, 2], *weights]))


@BACKENDS
def test_no_gradient_reaches_a_later_token(backend, given):
    """The gradient of row i is exactly 0 at every row of x after it."""
    x, *weights = given(grad=True)
    z = causal_multi_head(x, *weights, backend=backend)
    for i in range(n):
        (g,) = torch.autograd.grad(z[i].square().sum(), x, retain_graph=True)
        assert not g[i + 1 :].any()
        assert g[: i + 1].any(-1).all()


def test_the_module_computes_it_under_the_causal_mask(given):
    """``MultiHeadAttention`` with the same weights, packed, and ``causal_mask``."""
    x, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o = given()
    module = MultiHeadAttention(d_model, h, d_k=d_k, d_v=d_v).to(x.dtype)
    biases = {"qkv.bias": torch.cat([b.flatten() for b in (b_q, b_k, b_v)]), "out.bias": b_o}
    module.load_state_dict(layouts.from_per_head(W_q, W_k, W_v, W_o) | biases)
    z = causal_multi_head(x, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o)
    torch.testing.assert_close(module(x, mask=causal_mask(n, n)), z)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("place", "name"), [(1, "W_q"), (2, "b_q"), (6, "b_v"), (7, "W_o"), (8, "b_o")])
def test_weights_that_do_not_fit_are_refused(place, name, given):
    """One line with the formula, what it expected and what it got."""
    inputs = given()
    inputs[place] = inputs[place].unsqueeze(0)
    with pytest.raises(ValueError, match=rf"^{FORMULA}: expected {name} .*; got {name} \(1, "):
        causal_multi_head(*inputs)


@pytest.mark.usefixtures("unchecked")
def test_sequences_and_types_that_do_not_fit_are_refused(given):
    """A width that is not the weights'; types that differ; a backend that is none."""
    x, *weights = given()
    with pytest.raises(
        ValueError,
        match=rf"^{FORMULA}: expected x \(... n d_model\) with d_model = 7 from .*; got x \(5, 6\)$",
    ):
        causal_multi_head(x[:, 1:], *weights)
    with pytest.raises(TypeError, match=rf"^{FORMULA}: expected one floating dtype"):
        causal_multi_head(x.half(), *weights)
    with pytest.raises(ValueError, match=rf"^{FORMULA}: backend is 'auto' or 'math'; got 'flash'$"):
        causal_multi_head(x, *weights, backend="flash")
