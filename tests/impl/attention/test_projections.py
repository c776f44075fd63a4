import math
from functools import partial

import pytest
import torch

from impl import attention
from tests.impl.attention.inputs import BACKENDS, BAD, HIDDEN_KEY, HIDDEN_QUERY, holed

n, m, d_model, d_k, d_v, h = 5, 11, 7, 3, 2, 13

NAMES = pytest.mark.parametrize("name", ["self", "cross", "multi_head"])
DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32])


@pytest.fixture
def case(normal):
    """A function's random inputs, and a mask; sequences may bring batches."""

    def draw(name, *leads, **options):
        heads = (h,) if name == "multi_head" else ()
        rows = (n,) if name == "self" else (n, m)
        shapes = [(*lead, size, d_model) for lead, size in zip(leads or ((), ()), rows, strict=False)]
        shapes += [(*heads, d_model, d_k), (*heads, d_model, d_k), (*heads, d_model, d_v)]
        shapes += [(h * d_v, d_model)] if heads else []
        mask = holed(n, n) if name == "self" else holed(n, m)
        if name == "self":
            mask[:, HIDDEN_QUERY] = False  # nobody reads this token, as query or as key
        return [normal(*shape, **options) for shape in shapes], mask

    return draw


@NAMES
@BACKENDS
@DTYPES
def test_each_is_its_statement(name, backend, dtype, case, normal, stated, within):
    """Values and gradients are within the statement's bounds, with and without a mask."""
    given, mask = case(name, dtype=dtype, grad=True)
    for each in (None, mask):
        z = getattr(attention, name)(*given, each, backend=backend)
        g = normal(*z.shape, dtype=dtype)
        got = [z, *torch.autograd.grad(z, given, g)]
        assert within(got, stated(f"attention.{name}", [*given, each], g))


@NAMES
@BACKENDS
def test_leading_dimensions_broadcast(name, backend, case, stated, within):
    """Each member of a batch gets what it gets alone; x and y may each bring a batch of their own, and share a mask."""
    (x, *others), mask = case(name, (2, 1), (3,))
    attend = getattr(attention, name)
    lead = (2, 1) if name == "self" else (2, 3)
    z = attend(x, *others, mask, backend=backend)
    assert z.shape[:-1] == (*lead, n)
    y, weights = (others[0], others[1:]) if name != "self" else (None, others)
    for i in range(2):
        for j in range(lead[1]):
            alone = [x[i, 0], *([] if y is None else [y[j]]), *weights, mask]
            assert within([z[i, j]], stated(f"attention.{name}", alone))


@NAMES
@BACKENDS
def test_a_query_without_keys_gets_zero_and_passes_no_gradient(name, backend, case):
    """Its row is 0, and so is the gradient of the token that is nobody's key."""
    (x, *others), mask = case(name, grad=True)
    z = getattr(attention, name)(x, *others, mask, backend=backend)
    z.square().sum().backward()
    assert not z[HIDDEN_QUERY].any()
    assert not x.grad[HIDDEN_QUERY].any()
    assert name == "self" or not others[0].grad[HIDDEN_KEY].any()
    assert all(t.grad.isfinite().all() and t.grad.any() for t in (x, *others))


@NAMES
@BACKENDS
@BAD
@pytest.mark.parametrize("grad", [True, False])
def test_what_stands_in_a_hidden_slot_reaches_nothing(name, backend, bad, grad, case):
    """NaN or Inf there gives the output and the gradients, of the weights too, that 0 there gives."""
    given, mask = case(name)

    def results(fill):
        x, *others = (each.clone() for each in given)
        x[HIDDEN_QUERY] = fill
        if name != "self":
            others[0][HIDDEN_KEY] = fill
        tensors = [each.requires_grad_(grad) for each in (x, *others)]
        z = getattr(attention, name)(*tensors, mask, backend=backend)
        return [z, *(torch.autograd.grad(z.square().sum(), tensors) if grad else ())]

    assert all(torch.equal(got, want) for got, want in zip(results(bad), results(0.0), strict=True))


@BACKENDS
def test_a_finite_entry_that_overflows_in_the_projection_reaches_nothing(backend, case):
    """Its key is Inf: blanked after the projection as well."""
    (x, y, *weights), mask = case("multi_head", grad=True)
    with torch.no_grad():
        y[HIDDEN_KEY] = 1e38
        weights[1].fill_(100.0)
    z = attention.multi_head(x, y, *weights, mask, backend=backend)
    grads = torch.autograd.grad(z.sum(), (x, y, *weights))
    assert z.isfinite().all()
    assert all(each.isfinite().all() for each in grads)


def test_the_weights_returned_are_those_of_every_head(case, stated, within):
    """Head by head they are the softmax of its scores, and z is the statement's with them as without."""
    given, mask = case("multi_head", (2,), (2,))
    z, a = attention.multi_head(*given, mask, return_weights=True)
    assert a.shape == (2, h, n, m)
    x, y, W_q, W_k, _, _ = given
    for i in range(2):
        assert within([z[i]], stated("attention.multi_head", [x[i], y[i], *given[2:], mask]))
        for t in range(h):
            q, k = x[i] @ W_q[t], y[i] @ W_k[t]
            torch.testing.assert_close(a[i, t], attention.softmax(q @ k.mT / math.sqrt(d_k), mask))


@BACKENDS
@pytest.mark.parametrize(("queries", "keys"), [(0, 11), (5, 0), (0, 0)])
def test_no_queries_give_nothing_and_no_keys_give_zero(backend, queries, keys, case):
    """Sizes of zero are sizes like others."""
    (x, y, *weights), _ = case("multi_head")
    z = attention.multi_head(x[:queries], y[:keys], *weights, backend=backend)
    assert torch.equal(z, torch.zeros(queries, d_model))


@NAMES
def test_torch_func_transforms_it(name, case):
    """grad, vmap, jvp and hessian, with a mask, without asking for a backend."""
    given, mask = case(name)
    attend = partial(getattr(attention, name), mask=mask)

    def loss(*given):
        return attend(*given).square().sum()

    func, batch = torch.func, [torch.stack((each, each)) for each in given]
    assert func.grad(loss, argnums=len(given) - 1)(*given).isfinite().all()
    assert func.vmap(attend)(*batch).shape[:2] == (2, n)
    assert func.vmap(func.grad(loss))(*batch).isfinite().all()
    assert func.jvp(attend, tuple(given), tuple(given))[1].isfinite().all()
    assert func.hessian(loss)(*given).isfinite().all()


@NAMES
def test_the_math_path_is_differentiable_to_second_order(name, case):
    """gradcheck in both modes and gradgradcheck (in random directions), the row without a key included."""
    given, mask = case(name, dtype=torch.float64, grad=True)
    attend = partial(getattr(attention, name), mask=mask, backend="math")
    assert torch.autograd.gradcheck(attend, given, check_forward_ad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(attend, given, fast_mode=True)


@NAMES
def test_autocast_is_followed(name, case):
    """It computes in the dtype of autocast, whatever the weights are."""
    given, mask = case(name)
    with torch.autocast("cpu", torch.bfloat16):
        assert getattr(attention, name)(*given, mask).dtype == torch.bfloat16


@pytest.mark.compiled
@NAMES
def test_it_compiles_as_one_graph(name, case, normal, stated, within):
    """With NaN under the mask, and its gradients, which stay the statement's."""
    given, mask = case(name, grad=True)
    with torch.no_grad():
        given[0][HIDDEN_QUERY] = 0.0
        poisoned = [each.clone() for each in given]
        poisoned[0][HIDDEN_QUERY] = math.nan
    z = torch.compile(getattr(attention, name), fullgraph=True, backend="aot_eager")(
        *(p.requires_grad_() for p in poisoned), mask
    )
    g = normal(*z.shape)
    assert within([z, *torch.autograd.grad(z, poisoned, g)], stated(f"attention.{name}", [*given, mask], g))


@pytest.mark.usefixtures("unchecked")
class TestRefusals:
    """Each is one line: the formula, what was expected, what was given."""

    @pytest.mark.parametrize(
        ("name", "change", "line"),
        [
            (
                "self",
                {0: (5, 6)},
                "attention.self: expected x (... n d_model), W_q (d_model d_k), W_k (d_model d_k), W_v",
            ),
            (
                "self",
                {2: (7, 4)},
                "; got x (5, 7), W_q (7, 3), W_k (7, 4)",
            ),
            (
                "cross",
                {1: (11, 6)},
                "attention.cross: expected x (... n d_model), y (... m d_model), W_q (d_model d_k)",
            ),
            (
                "cross",
                {0: (2, 5, 7), 1: (3, 11, 7)},
                "attention.cross: expected leading dimensions that broadcast",
            ),
            ("cross", {2: (13, 7, 3)}, ", W_q (13, 7, 3)"),
            (
                "multi_head",
                {5: (25, 7)},
                ", W_v (h d_model d_v), W_o (h*d_v d_model); got x",
            ),
            ("multi_head", {5: (26, 6)}, "W_o (26, 6)"),
            ("multi_head", {2: (7, 3)}, ", W_q (7, 3)"),
            ("multi_head", {4: (12, 7, 2)}, "W_v (12, 7, 2)"),
            ("multi_head", {0: (7,)}, "got x (7,)"),
        ],
    )
    def test_shapes(self, name, change, line, case, normal):
        """The weights' shapes, then the sequences'."""
        given, _ = case(name)
        for at, shape in change.items():
            given[at] = normal(*shape)
        with pytest.raises(ValueError, match=rf"^attention.{name}: ") as caught:
            getattr(attention, name)(*given)
        assert line in str(caught.value)
        assert "\n" not in str(caught.value)

    @NAMES
    def test_dtypes_and_masks(self, name, case):
        """One floating dtype; a boolean mask that broadcasts."""
        (x, *others), mask = case(name)
        attend = getattr(attention, name)
        with pytest.raises(
            TypeError, match=rf"^attention.{name}: expected one floating dtype; got x float64"
        ):
            attend(x.double(), *others)
        with pytest.raises(
            TypeError, match=rf"^attention.{name}: expected a boolean mask, True = may attend"
        ):
            attend(x, *others, mask.float())
        with pytest.raises(ValueError, match=rf"^attention.{name}: expected a mask that broadcasts to"):
            attend(x, *others, mask[:, :2])
