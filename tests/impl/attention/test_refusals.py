"""What softmax and the two attentions refuse, each in one line: the formula, what was expected, what was given."""

import pytest
import torch

from impl.attention import causal, scaled_dot_product, softmax
from tests.impl.attention.inputs import BACKENDS, qkv

BOTH = pytest.mark.parametrize("attend", [scaled_dot_product, causal])


@pytest.mark.usefixtures("unchecked")
class TestRefusals:
    """Each is one line: the formula, what was expected, what was given."""

    @BOTH
    @BACKENDS
    @pytest.mark.parametrize(
        ("q", "k", "v", "error", "line"),
        [
            ((5, 7), (11, 6), (11, 7), ValueError, "got q (5, 7), k (11, 6), v (11, 7)"),
            (
                (2, 3, 5, 7),
                (2, 3, 11, 7),
                (2, 3, 10, 7),
                ValueError,
                "expected q (... n d_k), k (... m d_k), v (... m d_v)",
            ),
            ((7,), (11, 7), (11, 7), ValueError, "got q (7,)"),
            ((2, 5, 7), (3, 11, 7), (3, 11, 7), ValueError, "expected leading dimensions that broadcast"),
        ],
    )
    def test_shapes(self, attend, backend, q, k, v, error, line, normal):
        """torch itself takes a v that is longer than k, and reads past k's end or drops v's."""
        with pytest.raises(error) as caught:
            attend(normal(*q), normal(*k), normal(*v), backend=backend)
        assert str(caught.value).startswith("attention.")
        assert line in str(caught.value)
        assert "\n" not in str(caught.value)

    @BOTH
    def test_dtypes(self, attend, normal):
        """q, k and v share one floating dtype."""
        q, k, v = qkv(normal)
        line = (
            f"^attention.{attend.__name__}: expected one floating dtype; got q float32, k float64, v float32$"
        )
        with pytest.raises(TypeError, match=line):
            attend(q, k.double(), v)
        with pytest.raises(TypeError, match=r"got q int64, k int64, v int64$"):
            attend(q.long(), k.long(), v.long())

    @pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
    def test_a_mask_that_is_not_boolean_is_refused_with_its_polarity(self, dtype, normal):
        """An additive mask read as weights, or a 0/1 mask of the other polarity, would be silently wrong."""
        line = "expected a boolean mask, True = may attend .*; got mask"
        with pytest.raises(TypeError, match=line):
            scaled_dot_product(*qkv(normal), torch.zeros(5, 11, dtype=dtype))
        with pytest.raises(TypeError, match=line):
            softmax(normal(5, 11), torch.zeros(5, 11, dtype=dtype))

    @pytest.mark.parametrize("shape", [(11,), (5, 10), (4, 11), (11, 5)])
    def test_a_mask_that_does_not_broadcast(self, shape, normal):
        """The line gives the shape wanted, with its numbers."""
        mask = torch.ones(shape, dtype=torch.bool)
        with pytest.raises(
            ValueError, match=r"expected a mask that broadcasts to .* = \(\.\.\. 5 11\); got mask"
        ):
            scaled_dot_product(*qkv(normal), mask)
        with pytest.raises(ValueError, match=r"^attention.softmax: expected a mask that broadcasts to"):
            softmax(normal(5, 11), mask)

    def test_unknown_choices(self, normal):
        """A misspelt choice is named, with the choices there are."""
        with pytest.raises(ValueError, match="backend is 'auto', 'math' or 'flex'; got 'flash'"):
            scaled_dot_product(*qkv(normal), backend="flash")
        with pytest.raises(ValueError, match="alignment is 'lower_right' or 'upper_left'; got 'left'"):
            causal(*qkv(normal), alignment="left")
        with pytest.raises(TypeError, match=r"^attention.softmax: expected a floating s; got s int64$"):
            softmax(normal(5, 11).long())

    def test_forward_mode_on_the_fused_kernel_names_the_math_path(self, normal):
        """Outside torch.func, forward mode has to be asked for by name."""
        q, k, v = qkv(normal)
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(q, q)
            with pytest.raises(
                NotImplementedError, match=r"no forward-mode derivative; use backend='math' or "
            ):
                scaled_dot_product(dual, k, v)
            z = scaled_dot_product(dual, k, v, backend="math")
            assert torch.autograd.forward_ad.unpack_dual(z).tangent.shape == z.shape
