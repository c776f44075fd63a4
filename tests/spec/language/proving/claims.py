"""Small claims for the tests of the prover: a formula to hang them on, and registers of false ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from spec.language import Assurance, Formula, Sum, Theorem, claim, data, define, given, indices, sizes, tensor
from spec.language.proving.proof import Checked, check

m, n = sizes("m n")
i, j, l, c, e, t, phi, r, w = indices("i j l c e t phi r w")
f, F = data("f", n), data("F", n, m)
out = tensor("out", n)
anything = Formula(
    "test.anything",
    "Sums of rows",
    (f, F),
    (define(out[i], f[i] + Sum(F[i, j], (j, 0, m - 1))),),
    (out,),
    auxiliary=True,
)
a, z = given("a"), given("z")
p = given("p", n, domain="positive")
B = given("B", n, m, domain="boolean")
pi = given("pi", n, domain="permutation")

Register = dict[str, tuple[Formula, Callable[[], Theorem], str]]
Decorator = Callable[[Callable[[], Theorem]], Callable[[], Theorem]]


def register_in(register: Register) -> Callable[[str, Formula, str], Decorator]:
    """A decorator that registers a false theorem with what its refusal must say."""

    def false(name: str, formula: Formula, reason: str) -> Decorator:
        def add(build: Callable[[], Theorem]) -> Callable[[], Theorem]:
            register[name] = (formula, build, reason)
            return build

        return add

    return false


def equal(left: Any, right: Any, *over: Any, where: Any = None, **rest: Any) -> Theorem:
    """A theorem with one equality."""
    guard = {} if where is None else {"where": where}
    return Theorem("claimed", "claimed", (claim(left, "=", right, *over, **guard),), **rest)


def refused(register: Register, name: str) -> None:
    """The theorem is refused, in one line that says what is wrong."""
    formula, build, reason = register[name]
    checked = check(build(), formula, guard=False)
    assert checked.assurance == Assurance.REFUSED
    assert "\n" not in checked.refusal
    assert re.search(reason, checked.refusal), checked.refusal


def proved(theorem: Theorem, formula: Formula = anything) -> Checked:
    """The theorem, checked and found proved."""
    checked = check(theorem, formula, guard=False)
    assert checked.assurance == Assurance.PROVED, checked.refusal
    return checked
