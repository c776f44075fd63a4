"""Each named rule is sound (its two sides have the same values at random sizes) and is one that the prover uses."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import spec.language
from spec.language import Formula, Theorem, claim, derive
from spec.language.arrays import Tensor
from spec.language.evaluation.evaluate import enclose
from spec.language.expr import TRUE, case
from spec.language.known import forget
from spec.language.lines import Definition
from spec.language.proving.proof import check
from spec.language.proving.rules.register import RULES
from spec.language.theorem import Assurance
from spec.language.trees import free_symbols, refs, walk
from tests.spec.language.proving.laws import LAWS, Law
from tests.spec.language.proving.random_trees import agree, bindings

SIZES = ("n", "m", "h")
FORMULA = Formula("test.law", "", (), (), (), auxiliary=True)


def tensors_of(law: Law) -> tuple[Tensor, ...]:
    """The tensors a law is about, those inside calls included."""
    found = {r.tensor.name: r.tensor for side in (law.left, law.right, law.where) for r in refs(side)}
    for side in (law.left, law.right):
        found |= {part.name: part for part in walk(side) if isinstance(part, Tensor)}
    return tuple(found[name] for name in sorted(found))


def as_formula(law: Law) -> Formula:
    """Both sides as lines, so that calls inside them are evaluated like any other."""
    shape = tuple(size for _, size in law.over)
    ranges = tuple((symbol, sympy.S.Zero, size - 1) for symbol, size in law.over)
    symbols = tuple(symbol for symbol, _ in law.over)
    lines = []
    for name, side in (("left", law.left), ("right", law.right)):
        held = side if law.where == TRUE else case(law.where, side)
        lines.append(Definition(Tensor(name, shape)[symbols], held, ranges))
    items = tensors_of(law)
    shapes = [size for t in items for size in t.shape] + [size for _, size in law.over]
    sizes: set[Any] = {s for size in shapes for s in free_symbols(size)}
    for side in (law.left, law.right):
        sizes |= {s for s in free_symbols(side) if s.is_positive and s not in symbols}
    return Formula(
        "test.sides", "", (*sorted(sizes, key=str), *items), tuple(lines), tuple(x.left.tensor for x in lines),
        auxiliary=True,
    )  # fmt: skip


@pytest.mark.parametrize("name", [name for name, law in LAWS.items() if law().numeric])
@settings(max_examples=25, deadline=None)
@given(lengths=st.lists(st.integers(1, 5), min_size=3, max_size=3), seed=st.integers(0, 2**16))
def test_a_rule_keeps_values(name: str, lengths: list[int], seed: int) -> None:
    """The two sides of its law agree (or are ordered) in balls, at random sizes and tensors."""
    law = LAWS[name]()
    formula = as_formula(law)
    try:
        sizes = dict(zip((sympy.Symbol(s, integer=True, positive=True) for s in SIZES), lengths, strict=True))
        given_ = bindings({t.name: t for t in formula.tensors}, sizes, seed, beyond=0)
        inputs: dict[str, Any] = (
            {s.name: k for s, k in sizes.items()} | given_.reals | given_.integers | given_.booleans
        )
        left, right = enclose(formula, inputs, bits=192)
    finally:
        forget(formula.id)
    for x, y in zip(np.ravel(left), np.ravel(right), strict=True):
        assert agree(x, y) if law.relation == "=" else bool(x <= y) or agree(x, y), f"{name}: {x} against {y}"


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_used_by_the_prover(name: str) -> None:
    """Its law is proved, and the record of the proof names it."""
    law = LAWS[name]()
    gap = law.right - law.left if law.relation == "<=" else None
    sides = claim(law.left, law.relation, law.right, *law.over, where=law.where)
    items = tuple(t for t in tensors_of(law))
    theorem = Theorem(
        name,
        RULES[name].sentence,
        (sides.proved(law.proof or derive().because(RULES[name].sentence, gap=gap)),),
        given=items,
    )
    formula = Formula("test.law", "", (), (), (), auxiliary=True)
    try:
        checked = check(theorem, formula, guard=False)
    finally:
        forget(formula.id)
    assert checked.assurance == Assurance.PROVED, checked.refusal
    assert name in {rule.name for rule in checked.rules}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_has_a_sentence(name: str) -> None:
    """What pages show is a sentence with an end."""
    assert re.fullmatch(r"\S.{10,}\.", RULES[name].sentence)


def test_every_rule_that_the_prover_notes_is_a_named_one() -> None:
    """No derivation shows a rule without a sentence."""
    from pathlib import Path

    folder = Path(spec.language.__file__).parent / "proving"
    noted = {n for file in folder.rglob("*.py") for n in re.findall(r'note\("(\w+)"\)', file.read_text())}
    assert noted <= set(RULES)
    assert set(RULES) <= noted
