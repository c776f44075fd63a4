import pytest
import torch

from impl import activation

NAMES = ("relu", "gelu", "silu", "log_softmax")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lead", [(), (7,), (2, 7), (2, 0)], ids=str)
def test_shape_and_dtype_are_those_of_x(name, lead, normal):
    """Any leading dimensions, any floating dtype."""
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        y = getattr(activation, name)(normal(*lead, 5, dtype=dtype))
        assert (y.shape, y.dtype) == ((*lead, 5), dtype)


@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients_are_those_stated(name, normal, stated, within):
    """Each within the statement's bound, in float64."""
    x, g = normal(11, dtype=torch.float64, grad=True), normal(11, dtype=torch.float64)
    y = getattr(activation, name)(x)
    got = [y.detach(), *torch.autograd.grad(y, [x], g)]
    assert within(got, stated(f"activation.{name}", [x], g))


def test_a_share_that_no_float_holds_has_a_logarithm():
    """e⁻²⁰⁰ is 0 in float32, −200 is not −∞; scores of 1000 do not overflow."""
    assert activation.log_softmax(torch.tensor([0.0, -200.0])).tolist() == [0.0, -200.0]
    assert activation.log_softmax(torch.tensor([1000.0, 0.0])).tolist() == [0.0, -1000.0]


def test_what_is_no_activation_of_numbers_is_refused_in_one_line(unchecked):
    """Integers, a tensor without dimensions, another approximation."""
    with pytest.raises(TypeError, match=r"activation\.silu: expected one floating dtype"):
        activation.silu(torch.arange(3))
    with pytest.raises(ValueError, match=r"activation.log_softmax: expected x \(\.\.\. d\)"):
        activation.log_softmax(torch.tensor(1.0))
    with pytest.raises(ValueError, match="approximation is 'none' or 'tanh'; got 'erf'"):
        activation.gelu(torch.ones(3), approximation="erf")
