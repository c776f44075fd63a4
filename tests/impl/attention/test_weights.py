"""impl.attention.weights: softmax and scaled dot-product attention; masks, zero rows, what a masked slot must not reach."""

import math
from functools import partial

import pytest
import torch

from impl.attention import additive_weights, scaled_dot_product, softmax
from tests.impl.attention.inputs import (
    BACKENDS,
    BAD,
    DTYPES,
    HIDDEN_KEY,
    HIDDEN_QUERY,
    LEADS,
    holed,
    qkv,
)


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
        """One set of keys and values serves all heads, and a mask all of a batch."""
        attend = partial(scaled_dot_product, backend=backend)
        q, k, v = normal(2, 3, 5, 7), normal(11, 7), normal(2, 1, 11, 7)
        assert attend(q, k, v).shape == (2, 3, 5, 7)
        assert attend(normal(1, 1, 5, 7), k, k, torch.ones(2, 3, 1, 11).bool()).shape == (2, 3, 5, 7)
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


class TestAdditiveWeights:
    """attention.additive_weights."""

    @pytest.mark.parametrize("backend", ["auto", "math"])
    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
    def test_it_is_its_statement(self, backend, dtype, normal, stated, within):
        """Values and gradients are within the statement's bounds, a query without keys and a key without queries among them."""
        shapes = [(5, 7), (11, 3), (13, 10), (13,)]
        given = [normal(*shape, dtype=dtype, grad=True) for shape in shapes]
        a = additive_weights(*given, holed(), backend=backend)
        g = normal(*a.shape, dtype=dtype)
        got = [a, *torch.autograd.grad(a, given, g)]
        assert within(got, stated("attention.additive_weights", [*given, holed()], g))

    @BAD
    def test_what_is_masked_reaches_nothing(self, bad, normal):
        """Neither weights nor gradients."""
        q, k, W, v = (normal(*shape, grad=True) for shape in [(5, 7), (11, 3), (13, 10), (13,)])
        before = additive_weights(q, k, W, v, holed())
        with torch.no_grad():
            q[HIDDEN_QUERY], k[HIDDEN_KEY] = bad, bad
        after = additive_weights(q, k, W, v, holed())
        assert torch.equal(after, before)
        assert all(g.isfinite().all() for g in torch.autograd.grad(after.square().sum(), (q, k, W, v)))
