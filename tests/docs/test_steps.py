"""A statement at work: the numbers between the lines, and the three tokens on their way through a layer."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from generate import steps

import impl.transformer
from impl.transformer.functions import EncoderLayerWeights
from spec.language.flatten import own_lines
from spec.language.registry import find, formulas
from spec.language.worked import recompute


def test_the_three_tokens_go_through_the_layer_that_the_library_computes() -> None:
    """What the chapters show line by line is what ``impl`` makes of the same numbers at once."""
    found = {name: torch.from_numpy(np.array(value)) for name, value in steps.layer().items()}
    heads = [torch.stack([found[name], found[f"{name}_2"]]) for name in ("W_q", "W_k", "W_v")]
    norm = (found["gamma"], found["beta"])
    network = (found[name] for name in ("W_1", "b_1", "W_2", "b_2"))
    weights = EncoderLayerWeights(*heads, found["W_o"], *norm, *network, *norm)
    y = impl.transformer.encoder_layer(found["x"], weights, float(found["eps"]))
    torch.testing.assert_close(y, found["y"])
    torch.testing.assert_close(torch.softmax(y @ found["W_vocab"], -1), found["p"])


def test_the_first_head_is_the_decks() -> None:
    """Its keys and values are those that the article prints, and its weights those of the worked example."""
    found = steps.layer()
    assert found["k"].tolist() == [[0, 1, 1], [4, 4, 0], [2, 3, 1]]
    assert found["v"].tolist() == [[1, 2, 3], [2, 8, 0], [2, 6, 3]]
    worked = next(w for w in find("attention.scaled_dot_product").worked if w.output == "a")
    printed = np.array(worked.expected, dtype=float)
    assert np.array_equal(np.round(found["a"], worked.decimals), printed)


@pytest.mark.parametrize("formula", [f for f in formulas().values() if f.worked], ids=lambda f: f.id)
def test_every_worked_example_can_be_shown_step_by_step(formula) -> None:
    """Each line with what it gives; the last is what the statement encloses."""
    text, worked = steps.shown(formula.id, "1"), formula.worked[0]
    assert text.count('class="line') >= len(own_lines(formula, formula.choose(worked.conventions)))
    if worked.output == "" and not formula.law:
        ball, _ = recompute(formula, worked)[0]
        assert steps.entry(abs(float(ball.mid()))) in text


@pytest.mark.parametrize(
    ("value", "shown"), [(1.0, "1"), (-0.0001, "0"), (0.25, "0.25"), (-2.3456, "-2.346"), (True, "1")]
)
def test_numbers_are_written_shortly(value: float, shown: str) -> None:
    """To three decimals, without zeros at the end or a minus before 0."""
    assert steps.entry(value) == shown
