"""Theorems about positions: shifts are rotations, inner products tell distances."""

from __future__ import annotations

from typing import Any

import sympy

from spec.language import (
    Applied,
    Node,
    Proof,
    Sum,
    Theorem,
    claim,
    cos,
    delta,
    given,
    indices,
    lift,
    lt,
    sin,
    step,
)
from spec.positional import (
    W_PE,
    N,
    b,
    c,
    d,
    h,
    half_down,
    half_up,
    i,
    learned,
    n,
    p,
    pos,
    rotation,
    sinusoidal,
)

t, phi, e, r = indices("t phi e r")

row = sinusoidal(n, d)
EVEN, ODD = {d: 2 * h}, {d: 2 * h + 1}
INTERLEAVED = {"layout": "interleaved"}
inside = lt(t + phi, n)
first, second = given("phi"), given("psi")

# The angles of pair i: at position t, of a step φ, and after it.
here, turn, there = (x / b.value ** (2 * i / d) for x in (lift(t), lift(phi), lift(t + phi)))


def by(shift: Any) -> Applied:
    """The rotation by a shift, for rows of d columns."""
    return rotation(lift(shift), h, d)


sinusoidal.prove(
    Theorem(
        "shift_of_a_pair",
        "A step of φ positions rotates each pair of sine and cosine by φ times its frequency",
        conventions=INTERLEAVED,
        claims=(
            claim(
                row[t + phi, 2 * i],
                "=",
                cos(turn) * row[t, 2 * i] + sin(turn) * row[t, 2 * i + 1],
                (t, n),
                (phi, n),
                (i, half_down),
                where=inside,
            ),
            claim(
                row[t + phi, 2 * i + 1],
                "=",
                cos(turn) * row[t, 2 * i + 1] - sin(turn) * row[t, 2 * i],
                (t, n),
                (phi, n),
                (i, half_down),
                where=inside,
            ),
        ),
        proofs=(
            Proof(
                (
                    step(sin(there), "the definition"),
                    step(
                        sin(here) * cos(turn) + cos(here) * sin(turn),
                        "the sine of a sum",
                    ),
                ),
                why="the definition, read backwards",
            ),
            Proof(
                (
                    step(cos(there), "the definition"),
                    step(
                        cos(here) * cos(turn) - sin(here) * sin(turn),
                        "the cosine of a sum",
                    ),
                ),
                why="the definition, read backwards",
            ),
        ),
    )
)

sinusoidal.prove(
    Theorem(
        "linear_shift",
        "PE(t + φ) = M_φ PE(t) with a block rotation M_φ that does not depend on t",
        sizes=EVEN,
        claims=(
            claim(
                row[t + phi, c],
                "=",
                Sum(by(phi)[c, e] * row[t, e], (e, 0, d - 1)),
                (t, n),
                (phi, n),
                (c, d),
                where=inside,
            ),
        ),
        proofs=(
            Proof(why="row by row: only the two columns of the same frequency contribute, and angles add"),
        ),
    )
)

sinusoidal.prove(
    Theorem(
        "linear_shift_odd",
        "For odd d the first d − 1 columns shift linearly",
        sizes=ODD,
        conventions=INTERLEAVED,
        claims=(
            claim(
                row[t + phi, c],
                "=",
                Sum(by(phi)[c, e] * row[t, e], (e, 0, 2 * h - 1)),
                (t, n),
                (phi, n),
                (c, 2 * h),
                where=inside,
            ),
        ),
        proofs=(
            Proof(why="row by row: only the two columns of the same frequency contribute, and angles add"),
        ),
    )
)

sinusoidal.prove(
    Theorem(
        "shifts_compose",
        "M_φ M_ψ = M_{φ+ψ}",
        given=(first, second),
        sizes=EVEN,
        runs=False,
        claims=(
            claim(
                Sum(by(first.value)[c, e] * by(second.value)[e, r], (e, 0, d - 1)),
                "=",
                by(first.value + second.value)[c, r],
                (c, d),
                (r, d),
            ),
        ),
        proofs=(Proof(why="rotations by the same frequency add their angles"),),
    )
)

sinusoidal.prove(
    Theorem(
        "shifts_are_orthogonal",
        "M_φ is orthogonal: M_φ M_φᵀ is the identity",
        given=(first,),
        sizes=EVEN,
        runs=False,
        claims=(
            claim(
                Sum(by(first.value)[c, e] * by(first.value)[r, e], (e, 0, d - 1)),
                "=",
                delta(c, r),
                (c, d),
                (r, d),
            ),
        ),
        proofs=(Proof(why="sin² + cos² = 1 in each block"),),
    )
)

sinusoidal.prove(
    Theorem(
        "bounded",
        "Every entry lies between −1 and 1, for every d",
        claims=(
            claim(row[t, c], "<=", 1, (t, n), (c, d)),
            claim(-1, "<=", row[t, c], (t, n), (c, d)),
        ),
        proofs=(Proof(why="sines and cosines do"), Proof(why="sines and cosines do")),
    )
)

sinusoidal.prove(
    Theorem(
        "inner_product",
        "⟨PE(t), PE(t + φ)⟩ = Σᵢ cos(φ·ωᵢ): it depends on the distance φ only",
        sizes=EVEN,
        claims=(
            claim(
                Sum(row[t, c] * row[t + phi, c], (c, 0, d - 1)),
                "=",
                Sum(cos(turn), (i, 0, h - 1)),
                (t, n),
                (phi, n),
                where=inside,
            ),
        ),
        proofs=(
            Proof(
                (
                    step(
                        Sum(
                            sin(here) * sin(there) + cos(here) * cos(there),
                            (i, 0, h - 1),
                        ),
                        "the columns taken in pairs of sine and cosine",
                    ),
                ),
                why="the cosine of the difference of the two angles",
            ),
        ),
    )
)

sinusoidal.prove(
    Theorem(
        "norm",
        "‖PE(t)‖² = d/2 at every position",
        sizes=EVEN,
        claims=(claim(Sum(row[t, c] ** 2, (c, 0, d - 1)), "=", d / 2, (t, n)),),
        proofs=(
            Proof(
                (
                    step(
                        Sum(
                            sin(here) ** 2 + cos(here) ** 2,
                            (i, 0, h - 1),
                        ),
                        "the columns taken in pairs of sine and cosine",
                    ),
                    step(Sum(lift(1), (i, 0, h - 1)), "sin² + cos² = 1"),
                ),
                why="d/2 pairs",
            ),
        ),
    )
)

sinusoidal.prove(
    Theorem(
        "norm_odd",
        "For odd d the first d − 1 columns have squared length (d − 1)/2 at every position",
        sizes=ODD,
        conventions=INTERLEAVED,
        claims=(claim(Sum(row[t, c] ** 2, (c, 0, 2 * h - 1)), "=", h, (t, n)),),
        proofs=(Proof(why="sin² + cos² = 1 in each of the (d − 1)/2 pairs"),),
    )
)


def wavelength(pair: Any) -> Node:
    """The wavelength of a pair of columns: 2π over its frequency."""
    return 2 * sympy.pi * b.value ** (2 * pair / d)


sinusoidal.prove(
    Theorem(
        "wavelengths",
        "Pair i repeats after λᵢ = 2π·b^{2i/d} positions: from 2π upwards, and at most b·2π",
        conventions=INTERLEAVED,
        assuming=(lt(1, b.value),),
        runs=False,
        claims=(
            claim(row[t, 2 * i], "=", sin(2 * sympy.pi * t / wavelength(i)), (t, n), (i, half_up)),
            claim(row[t, 2 * i + 1], "=", cos(2 * sympy.pi * t / wavelength(i)), (t, n), (i, half_down)),
            claim(wavelength(sympy.S.Zero), "=", 2 * sympy.pi),
            claim(wavelength(i), "<=", wavelength(i + 1), (i, half_up)),
            claim(wavelength(i), "<=", 2 * sympy.pi * b.value, (i, half_up)),
        ),
        proofs=(
            Proof(why="2π·t / (2π·b^{2i/d}) = t / b^{2i/d}"),
            Proof(why="2π·t / (2π·b^{2i/d}) = t / b^{2i/d}"),
            Proof(why="b⁰ = 1"),
            Proof(why="b > 1, so its powers grow with the exponent"),
            Proof(why="2i ≤ d − 1, and b > 1"),
        ),
    )
)

table = learned(pos, W_PE)

learned.prove(
    Theorem(
        "one_hot",
        "The row looked up is the product of a one-hot vector with the table",
        claims=(claim(table[p, c], "=", Sum(delta(t, pos[p]) * W_PE[t, c], (t, 0, N - 1)), (p, n), (c, d)),),
        proofs=(Proof(why="the delta picks row pos[p], which is in the table"),),
    )
)
