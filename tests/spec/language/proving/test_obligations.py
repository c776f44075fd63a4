"""Nothing is divided, rooted or looked up without a reason; the reason, or what is missing, can be read."""

from __future__ import annotations

from typing import Any

import pytest

from spec.language import Max, Node, Some, Sum, Tensor, case, exp, indices, le, lift, log, lt, sizes, sqrt
from spec.language.expr import TRUE
from spec.language.proving.obligations import Undischarged, Unprovable
from spec.language.proving.reading.frames import Frame
from spec.language.proving.reading.reader import Reader
from spec.language.proving.terms.polynomials import Atom, number

n, m = sizes("n m")
i, j, l = indices("i j l")
f, F = Tensor("f", (n,)), Tensor("F", (n, m))
p = Tensor("p", (n,), "positive")
M = Tensor("M", (n, m), "boolean")
at, pi = Tensor("at", (m,), "integer", below=n), Tensor("pi", (n,), "permutation")
a = Tensor("a", ())
whole = Sum(exp(F[i, j]), (j, 0, m - 1))
kept = Sum(exp(F[i, j]), (j, 0, m - 1), where=M[i, j])
some = Some(M[i, l], (l, 0, m - 1))


def read(node: Node, where: Node = TRUE) -> Reader:
    """Read a tree at an index i of 0 … n-1 at which a condition holds."""
    reader, at_i = Reader(), Atom("symbol", "i").poly
    frame, facts = Frame({i: at_i}), reader.n.empty
    facts = reader.within(at_i, number(0), reader.index(n, frame, facts) - 1, facts)
    facts = facts.assume_value(reader.condition(where, frame, facts)).as_root()
    reader.value(node, frame, facts)
    return reader


DISCHARGED: dict[str, tuple[Node, Node]] = {
    "an exponential": (1 / exp(f[i]), TRUE),
    "a size": (1 / lift(n), TRUE),
    "a sum of sizes": (1 / lift(n + m - 1), TRUE),
    "a difference of sizes known to be positive": (1 / lift(n - m), lt(m, n)),
    "a declared positive": (1 / p[i], TRUE),
    "a sum of positives over a whole range": (1 / whole, TRUE),
    "a restricted sum in a row with a permitted index": (1 / kept, some),
    "a restricted sum guarded by a permitted index": (case(M[i, 0], 1 / kept), TRUE),
    "a restricted sum inside a sum over permitted indices": (
        Sum(exp(F[i, l]) / kept, (l, 0, m - 1), where=M[i, l]),
        TRUE,
    ),
    "a restricted sum whose guard says so in two steps": (case(some, case(M[i, 0], 1, 1 / kept)), TRUE),
    "a square plus a positive": (sqrt(f[i] ** 2 + p[i]), TRUE),
    "a variance plus a positive": (1 / sqrt(Sum((f[j] - a) ** 2, (j, 0, n - 1)) / n + p[0]), TRUE),
    "a product of equals": (sqrt(f[i] * f[i]), TRUE),
    "a case of positives": (log(case(M[i, 0], p[i], exp(f[i]))), TRUE),
    "a guard on a value": (1 / a, lt(0, a)),
    "a guard on a value inside a case": (case(lt(0, a), log(a)), TRUE),
    "a maximum of positives": (log(Max(p[j], (j, 0, n - 1))), TRUE),
    "a power of a positive": (1 / p[i] ** f[i], TRUE),
    "a look-up in range": (Sum(f[at[j]], (j, 0, m - 1)), TRUE),
    "a permuted index": (Sum(f[pi[j]], (j, 0, n - 1)), TRUE),
    "a reversed index": (f[n - 1 - i], TRUE),
    "a neighbour that is there": (f[i + 1], lt(i + 1, n)),
    "a neighbour inside a case": (case(le(1, i), f[i - 1]), TRUE),
    "the first entry": (f[0], TRUE),
}

REFUSED: dict[str, tuple[Node, str]] = {
    "a number of any sign": (1 / a, "a ≠ 0"),
    "a difference of sizes": (1 / lift(n - m), "n-m ≠ 0"),
    "a size minus 1": (1 / lift(n - 1), "n-1 ≠ 0"),
    "an index": (1 / lift(i), "i ≠ 0"),
    "a sum of numbers of any sign": (1 / Sum(f[j], (j, 0, n - 1)), "≠ 0"),
    "a restricted sum": (1 / kept, "≠ 0"),
    "a restricted sum guarded by another row": (case(M[0, 0], 1 / kept), r"≠ 0, known: M\[0,0\]"),
    "a sum over a range that may be empty": (1 / Sum(p[j], (j, 0, i - 1)), "≠ 0"),
    "a root of a difference": (sqrt(p[i] - p[0]), "≥ 0"),
    "a root of a number of any sign": (sqrt(f[i]), "≥ 0"),
    "a logarithm of a square": (log(f[i] ** 2), "> 0"),
    "a power of a number of any sign": (f[i] ** a, "> 0"),
    "a reciprocal power of a number of any sign": (f[i] ** -1, "≠ 0"),
    "a maximum over no index": (Max(p[j], (j, 0, i - 1)), "at least one index"),
    "a restricted maximum": (Max(F[i, j], (j, 0, m - 1), where=M[i, j]), "at least one index"),
    "an index past the end": (f[i + 1], "stays in"),
    "an index before the start": (f[i - 1], "stays in"),
    "an index of another size": (Sum(f[j], (j, 0, m - 1)), "stays in"),
    "a second entry": (f[1], "stays in"),
    "a look-up of another size": (F[at[0], at[0]], "stays in"),
    "a case that guards the other branch": (case(lt(0, a), 0, 1 / a), "a ≠ 0"),
}


@pytest.mark.parametrize("name", DISCHARGED)
def test_an_obligation_is_discharged(name: str) -> None:
    """By the form of the expression, by the sizes, by ranges, or by what guards the place."""
    node, where = DISCHARGED[name]
    read(node, where)


@pytest.mark.parametrize("name", REFUSED)
def test_an_obligation_is_named_when_it_is_not(name: str) -> None:
    """The reading is refused with what would have to be known."""
    node, sentence = REFUSED[name]
    with pytest.raises(Undischarged, match=sentence):
        read(node)


def test_the_ledger_keeps_reasons() -> None:
    """Every obligation that was met is listed with the reason."""
    entries = read(1 / kept, some).n.ledger.entries
    (obligation,) = entries.values()
    assert "≠ 0" in obligation.sentence
    assert obligation.reason == "a sum of positive terms over at least one index"


def test_a_cancellation_is_an_obligation_of_its_own() -> None:
    """What is cancelled is listed too, whatever it looked like when it was read."""
    entries = read(Sum(exp(F[i, j]) / kept, (j, 0, m - 1), where=M[i, j]), some).n.ledger.entries
    assert [o.reason for o in entries.values()][-1].startswith("cancelled")


@pytest.mark.parametrize(
    "node",
    [Sum(f[j], (j, 0, n)), F[i, n]],
    ids=["a range one too long", "a column of the other size"],
)
def test_ranges_are_held_to_shapes(node: Any) -> None:
    """Sizes that differ by name are not confused."""
    with pytest.raises((Undischarged, Unprovable)):
        read(node)
