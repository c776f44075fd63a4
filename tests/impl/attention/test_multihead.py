import math
from functools import partial

import pytest
import torch

from impl.attention import MultiHeadAttention, causal_mask, key_padding_mask, multi_head
from impl.attention.layouts import from_bert, from_per_head, to_bert, to_per_head

n, m, d_model, d_k, d_v, d_y, h = 5, 11, 7, 3, 2, 13, 2

BACKENDS = pytest.mark.parametrize("backend", ["auto", "math"])
BIAS = pytest.mark.parametrize("bias", [True, False])


@pytest.fixture
def made(randomized):
    """A module with random parameters."""

    def make(dtype=torch.float32, **options):
        return randomized(MultiHeadAttention(d_model, h, **{"d_k": d_k, "d_v": d_v, **options}).to(dtype))

    return make


@BACKENDS
@BIAS
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("itself", [True, False], ids=["self", "cross"])
def test_the_module_is_the_statement(backend, bias, dtype, itself, made, normal, stated_module, within):
    """Packed projections and biases give what the statement gives, within its bound."""
    module, x = made(dtype, bias=bias), normal(n, d_model, dtype=dtype)
    y = x if itself else normal(m, d_model, dtype=dtype)
    mask = causal_mask(n, len(y))
    z = module(x, None if itself else y, mask, backend=backend)
    assert within([z], stated_module(module, x, y, mask))


@BACKENDS
def test_it_is_the_function_given_its_weights(backend, made, normal):
    """Without biases, ``to_per_head`` gives the function's weights; and back again the module's."""
    module, x, y = made(bias=False), normal(2, n, d_model), normal(2, m, d_model)
    weights = to_per_head(module.state_dict(), h)
    torch.testing.assert_close(multi_head(x, y, *weights, backend=backend), module(x, y, backend=backend))
    again = from_per_head(*weights)
    assert again.keys() == module.state_dict().keys()
    assert all(torch.equal(again[name], p) for name, p in module.state_dict().items())


def test_keys_and_values_may_have_a_width_of_their_own(made, normal):
    """Then queries have a layer of their own; y is needed."""
    module = made(d_y=d_y)
    z, a = module(normal(2, n, d_model), normal(3, 1, m, d_y), return_weights=True)
    assert z.shape == (3, 2, n, d_model)
    assert a.shape == (3, 2, h, n, m)
    assert {name for name, _ in module.named_children()} == {"q", "kv", "out"}
    with pytest.raises(
        ValueError, match=r"expected x \(... n 7\), y \(... m 13\); got x \(5, 7\), y \(5, 7\)$"
    ):
        module(normal(n, d_model))


@BIAS
def test_packed_parameters_may_be_loaded_where_y_has_a_layer_of_its_own(bias, made, normal):
    """And the other way round they are joined by way of another library's."""
    packed, apart = made(bias=bias), MultiHeadAttention(d_model, h, d_k=d_k, d_v=d_v, d_y=d_model, bias=bias)
    before = {name: x.clone() for name, x in packed.state_dict().items()}
    apart.load_state_dict(before)
    assert before.keys() == packed.state_dict().keys(), "what was loaded from is as it was"
    x, y = normal(n, d_model), normal(m, d_model)
    torch.testing.assert_close(apart(x, y), packed(x, y))
    joined = from_bert(to_bert(apart.state_dict()))
    assert all(torch.equal(joined[name], x) for name, x in packed.state_dict().items())


@BIAS
@BACKENDS
def test_a_query_without_keys_gets_the_output_s_bias_alone(bias, backend, made, normal):
    """0 where there is none; and its gradient is 0."""
    module, x = made(bias=bias), normal(2, n, d_model, grad=True)
    mask = torch.ones(n, n, dtype=torch.bool)
    mask[3], mask[:, 3] = False, False
    z = module(x, mask=mask, backend=backend)
    z.square().sum().backward()
    assert torch.equal(z[:, 3], (module.out.bias if bias else torch.zeros(d_model)).expand(2, d_model))
    assert not x.grad[:, 3].any()
    assert all(p.grad.isfinite().all() for p in module.parameters())


@BACKENDS
@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("grad", [True, False])
def test_padding_reaches_neither_real_tokens_nor_gradients(bad, backend, grad, made, normal):
    """NaN in the padding of one sequence gives the output and the gradients, of the parameters too, that 0 there gives."""
    module, x, y = made(), normal(2, n, d_model), normal(2, m, d_model)
    mask = key_padding_mask(torch.tensor([m, 7]), m)

    def results(fill):
        padded = y.clone()
        padded[1, 7:] = fill
        padded.requires_grad_(grad)
        with torch.set_grad_enabled(grad):
            z = module(x, padded, mask, backend=backend)
        return [z, *(torch.autograd.grad(z.square().sum(), [padded, *module.parameters()]) if grad else ())]

    assert all(torch.equal(got, want) for got, want in zip(results(bad), results(0.0), strict=True))


@BIAS
@pytest.mark.parametrize("width", [None, d_model, d_y], ids=["packed", "apart", "of another width"])
def test_a_call_is_projecting_and_attending(bias, width, made, normal):
    """Bit for bit; queries by themselves, and keys and values, are those of the whole, up to another order of summation."""
    module, x, y = made(bias=bias, d_y=width), normal(2, n, d_model), normal(2, m, width or d_model)
    q, k, v = module.project(x, y)
    assert q.shape == (2, h, n, d_k)
    assert (k.shape, v.shape) == ((2, h, m, d_k), (2, h, m, d_v))
    mask = torch.arange(m) < 7
    assert torch.equal(module.attend(q, k, v, mask[None]), module(x, y, mask[None]))
    torch.testing.assert_close((module.queries(x), *module.keys_and_values(y)), (q, k, v))
    if width != d_y:
        torch.testing.assert_close(module.project(x), (module.queries(x), *module.keys_and_values(x)))


def test_a_generator_decides_the_weights():
    """Whatever torch's own has drawn."""
    module = MultiHeadAttention(d_model, h, d_k=d_k, d_v=d_v)
    drawn = []
    for seed in (1, 1, 2):
        module.reset_parameters(torch.Generator().manual_seed(seed))
        drawn.append(module.qkv.weight.detach().clone())
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


@pytest.mark.parametrize("training", [True, False])
def test_weights_returned_change_nothing_else(training, made, normal):
    """The same z, and the same in training and evaluation."""
    module, x = made().train(training), normal(2, n, d_model)
    z, a = module(x, return_weights=True)
    torch.testing.assert_close(z, module(x))
    torch.testing.assert_close(a.sum(-1), torch.ones(2, h, n))
    assert a.shape == (2, h, n, n)


def test_parameters_are_drawn_within_glorot_s_bound():
    """Of each projection by itself, however they are packed; biases are 0."""
    module = MultiHeadAttention(d_model, h, d_k=29, d_v=2)
    for W in (*module.qkv.weight.split(module.rows), module.out.weight):
        bound = (6 / sum(W.shape)) ** 0.5
        assert (W.abs() <= bound).all()
        assert W.abs().max() > 0.8 * bound
    assert not module.qkv.bias.any()
    assert not module.out.bias.any()


def test_torch_func_transforms_it(made, normal):
    """Per-sample gradients of the parameters: vmap of grad of a functional call."""
    module, x = made(), normal(3, n, d_model)
    parameters = dict(module.named_parameters())

    def loss(parameters, x):
        return torch.func.functional_call(module, parameters, (x,)).square().sum()

    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, x)
    assert all(each[name].shape == (3, *p.shape) for name, p in parameters.items())


def test_autocast_is_followed(made, normal):
    """The module's float32 parameters compute in bfloat16."""
    module = made()
    with torch.autocast("cpu", torch.bfloat16):
        assert module(normal(2, n, d_model)).dtype == torch.bfloat16


@pytest.mark.compiled
def test_it_compiles_as_one_graph(made, normal):
    """With and without weights returned, a mask, NaN under it, and gradients."""
    module, x = made(), normal(2, n, d_model)
    y = normal(2, m, d_model)
    y[:, 7:] = math.nan
    mask = key_padding_mask(torch.tensor([7, 7]), m)
    z = torch.compile(module, fullgraph=True, backend="aot_eager")(x, y, mask)
    torch.testing.assert_close(z, module(x, y, mask))
    z.sum().backward()
    assert all(p.grad.isfinite().all() for p in module.parameters())
    got = torch.compile(partial(module, return_weights=True), fullgraph=True, backend="aot_eager")(x)
    torch.testing.assert_close(got, module(x, return_weights=True))


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused_in_one_line(made, normal):
    """At construction and at call."""
    with pytest.raises(ValueError, match=r"expected heads that divide d_model; got heads 2, d_model 7$"):
        MultiHeadAttention(d_model, h)
    for wrong, sizes in (((d_model, 0), {}), ((d_model, -7), {}), ((d_model, h), {"d_k": 0, "d_v": 3})):
        with pytest.raises(
            ValueError, match=r"^attention.multi_head: expected sizes of at least 1; got d_model 7, heads"
        ):
            MultiHeadAttention(*wrong, **sizes)
    for return_weights in (False, True):
        with pytest.raises(
            ValueError, match=r"^attention.MultiHeadAttention: backend is 'auto' or 'math'; got 'flash'$"
        ):
            made()(normal(n, d_model), return_weights=return_weights, backend="flash")
    with pytest.raises(
        TypeError, match=r"expected one floating dtype; got x float64, y float64, weight float32$"
    ):
        made()(normal(n, d_model).double())
    with pytest.raises(
        ValueError, match=r"expected leading dimensions that broadcast; got x \(2, 5, 7\), y \(3, 11, 7\)$"
    ):
        made()(normal(2, n, d_model), normal(3, m, d_model))
    with pytest.raises(
        ValueError, match=r"^attention.multi_head: expected a mask that broadcasts to \(... n m\)"
    ):
        made()(normal(n, d_model), mask=torch.ones(n, m, dtype=torch.bool))
