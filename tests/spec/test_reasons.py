"""Every formula says why it exists, what its letters mean, what goes wrong, and where it comes from; proofs have their lines."""

from __future__ import annotations

import keyword
import re
from importlib import import_module

import pytest

from spec.bibliography import BIBLIOGRAPHY, DECKS, PAPERS
from spec.language import Claim, Formula, Proof, Tensor
from spec.language.registry import SUBJECTS, formulas
from spec.language.trees import free_symbols
from spec.vocabulary import __all__ as vocabulary

FORMULAS = list(formulas().values())
MODULES = [import_module(f"spec.{formula_id}") for formula_id in formulas()]
every_formula = pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.id)


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return [part for part in re.split(r"(?<=[.?!])\s+", text.strip()) if part]


def tensors(formula: Formula) -> list[Tensor]:
    """Every tensor of a statement: inputs, constants, what lines define, what a law returns."""
    returned = formula.law.returns if formula.law is not None else ()
    defined = (line.left.tensor for line in formula.definitions)
    return list(dict.fromkeys((*formula.tensors, *formula.constants, *defined, *returned)))


@every_formula
def test_why_it_exists_is_said_in_two_to_five_sentences(formula: Formula) -> None:
    """The question that the formula answers, in plain sentences."""
    assert 2 <= len(sentences(formula.why)) <= 5, formula.why
    assert formula.why.rstrip()[-1] in ".?!"


@every_formula
def test_every_letter_has_a_meaning(formula: Formula) -> None:
    """Tensors and sizes say what they stand for; a role, or a shape, is no meaning."""
    assert [t.name for t in tensors(formula) if len(t.meaning.split()) < 2] == []
    assert not [
        t.name for t in tensors(formula) if t.meaning.split()[0] in ("data", "parameter", "tensor", "array")
    ]
    asked = {s for t in tensors(formula) for size in (*t.shape, t.below) for s in free_symbols(size)}
    asked |= {item for item in formula.inputs if not isinstance(item, Tensor)}
    assert asked <= formula.sizes.keys(), f"without a meaning: {asked - formula.sizes.keys()}"
    assert all(formula.sizes.values())
    assert formula.sizes.keys() <= asked, f"no size of the formula: {formula.sizes.keys() - asked}"


@every_formula
def test_what_goes_wrong_is_shown_by_a_convention_a_theorem_or_a_variant(formula: Formula) -> None:
    """Each pitfall names what shows it, and the formula has that (variants are looked up in tests/verify)."""
    assert formula.pitfalls
    for pitfall in formula.pitfalls:
        assert sum(map(bool, (pitfall.convention, pitfall.theorem, pitfall.mutant))) == 1, pitfall
        if pitfall.convention:
            assert pitfall.convention in {c.name for c in formula.conventions}, pitfall
        if pitfall.theorem:
            assert pitfall.theorem in formula.theorems, pitfall


@every_formula
def test_there_is_an_example_to_redo_by_hand_and_a_source(formula: Formula) -> None:
    """Worked numbers, and works of the bibliography."""
    assert formula.worked
    assert formula.sources
    assert all(BIBLIOGRAPHY[s.reference.key] is s.reference for s in formula.sources)


def claims(proof: Proof) -> list[Claim]:
    """The claims that a proof shows by induction."""
    return [] if proof.induction is None else list(proof.induction.claims)


def has_a_line_between(claim: Claim) -> bool:
    """Whether something stands between the sides of a claim, or it follows from the definition alone, and says so."""
    proof = claim.proof
    between = any(step.to != claim.right for step in proof.steps)
    return (
        between or proof.definition or proof.induction is not None or proof.method in ("witness", "enclosure")
    )


@every_formula
def test_a_derivation_has_a_line_between_or_follows_from_the_definition(formula: Formula) -> None:
    """No claim is proved by a sentence alone, unless the definition is all there is to it; what is enclosed is not."""
    bare = [
        f"{theorem.name}, claim {number}"
        for theorem in formula.theorems.values()
        for number, claim in enumerate(theorem.claims, 1)
        if not has_a_line_between(claim)
    ]
    assert bare == []


@every_formula
def test_every_step_gives_its_reason(formula: Formula) -> None:
    """One written reason a step; a claim that follows from the definition says how."""
    for theorem in formula.theorems.values():
        for claim in theorem.claims:
            assert all(len(step.why) > 3 for step in claim.proof.steps), theorem.name
            assert claim.proof.why or claim.proof.steps or claim.proof.induction or claim.proof.point, (
                theorem.name
            )


def spelled(name: str) -> str:
    """A printed name as Python spells it: h' is h_new, and what Python keeps for itself ends in an underscore."""
    name = name.replace("'", "_new")
    return f"{name}_" if keyword.iskeyword(name) or name in vocabulary else name


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__.removeprefix("spec."))
def test_letters_are_called_in_python_as_they_are_printed(module: object) -> None:
    """Every tensor of a module bears its own name: no W_h that prints as W_c."""
    named = {name: value.name for name, value in vars(module).items() if isinstance(value, Tensor)}
    assert named
    assert {
        name: printed for name, printed in named.items() if name.rstrip("_") != spelled(printed).rstrip("_")
    } == {}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_subject_lists_its_formulas_with_a_module_each(subject: str) -> None:
    """The list of a subject is what its folder holds, auxiliary formulas and shared helpers apart."""
    listed = import_module(f"spec.{subject}").FORMULAS
    assert len(set(listed)) == len(listed) > 0
    for name in listed:
        assert formulas()[f"{subject}.{name}"].module == subject


def test_a_key_of_the_bibliography_names_one_work() -> None:
    """Two works under one key would be cited as one."""
    keys = [reference.key for reference in (*DECKS, *PAPERS)]
    assert len(keys) == len(set(keys))
