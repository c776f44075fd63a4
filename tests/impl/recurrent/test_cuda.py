"""What recurrent kernels on CUDA are given and told; the settings and the memory can be looked at without a device."""

import pytest
import torch
from torch.backends.cuda import matmul

from impl.recurrent import _cuda

SHAPE = 7, 2, 3


def setting():
    """How exact recurrent products are."""
    return torch.backends.cudnn.rnn.fp32_precision


@pytest.fixture
def settings():
    """What other products are told is as before afterwards."""
    before = matmul.fp32_precision
    yield
    matmul.fp32_precision = before


@pytest.mark.parametrize(("others", "meanwhile"), [("none", "ieee"), ("ieee", "ieee"), ("tf32", "tf32")])
@pytest.mark.usefixtures("settings")
def test_recurrent_products_are_as_exact_as_others_forwards_and_backwards(others, meanwhile, normal):
    """Of itself torch would round these and not those; nothing is left changed."""
    matmul.fp32_precision = others
    before, seen = setting(), []
    assert before == "tf32"

    class Kernel(torch.autograd.Function):
        """Looks at the setting."""

        @staticmethod
        def forward(_, x):
            seen.append(setting())
            return 2 * x

        @staticmethod
        def backward(_, g):
            seen.append(setting())
            return 2 * g

    x = normal(*SHAPE).requires_grad_()
    with _cuda.as_exact_as_others():
        y = Kernel.apply(x)
    _cuda.likewise_backwards(y)
    assert setting() == before
    y.transpose(0, 1).sum().backward()
    assert seen == [meanwhile, meanwhile]
    assert setting() == before


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_device_the_kernel_is_the_statement(case, within):
    """Values and gradients, of inputs that are contiguous or not, and without a word of warning; in float32 as exact as the
    kernel's tanh and σ, which are good to some 17 bits: products of factors of TF32's 10 bits are further off.
    """
    inputs = case.inputs(dtype=torch.float64)
    stated = case.stated(inputs)
    turned = [x.cuda().mT.contiguous().mT if x.ndim > 1 else x.cuda() for x in inputs]
    for given in ([x.cuda() for x in inputs], turned):
        assert within([x.cpu() for x in case.with_gradients(given)], stated)
    single = case.with_gradients([x.float().cuda() for x in inputs])
    for (value, _), x in zip(stated, single, strict=True):
        assert (x.cpu().double() - value).abs().max() <= 2.0**-13 * value.abs().max()
