import pytest
import torch

from impl._axes import Axes

AXES = Axes("x (... T p), h (... L+1 d), W (4*d p), U (L d), y (... 2 d), g (), V (p+d L*d)")
FIT = {"x": (2, 3, 7, 5), "h": (3, 11), "W": (44, 5), "U": (2, 11), "y": (2, 11), "g": (), "V": (16, 22)}


def given(**other):
    """Tensors that fit, but for those of other shapes."""
    return {name: torch.ones(other.get(name, shape)) for name, shape in FIT.items()}


def test_sizes_are_read_off_the_shapes():
    """L from L + 1; batch axes are any."""
    assert AXES.fit("a.b", **given()) == {"T": 7, "p": 5, "L": 2, "d": 11}


@pytest.mark.parametrize(
    "other",
    [
        {"x": (5,)},  # too few axes
        {"W": (2, 44, 5)},  # a batch of what has none
        {"W": (43, 5)},  # not a multiple
        {"W": (40, 5)},  # another multiple
        {"U": (3, 11)},  # as many layers as h has in all
        {"y": (3, 11)},  # not two
        {"h": (0, 11)},  # L would be −1
        {"g": (1,)},
        {"V": (15, 22)},  # not a sum
        {"V": (16, 21)},  # not a product
    ],
    ids=str,
)
def test_a_shape_that_does_not_fit_is_refused_with_all_shapes(other):
    """The line has the formula, what was expected, and every shape."""
    with pytest.raises(
        ValueError, match=r"^a\.b: expected x \(\.\.\. T p\), .* g \(\), V \(p\+d L\*d\); got x \("
    ) as caught:
        AXES.fit("a.b", **given(**other))
    (name, shape) = next(iter(other.items()))
    assert f"{name} {shape}" in str(caught.value)


def test_one_floating_dtype_is_asked():
    """Of all, parameters included."""
    tensors = given()
    tensors["U"] = tensors["U"].double()
    with pytest.raises(TypeError, match=r"^a\.b: expected one floating dtype; got x float32, .* U float64"):
        AXES.fit("a.b", **tensors)
