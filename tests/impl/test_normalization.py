import math

import numpy as np
import pytest
import torch

from impl.normalization import add_norm, add_rms_norm, layer_norm, residual, rms_norm
from spec.language.evaluation.evaluate import bound
from spec.language.registry import find

EPS = 1e-5


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("lead", [(), (3,), (2, 3), (2, 0)], ids=str)
def test_shape_and_dtype_are_those_of_x(dtype, lead, normal):
    """Any leading dimensions, any floating dtype."""
    y = layer_norm(normal(*lead, 7, dtype=dtype), normal(7, dtype=dtype), normal(7, dtype=dtype), EPS)
    assert y.shape == (*lead, 7)
    assert y.dtype == dtype


def test_a_constant_row_gives_beta():
    """Its variance is 0, and ε keeps the root away from it."""
    beta = torch.arange(7.0)
    y = layer_norm(torch.full((3, 7), 5.0), torch.full((7,), 2.0), beta, EPS)
    assert torch.equal(y, beta.expand(3, 7))


def test_variance_is_biased_and_eps_stands_inside_the_root():
    """x = ∓√3 with ε = 1 has σ² = 3 (the unbiased one is 6), so y = ∓√3/2, within the statement's bound of it and of no other."""
    x = torch.tensor([-math.sqrt(3), math.sqrt(3)], dtype=torch.float64)
    y = layer_norm(x, torch.ones(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64), 1.0)
    inputs = {"x": x.numpy(), "gamma": np.ones(2), "beta": np.zeros(2), "eps": 1.0}
    statement = find("normalization.layer_norm")
    ((expected, room),) = bound(statement, inputs, None, "float64")
    assert (np.abs(expected - x.numpy() / 2) <= room).all()
    assert (np.abs(y.numpy() - expected) <= room).all()
    for other in ({"eps": "outside"}, {"divisor": "unbiased"}):
        ((wrong, wide),) = bound(statement, inputs, other, "float64")
        assert (np.abs(y.numpy() - wrong) > room + wide).all()


def test_16_bit_rows_take_float32_parameters(normal):
    """The usual mixed precision: activations in 16 bits, parameters in 32."""
    assert layer_norm(normal(3, 7).bfloat16(), normal(7), normal(7), EPS).dtype == torch.bfloat16


def test_inputs_may_be_views_and_are_left_as_they_were(normal):
    """Non-contiguous rows give what their copies give."""
    x = normal(7, 3).mT
    before = x.clone(memory_format=torch.contiguous_format)
    gamma, beta = normal(7), normal(1).expand(7)
    assert torch.equal(layer_norm(x, gamma, beta, EPS), layer_norm(before, gamma, beta.clone(), EPS))
    assert torch.equal(x, before)


def test_derivatives_exist_in_both_modes_to_second_order(normal):
    """gradcheck, gradgradcheck, forward mode, vmap."""
    inputs = [normal(*shape, dtype=torch.float64, grad=True) for shape in ((3, 7), (7,), (7,))]
    assert torch.autograd.gradcheck(lambda *args: layer_norm(*args, EPS), inputs, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda *args: layer_norm(*args, EPS), inputs)
    x, gamma, beta = inputs
    assert torch.func.vmap(layer_norm, in_dims=(0, None, None, None))(x, gamma, beta, EPS).shape == (3, 7)


@pytest.mark.usefixtures("unchecked")
def test_eps_may_be_a_number_of_numpy(normal):
    """Of any type."""
    x, eps = normal(3, 5), np.float32(0.5)
    assert torch.equal(layer_norm(x, x[0], x[1], eps), layer_norm(x, x[0], x[1], 0.5))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("eps", [0, 0.0, -1e-5, math.nan])
def test_eps_that_is_not_a_number_above_zero_is_refused(eps, normal):
    """One line gives what was passed."""
    with pytest.raises(ValueError, match=r"^normalization.layer_norm: expected a number eps > 0; got eps "):
        layer_norm(normal(3, 7), normal(7), normal(7), eps)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("x", "gamma", "beta"),
    [((3, 7), (6,), (7,)), ((3, 7), (7,), (6,)), ((3, 7), (3, 7), (3, 7)), ((), (7,), (7,))],
)
def test_shapes_that_do_not_fit_are_refused(x, gamma, beta, normal):
    """torch itself would normalise over two dimensions where γ has two."""
    with pytest.raises(
        ValueError,
        match=r"^normalization.layer_norm: expected x \(\.\.\. d\), gamma \(d\), beta \(d\); got x",
    ):
        layer_norm(normal(*x), normal(*gamma), normal(*beta), EPS)


@pytest.mark.usefixtures("unchecked")
def test_dtypes_that_do_not_fit_are_refused(normal):
    """One line gives the three dtypes."""
    with pytest.raises(
        TypeError, match=r"^normalization.layer_norm: expected one floating dtype; got x int64, gamma float32"
    ):
        layer_norm(normal(3, 7).long(), normal(7), normal(7), EPS)
    with pytest.raises(TypeError, match=r"got x float32, gamma float64, beta float64$"):
        layer_norm(normal(3, 7), normal(7).double(), normal(7).double(), EPS)


@pytest.mark.compiled
def test_layer_norm_compiles_as_one_graph(normal):
    """torch.compile takes the function whole."""
    y = torch.compile(layer_norm, fullgraph=True)(normal(3, 7), normal(7), normal(7), EPS)
    assert y.shape == (3, 7)


class TestRmsNorm:
    """normalization.rms_norm."""

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("lead", [(), (3,), (2, 3), (2, 0)], ids=str)
    def test_shape_and_dtype_are_those_of_x(self, dtype, lead, normal):
        """Any leading dimensions, any floating dtype."""
        y = rms_norm(normal(*lead, 7, dtype=dtype), normal(7, dtype=dtype), EPS)
        assert y.shape == (*lead, 7)
        assert y.dtype == dtype

    def test_a_row_of_zeros_stays_zero_and_has_a_gradient(self):
        """ε keeps the root away from 0: the derivative there is γ/√ε."""
        x, gamma = torch.zeros(3, 7, requires_grad=True), torch.arange(7.0)
        y = rms_norm(x, gamma, 1 / 4)
        y.sum().backward()
        assert torch.equal(y, torch.zeros(3, 7))
        assert torch.equal(x.grad, (2 * gamma).expand(3, 7))

    def test_the_mean_stays_and_eps_stands_inside_the_root(self):
        """x = (1, 7) with ε = 11 has mean square 25, so the root is 6: y = (1/6, 7/6)."""
        x = torch.tensor([1.0, 7.0], dtype=torch.float64)
        y = rms_norm(x, torch.ones(2, dtype=torch.float64), 11.0)
        assert torch.allclose(
            6 * y, x, rtol=1e-15, atol=0
        )  # a root, a division and a product: 4 roundings of 1.1e-16

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
    def test_values_and_gradients_are_those_of_the_statement(self, dtype, normal, stated, within):
        """Within the statement's bounds."""
        x, gamma, g = (normal(*shape, dtype=dtype, grad=True) for shape in ((7,), (7,), (7,)))
        y = rms_norm(x, gamma, EPS)
        y.backward(g)
        assert within([y, x.grad, gamma.grad], stated("normalization.rms_norm", [x, gamma, EPS], g.detach()))

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("gain", [None, torch.float32])
    def test_16_bits_are_computed_in_float32_and_rounded_once(self, dtype, gain, normal):
        """Where the squares are beyond the type as well: 300² is beyond float16. γ may be in the same type or in float32."""
        x, gamma = 300 * normal(3, 7).to(dtype), normal(7).to(gain or dtype)
        wide = rms_norm(x.double(), gamma.double(), EPS)
        half = torch.finfo(dtype).eps / 2 * (1 + 1e-3)  # a rounding of the result; float32 adds far less
        assert ((rms_norm(x, gamma, EPS).double() - wide).abs() <= half * wide.abs()).all()

    def test_inputs_may_be_views_and_are_left_as_they_were(self, normal):
        """Non-contiguous rows give what their copies give."""
        x, gamma = normal(7, 3).mT, normal(1).expand(7)
        before = x.clone(memory_format=torch.contiguous_format)
        assert torch.equal(rms_norm(x, gamma, EPS), rms_norm(before, gamma.clone(), EPS))
        assert torch.equal(x, before)

    def test_derivatives_exist_in_both_modes_to_second_order(self, normal):
        """gradcheck, gradgradcheck, forward mode, vmap."""
        x, gamma = normal(3, 7, dtype=torch.float64, grad=True), normal(7, dtype=torch.float64, grad=True)
        assert torch.autograd.gradcheck(lambda *args: rms_norm(*args, EPS), (x, gamma), check_forward_ad=True)
        assert torch.autograd.gradgradcheck(lambda *args: rms_norm(*args, EPS), (x, gamma))
        assert torch.func.vmap(rms_norm, in_dims=(0, None, None))(x, gamma, EPS).shape == (3, 7)

    @pytest.mark.usefixtures("unchecked")
    @pytest.mark.parametrize("eps", [0, 0.0, -1e-5, math.nan])
    def test_eps_that_is_not_a_number_above_zero_is_refused(self, eps, normal):
        """One line gives what was passed; torch itself takes None for its own ε."""
        with pytest.raises(ValueError, match=r"^normalization.rms_norm: expected a number eps > 0; got eps "):
            rms_norm(normal(3, 7), normal(7), eps)

    @pytest.mark.usefixtures("unchecked")
    @pytest.mark.parametrize(
        ("x", "gamma"), [((3, 7), (6,)), ((3, 7), (1,)), ((3, 7), (3, 7)), ((3, 7), ()), ((), (7,))]
    )
    def test_shapes_that_do_not_fit_are_refused(self, x, gamma, normal):
        """torch itself would normalise over two dimensions where γ has two."""
        with pytest.raises(
            ValueError, match=r"^normalization.rms_norm: expected x \(\.\.\. d\), gamma \(d\); got x"
        ):
            rms_norm(normal(*x), normal(*gamma), EPS)

    @pytest.mark.usefixtures("unchecked")
    @pytest.mark.parametrize(
        ("x", "gamma"),
        [
            (torch.int64, torch.float32),
            (torch.int16, torch.float32),
            (torch.int64, torch.int64),
            (torch.float32, torch.float64),
            (torch.float32, torch.bfloat16),
            (torch.float16, torch.float64),
        ],
        ids=str,
    )
    def test_dtypes_that_do_not_fit_are_refused(self, x, gamma, normal):
        """One line gives both; torch itself would warn, and promote."""
        got = f"got x {str(x)[6:]}, gamma {str(gamma)[6:]}$"
        with pytest.raises(TypeError, match=rf"^normalization.rms_norm: expected one floating dtype; {got}"):
            rms_norm(normal(3, 7).to(x), normal(7).to(gamma), EPS)

    @pytest.mark.usefixtures("unchecked")
    def test_a_gain_of_one_more_is_the_one_stated(self, normal, stated, within):
        """In 16 bits 1 + γ is not rounded before the product; another gain is refused."""
        x, gamma = normal(7), normal(7)
        said = stated("normalization.rms_norm", [x, gamma, EPS], None, {"gain": "one_plus"})
        assert within([rms_norm(x, gamma, EPS, gain="one_plus")], said)
        x, gamma = x.bfloat16(), gamma.bfloat16()
        wide = rms_norm(x.float(), 1 + gamma.float(), EPS).bfloat16()
        assert torch.equal(rms_norm(x, gamma, EPS, gain="one_plus"), wide)
        with pytest.raises(ValueError, match=r"gain is 'gamma' or 'one_plus'; got 'two'"):
            rms_norm(x, gamma, EPS, gain="two")

    @pytest.mark.compiled
    def test_rms_norm_compiles_as_one_graph(self, normal):
        """torch.compile takes the function whole."""
        y = torch.compile(rms_norm, fullgraph=True)(normal(3, 7), normal(7), EPS)
        assert y.shape == (3, 7)


def test_the_sums_are_those_stated(normal, stated, within):
    """Values and gradients within the statements' bounds, in float64."""
    for name, function, shapes, rest in (
        ("residual", residual, ((3,), (3, 5), (5,), (5, 3), (3,)), []),
        ("add_norm", add_norm, ((7,), (7,), (7,), (7,)), [EPS]),
    ):
        inputs = [normal(*shape, dtype=torch.float64, grad=True) for shape in shapes]
        y = function(*inputs, *rest)
        g = normal(*y.shape, dtype=torch.float64)
        got = [y.detach(), *torch.autograd.grad(y, inputs, g)]
        assert within(got, stated(f"normalization.{name}", [*inputs, *rest], g))


def test_a_sum_of_rows_that_do_not_fit_is_refused(normal, unchecked):
    """In one line, with the formula's name."""
    with pytest.raises(ValueError, match=r"normalization.add_norm: expected x \(... d\), r \(... d\)"):
        add_norm(normal(7), normal(5), normal(7), normal(7), EPS)
    with pytest.raises(TypeError, match="one floating dtype"):
        add_norm(normal(7), normal(7).double(), normal(7), normal(7), EPS)


def test_sum_and_normalised_sum_are_those_stated(normal, stated, within):
    """Both results within the statement's bound, in float64."""
    inputs = [*(normal(7, dtype=torch.float64) for _ in range(3)), EPS]
    assert within(add_rms_norm(*inputs), stated("normalization.add_rms_norm", inputs))


def test_in_16_bits_the_sum_is_normalised_before_it_is_rounded(normal):
    """As in float32, rounded once; the sum that is returned is rounded once, too."""
    x, r, gamma = (normal(5, 7, dtype=torch.bfloat16) for _ in range(3))
    gamma = gamma[0]
    y, s = add_rms_norm(x, r, gamma, EPS)
    wide = add_rms_norm(x.float(), r.float(), gamma.float(), EPS)
    assert torch.equal(y, wide[0].bfloat16())
    assert torch.equal(s, wide[1].bfloat16())


def test_a_sum_of_rows_that_do_not_fit_is_refused_in_one_line(normal, unchecked):
    """Shapes and types."""
    with pytest.raises(ValueError, match=r"normalization.add_rms_norm: expected x \(... d\), r"):
        add_rms_norm(normal(7), normal(5), normal(7), EPS)
    with pytest.raises(TypeError, match="one floating dtype"):
        add_rms_norm(normal(7), normal(7).double(), normal(7), EPS)
