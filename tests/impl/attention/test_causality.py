"""impl.attention: the causal mask and causal attention."""

import pytest
import torch

from impl.attention import causal, causal_mask
from tests.impl.attention.inputs import BACKENDS, BAD, LEADS, UNEVEN, qkv


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
