# Two ways of ours are compared up to torch's defaults for float32, which leave room for sums in another order; the values
# themselves are held to the statement's bounds.
import math
from functools import partial

import pytest
import torch

from impl.attention import attend, local
from impl.scores import dot
from tests.impl.attention.inputs import HIDDEN_KEY, HIDDEN_QUERY

n, m, d_k, d_v, a = 5, 11, 7, 3, 13

WINDOWS = pytest.mark.parametrize("window", ["cut", "whole"])
LEADS = pytest.mark.parametrize("lead", [(), (2,), (2, 3)], ids=str)


@pytest.fixture
def inputs(normal):
    """Random queries, keys, values and parameters."""

    def draw(*lead, **options):
        shapes = (*lead, n, d_k), (*lead, m, d_k), (*lead, m, d_v), (a, d_k), (a,)
        return [normal(*shape, **options) for shape in shapes]

    return draw


@WINDOWS
@pytest.mark.parametrize("D", [1.0, 2.5, 7])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_it_is_the_statement(window, D, dtype, inputs, mask, normal, stated, within):
    """Values and gradients are within the statement's bounds, with and without a mask."""
    given, g = inputs(dtype=dtype, grad=True), normal(n, d_v, dtype=dtype)
    for each in (None, mask):
        z = local(*given, D, each, window=window)
        said = stated("attention.local", [*given, D, each], g, {"window": window})
        assert within([z, *torch.autograd.grad(z, given, g)], said)


@WINDOWS
@LEADS
def test_batches_are_their_members(window, lead, inputs, mask):
    """Leading dimensions broadcast, also where only the values bring them."""
    q, k, v, W_p, v_p = inputs(*lead)
    z = local(q, k, v, W_p, v_p, 2, mask, window=window)
    assert z.shape == (*lead, n, d_v)
    alone = local(*(x.reshape(-1, *x.shape[-2:])[-1] for x in (q, k, v)), W_p, v_p, 2, mask, window=window)
    torch.testing.assert_close(z.reshape(-1, n, d_v)[-1], alone)
    assert local(q, k, v.expand(17, *v.shape), W_p, v_p, 2, window=window).shape == (17, *z.shape)


@WINDOWS
def test_a_window_without_end_is_global_attention(window, inputs, mask):
    """D = ∞: every key is in reach, and the Gaussian is flat."""
    q, k, v, W_p, v_p = inputs()
    torch.testing.assert_close(
        local(q, k, v, W_p, v_p, math.inf, mask, window=window), attend(dot(q, k), v, mask)
    )


def test_only_keys_in_reach_count(inputs):
    """With W_p = 0 every query looks at the middle, 5.5: with D = 2 at keys 4 to 7 alone, the nearer ones the more."""
    q, k, v, W_p, v_p = inputs()
    W_p.zero_(), k.zero_()
    v = torch.eye(m)
    z = local(q, k, v, W_p, v_p, 2)
    assert torch.equal(z > 0, torch.isin(torch.arange(m), torch.arange(4, 8)).expand(n, m))
    near, far = math.exp(-0.125) / 4, math.exp(-1.125) / 4
    torch.testing.assert_close(z[:, 4:8], torch.tensor([far, near, near, far]).expand(n, 4))
    whole = local(q, k, v, W_p, v_p, 2, window="whole")
    torch.testing.assert_close(whole[:, 4:8] * m, z[:, 4:8] * 4)
    assert (whole > 0).all()


@pytest.mark.parametrize("hide", [False, True])
def test_a_query_with_no_key_in_reach_gets_zero_and_passes_no_gradient(hide, inputs):
    """Between two keys, or with the key in reach hidden by the mask."""
    *given, W_p, v_p = inputs(grad=True)
    W_p.data.zero_()
    middle = torch.isin(torch.arange(m), torch.tensor([5, 6])).unsqueeze(0)
    z = local(*given, W_p, v_p, 0.5 if hide else 0.25, ~middle if hide else None)
    z.sum().backward()
    assert not z.any()
    assert not any(x.grad.any() for x in (*given, W_p, v_p))


@WINDOWS
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_stands_in_a_hidden_slot_reaches_nothing(window, bad, inputs, mask):
    """NaN or Inf there gives the output and the gradients, of the parameters too, that 0 there gives."""

    def results(fill):
        q, k, v, *others = (x.clone() for x in given)
        q[HIDDEN_QUERY], k[HIDDEN_KEY], v[HIDDEN_KEY] = fill, fill, fill
        tensors = [x.requires_grad_() for x in (q, k, v, *others)]
        z = local(*tensors, 3, mask, window=window)
        return [z, *torch.autograd.grad(z.square().sum(), tensors)]

    given = inputs()
    assert all(torch.equal(got, want) for got, want in zip(results(bad), results(0.0), strict=True))


def test_what_is_out_of_every_reach_reaches_nothing(inputs):
    """With W_p = 0 all look at the middle, and NaN at the ends does not show."""
    q, k, v, W_p, v_p = inputs()
    W_p.zero_()
    k[:2], v[-2:] = math.nan, math.nan
    tensors = [x.requires_grad_() for x in (q, k, v, W_p, v_p)]
    z = local(*tensors, 3)
    assert z.isfinite().all()
    assert all(x.isfinite().all() for x in torch.autograd.grad(z.sum(), tensors))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@WINDOWS
def test_16_bits_are_rounded_once(dtype, window, inputs, mask):
    """The result is the float32 result for the same inputs, rounded."""
    given = inputs(2, dtype=dtype)
    want = local(*(x.float() for x in given), 2.5, mask, window=window).to(dtype)
    assert torch.equal(local(*given, 2.5, mask, window=window), want)


@WINDOWS
@pytest.mark.parametrize(("queries", "keys"), [(0, 11), (5, 0), (0, 0)])
def test_no_queries_give_nothing_and_no_keys_give_zero(window, queries, keys, inputs):
    """Sizes of zero are sizes like others."""
    q, k, v, W_p, v_p = inputs()
    z = local(q[:queries], k[:keys], v[:keys], W_p, v_p, 2, window=window)
    assert torch.equal(z, torch.zeros(queries, d_v))


@WINDOWS
def test_torch_func_transforms_it(window, inputs, mask):
    """grad, vmap, jvp and hessian."""
    q, *others = inputs()

    def f(q):
        return local(q, *others, 2, mask, window=window)

    func = torch.func
    assert func.vmap(f)(torch.stack((q, q))).shape == (2, n, d_v)
    assert func.jvp(f, (q,), (q,))[1].shape == (n, d_v)
    assert func.vmap(func.grad(lambda q: f(q).sum()))(torch.stack((q, q))).isfinite().all()
    assert func.hessian(lambda q: f(q).sum())(q).isfinite().all()


@WINDOWS
def test_derivatives_of_every_order_and_mode_are_finite(window, inputs, mask):
    """gradcheck and gradgradcheck, the row without a key included."""
    given = inputs(dtype=torch.float64, grad=True)

    def f(*given):
        return local(*given, 2.5, mask, window=window)

    assert torch.autograd.gradcheck(f, given, check_forward_ad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(f, given, fast_mode=True)


@pytest.mark.compiled
@WINDOWS
def test_it_compiles_as_one_graph(window, inputs, mask):
    """With a mask."""
    given = inputs()
    compiled = torch.compile(partial(local, window=window), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(*given, 2, mask), local(*given, 2, mask, window=window))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "error", "line"),
    [
        ({3: torch.ones(13, 6)}, ValueError, r"expected q \(... n d_k\), W_p \(a d_k\), v_p \(a\); got q"),
        ({4: torch.ones(12)}, ValueError, r"v_p \(12,\)$"),
        (
            {2: torch.ones(10, 3)},
            ValueError,
            r"expected q \(... n d_k\), k \(... m d_k\), v \(... m d_v\); got",
        ),
        (
            {3: torch.ones(13, 7).double()},
            TypeError,
            "expected one floating dtype; got q float32, W_p float64",
        ),
        ({5: 0.0}, ValueError, "expected D > 0; got 0.0$"),
        ({5: math.nan}, ValueError, "expected D > 0; got nan$"),
        ({6: torch.ones(5, 11)}, TypeError, "expected a boolean mask, True = may attend"),
        ({6: torch.ones(4, 11).bool()}, ValueError, "expected a mask that broadcasts to"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(change, error, line, inputs):
    """The line names the formula, what was expected, and what was given."""
    given = [*inputs(), 2.0, None]
    for at, value in change.items():
        given[at] = value
    with pytest.raises(error, match=rf"^attention.local: .*{line}"):
        local(*given)


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_window_is_refused(inputs):
    """With the two there are."""
    with pytest.raises(ValueError, match="window is 'cut' or 'whole'; got 'round'"):
        local(*inputs(), 2, window="round")
