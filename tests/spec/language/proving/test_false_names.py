"""Relations that do not exist, and names that mean two things, prove nothing: a theorem with one is refused in one line.

Each of these was proved once, built directly as here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import sympy

from spec.language import (
    Assurance,
    Formula,
    Sum,
    Theorem,
    case,
    claim,
    data,
    define,
    given,
    lift,
    lt,
    number,
    sin,
    tensor,
)
from spec.language.arrays import Tensor
from spec.language.expr import Func, Node, Ref, le
from spec.language.known import add, forget, get_formula
from spec.language.proving.proof import check
from spec.language.symbols import Letter
from spec.language.theorem import Claim, Proof, Step
from spec.language.wellformed.formulas import IllFormed
from spec.positional.sinusoidal import sinusoidal
from tests.spec.language.proving.claims import F, anything, f, i, j, m, n, proved

u, w = Letter("u", n), Letter("w", m)
b = number("b", "positive")
table = tensor("table", n, m)
caller = Formula(
    "test.caller",
    "A table of positions and a number that has the name of its base",
    (n, m, b),
    (define(table[u, w], sinusoidal(n, m)[u, w] + b),),
    (table,),
    auxiliary=True,
)
row, total = data("row", m), tensor("total")
summed = Formula(
    "test.summed", "The sum of a row", (row,), (define(total, Sum(row[w], w)),), (total,), auxiliary=True
)


def one(left: Any, relation: str, right: Any, *over: Any, where: Node | None = None, **rest: Any) -> Theorem:
    """A theorem of one claim, built without any check."""
    pairs = tuple((s, size) for s, size in over)
    made = Claim(lift(left), lift(right), pairs, *(() if where is None else (where,)), relation=relation)
    return Theorem("claimed", "Claimed", (made,), **rest)


def stepped(relation: str) -> Theorem:
    """1 ≤ 0 by a step of this relation."""
    proof = Proof(steps=(Step(lift(2), "so", relation), Step(lift(0), "so", "=")))
    return Theorem("claimed", "Claimed", (Claim(lift(1), lift(0), relation="<=", proof=proof),))


inverse = given("inverse", n, domain="permutation")
sine = given("functionsin", n)
unbounded = given("z", n, domain="integer")
m_index = Letter("m", n)
real = sympy.Symbol("h", positive=True)
even = sympy.Symbol("h", integer=True, even=True)
natural = sympy.Symbol("h", integer=True, nonnegative=True)

FALSE: dict[str, tuple[Callable[[], Theorem], str]] = {
    **{f"0 {relation!r} 1": (lambda relation=relation: one(0, relation, 1), "relates its sides by")
       for relation in (">", ">=", "!=", "≤", "==", "")},
    **{f"a step by {relation!r}": (lambda relation=relation: stepped(relation), "a step is by")
       for relation in (">", ">=", "!=", "")},
    "a comparison by >": (
        lambda: one(case(Node.__new__(type(le(0, 1)), sympy.core.symbol.Str(">"), i, i + 1), 0, 1), "=", 0, (i, n)),
        "a condition compares by",
    ),
    "a function that is none": (
        lambda: one(Func(sympy.core.symbol.Str("gamma"), lift(1)), "<=", 1),
        "is no function of a statement",
    ),
    "a permutation called as the prover calls a reciprocal": (
        lambda: one(inverse[i], "=", 1 / lift(i), (i, n), where=lt(0, i), given=(inverse,)),
        "the two sides differ by",
    ),
    "a tensor called as the prover calls the sine": (
        lambda: one(sine[i], "=", sin(i), (i, n), given=(sine,)),
        "the two sides differ by",
    ),
    "a name with a mark of the prover": (
        lambda: one(Tensor("k~1", (n,))[i], "=", 0, (i, n), given=(Tensor("k~1", (n,), role="given"),)),
        "is no name",
    ),
    "an index called as a size": (lambda: one(m_index, "=", m, (m_index, n)), "m names two different things"),
    "another index called as a size": (
        lambda: one(sympy.Symbol("m", integer=True), "=", m, (sympy.Symbol("m", integer=True), n)),
        "m names two different things",
    ),
    "two indices of one name": (
        lambda: one(lift(u - Letter("u", m)), "=", 0, (u, n), (Letter("u", m), m)),
        "u names two different things",
    ),
    "one index twice": (lambda: one(f[i], "=", 0, (i, n), (i, m)), "stands for two indices"),
    "an input of another domain": (
        lambda: one(0, "<", Tensor("f", (n,), "positive", "data")[i], (i, n)),
        "f of shape .* is another tensor than the one of this name",
    ),
    "an input of another shape": (
        lambda: one(Tensor("f", (m,), "real", "data")[j], "=", f[j], (j, n), where=lt(j, m)),
        "f of shape .* is another tensor",
    ),
    "a tensor that nothing declares": (
        lambda: one(0, "<", given("q", domain="positive"), given=()),
        "q of shape .* is not declared",
    ),
    "a given that has the name of an input": (
        lambda: one(0, "<", given("f", n, domain="positive")[i], (i, n), given=(given("f", n, domain="positive"),)),
        "f names two different things",
    ),
    "a real number as a size": (lambda: one(1, "<=", real), "h is no letter"),
    "a real number as the end of a range": (
        lambda: one(Sum(lift(1), (j, 0, real - 1)), "=", real),
        "h is no letter",
    ),
    "an even integer": (lambda: one(even * (even + 1), "=", even * (even + 1), (even, n)), "h is no index"),
    "an integer from 0 on": (lambda: one(0, "<=", natural), "h is no letter"),
    "a free letter": (lambda: one(0, "<=", i * i), "i is free"),
    "a free letter of a step": (
        lambda: Theorem("claimed", "", (Claim(lift(0), lift(0), proof=Proof(steps=(Step(lift(i), "so"),))),)),
        "i is free",
    ),
    "a free letter of an assumption": (
        lambda: one(0, "<=", f[i], (i, n), assuming=(le(0, f[i]),)),
        "an assumption: i is free",
    ),
    "a free letter of an assumption and an induction over it": (
        lambda: Theorem(
            "claimed", "", (claim(0, "<=", f[i], (i, n)).by_induction(i),), assuming=(le(0, f[i]),)
        ),
        "an assumption: i is free",
    ),
    "a real entry as a condition": (lambda: one(case(f[i], f[i], 0), "=", f[i] * f[i], (i, n)), "is no condition"),
    "a real entry as the range of a claim": (
        lambda: one(0, "<", f[i] * f[i], (i, n), where=f[i]),
        "is no condition",
    ),
    "a real entry as an assumption": (
        lambda: one(0, "<", f[0] * f[0], assuming=(f[0],)),
        "is no condition",
    ),
    "a real entry as an index": (
        lambda: one(f[Ref(f, i)], "=", f[Ref(f, i)], (i, n)),
        "is no index",
    ),
    "an integer without a range": (
        lambda: one(unbounded[i], "<=", 0, (i, n), given=(unbounded,)),
        "of which range is not said",
    ),
    "a size that may be 0": (
        lambda: one(1, "<=", m - 1, sizes={n: m - 1}),
        "not visibly an integer of at least 1",
    ),
    "a size that is a half": (
        lambda: one(Sum(lift(1), (j, 0, n - 1)), "=", n, sizes={n: m / 2}),
        "not visibly an integer of at least 1",
    ),
    "an input fixed outside its domain": (
        lambda: one(given("p", domain="positive"), "<", 0, given=(given("p", domain="positive"),),
                    at={given("p", domain="positive"): -1}),
        "p is fixed, but is no input",
    ),
    "a method that is none": (
        lambda: Theorem("claimed", "", (Claim(lift(0), lift(1), proof=Proof(method="intuition")),)),
        "not a method of proof",
    ),
    "nothing": (lambda: Theorem("claimed", "", ()), "nothing is claimed"),
    "an argument of another shape": (
        lambda: one(summed(F).entry(()), "=", summed(F).entry(())),
        r"row has shape \(m\), but an argument of shape \(n, m\) was given",
    ),
    "a convention that is none": (
        lambda: one(0, "=", 0, conventions={"colour": "blue"}),
        "has no convention 'colour'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FALSE)
def test_what_means_two_things_is_refused(name: str) -> None:
    """In one line, when it is checked and, where it is ill formed, when it is attached."""
    build, said = FALSE[name]
    theorem = build()
    checked = check(theorem, anything, guard=False)
    assert checked.assurance == Assurance.REFUSED
    assert re.search(said, checked.refusal), checked.refusal
    assert "\n" not in checked.refusal
    if "differ by" not in said:
        with pytest.raises(IllFormed, match=said):
            anything.prove(theorem)


def test_an_input_does_not_take_the_place_of_a_constant_of_its_name() -> None:
    """The base of the encoding stays 10,000 where the caller's own b is 1: column 2 is not sin t + 1."""
    turned = sin(u / lift(1)) + 1
    rest: dict[str, Any] = {"at": {b: 1}, "assuming": (lt(2, m),)}
    false = Theorem("claimed", "", (claim(caller(n, m, b)[u, 2], "=", turned, u),), **rest)
    assert check(false, caller, guard=False).assurance == Assurance.REFUSED
    true = claim(caller(n, m, b)[u, 2], "=", sinusoidal(n, m)[u, 2] + 1, u)
    proved(Theorem("claimed", "", (true,), **rest), caller)
    flat = caller.flat()
    assert sorted(flat.constants) == ["b_2"]


def test_prover_and_oracle_agree_on_a_power_of_a_size() -> None:
    """xⁿ asks for 0 < x, also where n is 1: x¹ written so does not."""
    power = claim(f[i] ** n, "=", f[i], (i, n))
    for theorem in (
        Theorem("claimed", "", (power,), sizes={n: sympy.Integer(1)}),
        Theorem("claimed", "", (power.only_at({n: 1, m: 1}),)),
    ):
        assert "f[i] > 0" in check(theorem, anything, guard=False).refusal
    proved(Theorem("claimed", "", (claim(f[i] ** 1, "=", f[i], (i, n)),)))


def test_a_formula_is_stated_once() -> None:
    """A second one with its ID is refused; those of tests may be stated again, and then theorems are about the new one."""
    with pytest.raises(ValueError, match=r"positional\.sinusoidal: a formula with this ID is stated already"):
        add(sinusoidal)

    def stated(more: int) -> Formula:
        out = tensor("out", n)
        return Formula("test.again", "Again", (f,), (define(out[u], f[u] + more),), (out,), auxiliary=True)

    first = stated(1)
    theorem = Theorem("claimed", "", (claim(first(f)[u], "=", f[u] + 2, u),))
    second = stated(2)
    assert get_formula("test.again") is second
    assert "no longer the formula of this ID" in check(theorem, first, guard=False).refusal
    proved(theorem, second)
    forget("test.again")
