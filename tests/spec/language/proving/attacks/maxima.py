"""Maxima: what is no member of a maximum is not bounded by it."""

from __future__ import annotations

from spec.language import Max, Some, Sum, Theorem, case, claim, derive, eq, exp, le, lt
from tests.spec.language.proving.attacks.attack import Attack, at_most, below, related
from tests.spec.language.proving.claims import B, F, anything, f, i, j, l, m, n, p, pi, z

BEFORE = Max(f[l], (l, 0, n - 1), where=lt(l, i))
AFTER = Max(F[i, l], (l, 0, m - 1), where=lt(j, l))
VISIBLE = "is not visible from its form"


def _in_two_steps() -> Theorem:
    proof = derive().at_most(BEFORE + p[i], "what is added is positive")
    return Theorem(
        "claimed", "", (claim(f[i], "<=", BEFORE + p[i], (i, n), where=lt(0, i)).proved(proof),), (p,)
    )


MAXIMA = (
    Attack(
        "a value is at most the largest before it",
        anything,
        lambda: at_most(f[i], BEFORE, (i, n), where=lt(0, i)),
        VISIBLE,
    ),
    Attack(
        "a value is at most the largest after it",
        anything,
        lambda: at_most(F[i, j], AFTER, (i, n), (j, m), where=lt(j + 1, m)),
        VISIBLE,
    ),
    Attack(
        "the largest before, written with ≤",
        anything,
        lambda: at_most(f[i], Max(f[l], (l, 0, n - 1), where=le(l + 1, i)), (i, n), where=lt(0, i)),
        VISIBLE,
    ),
    Attack(
        "the largest before, by its range",
        anything,
        lambda: at_most(f[i], Max(f[l], (l, 0, i - 1)), (i, n), where=lt(0, i)),
        VISIBLE,
    ),
    Attack(
        "the largest after, by its range",
        anything,
        lambda: at_most(f[i], Max(f[l], (l, i + 1, n - 1)), (i, n), where=lt(i + 1, n)),
        VISIBLE,
    ),
    Attack(
        "the negative of a value is at least that of the largest before it",
        anything,
        lambda: at_most(-BEFORE, -f[i], (i, n), where=lt(0, i)),
        VISIBLE,
    ),
    Attack(
        "the exponential of the distance to the largest before is at most 1",
        anything,
        lambda: at_most(exp(f[i] - BEFORE), 1, (i, n), where=lt(0, i)),
        VISIBLE,
    ),
    Attack(
        "a value and something positive is below the largest before it and that",
        anything,
        lambda: at_most(f[i] + p[i], BEFORE + p[i], (i, n), where=lt(0, i), given=(p,)),
        VISIBLE,
    ),
    Attack("the largest before, with what is added in a step of its own", anything, _in_two_steps, VISIBLE),
    Attack(
        "twice the distance to the largest before is at least 0",
        anything,
        lambda: at_most(0, 2 * BEFORE - 2 * f[i], (i, n), where=lt(0, i)),
        VISIBLE,
    ),
    Attack(
        "the largest among permitted entries before",
        anything,
        lambda: at_most(
            F[i, j],
            Max(F[i, l], (l, 0, m - 1), where=B[i, l] & lt(l, j)),
            (i, n),
            (j, m),
            where=Some(B[i, l] & lt(l, j), (l, m)) & B[i, j],
            given=(B,),
        ),
        VISIBLE,
    ),
    Attack(
        "the largest among those not permitted",
        anything,
        lambda: at_most(
            F[i, j],
            Max(F[i, l], (l, 0, m - 1), where=~B[i, l]),
            (i, n),
            (j, m),
            where=Some(~B[i, l], (l, m)) & B[i, j],
            given=(B,),
        ),
        VISIBLE + "|not a conjunction",
    ),
    Attack(
        "the largest among another row's permitted entries",
        anything,
        lambda: at_most(
            F[i, j],
            Max(F[i, l], (l, 0, m - 1), where=B[0, l]),
            (i, n),
            (j, m),
            where=Some(B[0, l], (l, m)) & B[i, j],
            given=(B,),
        ),
        VISIBLE,
    ),
    Attack(
        "the largest at a single other index",
        anything,
        lambda: at_most(f[i], Max(f[l], (l, 0, n - 1), where=eq(l, j)), (i, n), (j, n), where=lt(i, j)),
        VISIBLE,
    ),
    Attack(
        "the largest of the values before is positive where a value is",
        anything,
        lambda: below(
            0,
            Max(p[l] * z, (l, 0, n - 1), where=lt(l, i)) - p[i] * z + 1,
            (i, n),
            where=lt(0, i),
            given=(p, z),
        ),
        VISIBLE,
    ),
    Attack(
        "a sum of distances to the largest before",
        anything,
        lambda: at_most(0, Sum(Max(f[l], (l, 0, n - 1), where=le(l, i)) - f[i + 1], (i, 0, n - 2))),
        VISIBLE,
    ),
    Attack(
        "a case that never occurs: the value exceeds the largest before it",
        anything,
        lambda: related(Sum(case(lt(BEFORE, f[i]), 1), (i, 1, n - 1)), "=", 0),
        "differ",
    ),
    Attack(
        "the largest of the values that a permutation puts before",
        anything,
        lambda: at_most(
            f[i],
            Max(f[l], (l, 0, n - 1), where=lt(pi[l], pi[i])),
            (i, n),
            where=Some(lt(pi[l], pi[i]), (l, n)),
            given=(pi,),
        ),
        VISIBLE,
    ),
)
