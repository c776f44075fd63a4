"""Leads: what examples are about; which parameters are biases and gains is read off the statement."""

import numpy as np
import pytest

from spec.language.registry import formulas
from verify.inputs import regimes
from verify.inputs.examples import Space
from verify.inputs.leads import roles

FORMULAS = formulas()


@pytest.mark.parametrize(
    ("formula_id", "biases", "gains"),
    [
        ("recurrent.lstm_cell", ["b_g", "b_i", "b_f", "b_o"], []),
        ("recurrent.lstm_stacked", ["b"], []),
        ("normalization.layer_norm", ["beta"], ["gamma"]),
        ("normalization.rms_norm", [], ["gamma"]),
        ("recurrent.elmo_mix", [], ["gamma"]),
        ("scores.additive", [], []),
        ("embedding.token", [], []),
    ],
)
def test_biases_and_gains_are_read_off_the_statement(formula_id, biases, gains):
    """A term of a sum is a bias, a factor outside of every sum a gain; weights, tables and what is normalised are neither."""
    assert roles(FORMULAS[formula_id]) == (biases, gains)


@pytest.mark.parametrize("formula_id", [k for k, f in FORMULAS.items() if f.law is None])
def test_every_parameter_is_zero_once(formula_id):
    """Among the planned examples of a default check each parameter is 0 alone, and all biases are 0 together with gains of 1;
    where there are more parameters than a check has examples, among three examples for two of them.
    """
    formula = FORMULAS[formula_id]
    space = Space(formula)
    parameters = [t.name for t in formula.tensors if t.role == "parameter" and t.domain != "integer"]
    seen = [space.leads[r.regime].draws for r in space.plan(max(70, 3 * len(parameters) // 2), 0, large=True)]
    for name in parameters:
        assert any(draws == {name: regimes.ZEROS} for draws in seen), name
    biases, gains = roles(formula)
    if len(biases) + len(gains) > 1:
        fresh = {**dict.fromkeys(biases, regimes.ZEROS), **dict.fromkeys(gains, regimes.ONES)}
        assert fresh in seen


def test_a_lead_leaves_the_others_as_they_are_drawn():
    """Where one parameter is 0, no entry of another is."""
    space = Space(FORMULAS["feedforward.relu"])
    (recipe,) = [r for r in space.plan(30, 0) if space.leads[r.regime].draws == {"b_1": regimes.ZEROS}]
    inputs = space.example(recipe, "float64").inputs
    assert not inputs["b_1"].any()
    assert all(inputs[name].all() for name in ("W_1", "W_2", "b_2"))


@pytest.mark.parametrize("shape", [(), (5,), (3, 5), (5, 3), (2, 3, 3), (8, 2)])
def test_special_values_are_what_they_are_called(shape):
    """The identity, one-hot rows, one value, and a part of zeros, in every shape."""
    random = np.random.default_rng(0)
    drawn = {regime.name: regime.draw(random, shape) for regime in regimes.PARAMETER}
    assert all(np.shape(values) == shape for values in drawn.values())
    assert len(np.unique(drawn["all equal"])) == 1
    assert not set(np.unique(drawn["all equal"])) & {0.0, 1.0}
    if shape:
        assert (drawn["one-hot rows"].sum(-1) == 1).all()
    if len(shape) > 1:
        least = min(shape[-2:])
        assert (drawn["identity"][..., :least, :least] == np.eye(least)).all()
    if shape and shape[0] > 1:
        zero = (drawn["part zero"] == 0).reshape(shape[0], -1)
        assert 0 < zero.all(1).sum() < shape[0]
