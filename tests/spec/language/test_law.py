"""Laws: which positions are selected, and which together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from spec.language import Together, case, data, define, indices, lt, sizes, tensor
from spec.language.formula import Formula
from spec.language.known import forget
from spec.language.render import unicode
from spec.language.wellformed.formulas import IllFormed
from spec.masking.mlm import mlm
from spec.masking.parts import P, distribution, generator, i, ids, mask_id, n, rho, special
from spec.masking.whole_words import whole_words

(m,) = sizes("m")
(j,) = indices(j=m)
LAW, CONTINUES = whole_words.law, data("continues", n, domain="boolean")
assert LAW is not None


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    forget("test.law")


def stated(joins: Any, line: Any, **changes: Any) -> Formula:
    """A law in which ``joins`` says what goes together, as ``line`` defines it."""
    return Formula(
        "test.law",
        "A law",
        inputs=(
            ids,
            CONTINUES,
            special,
            mask_id,
            *(x for x in whole_words.inputs if str(x) == "V"),
            generator,
        ),
        lines=(line, *distribution(rho)),
        outputs=(P,),
        constants=whole_words.constants,
        law=replace(LAW, together=Together(joins, "word", "piece"), **changes),  # type: ignore[type-var]
    )


inside = tensor("inside", n, domain="boolean")
goes_on = lt(0, i) & CONTINUES[i]
share, wide = tensor("share", n), tensor("wide", domain="boolean")
count = next(line.left.tensor for line in mlm.definitions if line.name == "count")
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "what no line defines": (
        lambda: stated(tensor("other", n, domain="boolean"), define(inside[i], goes_on)),
        "said by other, which no line defines",
    ),
    "a value": (
        lambda: stated(share, define(share[i], case(CONTINUES[i], rho, 0))),
        r"said by share, which has to be a condition of each position, \(n\)",
    ),
    "a condition of no position": (
        lambda: stated(wide, define(wide, CONTINUES[0])),
        "said by wide, which has to be a condition of each position",
    ),
    "positions that are counted besides": (
        lambda: stated(inside, define(inside[i], goes_on), count=count),
        "said by inside, and positions are counted: a law has one of both",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_what_goes_together_has_to_be_a_condition_of_each_position(mistake: str) -> None:
    """One that a line defines; and nothing is counted."""
    make, said = WRONG[mistake]
    with pytest.raises(IllFormed, match=rf"test\.law: what is selected together is {said}"):
        make()


def test_positions_that_go_together_are_taken() -> None:
    """The pattern of the cases above; it selects, and does not count."""
    law = stated(inside, define(inside[i], goes_on)).law
    assert law is not None
    assert law.selects
    assert law.selects_freely({})


def test_every_draw_satisfies_that_what_goes_together_is_selected_together() -> None:
    """It is said beside the axioms, in the letters of the outcome."""
    assert mlm.law is not None
    assert mlm.law.requirements == mlm.law.axioms
    *axioms, last = LAW.requirements
    assert tuple(axioms) == LAW.axioms
    assert last.sentence.startswith("the pieces of a word are selected together")
    assert unicode(last.condition) == "not joined[i] or 1 − δ[labels[i],-100] = 1 − δ[labels[i-1],-100]"


def test_only_the_options_that_are_named_are_free() -> None:
    """Of masking.mlm one option selects each token by itself, the others count."""
    assert mlm.law is not None
    assert mlm.law.selects_freely(mlm.choose())
    assert not mlm.law.selects_freely(mlm.choose({"selection": "exact_count"}))
