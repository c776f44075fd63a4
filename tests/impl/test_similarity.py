import math

import pytest
import torch

import spec
from impl.similarity import cosine, dot
from spec.language.differentiation.gradients import pull_back
from spec.language.evaluation.evaluate import bound

BOTH = pytest.mark.parametrize("function", [dot, cosine])
DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])


@BOTH
@DTYPES
def test_it_is_the_statement(function, dtype, normal):
    """Value within the statement's bound; in float64 and float32 the gradients too."""
    formula, name = spec.find(f"similarity.{function.__name__}"), str(dtype).removeprefix("torch.")
    given = [normal(7, dtype=dtype, grad=True) for _ in "xy"]
    arrays = [each.detach().double().numpy() for each in given]
    got = function(*given)
    ((value, limit),) = bound(formula, arrays, None, name)
    assert got.dtype == dtype
    assert abs(got.item() - value) <= limit
    if dtype.itemsize > 2:
        gradients = pull_back(formula, arrays, 1.0, None, None, name)
        for found, (value, limit) in zip(torch.autograd.grad(got, given), gradients.values(), strict=True):
            assert ((found.double() - torch.tensor(value)).abs() <= torch.tensor(limit)).all()


@BOTH
@DTYPES
def test_leading_dimensions_broadcast(function, dtype, normal):
    """One vector beside many, many beside many."""
    x, y = normal(2, 3, 7, dtype=dtype), normal(3, 7, dtype=dtype)
    many = function(x, y)
    assert many.shape == (2, 3)
    torch.testing.assert_close(many[1, 2], function(x[1, 2], y[2]))
    torch.testing.assert_close(function(x[:, :1], y), function(x[:, :1].expand(2, 3, 7), y))


@BOTH
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_16_bits_are_rounded_once(function, dtype, normal):
    """It is the float32 result of the same vectors, rounded."""
    x, y = normal(11, 7, dtype=dtype), normal(11, 7, dtype=dtype)
    assert torch.equal(function(x, y), function(x.float(), y.float()).to(dtype))


@BOTH
def test_vectors_without_entries_and_no_vectors(function, normal):
    """Sizes of zero are sizes like others: an empty sum is 0, and an empty vector is a zero vector."""
    assert function(normal(3, 0), normal(3, 0)).tolist() == [0.0, 0.0, 0.0]
    assert function(normal(0, 7), normal(7)).shape == (0,)


@BOTH
@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused_in_one_line(function):
    """The line names the formula, what was expected, and what was given."""
    name, x = f"^similarity.{function.__name__}: expected", torch.ones(3, 7)
    with pytest.raises(
        ValueError, match=rf"{name} x \(\.\.\. d\), y \(\.\.\. d\); got x \(3, 7\), y \(5,\)$"
    ):
        function(x, torch.ones(5))
    with pytest.raises(
        ValueError, match=rf"{name} leading dimensions that broadcast; got x \(3, 7\), y \(2, 7\)$"
    ):
        function(x, torch.ones(2, 7))
    with pytest.raises(ValueError, match=r"got x \(\), y \(\)$"):
        function(torch.ones(()), torch.ones(()))
    with pytest.raises(TypeError, match=rf"{name} one floating dtype; got x float32, y float64$"):
        function(x, x.double())
    with pytest.raises(TypeError, match=r"got x int64, y int64$"):
        function(x.long(), x.long())


@BOTH
def test_derivatives_exist_in_both_modes_to_second_order(function, normal):
    """gradcheck, gradgradcheck, forward mode, vmap."""
    x, y = (normal(5, 7, dtype=torch.float64, grad=True) for _ in "xy")
    assert torch.autograd.gradcheck(function, (x, y), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, (x, y))
    torch.testing.assert_close(torch.func.vmap(function)(x, y), function(x, y))


@BOTH
@pytest.mark.compiled
def test_it_compiles_as_one_graph(function, normal):
    """torch.compile takes the function whole."""
    x, y = normal(5, 7), normal(5, 7)
    torch.testing.assert_close(torch.compile(function, fullgraph=True)(x, y), function(x, y))


@pytest.mark.parametrize("zero", ["x", "y", "both"])
def test_the_cosine_with_a_zero_vector_is_zero_and_passes_no_gradient(zero, normal):
    """To neither vector, first or second; the others in the batch are untouched."""
    x, y = normal(3, 7), normal(3, 7)
    whole = cosine(x, y)
    for vector in {"x": [x], "y": [y], "both": [x, y]}[zero]:
        vector[1] = 0
    x.requires_grad_(), y.requires_grad_()
    got = cosine(x, y)
    first = torch.autograd.grad(got.sum(), (x, y), create_graph=True)
    second = torch.autograd.grad(sum(each.square().sum() for each in first), (x, y))
    assert got[1] == 0
    assert torch.equal(got[::2], whole[::2])
    for each in (*first, *second):
        assert not each[1].any()
        assert each[::2].all()


@pytest.mark.parametrize("scale", [1e-44, 1e-38, 1e-30, 1e-20, 1e20, 1e30, 3e37])
@pytest.mark.parametrize("alone", [True, False], ids=["one", "both"])
def test_magnitudes_that_would_overflow_or_vanish_do_not(scale, alone, normal):
    """float32 squares overflow beyond 1e19; the cosine of large or small vectors is that of the same vectors in float64."""
    x, y = normal(7) * scale, normal(7) * (1 if alone else scale)
    x.requires_grad_()
    exact = cosine(x.detach().double(), y.double())
    torch.testing.assert_close(cosine(x, y), exact.float())
    if scale >= 1e-30:  # below, the gradient itself, of order 1/scale, is beyond float32
        (gradient,) = torch.autograd.grad(cosine(x, y), x)
        wide = x.detach().double().requires_grad_()
        (wanted,) = torch.autograd.grad(cosine(wide, y.double()), wide)
        torch.testing.assert_close(gradient * scale, (wanted * scale).float())


def test_the_cosine_of_a_vector_with_itself_and_its_opposite():
    """1 and −1 where nothing has to be rounded; orthogonal vectors have 0."""
    x = torch.tensor([3.0, 4.0])
    assert cosine(x, x) == 1
    assert cosine(x, -x) == -1
    assert cosine(x, torch.tensor([-4.0, 3.0])) == 0
    assert cosine(torch.tensor([1.0, 0.0]), torch.tensor([1.0, math.sqrt(3.0)])).item() == pytest.approx(0.5)
