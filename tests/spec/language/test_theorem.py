"""Claims with their proofs: for which indices they are claimed, and what proofs say beside them."""

from __future__ import annotations

import pytest

from spec.language import Formula, Sum, claim, data, define, derive, indices, le, sizes, tensor
from spec.language.known import forget
from spec.language.theorem import drop_fixed_indices

n, d = sizes("n d")
i, t, c = indices(i=n, t=n, c=d)
x = data("x", n, d)


def test_a_claim_is_for_every_index_that_occurs_free() -> None:
    """Each over its own range, in order of appearance; bound indices are not claimed for."""
    assert claim(x[i, c], "=", 0, where=le(t, i)).over == ((i, n), (c, d), (t, n))
    assert claim(Sum(x[i, c], c), "=", 0).over == ((i, n),)


def test_indices_that_are_named_are_all() -> None:
    """Naming one leaves the others fixed, or out; a range is written where it differs."""
    assert claim(x[i, c], "=", 0, c).over == ((c, d),)
    assert claim(x[i, c], "=", 0, (i, n - 1), c).over == ((i, n - 1), (c, d))
    with pytest.raises(ValueError, match="the indices of a claim begin at 0"):
        claim(x[i, c], "=", 0, (i, 1, n), c)


@pytest.mark.parametrize("relation", [">", ">=", "!=", "=="])
def test_other_relations_are_refused(relation: str) -> None:
    """A claim is an equality or an inequality upwards."""
    with pytest.raises(ValueError, match="a claim relates its sides by =, <= or <"):
        claim(0, relation, 1)


def test_a_proof_stands_beside_its_claim() -> None:
    """Steps, the reason of the last one and the mark of a definition are kept with the claim they prove."""
    proved = claim(x[i, c], "=", 0).step(x[i, c] + 0, "nothing is added").because("it is so")
    assert [s.why for s in proved.proof.steps] == ["nothing is added"]
    assert proved.proof.why == "it is so"
    assert not proved.proof.definition
    assert claim(x[i, c], "=", x[i, c]).by_definition("the same").proof.definition


def test_inside_an_induction_the_indices_around_are_fixed() -> None:
    """An inner claim is for its free indices without the induction's and the outer claim's, unless it names them."""
    outer = claim(x[i, c], "=", 0)
    fixed = drop_fixed_indices(outer.by_induction(t, claim(x[t, c], "=", 0), last=n - 1))
    named = drop_fixed_indices(
        outer.by_induction(t, claim(x[t, c], "=", 0, c), last=n - 1, base=derive().because("so"))
    )
    for made, over in ((fixed, ()), (named, ((c, d),))):
        assert made.proof.induction is not None
        assert made.proof.induction.claims[0].over == over


def test_a_second_theorem_of_one_name_is_refused() -> None:
    """A theorem is identified by its formula and its name."""
    y = tensor("y", n)
    made = Formula("test.once", "Once", (x,), (define(y[i], Sum(x[i, c], c)),), (y,))
    try:
        made.theorem("same", "The same", claim(y[i], "=", y[i]).by_definition("the same"))
        with pytest.raises(ValueError, match=r"test\.once already has a theorem same"):
            made.theorem("same", "The same", claim(y[i], "=", y[i]).by_definition("the same"))
    finally:
        forget("test.once")
