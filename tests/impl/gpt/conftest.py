"""Small GPTs of either kind, and texts for them."""

import pytest
import torch

from impl.gpt import GPT, GPTConfig

SIZES = {"vocabulary": 61, "d_model": 12, "layers": 3, "heads": 2, "max_length": 31}


@pytest.fixture(params=["pre", "post"])
def config(request):
    """Sizes that are distinct; normalised before, or after."""
    return GPTConfig(**SIZES, norm=request.param)


@pytest.fixture
def gpt(config, randomized):
    """A GPT with random parameters, in evaluation, in float64."""
    return randomized(GPT(config)).double()


@pytest.fixture
def ids():
    """Five texts of 17 tokens."""
    return torch.randint(0, 61, (5, 17), generator=torch.Generator().manual_seed(7))


@pytest.fixture
def lengths():
    """How many tokens of each are real."""
    return torch.tensor([17, 11, 1, 5, 13])
