# Two ways of ours are compared up to torch's defaults for float32; the values themselves are held to the statement's bounds.
import math
from itertools import pairwise

import pytest
import torch

from impl.attention import cached, causal, log_sum_exp, merge, scaled_dot_product
from impl.scores import scaled_dot

b, n, m, d_k, d_v, p = 3, 5, 11, 7, 2, 13
DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32])


class TestLogSumExp:
    """attention.log_sum_exp."""

    @DTYPES
    def test_it_is_the_statement_where_there_is_a_key(self, dtype, normal, stated, within):
        """Values and gradients, with and without a mask."""
        s, seed = normal(n, m, dtype=dtype, grad=True), normal(n, dtype=dtype)
        some = torch.rand(n, m) < 0.6
        some[:, 3] = True
        for mask in (None, some):
            L = log_sum_exp(s, mask)
            said = stated("attention.log_sum_exp", [s, mask], seed)
            assert within([L, *torch.autograd.grad(L, [s], seed)], said)

    def test_without_a_key_it_is_minus_infinity_and_passes_no_gradient(self, normal):
        """NaN in a hidden slot does not show, either."""
        s, mask = normal(n, m), torch.ones(n, m, dtype=torch.bool)
        mask[1], mask[:, 2] = False, False
        s[:, 2] = math.nan
        L = log_sum_exp(s.requires_grad_(), mask)
        assert L.isneginf().tolist() == [False, True, False, False, False]
        L[[0, 2, 3, 4]].sum().backward()
        assert s.grad.isfinite().all()
        assert not s.grad[1].any()
        (again,) = torch.autograd.grad(log_sum_exp(s, mask).exp().sum(), s)
        assert again.isfinite().all()

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_16_bits_are_rounded_once(self, dtype, normal):
        """The sum is float32's."""
        s, mask = normal(n, 257, dtype=dtype), torch.rand(n, 257) < 0.6
        assert torch.equal(log_sum_exp(s, mask), log_sum_exp(s.float(), mask).to(dtype))

    @pytest.mark.usefixtures("unchecked")
    def test_what_does_not_fit_is_refused(self, normal):
        """One line names the formula, what was expected and what was given."""
        with pytest.raises(TypeError, match=r"^attention.log_sum_exp: expected a floating s; got s int64$"):
            log_sum_exp(torch.ones(n, m).long())
        with pytest.raises(
            ValueError, match=r"^attention.log_sum_exp: expected s \(... n m\); got s \(11,\)$"
        ):
            log_sum_exp(normal(m))
        with pytest.raises(ValueError, match=r"^attention.log_sum_exp: expected a mask that broadcasts"):
            log_sum_exp(normal(n, m), torch.ones(n, 13, dtype=torch.bool))


class TestMerge:
    """attention.merge."""

    @DTYPES
    def test_it_is_the_statement_where_there_is_a_block(self, dtype, normal, stated, within):
        """Both results, with and without a mask."""
        given = [normal(b, n, d_v, dtype=dtype), normal(b, n, dtype=dtype)]
        some = torch.rand(b, n) < 0.6
        some[1] = True
        for mask in (None, some):
            assert within(merge(*given, mask), stated("attention.merge", [*given, mask]))

    @pytest.mark.parametrize("lead", [(), (2,), (2, 3)], ids=str)
    def test_blocks_of_unequal_length_joined_are_attention_to_all(self, lead, normal):
        """A block that the mask hides from some queries, or from all, counts as nothing."""
        q, k, v = normal(*lead, n, d_k), normal(*lead, m, d_k), normal(*lead, m, d_v)
        mask = torch.rand(n, m) < 0.5
        mask[:, 4:6], mask[0] = False, False
        ends = (0, 4, 6, m)
        parts = []
        for start, end in pairwise(ends):
            keys, seen = k[..., start:end, :], mask[:, start:end]
            z = scaled_dot_product(q, keys, v[..., start:end, :], seen)
            parts.append((z, log_sum_exp(scaled_dot(q, keys), seen)))
        z, L = (torch.stack(part, dim) for part, dim in zip(zip(*parts, strict=True), (-3, -2), strict=True))
        z_all, L_all = merge(z, L)
        torch.testing.assert_close(z_all, scaled_dot_product(q, k, v, mask))
        torch.testing.assert_close(L_all, log_sum_exp(scaled_dot(q, k), mask))

    def test_a_block_of_minus_infinity_is_not_read(self, normal):
        """NaN in it reaches neither result nor gradient; where all are so, 0 and −∞."""
        z, L = normal(b, n, d_v), normal(b, n)
        z[1, 2], L[1, 2], L[:, 0] = math.nan, -math.inf, -math.inf
        tensors = [x.requires_grad_() for x in (z, L)]
        z_all, L_all = merge(*tensors)
        assert z_all.isfinite().all()
        assert not z_all[0].any()
        assert L_all[0].isneginf()
        grads = torch.autograd.grad(z_all.sum() + L_all[1:].sum(), tensors)
        assert all(x.isfinite().all() for x in grads)
        masked = merge(z, torch.where(L.isneginf(), 5.0, L), ~L.isneginf())
        torch.testing.assert_close(masked, (z_all, L_all))

    def test_contexts_of_16_bits_come_with_log_sum_exps_of_32(self, normal):
        """Each keeps its type; sums are float32's."""
        z, L = normal(b, n, d_v, dtype=torch.bfloat16), normal(b, n)
        z_all, L_all = merge(z, L)
        assert (z_all.dtype, L_all.dtype) == (torch.bfloat16, torch.float32)
        assert torch.equal(z_all, merge(z.float(), L)[0].bfloat16())

    @pytest.mark.usefixtures("unchecked")
    def test_what_does_not_fit_is_refused(self, normal):
        """One line names the formula, what was expected and what was given."""
        z, L = normal(b, n, d_v), normal(b, n)
        with pytest.raises(
            ValueError,
            match=r"^attention.merge: expected z \(... b n d_v\), L \(... b n\), b >= 1; got z \(3, 5, 2\), L \(3, 4\)$",
        ):
            merge(z, L[:, 1:])
        with pytest.raises(ValueError, match=r"b >= 1; got z \(0, 5, 2\)"):
            merge(z[:0], L[:0])
        with pytest.raises(TypeError, match=r"^attention.merge: expected a floating L; got L int64$"):
            merge(z, L.long())
        with pytest.raises(ValueError, match=r"^attention.merge: expected a mask that broadcasts"):
            merge(z, L, torch.ones(b, m, dtype=torch.bool))

    @pytest.mark.compiled
    def test_it_compiles_as_one_graph(self, normal):
        """torch.compile takes the function whole."""
        given = normal(b, n, d_v), normal(b, n), torch.rand(b, n) < 0.6
        torch.testing.assert_close(torch.compile(merge, fullgraph=True)(*given), merge(*given))


class TestCached:
    """attention.cached."""

    @DTYPES
    def test_it_is_the_statement(self, dtype, normal, stated, within):
        """All three results."""
        shapes = (n, d_k), (n, d_k), (n, d_v), (p, d_k), (p, d_v)
        given = [normal(*shape, dtype=dtype) for shape in shapes]
        assert within(cached(*given), stated("attention.cached", given))

    @pytest.mark.parametrize("pieces", [(1,) * m, (4, 1, 6), (m,)], ids=str)
    def test_pieces_of_any_length_are_one_pass(self, pieces, normal):
        """From an empty cache, too; the heads are leading dimensions."""
        q, k, v = normal(2, 3, m, d_k), normal(2, 3, m, d_k), normal(2, 3, m, d_v)
        K, V, found = k[..., :0, :], v[..., :0, :], []
        for x, y, z in zip(*(each.split(pieces, -2) for each in (q, k, v)), strict=True):
            new, K, V = cached(x, y, z, K, V)
            found.append(new)
        torch.testing.assert_close(torch.cat(found, -2), causal(q, k, v))
        assert torch.equal(K, k)
        assert torch.equal(V, v)

    @pytest.mark.usefixtures("unchecked")
    def test_what_does_not_fit_is_refused(self, normal):
        """One line names the formula, what was expected and what was given."""
        q, k, v, K, V = normal(n, d_k), normal(n, d_k), normal(n, d_v), normal(p, d_k), normal(p, d_v)
        with pytest.raises(
            ValueError, match=r"^attention.cached: expected q .* K \(... p d_k\), V \(... p d_v\); got"
        ):
            cached(q[1:], k, v, K, V)
        with pytest.raises(ValueError, match=r"^attention.cached: expected q"):
            cached(q, k, v, K, V[1:])
        with pytest.raises(TypeError, match=r"^attention.cached: expected one floating dtype"):
            cached(q, k, v, K.double(), V.double())

    @pytest.mark.compiled
    def test_it_compiles_as_one_graph(self, normal):
        """torch.compile takes the function whole."""
        given = normal(n, d_k), normal(n, d_k), normal(n, d_v), normal(p, d_k), normal(p, d_v)
        torch.testing.assert_close(torch.compile(cached, fullgraph=True)(*given), cached(*given))
