# The band is compared with attention under its mask up to torch's defaults, which leave room for sums in another order.
import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from impl.attention import causal, scaled_dot_product, window

n, m, d_k, d_v = 67, 131, 5, 3
SIDES = pytest.mark.parametrize("sides", ["before", "both"])


def band(n, m, w, sides):
    """The mask of a window, written out."""
    distance = torch.arange(m) - torch.arange(n).unsqueeze(-1) - (m - n)
    return (distance >= -w) & (distance <= (w if sides == "both" else 0))


@pytest.fixture
def inputs(normal):
    """Random queries, keys and values."""

    def draw(*lead, n=n, m=m, **options):
        return [normal(*lead, *shape, **options) for shape in ((n, d_k), (m, d_k), (m, d_v))]

    return draw


@SIDES
@pytest.mark.parametrize("w", [0, 2])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_it_is_the_statement(sides, w, dtype, inputs, normal, stated, within):
    """Values and gradients are within the statement's bounds."""
    given, g = inputs(n=5, m=7, dtype=dtype, grad=True), normal(5, d_v, dtype=dtype)
    z = window(*given, w, sides=sides)
    said = stated("attention.window", [*given, w], g, {"sides": sides})
    assert within([z, *torch.autograd.grad(z, given, g)], said)


@SIDES
@pytest.mark.parametrize("w", [0, 1, 29, 64, 97, 1000])
@pytest.mark.parametrize(("queries", "keys"), [(67, 131), (131, 67), (131, 131), (1, 131), (7, 1)])
@pytest.mark.parametrize("backend", ["auto", "math"])
def test_it_is_attention_under_the_mask_of_the_window(sides, w, queries, keys, backend, inputs, normal):
    """Forward and backward, whatever the window is beside the block of queries."""
    given = inputs(2, n=queries, m=keys, dtype=torch.float64, grad=True)
    g = normal(2, queries, d_v, dtype=torch.float64)
    z = window(*given, w, sides=sides, backend=backend)
    want = scaled_dot_product(*given, band(queries, keys, w, sides))
    torch.testing.assert_close(z, want)
    pairs = zip(torch.autograd.grad(z, given, g), torch.autograd.grad(want, given, g), strict=True)
    for got, gradient in pairs:
        torch.testing.assert_close(got, gradient)


def test_a_window_without_end_is_causal_attention(inputs):
    """A reach of all keys."""
    given = inputs()
    torch.testing.assert_close(window(*given, m), causal(*given))


@SIDES
def test_leading_dimensions_broadcast(sides, inputs, normal):
    """Also where only the values bring them."""
    q, k, v = inputs(2, 3)
    z = window(q, k, v, 11, sides=sides)
    torch.testing.assert_close(z[1, 2], window(q[1, 2], k[1, 2], v[1, 2], 11, sides=sides))
    assert window(q, k, v.expand(17, *v.shape), 11).shape == (17, *z.shape)


@pytest.mark.parametrize(("queries", "keys"), [(0, 11), (5, 0), (0, 0)])
def test_no_queries_give_nothing_and_no_keys_give_zero(queries, keys, inputs):
    """Sizes of zero are sizes like others."""
    assert torch.equal(window(*inputs(n=queries, m=keys), 2), torch.zeros(queries, d_v))


def test_what_no_query_reaches_reaches_nothing(inputs):
    """NaN in keys and values before every window."""
    q, k, v = inputs()
    k[: m - n - 3], v[: m - n - 3] = math.nan, math.nan
    given = [x.requires_grad_() for x in (q, k, v)]
    z = window(*given, 3)
    assert z.isfinite().all()
    assert all(x.isfinite().all() for x in torch.autograd.grad(z.sum(), given))


def test_torch_func_takes_it(inputs):
    """vmap and a second derivative."""
    q, k, v = inputs(2, dtype=torch.float64)
    torch.testing.assert_close(torch.vmap(lambda q, k, v: window(q, k, v, 5))(q, k, v), window(q, k, v, 5))
    hessian = torch.func.hessian(lambda q: window(q, k[0, :3], v[0, :3], 1).square().sum())(q[0, :2])
    assert hessian.isfinite().all()
    assert hessian.any()


@pytest.mark.compiled
def test_the_compiler_takes_it_whole(inputs):
    """One graph, without a break."""
    given = inputs(2)
    compiled = torch.compile(window, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(*given, 5), window(*given, 5))


@SIDES
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
def test_operations_grow_with_the_length_and_not_with_its_square(sides, backward, inputs):
    """Twice the length takes twice the operations, 16 times less than attention to all by 16,384."""

    def operations(length):
        given = inputs(n=length, m=length, grad=backward)
        with FlopCounterMode(display=False) as counter:
            z = window(*given, 128, sides=sides, backend="math")
            if backward:
                z.sum().backward()
        return counter.get_total_flops()

    counted = {length: operations(length) for length in (1024, 2048, 16384)}
    assert counted[1024] > 0
    assert counted[2048] == 2 * counted[1024]
    assert counted[16384] == 16 * counted[1024]


@SIDES
def test_memory_grows_with_the_length_and_not_with_its_square(sides, inputs):
    """What the fused path allocates, forward and backward."""

    def allocated(length):
        given = inputs(n=length, m=length, grad=True)
        with torch.profiler.profile(profile_memory=True) as profile:
            window(*given, 128, sides=sides).sum().backward()
        return sum(max(event.self_cpu_memory_usage, 0) for event in profile.key_averages())

    few, many = allocated(1024), allocated(16384)
    assert few > 0
    assert many < 18 * few
    assert many < 16384**2  # a byte for each pair would be more


def test_what_it_cannot_do_is_refused_in_one_line(inputs):
    """A negative reach, a number that is none, another option, and a kernel that the device does not have."""
    given = inputs()
    with pytest.raises(ValueError, match=r"attention\.window: expected w >= 0; got -1"):
        window(*given, -1)
    with pytest.raises(TypeError, match=r"an integer as w; got 1\.5"):
        window(*given, 1.5)
    with pytest.raises(ValueError, match="sides is 'before' or 'both'"):
        window(*given, 2, sides="after")
    with pytest.raises(NotImplementedError, match="FlexAttention, for CUDA; got tensors on cpu"):
        window(*given, 2, backend="flex")
