"""SG(x) is x, and a derivative takes it for a constant: in values, in gradients, and in what is proved of both."""

from collections.abc import Iterator

import numpy as np
import pytest

from spec.language import (
    Assurance,
    Claim,
    Formula,
    Sum,
    Theorem,
    claim,
    data,
    define,
    each,
    given,
    indices,
    sizes,
    stopped,
    tensor,
)
from spec.language.differentiation.gradients import obstacles, vjp
from spec.language.evaluation.evaluate import evaluate
from spec.language.known import forget
from spec.language.proving.proof import check
from spec.language.render import latex, unicode

(n,) = sizes("n")
i, j = indices(i=n, j=n)
x, y = data("x", n), data("y", n)
k, z = tensor("k", n), tensor("z", n)
g = given("g", n)


@pytest.fixture
def formula() -> Iterator[Formula]:
    """z = SG(x²)·x + y·SG(Σ y)."""
    lines = define(k[i], stopped(x[i] * x[i])), define(z[i], k[i] * x[i] + y[i] * stopped(Sum(y[j], j)))
    made = Formula("test.stopped", "", (x, y), lines, (z,), auxiliary=True)
    yield made
    forget(made.id)


def assurance(formula: Formula, of: Claim) -> Assurance:
    """What the claim is found to be, by its proof alone."""
    return check(Theorem("claimed", "", (of,), given=(g,)), formula, guard=False).assurance


def test_its_value_is_its_argument(formula: Formula) -> None:
    """As if it were not written."""
    a, b = np.array([2.0, -3.0, 5.0]), np.array([7.0, 1.0, -4.0])
    (found,) = evaluate(formula, {"x": a, "y": b})
    np.testing.assert_array_equal(np.asarray(found, float), a**3 + b * b.sum())
    assert assurance(
        formula, claim(formula(x, y)[i], "=", x[i] ** 3 + y[i] * Sum(y[j], j)).by_definition("")
    ) == (Assurance.PROVED)


@pytest.mark.parametrize(
    ("of", "right", "wrong"),
    [(x, g[i] * x[i] ** 2, 3 * g[i] * x[i] ** 2), (y, g[i] * Sum(y[j], j), g[i] * (Sum(y[j], j) + y[i]))],
    ids=["x", "y"],
)
def test_a_derivative_does_not_enter_it(formula: Formula, of: object, right: object, wrong: object) -> None:
    """The factor that is stopped stays; that it varies is refused."""
    pulled = formula(x, y).pullback(g, of)[i]
    assert assurance(formula, claim(pulled, "=", right).by_definition("")) == Assurance.PROVED
    assert assurance(formula, claim(pulled, "=", wrong).by_definition("")) == Assurance.REFUSED


def test_what_an_argument_stands_for_is_stopped_with_it(formula: Formula) -> None:
    """At x + 1 the factor is (x + 1)²."""
    moved = formula(each(x[i] + 1, i), y)
    assert (
        assurance(formula, claim(moved.pullback(g, x)[i], "=", g[i] * (x[i] + 1) ** 2).by_definition(""))
        == Assurance.PROVED
    )


def test_its_lines_have_a_gradient(formula: Formula) -> None:
    """It is no obstacle, and adds nothing: the adjoint of what is stopped reaches no input."""
    assert not obstacles(formula.flat())
    adjoints = [line for line in vjp(formula).flat.lines if line.name == "adj_x"]
    assert len(adjoints) == 1
    assert "SG" not in unicode(adjoints[0].right)


def test_it_is_written_as_papers_write_it() -> None:
    """SG(…)."""
    assert unicode(stopped(x[i])) == "SG(x[i])"
    assert latex(stopped(x[i])).startswith(r"\operatorname{SG}\left(")
