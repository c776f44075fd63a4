"""A witness, an enclosure and the guard honour what a theorem says: hypotheses, domains, sizes, what is fixed, the relation."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from spec.attention.softmax import s, softmax
from spec.language import (
    Assurance,
    Formula,
    Sum,
    Theorem,
    absolute,
    case,
    claim,
    constant,
    data,
    define,
    each,
    exp,
    expected,
    given,
    lift,
    log,
    lt,
    sin,
    sizes,
    tensor,
)
from spec.language.expr import eq, le
from spec.language.proving.evaluating.points import evaluate_claims
from spec.language.proving.proof import check
from spec.language.symbols import Letter
from tests.spec.language.proving.claims import anything, f, i, j, m, n, pi, proved, z

(half,) = sizes("half")
a, g = given("a"), given("g", domain="positive")
k = given("k", domain="integer", below=2)
x, y, K = data("x", n), tensor("y", n), constant("K")
tripled = Formula(
    "test.tripled", "Three times x", (x,), (define(y[i], K * x[i]),), (y,), constants={K: 3}, auxiliary=True
)
itself = Formula(
    "test.itself", "x, said by cases", (x,), (define(y[i], case(eq(x[i], 0), 0, x[i])),), (y,), auxiliary=True
)
slope = itself(x).pullback(each(1, (i, n)), x)[i]
row, column = (Letter(name, size) for name, size in zip("rc", s.shape, strict=True))
weight = softmax(s)[row, column]
OURS = {c.name: c.default for c in softmax.conventions}


def exists(left: Any, relation: str, right: Any, point: dict[str, Any], *over: Any, **rest: Any) -> Theorem:
    """That the relation does not always hold, shown at a point."""
    made = claim(left, relation, right, *over).by_witness(**point)
    return Theorem("claimed", "Claimed", (made,), exists=True, **rest)


def enclosed(left: Any, relation: str, right: Any, *over: Any, where: Any = None, **rest: Any) -> Theorem:
    """A claim by enclosure."""
    guard = {} if where is None else {"where": where}
    return Theorem("claimed", "", (claim(left, relation, right, *over, **guard).by_enclosure(),), **rest)


all_j = (j, 0, n - 1)
WITNESSES: dict[str, tuple[Formula, Callable[[], Theorem], str]] = {
    "some softmax weight exceeds 1": (
        softmax,
        lambda: exists(weight, "<=", 1, {"s": [[1.0, 2.0]]}, conventions=OURS),
        "the left side is not larger",
    ),
    "some softmax weight is at least 2": (
        softmax,
        lambda: exists(weight, "<", 2, {"s": [[1.0, 2.0]]}, conventions=OURS),
        "the left side is smaller",
    ),
    "some positive number is below 0": (
        anything,
        lambda: exists(0, "<=", g, {"g": -1.0}, given=(g,)),
        "g is positive; the point has",
    ),
    "some integer below 2 is neither 0 nor 1": (
        anything,
        lambda: exists(k * (k - 1), "=", 0, {"k": 7}, given=(k,)),
        "k holds integers from 0 to 1",
    ),
    "some permutation loses a place": (
        anything,
        lambda: exists(Sum(pi[j], all_j), "=", Sum(lift(j), all_j), {"n": 2, "pi": [0, 0]}, given=(pi,)),
        "pi is a permutation; the point has none",
    ),
    "some 0 is not 0": (
        anything,
        lambda: exists(a, "=", 0, {"a": 1.0}, given=(a,), assuming=(le(a, 0), le(0, a))),
        "the hypothesis a ≤ 0 does not hold",
    ),
    "some row fixed to 0 is not 0": (
        anything,
        lambda: exists(f[i], "=", 0, {"n": 1, "m": 1, "f": [1.0]}, (i, n), at={f: 0}),
        "f is fixed to 0",
    ),
    "some even size is odd": (
        anything,
        lambda: exists(n, "=", 2 * half, {"n": 3, "half": 1}, sizes={n: 2 * half}),
        "n is 3 at the point, but the theorem has n = 2",
    ),
    "a point without an input": (anything, lambda: exists(f[i], "=", 0, {"n": 1}, (i, n)), "f is missing"),
    "a point with something else": (
        anything,
        lambda: exists(f[i], "=", 0, {"n": 1, "f": [1.0], "h": 1}, (i, n)),
        "the theorem speaks of no h",
    ),
    "some exp(ln a) is below 0": (
        anything,
        lambda: exists(0, "<=", exp(log(a)), {"a": -1.0}, given=(a,)),
        "the left side is not larger",
    ),
    "some f(x) is not twice x, where its constant is 2": (
        tripled,
        lambda: exists(tripled(x)[i], "=", 2 * x[i], {"n": 1, "x": [1.0]}, (i, n), at={K: 2}),
        "the two sides agree",
    ),
    "some slope of x said by cases is not 1": (
        itself,
        lambda: exists(slope, "=", 1, {"n": 1, "x": [0.0]}, (i, n)),
        "the two sides agree",
    ),
    "exp(ln a) = a": (anything, lambda: enclosed(exp(log(a)), "=", a, given=(a,)), "nan against"),
    "f(x) = 3x, where its constant is 2": (
        tripled,
        lambda: enclosed(tripled(x)[i], "=", 3 * x[i], (i, n), at={K: 2}),
        "against",
    ),
    "the slope of x is 0 at 0": (
        itself,
        lambda: enclosed(slope, "=", case(eq(x[i], 0), lift(0), 1), (i, n)),
        "nan against 0.0",
    ),
    "n ≠ 9": (anything, lambda: enclosed(case(eq(n, 9), lift(1), 0), "=", 0), "1.0 against 0.0"),
    "n ≠ 20": (anything, lambda: enclosed(case(eq(n, 20), lift(1), 0), "=", 0), "1.0 against 0.0"),
    "n is not between 8 and 20": (
        anything,
        lambda: enclosed(case(lt(8, n) & lt(n, 20), lift(1), 0), "=", 0),
        "1.0 against 0.0",
    ),
    "n ≤ 4": (anything, lambda: enclosed(n, "<=", 4), "5.0 against 4.0"),
    "n ≤ 10": (anything, lambda: enclosed(n, "<=", 10), "12.0 against 10.0|11.0 against 10.0"),
    "n ≤ 1000": (anything, lambda: enclosed(n, "<=", 1000), "draws no sizes past 1000"),
    "n ≠ 5": (anything, lambda: enclosed(case(le(5, n), case(le(n, 5), 1)), "=", 0), "against 0.0"),
    "nothing": (
        anything,
        lambda: enclosed(f[i], "=", 0, (i, n), where=lt(i, 0)),
        "an enclosure needs points where something is claimed",
    ),
    "what the hypotheses exclude": (
        anything,
        lambda: enclosed(a, "=", 1, given=(a,), assuming=(lt(a, 0), lt(0, a))),
        "an enclosure needs points where something is claimed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WITNESSES)
def test_points_that_show_nothing_are_refused(name: str) -> None:
    """A point outside the theorem refutes nothing, and points that say nothing enclose nothing."""
    formula, build, said = WITNESSES[name]
    checked = check(build(), formula, guard=False)
    assert checked.assurance == Assurance.REFUSED
    assert re.search(said, checked.refusal), checked.refusal
    assert "\n" not in checked.refusal


def test_points_that_show_something_are_taken() -> None:
    """The same claims at points that are theirs, and enclosures under hypotheses, at what is fixed and at replaced sizes."""
    some = exists(weight, "<=", lift(1) / 2, {"s": [[1.0, 2.0]]}, conventions=OURS)
    proved(some, softmax)
    proved(exists(a, "<=", 0, {"a": 1.0}, given=(a,), assuming=(le(0, a),)))
    proved(exists(a, "<", 0, {"a": 0.0}, given=(a,)))
    for theorem in (
        enclosed(absolute(a), "=", a, given=(a,), assuming=(le(0, a),)),
        enclosed(Sum(f[j], all_j), "=", 0, at={f: 0}),
        enclosed(Sum(lift(1), all_j), "=", 2 * half, sizes={n: 2 * half}),
    ):
        assert check(theorem, anything, guard=False).assurance == Assurance.ENCLOSED


def test_a_call_takes_the_constants_that_a_theorem_fixes() -> None:
    """Twice x, where the 3 of the formula is a 2: derived, evaluated and enclosed."""
    proved(
        Theorem("claimed", "", (claim(tripled(x)[i], "=", 2 * x[i], (i, n)).by_definition(""),), at={K: 2}),
        tripled,
    )
    twice = enclosed(tripled(x)[i], "=", 2 * x[i], (i, n), at={K: 2})
    assert check(twice, tripled, guard=False).assurance == Assurance.ENCLOSED


q = given("q", m)
REFUTED: dict[str, Callable[[], Theorem]] = {
    "false at one size past a constant": lambda: Theorem("c", "", (claim(case(le(n, 9), 0, 1), "=", 0),)),
    "false at 0 alone": lambda: Theorem("c", "", (claim(f[i] * f[i], "<", 3 * f[i] * f[i], (i, n)),)),
    "false at a tie": lambda: Theorem(
        "c", "", (claim(case(lt(a, z), 1, case(lt(z, a), 1, 0)), "=", 1),), given=(a, z)
    ),
    "false below 0": lambda: Theorem("c", "", (claim(absolute(a), "=", a),), given=(a,)),
    "false under a hypothesis": lambda: Theorem(
        "c", "", (claim(sin(a), "<=", 0),), given=(a,), assuming=(le(0, a),)
    ),
    "a variance of 2": lambda: Theorem("c", "", (claim(expected(q[0] * q[0], q), "=", 2),), given=(q,)),
    "a fourth moment": lambda: Theorem("c", "", (claim(expected(q[0] ** 4, q), "=", 1),), given=(q,)),
    "a gradient": lambda: Theorem(
        "c", "", (claim(softmax(s).pullback(s, s)[row, column], "=", 0),), conventions=OURS
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUTED)
def test_the_guard_contradicts_what_is_false(name: str) -> None:
    """Without a word from the rules."""
    formula = softmax if name == "a gradient" else anything
    (found,) = evaluate_claims(REFUTED[name](), formula)
    assert found.violation, found


def test_what_the_guard_cannot_evaluate_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim under hypotheses that no point meets is refused, and so is one that evaluation stumbles over."""
    same = Theorem("c", "", (claim(a, "=", a),), given=(a,))
    far = replace(same, assuming=(lt(50, a), lt(a, 50 + lift(1) / 1000)))
    assert check(far, anything, guard=False).assurance == Assurance.PROVED
    checked = check(far, anything, guard=True)
    assert checked.assurance == Assurance.REFUSED
    assert "evaluation cannot confirm it: it says something at 0 of the points tried" in checked.refusal
    assert check(same, anything, guard=True).assurance == Assurance.PROVED

    def stumble(*_: object) -> None:
        raise RuntimeError("no program for this")

    monkeypatch.setattr("spec.language.evaluation.evaluator.Evaluator.values", stumble)
    stumbled = check(same, anything, guard=True)
    assert stumbled.assurance == Assurance.REFUSED
    assert "evaluation cannot confirm it" in stumbled.refusal


def test_a_line_of_a_derivation_that_the_guard_contradicts_is_not_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A true claim with a false line on the way is refused, and the line is named."""
    monkeypatch.setattr("spec.language.proving.deciding.place.Place.refuses", lambda *_: "")
    true = claim(f[i] + 1, "=", 1 + f[i], (i, n)).step(f[i] + 2, "a slip").because("and back")
    checked = check(Theorem("claimed", "", (true,)), anything)
    assert checked.assurance == Assurance.REFUSED
    assert "evaluation contradicts it in step 1" in checked.refusal


def test_what_the_guard_contradicts_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the rules say: here they are made to say yes to everything."""
    monkeypatch.setattr("spec.language.proving.deciding.place.Place.refuses", lambda *_: "")
    false = Theorem("claimed", "", (claim(f[i], "=", f[i] + 1, (i, n)),))
    assert check(false, anything, guard=False).assurance == Assurance.PROVED
    checked = check(false, anything, guard=True)
    assert checked.assurance == Assurance.REFUSED
    assert "evaluation contradicts it" in checked.refusal
