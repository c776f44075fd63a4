"""The oracle of a check: what it evaluates together, what it remembers, and that neither changes an answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spec.language import Formula, Tensor, define, indices, sizes
from spec.language.evaluation.precision import Precision
from spec.language.flatten import Flat
from spec.language.registry import find
from verify import oracle
from verify.oracle import BALLS, Arithmetic, Oracle, examples_at_once
from verify.properties.judge import Judge

SINGLE = Arithmetic(Precision.of("float32"))
DOT = Judge(find("similarity.dot")).flat


def pairs(count: int, length: int = 5, seed: int = 0) -> list[dict[str, Any]]:
    """Inputs of the dot product."""
    random = np.random.default_rng(seed)
    return [{"x": random.standard_normal(length), "y": random.standard_normal(length)} for _ in range(count)]


def test_questions_that_were_answered_are_not_evaluated_again() -> None:
    """Equal entries are the same question, whatever array holds them."""
    made, (inputs,) = Oracle(), pairs(1)
    first = made.ask(DOT, [inputs], SINGLE, "float32")
    again = made.ask(DOT, [{name: value.copy() for name, value in inputs.items()}], SINGLE, "float32")
    assert made.evaluations == 1
    np.testing.assert_array_equal(first[0][0][0], again[0][0][0])


@pytest.mark.parametrize("other", ["entries", "shape", "kind", "swapped"])
def test_other_questions_are_evaluated(other: str) -> None:
    """One entry changed, another shape, another arithmetic, the inputs exchanged."""
    made, (inputs,) = Oracle(), pairs(1)
    made.ask(DOT, [inputs], SINGLE, "float32")
    changed, kind = dict(inputs), SINGLE
    if other == "entries":
        changed["x"] = inputs["x"] + np.eye(5)[3]
    elif other == "shape":
        changed = {name: value[:3] for name, value in inputs.items()}
    elif other == "kind":
        kind = BALLS
    else:
        changed = {"x": inputs["y"], "y": inputs["x"] * 2}
    made.ask(DOT, [changed], kind, "float32")
    assert made.evaluations == 2


def test_announced_questions_are_answered_with_the_first_of_them() -> None:
    """More of them from turn to turn: 1, 2, 4, 8."""
    made, every = Oracle(), pairs(15)
    made.announce((DOT, inputs, "float32") for inputs in every)
    answers = [made.ask(DOT, [inputs], SINGLE, "float32")[0] for inputs in every]
    assert made.evaluations == 4
    for inputs, answer in zip(every, answers, strict=True):
        (alone,) = Oracle().ask(DOT, [inputs], SINGLE, "float32")
        np.testing.assert_allclose(answer[0][0], alone[0][0], rtol=0, atol=2 * float(alone[0][1]))


def test_announced_questions_of_other_shapes_or_types_wait() -> None:
    """Only equal shapes go together, and what is announced for a type is not evaluated for another."""
    made, every = Oracle(), [*pairs(4), *pairs(4, 7)]
    made.announce((DOT, inputs, "float64") for inputs in every)
    for inputs in every[:4]:
        made.ask(DOT, [inputs], SINGLE, "float32")
    assert made.evaluations == 4


def test_what_cannot_be_evaluated_does_not_speak_for_the_others() -> None:
    """An announced example that fails leaves the one that was asked for unharmed."""
    made, every = Oracle(), pairs(3)
    every[2]["x"] = np.array(["no number"] * 5)
    made.turn = 5
    made.announce((DOT, inputs, "float32") for inputs in every)
    (answer,) = made.ask(DOT, [every[0]], SINGLE, "float32")
    assert np.isfinite(answer[0][0])
    with pytest.raises(ValueError, match="could not convert"):
        made.ask(DOT, [every[2]], SINGLE, "float32")


def test_the_oldest_answers_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was asked last stays."""
    monkeypatch.setattr(oracle, "ROOM", 20)
    made, every = Oracle(), pairs(30)
    for inputs in every:
        made.ask(DOT, [inputs], SINGLE, "float32")
    made.ask(DOT, [every[-1]], SINGLE, "float32")
    assert made.evaluations == 30
    made.ask(DOT, [every[0]], SINGLE, "float32")
    assert made.evaluations == 31
    assert made.memory.taken <= 20


def product(n: Any, m: Any) -> Flat:
    """The outer product, as lines."""
    x, y = Tensor("x", (n,), "real", "data"), Tensor("y", (m,), "real", "data")
    z = Tensor("z", (n, m))
    i, j = indices("i j")
    return Formula(
        id="test.outer_of_oracle",
        title="outer",
        inputs=(x, y),
        outputs=(z,),
        lines=(define(z[i, j], x[i] * y[j]),),
    ).flat()


def test_the_largest_array_of_an_evaluation_is_estimated_from_the_lines() -> None:
    """An outer product has as many entries as both sizes multiplied; as many examples as have room are evaluated at once."""
    n, m = sizes("n m")
    outer = product(n, m)
    for length, together in ((2, oracle.EXAMPLES), (256, 8), (1024, 1)):
        assert examples_at_once(outer, {"x": np.zeros(length), "y": np.zeros(length)}) == together


def test_large_examples_are_evaluated_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the memory of a check does not grow with the number of its examples."""
    monkeypatch.setattr(oracle, "ENTRIES", 8)
    made, every = Oracle(), pairs(4)
    made.ask(DOT, every, SINGLE, "float32")
    assert made.evaluations == 4
