"""Labels, which may be none, and shares, which lie between 0 and 1: in statements, in evaluation and in proofs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import spec
from spec.language import (
    Formula,
    Sum,
    case,
    claim,
    data,
    define,
    delta,
    exp,
    indices,
    le,
    log,
    number,
    sizes,
    tensor,
)
from spec.language.arrays import NO_LABEL
from spec.language.known import forget
from spec.language.proving.proof import check
from spec.language.theorem import Assurance
from spec.language.wellformed.formulas import IllFormed
from verify.inputs.examples import Space

T, V = sizes("T V")
t, v = indices(t=T, v=V)
s = data("s", T, V)
y = data("y", T, domain="label", below=V)
part = number("part", "share")
picked, L = tensor("picked", T), tensor("L")


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    for name in ("test.labelled", "test.chosen"):
        forget(name)


def labelled(line: Any = None, **more: Any) -> Formula:
    """What is picked by the labels, 0 where there is none."""
    asked = case(le(0, y[t]), s[t, y[t]] - log(Sum(exp(s[t, v]), v)))
    lines = define(picked[t], asked if line is None else line), define(L, part * Sum(picked[t], t))
    return Formula("test.labelled", "", (s, y, part), lines, (L,), auxiliary=True, **more)


def proved(*claims: Any) -> bool:
    """Whether claims about the formula are proved."""
    formula = labelled()
    theorem = formula.theorem("claimed", "Claimed", *claims)
    return check(theorem, formula, guard=False).assurance == Assurance.PROVED


def test_a_label_reads_an_entry_only_where_it_is_one() -> None:
    """Without the condition it may be −100, which is no index."""
    with pytest.raises(IllFormed, match=r"y\[t\]"):
        labelled(s[t, y[t]])


def test_a_label_is_no_id() -> None:
    """A formula that takes ids does not take labels."""
    ids = data("ids", T, domain="integer", below=V)
    chosen = Formula(
        "test.chosen", "", (s, ids), (define(picked[t], s[t, ids[t]]),), (picked,), auxiliary=True
    )
    with pytest.raises(IllFormed, match="labels"):
        labelled(chosen(s, y)[t])


def test_what_no_label_asks_for_is_not_read() -> None:
    """Value, bound and gradient; NaN in the logits there does not reach the value."""
    formula = labelled()
    logits = np.array([[0.0, 1.0, 2.0], [np.nan, np.nan, np.nan], [2.0, 0.0, 0.0]])
    given = {"s": logits, "y": np.array([2, NO_LABEL, 0]), "part": 0.5}
    kept = {"s": logits[[0, 2]], "y": np.array([2, 0]), "part": 0.5}
    assert spec.evaluate(formula, given)[0] == spec.evaluate(formula, kept)[0]
    ((value, limit),) = spec.bound(formula, given)
    assert np.isfinite(value)
    assert np.isfinite(limit)
    given["s"] = np.nan_to_num(logits, nan=7.0)
    found, expected = (spec.vjp(formula, each, {"L": 1.0})["s"] for each in (given, kept))
    assert np.array_equal(found[[0, 2]], expected)
    assert (found[1] == 0).all()


def test_a_label_is_below_the_size_and_perhaps_none() -> None:
    """A delta is met once where it is one; nothing makes it one."""
    met = Sum(delta(v, y[t]), v)
    assert proved(claim(met, "=", 1, where=le(0, y[t])).by_definition("one v is y"))
    forget("test.labelled")
    assert not proved(claim(met, "=", 1).by_definition("not where there is none"))
    forget("test.labelled")
    assert proved(claim(met, "=", case(le(0, y[t]), 1)).by_definition("by cases"))
    forget("test.labelled")
    assert not proved(claim(case(le(0, y[t]), 1), "=", 1).by_definition("not where there is none"))


def test_a_share_is_between_0_and_1() -> None:
    """Arguments are held to both ends, and so is what a theorem fixes."""
    formula = labelled()
    half = claim(2 * formula(s, y, part / 2), "=", L).by_definition("linear")
    assert check(formula.theorem("half", "Half", half), formula, guard=False).assurance == Assurance.PROVED
    for name, value in (("twice", 2), ("negative", -part)):
        wide = claim(formula(s, y, value), "=", formula(s, y, value)).by_definition("the same")
        refused = check(formula.theorem(name, "Refused", wide), formula, guard=False)
        assert refused.assurance == Assurance.REFUSED, name
    with pytest.raises(IllFormed, match="is fixed to 2"):
        formula.theorem("fixed", "Fixed", claim(L, "=", L).by_definition("the same"), at={part: 2})


def test_examples_have_labels_shares_and_places_without() -> None:
    """Some labels are none, in some examples all, in some none at all; shares include both ends."""
    space = Space(labelled())
    drawn = [space.example(recipe, "float64").inputs for recipe in space.plan(200, 3)]
    shares = {example["part"] for example in drawn}
    missing = {float((example["y"] == NO_LABEL).mean()) for example in drawn if len(example["y"]) > 1}
    assert {0.0, 1.0} <= shares
    assert all(0 <= share <= 1 for share in shares)
    assert {0.0, 1.0} < missing
    assert all(((e["y"] == NO_LABEL) | ((e["y"] >= 0) & (e["y"] < e["s"].shape[1]))).all() for e in drawn)


def test_numbers_of_one_formula_differ() -> None:
    """Two positive numbers are drawn apart, so that one cannot pass for the other."""
    a, b = number("a", "positive"), number("b", "positive")
    formula = Formula(
        "test.chosen", "", (s, a, b), (define(L, Sum(Sum(s[t, v], v), t) * a / b),), (L,), auxiliary=True
    )
    space = Space(formula)
    drawn = [space.example(recipe, "float64").inputs for recipe in space.plan(60, 3)]
    assert sum(example["a"] != example["b"] for example in drawn) > 30
