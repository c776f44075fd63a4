"""Procedures: a decoder's reference satisfies its requirements in every small problem, a wrong result does not; IDs are found."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from spec.bibliography import BIBLIOGRAPHY
from spec.decoding.continuations import Continuation, Found, Problem
from spec.language.procedure import Procedure
from spec.language.registry import UnknownFormula, find, ids, procedures, statement, statement_ids

every_procedure = pytest.mark.parametrize("procedure", procedures().values(), ids=lambda p: p.id)
every_decoder = pytest.mark.parametrize(
    "procedure", [p for p in procedures().values() if p.module == "decoding"], ids=lambda p: p.id
)
LEVELS = (0.0, 1.0, -0.7)
"""Logits, in all combinations: equal ones, and gaps that do not add up to one another."""
SETTINGS = tuple(
    {"max_length": T, "end": end, "width": k, "top": t, "alpha": alpha}
    for T, end, k, t, alpha in itertools.product((1, 3), (None, 1), (1, 2, 3), (None, 1), (0.0, 1.0))
)


def reading(weights: tuple[float, ...]) -> Callable[[tuple[int, ...]], list[float]]:
    """A model of two words: word 1's logit depends on the last word, and a little on how many there are."""

    def logits(text: tuple[int, ...]) -> list[float]:
        return [0.0, weights[text[-1]] + 0.3 * (len(text) % 2) * weights[2]]

    return logits


def problems(conventions: dict[str, str]) -> Iterator[Problem]:
    """All problems of two words with these logits, and prompts of two lengths."""
    for weights in itertools.product(LEVELS, repeat=3):
        for setting in SETTINGS:
            yield Problem(reading(weights), 2, ((0,), (1, 0)), conventions=conventions, **setting)


def choices(procedure: Procedure) -> list[dict[str, str]]:
    """Every choice of conventions."""
    names = [c.name for c in procedure.conventions]
    options = itertools.product(*(c.options for c in procedure.conventions))
    return [dict(zip(names, chosen, strict=True)) for chosen in options]


@every_decoder
def test_the_reference_satisfies_every_requirement_in_every_small_problem(procedure: Procedure) -> None:
    """What the pages call checked by enumeration: 27 models of two words, 24 settings, every convention."""
    for conventions in choices(procedure):
        for problem in problems(conventions):
            for requirement in procedure.requirements:
                said = requirement.broken(problem, lambda asked: procedure.reference(asked)[0])
                assert said == "", (requirement.name, problem, said)


def spoiled(found: Found, change: Callable[[Continuation], Continuation]) -> Found:
    """A result whose best continuations are changed."""
    return [[change(row[0]), *row[1:]] for row in found]


WRONG: dict[str, Callable[[Continuation], Continuation]] = {
    "finished": lambda c: replace(c, tokens=c.tokens[:-1]),
    "sum_of_log_p": lambda c: replace(c, log_probability=(c.log_probability or 0) + 0.1),
    "penalised": lambda c: replace(c, score=(c.score or 0) * 1.01),
    "likeliest": lambda c: replace(c, tokens=(1 - c.tokens[0], *c.tokens[1:])),
    "ordered": lambda c: replace(c, tokens=(1 - c.tokens[0], *c.tokens[1:])),
    "one_is_greedy": lambda c: replace(c, tokens=(1 - c.tokens[0], *c.tokens[1:])),
    "wide_is_exact": lambda c: replace(c, tokens=(1 - c.tokens[0], *c.tokens[1:])),
}
"""For each requirement that looks at one result, a change that breaks it."""


@every_decoder
def test_a_requirement_can_be_broken(procedure: Procedure) -> None:
    """A result changed on purpose is refused by the requirement that it breaks; those of two results see two that differ."""
    problem = Problem(reading((1.0, -0.7, 0.0)), 2, ((0,), (1, 0)), 3, None, 3, None, 1.0, procedure.choose())

    def right(asked: Problem) -> Found:
        return procedure.reference(asked)[0]

    for requirement in procedure.requirements:
        if requirement.name in WRONG:
            said = requirement.broken(problem, lambda p, r=requirement: spoiled(right(p), WRONG[r.name]))
        else:
            changed = {"batch": lambda p: len(p.prompts) > 1, "cache": lambda p: p.cached}[requirement.name]
            said = requirement.broken(
                problem, lambda p, c=changed: spoiled(right(p), WRONG["sum_of_log_p"]) if c(p) else right(p)
            )
        assert said, requirement.name
        assert "\n" not in said


@every_procedure
def test_a_procedure_gives_its_reasons(procedure: Procedure) -> None:
    """Why it exists, what it takes and returns, its steps, what goes wrong, and works of the bibliography."""
    assert procedure.why.endswith(".")
    assert all(len(text.split()) > 1 for text in (*procedure.inputs.values(), *procedure.returns.values()))
    assert len(procedure.steps) >= 3
    assert all(step.endswith(".") for step in procedure.steps)
    assert procedure.pitfalls
    assert all(BIBLIOGRAPHY[s.reference.key] is s.reference for s in procedure.sources)
    assert len(procedure.fingerprint) == 16


def test_statements_are_found_by_their_ids() -> None:
    """Formulas and procedures share one list of names; a misspelled one is answered with those that are close."""
    assert set(statement_ids()) == {*ids(), *procedures()}
    assert statement("decoding.beam") is procedures()["decoding.beam"]
    assert statement("decoding.sample") is find("decoding.sample")
    with pytest.raises(UnknownFormula, match=r"^decoding\.beam is a procedure: it has no formula"):
        find("decoding.beam")
    with pytest.raises(UnknownFormula, match=r"did you mean decoding\.beam"):
        statement("decoding.beams")


def test_an_unknown_convention_is_refused_with_what_is_known() -> None:
    """As for a formula."""
    with pytest.raises(ValueError, match="convention penalty is one of gnmt, power"):
        procedures()["decoding.beam"].choose({"penalty": "none"})
    with pytest.raises(ValueError, match=r"decoding\.greedy has no convention 'eps'; it has: none"):
        procedures()["decoding.greedy"].choose({"eps": "inside"})
