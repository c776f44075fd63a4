"""What the tests of masked attention share: random inputs, masks with holes, parametrizations."""

import math

import pytest
import torch

DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
BACKENDS = pytest.mark.parametrize("backend", ["auto", "math"])
BAD = pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
LEADS = pytest.mark.parametrize("lead", [(), (3,), (2, 3), (2, 3, 2)], ids=str)
UNEVEN = pytest.mark.parametrize(("n", "m"), [(5, 5), (5, 11), (11, 5), (1, 7), (7, 1)])

HIDDEN_QUERY, HIDDEN_KEY = 3, 4


def qkv(normal, lead=(2, 3), n=5, m=11, d_k=7, d_v=7, **options):
    """Random queries, keys and values."""
    return tuple(normal(*lead, *shape, **options) for shape in ((n, d_k), (m, d_k), (m, d_v)))


def holed(n=5, m=11):
    """A mask with a query that may attend to nothing, a key that nobody may attend to, and some of each elsewhere."""
    mask = (torch.arange(n)[:, None] + torch.arange(m)) % 3 != 0
    mask[HIDDEN_QUERY], mask[:, HIDDEN_KEY] = False, False
    return mask
