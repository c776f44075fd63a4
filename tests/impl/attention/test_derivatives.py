"""Derivatives of the two attentions in all of torch's ways, autocast, and compilation."""

import math
from functools import partial

import pytest
import torch

from impl.attention import causal, scaled_dot_product, softmax
from tests.impl.attention.inputs import (
    HIDDEN_KEY,
    holed,
    qkv,
)

BOTH = pytest.mark.parametrize("attend", [scaled_dot_product, causal])


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
        a = torch.compile(softmax, fullgraph=True, backend="aot_eager")(s, mask)
        assert torch.equal(a > 0, mask)

    def test_scaled_dot_product(self, normal):
        """With a mask, NaN under it, and a gradient."""
        q, k, v = qkv(normal, grad=True)
        with torch.no_grad():
            k[..., HIDDEN_KEY, :], v[..., HIDDEN_KEY, :] = math.nan, math.inf
        z = torch.compile(scaled_dot_product, fullgraph=True, backend="aot_eager")(q, k, v, holed())
        z.square().sum().backward()
        assert torch.isfinite(z).all()
        assert all(torch.isfinite(x.grad).all() for x in (q, k, v))

    def test_causal(self, normal):
        """With shapes that change from call to call."""
        compiled = torch.compile(causal, fullgraph=True, dynamic=True, backend="aot_eager")
        for n, m in ((5, 11), (6, 13)):
            assert compiled(*qkv(normal, n=n, m=m)).shape == (2, 3, n, 7)
