"""What is recorded of a trained model's heads is what the model computes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from examples import real_weights

FOLDER = Path(real_weights.__file__).parents[1] / "docs" / "evidence" / "weights"
STEP = 1 / (len(real_weights.LETTERS) - 1)


def read(letters: str) -> list[float]:
    """Weights as they are recorded."""
    return [real_weights.LETTERS.index(letter) * STEP for letter in letters]


def test_the_record_of_all_heads_agrees_with_that_of_one_head() -> None:
    """Two records of one model: every weight to half a step of the coarser one."""
    heads, _ = real_weights.recorded_heads(FOLDER / "heads.json")
    result, _ = real_weights.recorded(FOLDER / "looks.json")
    tokens = heads[0].tokens
    assert tokens == result.tokens
    at = len(tokens) * tokens.index(real_weights.ASKS) + tokens.index(real_weights.ASKED)
    found = [[read(head[at])[0] for head in layer] for layer in heads[0].weights]
    assert found == [pytest.approx(layer, abs=0.51 * STEP) for layer in result.to_asked]


@pytest.mark.skipif(
    importlib.util.find_spec(real_weights.PACKAGE) is None, reason="no weights of MiniLM are installed"
)
def test_the_record_of_all_heads_is_what_the_model_computes() -> None:
    """Letter by letter but for roundings that fall the other way, by one."""
    recorded, _ = real_weights.recorded_heads(FOLDER / "heads.json")
    for one, other in zip(real_weights.run_heads(real_weights.shipped()), recorded, strict=True):
        assert one.tokens == other.tokens
        pairs = [p for a, b in zip(one.weights, other.weights, strict=True) for p in zip(a, b, strict=True)]
        for computed, kept in pairs:
            assert read(computed) == pytest.approx(read(kept), abs=1.01 * STEP)
