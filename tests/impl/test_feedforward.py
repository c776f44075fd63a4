import pytest
import torch

from impl.feedforward import gated, gelu, relu

SHAPES = ((3, 5), (5,), (5, 3), (3,))  # d = 3, f = 5


@pytest.mark.parametrize("function", [relu, gelu])
@pytest.mark.parametrize("lead", [(), (7,), (2, 7), (2, 0)], ids=str)
def test_shape_and_dtype_are_those_of_x(function, lead, normal):
    """Any leading dimensions, any floating dtype."""
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        y = function(normal(*lead, 3, dtype=dtype), *(normal(*shape, dtype=dtype) for shape in SHAPES))
        assert y.shape == (*lead, 3)
        assert y.dtype == dtype


@pytest.mark.parametrize("name", ["relu", "gelu"])
def test_values_and_gradients_are_those_stated(name, normal, stated, within):
    """Each within the statement's bound, in float64."""
    inputs = [normal(*shape, dtype=torch.float64, grad=True) for shape in ((3,), *SHAPES)]
    g = normal(3, dtype=torch.float64)
    y = {"relu": relu, "gelu": gelu}[name](*inputs)
    got = [y.detach(), *torch.autograd.grad(y, inputs, g)]
    assert within(got, stated(f"feedforward.{name}", inputs, g))


def test_the_form_with_tanh_is_another_one(normal, stated, within):
    """It is within the bound of its own convention, and of no other."""
    inputs = [normal(*shape, dtype=torch.float64) for shape in ((3,), *SHAPES)]
    y = [gelu(*inputs, approximation="tanh")]
    assert within(y, stated("feedforward.gelu", inputs, None, {"approximation": "tanh"}))
    assert not within(y, stated("feedforward.gelu", inputs))


def test_what_does_not_fit_is_refused_in_one_line(normal, unchecked):
    """Shapes, dtypes, and an approximation that does not exist."""
    x, *W = normal(3), *(normal(*shape) for shape in SHAPES)
    with pytest.raises(ValueError, match=r"feedforward.relu: expected x \(... d\)"):
        relu(normal(5), *W)
    with pytest.raises(TypeError, match="one floating dtype"):
        gelu(x.double(), *W)
    with pytest.raises(ValueError, match="approximation is 'none' or 'tanh'; got 'erf'"):
        gelu(x, *W, approximation="erf")


GATED = ((3, 5), (3, 5), (5, 3))  # d = 3, f = 5


@pytest.mark.parametrize("activation", ["silu", "gelu", "relu", "sigmoid", "none"])
def test_a_gated_network_is_the_one_stated(activation, normal, stated, within):
    """Values and gradients within the statement's bound, in float64, whatever opens the gates."""
    inputs = [normal(*shape, dtype=torch.float64, grad=True) for shape in ((3,), *GATED)]
    g = normal(3, dtype=torch.float64)
    y = gated(*inputs, activation=activation)
    got = [y.detach(), *torch.autograd.grad(y, inputs, g)]
    assert within(got, stated("feedforward.gated", inputs, g, {"activation": activation}))


def test_a_gated_network_takes_any_leading_dimensions(normal):
    """And any floating dtype."""
    for dtype in (torch.float64, torch.bfloat16):
        y = gated(normal(2, 7, 3, dtype=dtype), *(normal(*shape, dtype=dtype) for shape in GATED))
        assert (y.shape, y.dtype) == ((2, 7, 3), dtype)


def test_a_gated_network_that_does_not_fit_is_refused_in_one_line(normal, unchecked):
    """Shapes, dtypes, and an activation that does not exist."""
    x, *W = normal(3), *(normal(*shape) for shape in GATED)
    with pytest.raises(ValueError, match=r"feedforward.gated: expected x \(... d\)"):
        gated(x, W[2], *W[1:])
    with pytest.raises(TypeError, match="one floating dtype"):
        gated(x.double(), *W)
    with pytest.raises(
        ValueError, match="activation is 'silu', 'gelu', 'relu', 'sigmoid' or 'none'; got 'tanh'"
    ):
        gated(x, *W, activation="tanh")
