"""Words on a page."""

from __future__ import annotations

import pytest
from generate.markup import sentence


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the mean is 0", "The mean is 0"),
        ("a row of ones", "A row of ones"),
        ("one-hot vectors, picked", "One-hot vectors, picked"),
        ("likewise, for the lowest", "Likewise, for the lowest"),
        ("it has none", "It has none"),
        ("d times the variance", "d times the variance"),
        ("a is at most b", "a is at most b"),
        ("a ∂ ln a = ∂a", "a ∂ ln a = ∂a"),
        ("x is a row", "x is a row"),
        ("dₖ is the width", "dₖ is the width"),
        ("b⁰ = 1", "b⁰ = 1"),
        ("σ lies between 0 and 1", "σ lies between 0 and 1"),
        ("tanh lies between −1 and 1", "tanh lies between −1 and 1"),
        ("exp(x) is positive", "exp(x) is positive"),
        ("Bahdanau's score", "Bahdanau's score"),
        ("0.15·0.8 = 0.12", "0.15·0.8 = 0.12"),
        ("", ""),
    ],
)
def test_a_sentence_begins_with_a_capital_unless_with_a_symbol(text: str, shown: str) -> None:
    """A letter that stands for something means another thing in capitals."""
    assert sentence(text) == shown
