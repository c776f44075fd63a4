"""What torch is set to may be the cause: then the setting is named."""

import pytest
import torch

from tests.verify.explain.explaining import why

PRODUCTS = torch.backends.mkldnn.matmul


def scores(q, k):
    """The dot products, of factors rounded as a device would that is told to."""
    if PRODUCTS.fp32_precision == "bf16" and q.dtype == torch.float32:
        q, k = q.bfloat16().float(), k.bfloat16().float()
    return (q.double() @ k.double().mT).to(q.dtype)


def never_exact(q, k):
    """The same whatever torch is set to."""
    return scores(q.bfloat16().to(q.dtype), k)


@pytest.fixture
def rounding():
    """Products on the CPU may be of rounded factors."""
    before = PRODUCTS.fp32_precision
    PRODUCTS.fp32_precision = "bf16"
    yield
    PRODUCTS.fp32_precision = before


@pytest.mark.usefixtures("rounding")
def test_the_setting_that_makes_it_wrong_is_named_and_stays():
    """With the value under which it conforms."""
    said = why(scores, "scores.dot").said
    assert 'conforms there with torch.backends.mkldnn.matmul.fp32_precision = "ieee"' in said
    assert "rounded to bfloat16" in said
    assert PRODUCTS.fp32_precision == "bf16"


@pytest.mark.usefixtures("rounding")
def test_a_setting_that_changes_nothing_is_not_blamed():
    """It is wrong by itself."""
    assert "fp32_precision" not in why(never_exact, "scores.dot").said
