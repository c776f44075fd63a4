"""What the project tests."""

import norms
import pytest


@pytest.mark.attnspec("normalization.layer_norm", conventions={"eps": "outside"}, profile="smoke")
def test_layer_norm():
    """A function that returns the callable; it may take fixtures."""
    return norms.layer_norm


@pytest.mark.attnspec("my_spec.py:gate", profile="smoke")
def test_gate():
    """A formula in a file is named by where it is."""
    return norms.gate
