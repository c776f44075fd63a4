"""Kernels in Triton: on CUDA where there is a device, elsewhere by Triton's interpreter."""

import sys
from functools import partial
from importlib.util import find_spec

import pytest
import torch

import verify
from impl.attention import additive_weights
from impl.normalization import add_norm, add_rms_norm
from impl.scores import additive

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # NumPy interprets
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is missing: attnspec[gpu]")


@pytest.fixture(autouse=True)
def _interpreter(monkeypatch):
    """A kernel is interpreted for good if it is so when it is imported."""
    if DEVICE == "cpu":
        monkeypatch.setenv("TRITON_INTERPRET", "1")


def norms(n=3, d=67):
    """x, r, γ and β of n rows."""
    return [torch.randn(n, d), torch.randn(n, d), torch.randn(d), torch.randn(d)]


def scores(n=5, m=19, a=37, d_q=3, d_k=7):
    """q, k, W and v: more keys than a tile has, and more hidden units."""
    return [torch.randn(n, d_q), torch.randn(m, d_k), torch.randn(a, d_q + d_k), torch.randn(a)]


def layer(x, r, gamma, beta, backend="auto"):
    """``add_norm`` with the usual ε."""
    return add_norm(x, r, gamma, beta, 1e-5, backend=backend)


def root(x, r, gamma, beta, backend="auto", gain="one_plus"):
    """``add_rms_norm`` with the usual ε; β is added to the sum, so that it has a gradient."""
    y, s = add_rms_norm(x, r, gamma, 1e-5, gain=gain, backend=backend)
    return y, s + beta


@needs_triton
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("function", "inputs"),
    [(layer, norms), (root, norms), (additive_weights, scores)],
    ids=["layer", "root", "additive"],
)
def test_the_gate_finds_that_a_kernel_conforms_to_torchs_operations(function, inputs, dtype):
    """Regimes, shapes, layouts, gradients, and calls after calls."""
    found = verify.compare(
        function, partial(function, backend="triton"), inputs=inputs, dtype=dtype, calls=2, device=DEVICE
    )
    assert found.verdict == "conforms", found.headline


@needs_triton
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64], ids=str)
def test_a_norm_is_within_the_bound_of_its_statement(dtype, normal):
    """Of a sum that broadcasts, too. In float64 the kernel counts in float64."""
    x, r, gamma, beta = (normal(*s, dtype=dtype).to(DEVICE) for s in ((2, 3, 7), (3, 7), (7,), (7,)))
    verify.assert_conforms(
        layer(x, r, gamma, beta, "triton"), "normalization.add_norm", x, r, gamma, beta, 1e-5
    )
    for gain in ("gamma", "one_plus"):
        found = add_rms_norm(x, r, gamma, 1e-5, gain=gain, backend="triton")
        conventions = {"gain": gain}
        verify.assert_conforms(
            found, "normalization.add_rms_norm", x, r, gamma, 1e-5, conventions=conventions
        )


@needs_triton
def test_additive_scores_and_weights_are_within_the_bounds_of_their_statements(normal):
    """Batches broadcast, near 0 and far from it; NaN in a hidden key reaches neither weights nor gradient."""
    for scale in (1e-4, 1.0, 30.0):
        q, k, W, v = (x.to(DEVICE) for x in scores())
        q, k = (scale * normal(*lead, *x.shape).to(DEVICE) for lead, x in (((2, 1), q), ((3,), k)))
        verify.assert_conforms(additive(q, k, W, v, backend="triton"), "scores.additive", q, k, W, v)
        k[:, 11] = torch.nan
        mask = (torch.arange(19) != 11).expand(5, 19).to(DEVICE)
        W.requires_grad_()
        weights = additive_weights(q, k, W, v, mask, backend="triton")
        verify.assert_conforms(weights.detach(), "attention.additive_weights", q, k, W.detach(), v, mask)
        assert torch.autograd.grad(weights.square().sum(), W)[0].isfinite().all()


@needs_triton
def test_a_second_derivative_of_the_norm_is_right(normal):
    """The backward pass consists of torch's operations, which have derivatives themselves; rows broadcast."""
    given = [normal(*shape, dtype=torch.float64, grad=True) for shape in ((2, 1, 3), (2, 3), (3,), (3,))]
    given = [x.detach().to(DEVICE).requires_grad_() for x in given]
    assert torch.autograd.gradcheck(partial(layer, backend="triton"), given)
    assert torch.autograd.gradgradcheck(partial(layer, backend="triton"), given)


@needs_triton
@pytest.mark.usefixtures("unchecked")
def test_what_a_kernel_cannot_take_is_refused(normal, monkeypatch):
    """Rows without end, float64 scores, a device without Triton: one line each."""
    x = normal(1, 2**14 + 1).to(DEVICE)
    with pytest.raises(
        ValueError, match=r"^normalization.add_norm: expected d <= 16384 with backend='triton'"
    ):
        layer(x, x, x[0], x[0], backend="triton")
    with pytest.raises(ValueError, match=r"expected x \(\.\.\. d\), gamma \(d\), beta \(d\); got x \(1, 3\)"):
        layer(x[:, :3], x[:, :3], x[0, :2], x[0, :3], backend="triton")
    with pytest.raises(TypeError, match=r"^scores.additive: expected at most float32 with backend='triton'"):
        additive(*(part.double().to(DEVICE) for part in scores()), backend="triton")
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    x = x[:, :3].cpu()
    with pytest.raises(NotImplementedError, match=r"^normalization.add_norm: .* got tensors on cpu: use"):
        layer(x, x, x[0], x[0], backend="triton")


def test_without_triton_that_is_said(normal, monkeypatch):
    """With what to install. Nothing else needs it."""
    monkeypatch.setitem(sys.modules, "triton", None)
    x = normal(2, 3)
    with pytest.raises(ImportError, match=r"^normalization.add_norm: .* pip install 'attnspec\[gpu\]'$"):
        layer(x, x, x[0], x[0], backend="triton")
    assert layer(x, x, x[0], x[0]).shape == (2, 3)
