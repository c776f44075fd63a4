"""Many examples in one evaluation say what each says alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spec.language.differentiation.gradients import vjp
from spec.language.evaluation.batching import add_example_axis, bind_all
from spec.language.evaluation.binding import bind
from spec.language.evaluation.evaluate import run
from spec.language.evaluation.precision import FORMATS
from spec.language.evaluation.running_error import RunningError
from spec.language.flatten import Flat
from spec.language.registry import find, ids
from verify.inputs.examples import Space
from verify.properties.judge import Judge
from verify.properties.slopes import differentiable, with_cotangents

DOUBLE = FORMATS["float64"]
COUNT = 7


def together(flat: Flat, every: list[dict[str, Any]]) -> None:
    """Values differ by what float64 allows for; where one says something, so does the other."""
    with np.errstate(all="ignore"):
        done = run(add_example_axis(flat), RunningError(DOUBLE), bind_all(flat, every), DOUBLE)
        for tensor in flat.outputs:
            many = done.tensors[tensor.name]
            value, far = many.floats(), np.broadcast_to(many.bounds(), many.value.shape)
            assert value.shape[0] == len(every)
            for place, inputs in enumerate(every):
                alone = run(flat, RunningError(DOUBLE), bind(flat, inputs), DOUBLE).tensors[tensor.name]
                known = np.isfinite(alone.bounds()) & np.isfinite(far[place])
                apart = np.abs(value[place] - alone.floats())[known]
                assert (apart <= (far[place] + alone.bounds())[known]).all()
                plain = np.isfinite(alone.bounds()) & (np.abs(alone.floats()) > 1e-200)
                assert np.isfinite(far[place])[plain].all()


@pytest.mark.parametrize("formula_id", ids())
def test_examples_evaluated_together_have_the_values_they_have_alone(formula_id: str) -> None:
    """Every statement, in seven regimes with masks and numbers of their own."""
    formula = find(formula_id)
    judge, space = Judge(formula), Space(formula)
    sizes = space.sizing.draw(2, np.random.default_rng(3))
    examples = [space.example(recipe, "float64", sizes=sizes) for recipe in space.plan(COUNT, 5)]
    together(judge.flat, [example.inputs for example in examples])


@pytest.mark.parametrize("formula_id", ["attention.cross", "recurrent.lstm", "normalization.layer_norm"])
def test_gradients_evaluated_together_have_the_values_they_have_alone(formula_id: str) -> None:
    """The lines of a derivative are lines like others."""
    formula = find(formula_id)
    judge, space = Judge(formula), Space(formula, moderate=True)
    gradient = vjp(formula, differentiable(judge), judge.conventions)
    sizes = space.sizing.draw(2, np.random.default_rng(4))
    every = []
    for place, recipe in enumerate(space.plan(COUNT, 6)):
        example = with_cotangents(judge, space.example(recipe, "float64", sizes=sizes), place)
        every.append({**example.inputs, **gradient.fill_cotangents(example.cotangents, example.sizes)})
    together(gradient.flat, every)


def test_a_mask_that_some_examples_have_is_written_out_for_the_others() -> None:
    """None permits everything, and everything permitted is the same."""
    judge = Judge(find("attention.softmax"))
    s = np.random.default_rng(0).standard_normal((2, 3, 5))
    mask = np.array([[True, False, True, True, False]] * 3)
    every = [{"s": s[0], "mask": None}, {"s": s[1], "mask": mask}]
    done = run(add_example_axis(judge.flat), RunningError(), bind_all(judge.flat, every))
    for place, inputs in enumerate(every):
        alone = run(judge.flat, RunningError(), bind(judge.flat, inputs))
        np.testing.assert_array_equal(done.tensors["a"].floats()[place], alone.tensors["a"].floats())


def test_examples_of_unequal_shapes_are_refused() -> None:
    """In one line that names the input."""
    flat = Judge(find("similarity.dot")).flat
    every = [{"x": np.ones(n), "y": np.ones(n)} for n in (2, 3)]
    with pytest.raises(ValueError, match=r"similarity.dot: the examples differ in the shape of x"):
        bind_all(flat, every)


def test_examples_of_unequal_sizes_are_refused() -> None:
    """A size given as a number counts as well."""
    flat = Judge(find("positional.sinusoidal")).flat
    names = [str(item) for item in flat.inputs]
    every = [dict.fromkeys(names, 4), dict.fromkeys(names, 6)]
    with pytest.raises(ValueError, match="differ in the size"):
        bind_all(flat, every)
