"""Procedures are held against their axioms, and their reference satisfies them."""

from __future__ import annotations

import numpy as np
import pytest

from spec.language import Axiom, Formula, Procedure, Sum, case, data, indices, le, lt, sizes, tensor
from spec.language.expr import eq
from spec.language.procedure import broken_axioms

n, m = sizes("n m")
i, j, k = indices("i j k")
x = data("x", n)
order = tensor("order", n, domain="integer")
position = Sum(case(eq(order[k], i), 1), (k, 0, n - 1))

ascending = Formula(
    "test.ascending",
    "The order in which a row ascends",
    inputs=(x,),
    lines=(),
    outputs=(order,),
    procedure=Procedure(
        returns=(order,),
        axioms=(
            Axiom(
                "ascends",
                "each entry is at most the next",
                ~lt(j, n - 1) | le(x[order[j]], x[order[j + 1]]),
                ((j, n),),
            ),
            Axiom("is a permutation", "each place occurs once", eq(position, 1), ((i, n),)),
        ),
        reference=lambda row: (np.argsort(row, kind="stable"),),
    ),
)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_the_reference_satisfies_every_axiom(size: int) -> None:
    """Also at size 1, where the first axiom has nothing to say."""
    row = np.random.default_rng(size).normal(size=size)
    assert broken_axioms(ascending, {"x": row}, ascending.procedure.reference(row)) == []


def test_a_wrong_result_is_reported_with_the_axiom_and_the_place() -> None:
    """Descending order breaks the first axiom at the first place; a repeated index breaks the second."""
    row = np.array([3.0, 1.0, 2.0])
    assert [(a.name, at) for a, at in broken_axioms(ascending, {"x": row}, [np.array([0, 2, 1])])] == [
        ("ascends", (0,))
    ]
    assert [a.name for a, _ in broken_axioms(ascending, {"x": row}, [np.array([1, 1, 0])])] == [
        "is a permutation"
    ]


def test_a_formula_without_a_procedure_is_named() -> None:
    """One clear line."""
    plain = Formula("test.plain", "", (x,), (), ())
    with pytest.raises(ValueError, match=r"test\.plain states no procedure"):
        broken_axioms(plain, {"x": np.ones(1)}, [])
