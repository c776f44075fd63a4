"""Negations: what is not both is not one, or not the other; neither may be forgotten."""

from __future__ import annotations

from typing import Any

from spec.language import (
    Every,
    Node,
    Some,
    Sum,
    case,
    delta,
    eq,
    given,
    le,
    lt,
)
from tests.spec.language.proving.attacks.attack import Attack, at_most, related
from tests.spec.language.proving.claims import B, F, a, anything, i, j, l, m, n, r, t, z

DIFFER = "differ"
C = given("C", n, m, domain="boolean")
OPEN = Some(~Some(B[t, l] & le(3, i * l + j), (l, m)), (t, n))
SHUT = Some(~Some(B[t, l], (l, m)), (t, n))


def below_zero(columns: Any) -> Node:
    """That F is at most 0 in these columns of every row."""
    return Every(Every(le(F[r, t], 0), (t, *columns)), (r, n))


NEGATIONS = (
    Attack(
        "no entry is permitted and late: late is forgotten",
        anything,
        lambda: related(Sum(delta(i, 0) * case(OPEN, 1), (i, n)), "=", case(SHUT, 1), (j, m), given=(B,)),
        DIFFER + "|conjunction",
    ),
    Attack(
        "the same, the wrong way round",
        anything,
        lambda: related(
            Sum(delta(i, 0) * case(OPEN, 0, 1), (i, n)), "=", case(SHUT, 0, 1), (j, m), given=(B,)
        ),
        DIFFER + "|conjunction",
    ),
    Attack(
        "the same, with a condition that does not speak of the row",
        anything,
        lambda: related(
            Sum(delta(i, 0) * case(Some(~Some(B[t, l] & le(i * l, j - 2), (l, m)), (t, n)), 1), (i, n)),
            "=",
            case(SHUT, 1),
            (j, m),
            given=(B,),
        ),
        DIFFER + "|conjunction",
    ),
    Attack(
        "no entry is positive and late: late is forgotten",
        anything,
        lambda: related(
            Sum(
                delta(i, 0) * case(Some(~Some(lt(0, F[t, l]) & le(3, i * l + j), (l, m)), (t, n)), 1), (i, n)
            ),
            "=",
            case(Some(~Some(lt(0, F[t, l]), (l, m)), (t, n)), 1),
            (j, m),
        ),
        DIFFER + "|conjunction",
    ),
    Attack(
        "not every row has a permitted entry, late or not",
        anything,
        lambda: related(
            Sum(delta(i, 0) * case(Every(Some(B[t, l] & le(3, i * l + j), (l, m)), (t, n)), 1), (i, n)),
            "=",
            case(Every(Some(B[t, l], (l, m)), (t, n)), 1),
            (j, m),
            given=(B,),
        ),
        DIFFER + "|conjunction",
    ),
    Attack(
        "late by its position in the last row",
        anything,
        lambda: related(
            Sum(delta(i, 0) * case(Some(~Some(B[t, l] & lt(i * l + r, j), (l, m)), (t, n)), 1), (i, n)),
            "=",
            case(SHUT, 1),
            (j, m),
            (r, m),
            given=(B,),
        ),
        DIFFER + "|conjunction",
    ),
    Attack(
        "the negation of two conditions is the negation of the first",
        anything,
        lambda: related(case(~(B[i, j] & C[i, j]), 1), "=", case(~B[i, j], 1), (i, n), (j, m), given=(B, C)),
        DIFFER,
    ),
    Attack(
        "the negation of either is either negation",
        anything,
        lambda: related(
            case(~(B[i, j] | C[i, j]), 1), "=", case(~B[i, j] | ~C[i, j], 1), (i, n), (j, m), given=(B, C)
        ),
        DIFFER,
    ),
    Attack(
        "no index has both is no index has the first",
        anything,
        lambda: related(
            case(~Some(B[i, j] & C[i, j], (j, m)), 1),
            "=",
            case(~Some(B[i, j], (j, m)), 1),
            (i, n),
            given=(B, C),
        ),
        DIFFER,
    ),
    Attack(
        "an index with the first, and one with the second, is one with both",
        anything,
        lambda: related(
            case(Some(B[i, j], (j, m)) & Some(C[i, j], (j, m)), 1),
            "=",
            case(Some(B[i, j] & C[i, j], (j, m)), 1),
            (i, n),
            given=(B, C),
        ),
        DIFFER,
    ),
    Attack(
        "a sum over what is not both is a sum over what is not the first",
        anything,
        lambda: related(
            Sum(F[i, j], (j, 0, m - 1), where=~(B[i, j] & lt(j, r))),
            "=",
            Sum(F[i, j], (j, 0, m - 1), where=~B[i, j]),
            (i, n),
            (r, m),
            given=(B,),
        ),
        DIFFER,
    ),
    Attack(
        "in the other case of two conditions, the first fails",
        anything,
        lambda: related(case(B[i, j] & lt(0, a), 0, case(B[i, j], 1)), "=", 0, (i, n), (j, m), given=(B, a)),
        DIFFER,
    ),
    Attack(
        "in the other case of two comparisons, the first fails",
        anything,
        lambda: at_most(0, case(lt(0, a) & lt(0, z), 0, -a), given=(a, z)),
        "is not visible from its form",
    ),
    Attack(
        "in the other case of two index comparisons, the first fails",
        anything,
        lambda: related(case(lt(i, j) & lt(j, t), 0, case(lt(i, j), 1)), "=", 0, (i, n), (j, n), (t, n)),
        DIFFER,
    ),
    Attack(
        "what holds in all columns but the last of every row, in the last",
        anything,
        lambda: at_most(F[i, j], 0, (i, n), (j, m), assuming=(below_zero((0, m - 2)),)),
        "is not visible from its form",
    ),
    Attack(
        "what holds up to the diagonal, right of it",
        anything,
        lambda: at_most(F[i, j], 0, (i, n), (j, m), assuming=(below_zero((0, r)), le(n, m))),
        "is not visible from its form",
    ),
    Attack(
        "what holds for some column of every row, for every column",
        anything,
        lambda: at_most(F[i, j], 0, (i, n), (j, m), assuming=(Every(Some(le(F[r, t], 0), (t, m)), (r, n)),)),
        "is not visible from its form",
    ),
    Attack(
        "what does not hold for every column of any row, fails in each column",
        anything,
        lambda: at_most(
            F[i, j], 0, (i, n), (j, m), assuming=(Every(~Every(lt(0, F[r, t]), (t, m)), (r, n)),)
        ),
        "is not visible from its form",
    ),
    Attack(
        "no entry equals another number, so that it equals this one",
        anything,
        lambda: related(
            F[i, j], "=", a, (i, n), (j, m), given=(a,), assuming=(~Some(eq(F[0, t], a), (t, m)),)
        ),
        DIFFER,
    ),
)
