import math
from functools import partial

import pytest
import torch

from impl.attention import causal, causal_mask, scaled_dot_product, softmax

DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
BACKENDS = pytest.mark.parametrize("backend", ["auto", "math"])
BAD = pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
LEADS = pytest.mark.parametrize("lead", [(), (3,), (2, 3), (2, 3, 2)], ids=str)
UNEVEN = pytest.mark.parametrize(("n", "m"), [(5, 5), (5, 11), (11, 5), (1, 7), (7, 1)])

HIDDEN_QUERY, HIDDEN_KEY = 3, 4


def qkv(normal, lead=(2, 3), n=5, m=11, d_k=7, d_v=7, **options):
    """Random queries, keys and values."""
    return tuple(normal(*lead, *shape, **options) for shape in ((n, d_k), (m, d_k), (m, d_v)))


def holed(n=5, m=11):
    """A mask with a query that may attend to nothing, a key that nobody may attend to, and some of each elsewhere."""
    mask = (torch.arange(n)[:, None] + torch.arange(m)) % 3 != 0
    mask[HIDDEN_QUERY], mask[:, HIDDEN_KEY] = False, False
    return mask


class TestSoftmax:
    """attention.softmax."""

    @DTYPES
    def test_masked_weights_and_rows_without_a_key_are_exactly_zero(self, dtype, normal):
        """What may not be attended to has weight 0, not nearly 0; elsewhere the weights are positive."""
        mask = holed()
        a = softmax(normal(2, 5, 11, dtype=dtype), mask)
        assert a.dtype == dtype
        assert torch.equal(a > 0, mask.expand(2, 5, 11))
        assert torch.equal(a[..., HIDDEN_QUERY, :], torch.zeros(2, 11, dtype=dtype))

    def test_equal_scores_share_equally(self):
        """Four permitted keys of equal score weigh a quarter each."""
        mask = torch.tensor([[True, True, False, True, True]])
        assert softmax(torch.full((1, 5), 1e4), mask).tolist() == [[0.25, 0.25, 0.0, 0.25, 0.25]]

    def test_without_a_mask_every_key_is_permitted(self, normal):
        """No mask, an all-True mask and one that broadcasts say the same."""
        s = normal(2, 5, 11)
        for mask in (torch.ones(5, 11), torch.ones(1, 11), torch.ones(5, 1), torch.ones(2, 1, 1)):
            assert torch.equal(softmax(s), softmax(s, mask.bool()))

    @BAD
    def test_a_masked_score_reaches_nothing(self, bad, normal):
        """NaN and Inf under the mask change neither the weights nor the gradient, which is 0 there."""
        s, mask = normal(2, 5, 11), holed()
        spoilt = s.masked_fill(~mask, bad).requires_grad_()
        a = softmax(spoilt, mask)
        a.square().sum().backward()
        assert torch.equal(a, softmax(s, mask))
        assert torch.isfinite(spoilt.grad).all()
        assert not spoilt.grad[~mask.expand(2, 5, 11)].any()

    def test_derivatives_of_every_order_and_mode_are_finite(self, normal):
        """Rows without a key included, where a naive mask gives NaN."""
        f = partial(softmax, mask=holed())
        s = normal(5, 11, dtype=torch.float64, grad=True)
        assert torch.autograd.gradcheck(f, s, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(f, s)

    def test_anomaly_detection_finds_no_nan_on_the_way(self, normal):
        """No intermediate gradient of a row without a key is NaN."""
        s = normal(5, 11, grad=True)
        with (
            pytest.warns(UserWarning, match="Anomaly Detection"),
            torch.autograd.detect_anomaly(check_nan=True),
        ):
            softmax(s, holed()).square().sum().backward()


class TestScaledDotProduct:
    """attention.scaled_dot_product."""

    @DTYPES
    @BACKENDS
    @LEADS
    def test_the_result_has_a_value_for_each_query(self, dtype, backend, lead, normal):
        """Any leading dimensions, any floating dtype, with and without a mask, d_v other than d_k."""
        for d_v in (7, 13):
            q, k, v = qkv(normal, lead, d_v=d_v, dtype=dtype)
            for mask in (None, holed()):
                z = scaled_dot_product(q, k, v, mask, backend=backend)
                assert z.shape == (*lead, 5, d_v)
                assert z.dtype == dtype

    @BACKENDS
    def test_leading_dimensions_broadcast(self, backend, normal):
        """One set of keys and values serves all heads, and a mask may bring a batch of its own."""
        attend = partial(scaled_dot_product, backend=backend)
        q, k, v = normal(2, 3, 5, 7), normal(11, 7), normal(2, 1, 11, 7)
        assert attend(q, k, v).shape == (2, 3, 5, 7)
        assert attend(normal(5, 7), k, k, torch.ones(2, 3, 1, 11).bool()).shape == (2, 3, 5, 7)
        assert attend(normal(1, 1, 5, 7), k, k, torch.ones(3, 5, 11).bool()).shape == (1, 3, 5, 7)

    @BACKENDS
    @pytest.mark.parametrize("d_v", [7, 13])
    def test_a_query_without_keys_gets_zero_and_passes_no_gradient(self, backend, d_v, normal):
        """Its row is 0; the gradient of its query, and of a key that nobody may attend to, is exactly 0."""
        q, k, v = qkv(normal, d_v=d_v, grad=True)
        z = scaled_dot_product(q, k, v, holed(), backend=backend)
        z.square().sum().backward()
        assert not z[..., HIDDEN_QUERY, :].any()
        assert not q.grad[..., HIDDEN_QUERY, :].any()
        assert not k.grad[..., HIDDEN_KEY, :].any()
        assert not v.grad[..., HIDDEN_KEY, :].any()
        assert all(torch.isfinite(x.grad).all() for x in (q, k, v))
        assert all(x.grad.any() for x in (q, k, v))

    @BAD
    @BACKENDS
    @pytest.mark.parametrize("d_v", [7, 13])
    @pytest.mark.parametrize("grad", [True, False])
    @pytest.mark.parametrize("whole", [True, False], ids=["whole slot", "one entry"])
    def test_what_stands_in_a_slot_hidden_from_all_reaches_nothing(
        self, bad, backend, d_v, grad, whole, normal
    ):
        """NaN or Inf there gives the output and the gradients that 0 there gives."""

        def results(fill):
            q, k, v = (x.clone() for x in inputs)
            entries = slice(None) if whole else 2
            q[..., HIDDEN_QUERY, entries] = fill
            k[..., HIDDEN_KEY, entries] = fill
            v[..., HIDDEN_KEY, entries] = fill
            tensors = [x.requires_grad_(grad) for x in (q, k, v)]
            z = scaled_dot_product(*tensors, holed(), backend=backend)
            return [z, *(torch.autograd.grad(z.square().sum(), tensors) if grad else ())]

        inputs = qkv(normal, d_v=d_v)
        assert all(torch.equal(got, want) for got, want in zip(results(bad), results(0.0), strict=True))

    @BAD
    def test_padding_of_one_sequence_does_not_reach_another(self, bad, normal):
        """With a mask for each sequence, what is hidden in one is blank there and stays in the other."""
        q, k, v = qkv(normal, grad=True)
        mask = torch.ones(2, 1, 1, 11, dtype=torch.bool)
        mask[0, ..., 7:] = False
        with torch.no_grad():
            v[0, :, 7:] = bad
        z = scaled_dot_product(q, k, v, mask)
        z.sum().backward()
        assert torch.isfinite(z).all()
        assert all(torch.isfinite(x.grad).all() for x in (q, k, v))

    def test_nan_that_may_be_attended_to_is_not_hidden(self, normal):
        """A NaN in a permitted slot shows in the output."""
        q, k, v = qkv(normal)
        v[..., 2, :] = math.nan
        assert scaled_dot_product(q, k, v).isnan().all()
        assert scaled_dot_product(q, k, v, torch.ones(1, 11).bool()).isnan().all()

    @BACKENDS
    def test_a_query_with_one_key_gets_its_value(self, backend, normal):
        """The only permitted key has weight 1, exactly."""
        q, k, v = qkv(normal, m=5)
        assert torch.equal(scaled_dot_product(q, k, v, torch.eye(5).bool(), backend=backend), v)

    @BACKENDS
    @pytest.mark.parametrize(("n", "m"), [(0, 11), (5, 0), (0, 0)])
    def test_no_queries_give_nothing_and_no_keys_give_zero(self, backend, n, m, normal):
        """Sizes of zero are sizes like others."""
        q, k, v = qkv(normal, n=n, m=m)
        for mask in (None, torch.ones(n, m, dtype=torch.bool)):
            assert torch.equal(scaled_dot_product(q, k, v, mask, backend=backend), torch.zeros(2, 3, n, 7))

    def test_inputs_are_left_as_they_were(self, normal):
        """The slots that are blanked are blanked in a copy."""
        q, k, v = qkv(normal)
        v[..., HIDDEN_KEY, :] = math.nan
        mask = holed()
        before = [x.clone() for x in (q, k, v, mask)]
        scaled_dot_product(q, k, v, mask)
        assert all(
            torch.equal(x.nan_to_num(7.0), y.nan_to_num(7.0)) for x, y in zip((q, k, v), before, strict=False)
        )
        assert torch.equal(mask, before[3])

    def test_inputs_may_be_views(self, normal):
        """Heads seen through a transpose, an expanded mask: each query of one permitted key gets that key's value."""
        q, k, v = (normal(2, rows, 3, 7).transpose(1, 2) for rows in (5, 11, 11))
        mask = (torch.arange(11) == HIDDEN_KEY).expand(5, 11)
        z = scaled_dot_product(q, k, v, mask)
        assert torch.equal(z, v[..., HIDDEN_KEY, None, :].expand(2, 3, 5, 7))


class TestCausal:
    """attention.causal."""

    @UNEVEN
    def test_the_mask_is_the_condition_of_the_statement(self, n, m):
        """Lower right: j ≤ i + (m − n). Upper left: j ≤ i."""
        i, j = torch.arange(n)[:, None], torch.arange(m)
        assert torch.equal(causal_mask(n, m), j <= i + (m - n))
        assert torch.equal(causal_mask(n, m, alignment="upper_left"), j <= i)

    @UNEVEN
    @BACKENDS
    @LEADS
    @pytest.mark.parametrize("alignment", ["lower_right", "upper_left"])
    def test_a_query_depends_on_its_past_alone(self, n, m, backend, lead, alignment, normal):
        """The gradient of row i is exactly 0 at every key beyond the diagonal, and not at one before it."""
        q, k, v = qkv(normal, lead, n=n, m=m, grad=True)
        z = causal(q, k, v, alignment=alignment, backend=backend)
        assert z.shape == (*lead, n, 7)
        seen = causal_mask(n, m, alignment=alignment)
        for i in range(n):
            grad_k, grad_v = torch.autograd.grad(z[..., i, :].square().sum(), (k, v), retain_graph=True)
            assert not grad_k[..., ~seen[i], :].any()
            assert not grad_v[..., ~seen[i], :].any()
            assert (grad_v.reshape(-1, m, 7).abs().sum((0, 2)) > 0).tolist() == seen[i].tolist()

    @BACKENDS
    def test_queries_before_the_first_key_get_zero_and_pass_no_gradient(self, backend, normal):
        """Of eleven queries on five keys, the first six see none of them."""
        q, k, v = qkv(normal, n=11, m=5, grad=True)
        z = causal(q, k, v, backend=backend)
        z.square().sum().backward()
        assert not z[..., :6, :].any()
        assert not q.grad[..., :6, :].any()
        assert z[..., 6:, :].any()

    @BAD
    @BACKENDS
    def test_what_no_query_may_see_reaches_nothing(self, bad, backend, normal):
        """Keys beyond the last query (upper left), queries before the first key (lower right)."""
        q, k, v = qkv(normal, n=5, m=11, grad=True)
        with torch.no_grad():
            k[..., 5:, :], v[..., 5:, :] = bad, bad
        z = causal(q, k, v, alignment="upper_left", backend=backend)
        assert torch.isfinite(z).all()
        assert all(torch.isfinite(g).all() for g in torch.autograd.grad(z.sum(), (q, k, v)))
        q, k, v = qkv(normal, n=11, m=5, grad=True)
        with torch.no_grad():
            q[..., :6, :] = bad
        z = causal(q, k, v, backend=backend)
        assert torch.isfinite(z).all()
        assert all(torch.isfinite(g).all() for g in torch.autograd.grad(z.sum(), (q, k, v)))

    @BACKENDS
    @pytest.mark.parametrize("alignment", ["lower_right", "upper_left"])
    @pytest.mark.parametrize(("n", "m"), [(0, 11), (5, 0), (0, 0)])
    def test_sizes_of_zero(self, backend, alignment, n, m, normal):
        """No queries give nothing, no keys give zero."""
        z = causal(*qkv(normal, n=n, m=m), alignment=alignment, backend=backend)
        assert torch.equal(z, torch.zeros(2, 3, n, 7))


BOTH = pytest.mark.parametrize("attend", [scaled_dot_product, causal])


@pytest.mark.usefixtures("unchecked")
class TestRefusals:
    """Each is one line: the formula, what was expected, what was given."""

    @BOTH
    @BACKENDS
    @pytest.mark.parametrize(
        ("q", "k", "v", "error", "line"),
        [
            ((5, 7), (11, 6), (11, 7), ValueError, "got q (5, 7), k (11, 6), v (11, 7)"),
            (
                (2, 3, 5, 7),
                (2, 3, 11, 7),
                (2, 3, 10, 7),
                ValueError,
                "expected q (... n d_k), k (... m d_k), v (... m d_v)",
            ),
            ((7,), (11, 7), (11, 7), ValueError, "got q (7,)"),
            ((2, 5, 7), (3, 11, 7), (3, 11, 7), ValueError, "expected leading dimensions that broadcast"),
        ],
    )
    def test_shapes(self, attend, backend, q, k, v, error, line, normal):
        """torch itself takes a v that is longer than k, and reads past k's end or drops v's."""
        with pytest.raises(error) as caught:
            attend(normal(*q), normal(*k), normal(*v), backend=backend)
        assert str(caught.value).startswith("attention.")
        assert line in str(caught.value)
        assert "\n" not in str(caught.value)

    @BOTH
    def test_dtypes(self, attend, normal):
        """q, k and v share one floating dtype."""
        q, k, v = qkv(normal)
        line = (
            f"^attention.{attend.__name__}: expected one floating dtype; got q float32, k float64, v float32$"
        )
        with pytest.raises(TypeError, match=line):
            attend(q, k.double(), v)
        with pytest.raises(TypeError, match=r"got q int64, k int64, v int64$"):
            attend(q.long(), k.long(), v.long())

    @pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
    def test_a_mask_that_is_not_boolean_is_refused_with_its_polarity(self, dtype, normal):
        """An additive mask read as weights, or a 0/1 mask of the other polarity, would be silently wrong."""
        line = "expected a boolean mask, True = may attend .*; got mask"
        with pytest.raises(TypeError, match=line):
            scaled_dot_product(*qkv(normal), torch.zeros(5, 11, dtype=dtype))
        with pytest.raises(TypeError, match=line):
            softmax(normal(5, 11), torch.zeros(5, 11, dtype=dtype))

    @pytest.mark.parametrize("shape", [(11,), (5, 10), (4, 11), (11, 5)])
    def test_a_mask_that_does_not_broadcast(self, shape, normal):
        """The line gives the shape wanted, with its numbers."""
        mask = torch.ones(shape, dtype=torch.bool)
        with pytest.raises(
            ValueError, match=r"expected a mask that broadcasts to .* = \(\.\.\. 5 11\); got mask"
        ):
            scaled_dot_product(*qkv(normal), mask)
        with pytest.raises(ValueError, match=r"^attention.softmax: expected a mask that broadcasts to"):
            softmax(normal(5, 11), mask)

    def test_unknown_choices(self, normal):
        """A misspelt choice is named, with the choices there are."""
        with pytest.raises(ValueError, match="backend is 'auto' or 'math'; got 'flash'"):
            scaled_dot_product(*qkv(normal), backend="flash")
        with pytest.raises(ValueError, match="alignment is 'lower_right' or 'upper_left'; got 'left'"):
            causal(*qkv(normal), alignment="left")
        with pytest.raises(TypeError, match=r"^attention.softmax: expected a floating s; got s int64$"):
            softmax(normal(5, 11).long())

    def test_forward_mode_on_the_fused_kernel_names_the_math_path(self, normal):
        """Outside torch.func, forward mode has to be asked for by name."""
        q, k, v = qkv(normal)
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(q, q)
            with pytest.raises(
                NotImplementedError, match=r"no forward-mode derivative; pass backend='math'$"
            ):
                scaled_dot_product(dual, k, v)
            z = scaled_dot_product(dual, k, v, backend="math")
            assert torch.autograd.forward_ad.unpack_dual(z).tangent.shape == z.shape


class TestDerivatives:
    """Of the two attentions, in all of torch's ways."""

    CASES = pytest.mark.parametrize(
        "attend",
        [
            scaled_dot_product,
            partial(scaled_dot_product, mask=holed()),
            causal,
            partial(causal, alignment="upper_left"),
        ],
        ids=["plain", "masked", "causal", "upper left"],
    )

    @CASES
    def test_torch_func_works_without_asking(self, attend, normal):
        """grad, vjp, vmap, jvp, jacfwd, hessian and their compositions, on inputs that a fused kernel would take."""

        def loss(q, k, v):
            return attend(q, k, v).square().sum()

        q, k, v = qkv(normal)
        func = torch.func
        assert torch.isfinite(func.grad(loss)(q, k, v)).all()
        assert torch.isfinite(func.vjp(loss, q, k, v)[1](torch.tensor(1.0))[2]).all()
        assert func.vmap(attend)(q, k, v).shape == (2, 3, 5, 7)
        assert func.vmap(func.grad(loss))(q, k, v).shape == q.shape
        assert func.jvp(attend, (q, k, v), (q, k, v))[1].shape == (2, 3, 5, 7)
        small = q[:1, :1], k[:1, :1], v[:1, :1]
        assert func.jacfwd(attend)(*small).shape == (1, 1, 5, 7, 1, 1, 5, 7)
        assert torch.isfinite(func.hessian(loss)(*small)).all()
        assert torch.isfinite(func.grad(lambda q: func.grad(loss)(q, k, v).sum())(q)).all()

    def test_a_batch_of_masks_can_be_mapped_over(self, normal):
        """vmap over the mask alone."""
        mask = torch.stack((holed(), ~holed()))
        z = torch.func.vmap(scaled_dot_product, in_dims=(None, None, None, 0))(*qkv(normal), mask)
        assert z.shape == (2, 2, 3, 5, 7)

    @CASES
    def test_the_math_path_is_differentiable_to_second_order_in_both_modes(self, attend, normal):
        """gradcheck and gradgradcheck, rows without a key included."""
        inputs = qkv(normal, lead=(), n=4, m=5, d_k=2, d_v=3, dtype=torch.float64, grad=True)
        keywords = dict(attend.keywords) if isinstance(attend, partial) else {}
        if "mask" in keywords:
            keywords["mask"] = holed(4, 5)
        f = partial(getattr(attend, "func", attend), backend="math", **keywords)
        assert torch.autograd.gradcheck(f, inputs, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(f, inputs)

    @CASES
    def test_the_fused_path_passes_gradcheck(self, attend, normal):
        """Its first derivatives are those of its values."""
        inputs = qkv(normal, lead=(1, 1), dtype=torch.float64, grad=True)
        assert torch.autograd.gradcheck(attend, inputs)


def test_autocast_is_followed(normal):
    """Under autocast both paths take float32 and mixed inputs, and compute in its dtype."""
    q, k, v = qkv(normal)
    with torch.autocast("cpu", torch.bfloat16):
        for backend in ("auto", "math"):
            assert scaled_dot_product(q, k.bfloat16(), v, holed(), backend=backend).dtype == torch.bfloat16


@pytest.mark.compiled
class TestCompiled:
    """torch.compile takes each function whole, and blanks the hidden slots there too."""

    def test_softmax(self, normal):
        """With a mask."""
        s, mask = normal(5, 11), holed()
        a = torch.compile(softmax, fullgraph=True)(s, mask)
        assert torch.equal(a > 0, mask)

    def test_scaled_dot_product(self, normal):
        """With a mask, NaN under it, and a gradient."""
        q, k, v = qkv(normal, grad=True)
        with torch.no_grad():
            k[..., HIDDEN_KEY, :], v[..., HIDDEN_KEY, :] = math.nan, math.inf
        z = torch.compile(scaled_dot_product, fullgraph=True)(q, k, v, holed())
        z.square().sum().backward()
        assert torch.isfinite(z).all()
        assert all(torch.isfinite(x.grad).all() for x in (q, k, v))

    def test_causal(self, normal):
        """With shapes that change from call to call."""
        compiled = torch.compile(causal, fullgraph=True, dynamic=True)
        for n, m in ((5, 11), (6, 13)):
            assert compiled(*qkv(normal, n=n, m=m)).shape == (2, 3, n, 7)
