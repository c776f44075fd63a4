"""To what shape several shapes broadcast: as torch says, at every shape, and without what its first call imports."""

import subprocess
import sys
from itertools import product

import pytest
import torch

from impl._refuse import broadcast_shapes

SHAPES = [(), (1,), (3,), (1, 3), (2, 1), (2, 3), (0,), (2, 0), (5, 1, 3)]


@pytest.mark.parametrize("shapes", [*product(SHAPES, repeat=2)], ids=str)
def test_is_what_torch_says(shapes):
    """For any two shapes it gives the shape that torch gives, or refuses as torch does."""
    try:
        expected = torch.broadcast_shapes(*shapes)
    except RuntimeError:
        with pytest.raises(RuntimeError, match="expected shapes that broadcast; got"):
            broadcast_shapes(*shapes)
        return
    assert broadcast_shapes(*shapes) == expected
    assert isinstance(broadcast_shapes(*shapes), torch.Size)


def test_of_no_shape_and_of_many():
    """No shape gives the one without axes; more than two are taken together."""
    assert broadcast_shapes() == ()
    assert broadcast_shapes((2, 1, 1), (3, 1), (5,)) == (2, 3, 5)


def test_attention_of_a_batch_imports_no_compiler():
    """Attention of several leading dimensions does not import the symbols of torch's compiler at its first call."""
    code = """if True:
        import sys, torch
        from impl.attention import multi_head
        x, W = torch.ones(2, 3, 5), torch.ones(7, 5, 2)
        multi_head(x, x, W, W, W, torch.ones(14, 5), torch.ones(2, 3, 3, dtype=torch.bool))
        sys.exit("torch.fx.experimental.symbolic_shapes" in sys.modules)"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
