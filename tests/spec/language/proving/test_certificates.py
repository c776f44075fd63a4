"""What is found by a search counts only if a certificate of it checks: linear reasoning over integers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spec.language.proving.knowledge.certificates import Certificate, Form, refutes
from spec.language.proving.knowledge.linear import contradiction

X: Form = ((("x", 1),), 0)
BELOW: Form = ((("x", -1),), -1)
"""0 ≤ x and x ≤ -1."""
CERTIFICATE = Certificate((X, BELOW), ((1, 0, 1, 1),))


def forms() -> st.SearchStrategy[Form]:
    """Inequalities between three unknowns, as small numbers."""
    rows = st.tuples(*(st.integers(-3, 3) for _ in "xyz"))
    return st.builds(
        lambda row, constant: (tuple((k, c) for k, c in zip("xyz", row, strict=True) if c), constant),
        rows,
        st.integers(-4, 4),
    )


def satisfied(facts: list[Form]) -> bool:
    """Whether some integers from -4 to 4 satisfy the inequalities."""
    grid = dict(zip("xyz", np.ogrid[-4:5, -4:5, -4:5], strict=True))
    holds = np.ones((9, 9, 9), bool)
    for terms, constant in facts:
        holds &= sum((c * grid[k] for k, c in terms), np.zeros((9, 9, 9), int)) + constant >= 0
    return bool(holds.any())


@settings(max_examples=200, deadline=None)
@given(st.lists(forms(), max_size=6))
def test_what_the_search_finds_is_a_certificate(facts: list[Form]) -> None:
    """It checks, and no integers satisfy what it refutes."""
    found = contradiction(facts)
    if found is not None:
        assert refutes(found, facts)
        assert not satisfied(facts)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(forms(), min_size=1, max_size=4),
    st.lists(st.tuples(*[st.integers(-1, 3), st.integers(-1, 5)] * 2), max_size=4),
)
def test_no_certificate_refutes_what_holds(facts: list[Form], lines: list[tuple[int, int, int, int]]) -> None:
    """Whoever wrote it."""
    if refutes(Certificate(tuple(facts), tuple(lines)), facts):
        assert not satisfied(facts)


@pytest.mark.parametrize(
    ("certificate", "facts"),
    [
        (replace(CERTIFICATE, lines=((1, 0, -1, 1),)), (X, BELOW)),
        (replace(CERTIFICATE, lines=((1, 0, 0, 1),)), (X, BELOW)),
        (replace(CERTIFICATE, lines=((2, 0, 1, 1),)), (X, BELOW)),
        (replace(CERTIFICATE, lines=((1, 0, 1, 2),)), (X, BELOW)),
        (replace(CERTIFICATE, lines=((1, -1, 1, 1),)), (X, BELOW)),
        (replace(CERTIFICATE, lines=()), (X, BELOW)),
        (CERTIFICATE, (X,)),
        (Certificate(()), (X, BELOW)),
    ],
    ids=[
        "a negative factor",
        "a factor of 0",
        "a sum that keeps an unknown",
        "a line that is not there yet",
        "a line counted from the end",
        "no contradiction at the end",
        "a fact that nobody gave",
        "nothing",
    ],
)
def test_a_certificate_with_a_fault_is_refused(certificate: Certificate, facts: tuple[Form, ...]) -> None:
    """Whatever the fault is."""
    assert refutes(CERTIFICATE, (X, BELOW))
    assert not refutes(certificate, facts)


def test_rounding_down_is_for_integers() -> None:
    """2x ≥ 1 and 2x ≤ 1 have the solution 1/2, and no integer one."""
    half = (((("x", 2),), -1), ((("x", -2),), 1))
    assert contradiction([half[0]]) is None
    certificate = Certificate(half, ((1, 0, 1, 1),))
    assert not refutes(certificate, half)
    tight = (((("x", 1),), -1), ((("x", -1),), 0))
    assert refutes(Certificate(tight, ((1, 0, 1, 1),)), tight)
