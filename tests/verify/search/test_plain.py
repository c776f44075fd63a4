"""Of deep statements, too, something is said by the rigorous bound: at the least sizes and young parameters."""

import numpy as np
import pytest

from spec.language.registry import find
from tests.mutants import variants
from verify import check
from verify.inputs.examples import Space
from verify.inputs.leads import YOUNG
from verify.properties.judge import Judge
from verify.properties.plain_calls import YOUNG as MANY
from verify.properties.slopes import differentiable, expect_gradients, with_cotangents
from verify.properties.values import EFFECTIVE

pytestmark = pytest.mark.usefixtures("ungraded")

NAUGHT = {"bert.encoder": {"b_k"}}
"""What softmax takes away again: the gradient is 0, and small against any bound."""


@pytest.mark.parametrize(
    "formula_id",
    [
        "transformer.encoder",
        "transformer.decoder",
        "transformer.model",
        "bert.encoder",
        "recurrent.lstm_stacked",
    ],
)
def test_every_gradient_of_a_deep_model_is_somewhere_large_against_its_bound(formula_id):
    """In float64; at ordinary sizes and parameters the bound of a whole model is infinite."""
    judge = Judge(find(formula_id))
    space, names, said = Space(judge.formula, moderate=True), differentiable(judge), set()
    for recipe in space.plain(MANY, 1):
        example = with_cotangents(judge, space.example(recipe, "float64"), recipe.seed)
        assert 1 not in example.sizes.values()
        assert example.regime.startswith(YOUNG)
        found = expect_gradients(judge, example.inputs, example.cotangents, names, "float64")
        said |= {
            name
            for name, one in found.items()
            if ((np.abs(one.value) >= EFFECTIVE * one.bound) & (one.value != 0)).any()
        }
    assert set(names) - said == NAUGHT.get(formula_id, set())


@pytest.mark.parametrize(
    ("formula_id", "name"),
    [("transformer.decoder", "source_of_the_first_layer"), ("transformer.model", "output_untied")],
)
def test_a_gradient_cut_inside_a_deep_model_is_falsified(formula_id, name):
    """Not said to be imprecise: the rigorous bound refuses it."""
    wrong = next(v for v in variants((formula_id,)) if v.name == name)
    report = check(wrong.call, formula_id, dtypes=("float64",), causes=False, **wrong.options)
    assert "gradient in float64" in {c.name for c in report.falsified}


def test_what_nothing_was_said_of_is_named():
    """A check that conforms does not keep to itself that the bound was nowhere small against most of what it compared."""
    right = next(v for v in variants(("bert.encoder",)) if v.is_right)
    report = check(
        right.call, "bert.encoder", dtypes=("float32",), max_examples=12, causes=False, **right.options
    )
    (gradient,) = (c for c in report.checks if c.name == "gradient in float32")
    assert gradient.verdict == "conforms"
    assert "of 21) no number was large against its bound" in gradient.message


def test_few_examples_are_added_to_those_that_were_asked_for():
    """No more than a quarter, and none where hardly any is wanted."""
    right = next(v for v in variants(("recurrent.stacked",)) if v.is_right)
    for asked, most in ((40, 50), (8, 10), (2, 2)):
        report = check(
            right.call,
            "recurrent.stacked",
            dtypes=("float64",),
            max_examples=asked,
            causes=False,
            **right.options,
        )
        judged = next(c for c in report.checks if c.name == "value in float64").examples
        assert asked <= judged <= most
