"""Sinusoidal position encoding: a position told by waves of many lengths."""

from collections.abc import Callable
from typing import Any

from sympy import pi

from spec.positional.layout import LAYOUT, b
from spec.positional.rotation import rotation
from spec.vocabulary import *

n, d = sizes("n d")
t, phi, i, c, e, r = indices(t=n, phi=n, i=floor(d / 2), c=d, e=d, r=d)

PE = tensor("PE", n, d, meaning="the vector of each position")

FREQUENCIES = Convention(
    "frequencies",
    {
        "open": "pair i turns by b^(−2i/d): the slowest is a little faster than 1/b, as the paper has it",
        "closed": "it turns by b^(−i/(d/2 − 1)): the slowest is 1/b exactly, as in tensor2tensor, fairseq and M2M-100; "
        "nothing is said of an odd width, where libraries add a column of zeros, or of width 2, which is 0/0",
    },
    default="open",
)


def wave(of: Callable[[Any], Node]) -> Node:
    """The sine or cosine of position t in pair i."""
    return by_convention(
        "frequencies",
        open=of(t / b ** (2 * i / d)),
        closed=case(eq(2 * floor(d / 2), d) & lt(2, d), of(t / b ** (2 * i / (d - 2))), Undefined()),
    )


sine, cosine = wave(sin), wave(cos)

sinusoidal = Formula(
    "positional.sinusoidal",
    "Sinusoidal position encoding",
    why="How can a network that only aggregates over a set of vectors know in which order they came? Attention gives the same "
    "result whatever the order of its keys, so the order has to be told: a vector that depends on the position alone is "
    "added to each embedding. Here it holds waves of many lengths, like the hands of many clocks: fast ones tell neighbours "
    "apart, slow ones tell where in a long text we are. Nothing is learned, every position has a vector however long the "
    "sequence, and a step of φ positions is the same rotation everywhere, so that distances can be read off.",
    sizes={n: "positions", d: "width: the columns of a vector"},
    inputs=(n, d),
    lines=(
        lines_by_convention(
            "layout",
            interleaved=(define(PE[t, 2 * i], sine, (i, ceiling(d / 2))), define(PE[t, 2 * i + 1], cosine)),
            concatenated=(
                define(PE[t, i], sine, (i, ceiling(d / 2))),
                define(PE[t, ceiling(d / 2) + i], cosine),
            ),
        ),
    ),
    outputs=(PE,),
    conventions=(LAYOUT, FREQUENCIES),
    constants={b: 10000},
    pitfalls=(
        pitfall("all sines first, then all cosines: the same numbers in another order", convention="layout"),
        pitfall(
            "an odd width: the last sine has no cosine beside it; it is dropped, or the assignment fails",
            mutant="even_only",
        ),
        pitfall(
            "-log(10000) / d // 2 for the exponents: // binds as tightly as /, and rounds every one of them",
            mutant="precedence",
        ),
        pitfall(
            "frequencies spread down to 1/b exactly: the last pair has i = d/2 − 1, so its wavelength stays below b·2π",
            theorem="wavelengths",
        ),
        pitfall(
            "d/2 − 1 for d/2 in the exponents: the tables agree in their first pair alone",
            convention="frequencies",
        ),
    ),
    sources=(
        deck(0, "positional encoding"),
        deck(1, "PE"),
        deck(2, "256 (sine) + 256 (cosine)"),
        deck(3, "M_φ"),
        deck(4, "PE(pos, 2i)"),
        paper("vaswani2017", "section 3.5"),
    ),
    worked=(
        Worked(
            "Positions 0 and 1 in four columns: the frequencies are 1 and 1/100",
            {"n": 2, "d": 4},
            [["0.00000", "1.00000", "0.00000", "1.00000"], ["0.84147", "0.54030", "0.01000", "0.99995"]],
            5,
        ),
        Worked(
            "An odd width: the last sine stands alone; its frequency is 1/10000^(2/3) = 1/464.16",
            {"n": 2, "d": 3},
            [["0.00000", "1.00000", "0.00000"], ["0.84147", "0.54030", "0.00215"]],
            5,
        ),
        Worked(
            "The same four columns, sines first",
            {"n": 2, "d": 4},
            [["0.00000", "0.00000", "1.00000", "1.00000"], ["0.84147", "0.01000", "0.54030", "0.99995"]],
            5,
            conventions={"layout": "concatenated"},
        ),
        Worked(
            "Closed frequencies: 1 and 1/10000, as in fairseq",
            {"n": 2, "d": 4},
            [["0.00000", "0.00000", "1.00000", "1.00000"], ["0.84147", "0.00010", "0.54030", "1.00000"]],
            5,
            conventions={"layout": "concatenated", "frequencies": "closed"},
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

(h,) = sizes("h")
EVEN, ODD = {d: 2 * h}, {d: 2 * h + 1}
OPEN = {"frequencies": "open"}
INTERLEAVED = OPEN | {"layout": "interleaved"}
pairs, inside = ceiling(d / 2), lt(t + phi, n)
alpha, beta = given("alpha"), given("beta")

omega = tensor("omega", pairs, meaning="frequency of a pair: the angle that one position adds")
lambda_ = tensor("lambda", pairs, meaning="wavelength of a pair: the positions in a full turn")
S = tensor("S", floor(d / 2), d, meaning="1 in the column of a pair's sine, 0 elsewhere")
C = tensor("C", floor(d / 2), d, meaning="1 in the column of a pair's cosine, 0 elsewhere")
sinusoidal.let(omega[i], 1 / b ** (2 * i / d), (i, pairs))
sinusoidal.let(lambda_[i], 2 * pi * b ** (2 * i / d), (i, pairs))
sinusoidal.let(S[i, c], by_convention("layout", interleaved=delta(c, 2 * i), concatenated=delta(c, i)))
sinusoidal.let(
    C[i, c], by_convention("layout", interleaved=delta(c, 2 * i + 1), concatenated=delta(c, pairs + i))
)
here, turn, there = t * omega[i], phi * omega[i], (t + phi) * omega[i]
moved = rotation(phi, h, d)


def blocks(cosine: Node, sine: Node) -> Node:
    """Entry c, r of the matrix whose block for pair i is (cosine, sine; −sine, cosine)."""
    return Sum(
        cosine * (S[i, c] * S[i, r] + C[i, c] * C[i, r]) + sine * (S[i, c] * C[i, r] - C[i, c] * S[i, r]), i
    )


sinusoidal.theorem(
    "shift_of_a_pair",
    "A step of φ positions rotates each pair of sine and cosine by φ times its frequency",
    claim(PE[t + phi, 2 * i], "=", cos(turn) * PE[t, 2 * i] + sin(turn) * PE[t, 2 * i + 1], where=inside)
    .step(sin(there), "the definition")
    .step(sin(here) * cos(turn) + cos(here) * sin(turn), "the sine of a sum")
    .because("the definition, read backwards"),
    claim(PE[t + phi, 2 * i + 1], "=", cos(turn) * PE[t, 2 * i + 1] - sin(turn) * PE[t, 2 * i], where=inside)
    .step(cos(there), "the definition")
    .step(cos(here) * cos(turn) - sin(here) * sin(turn), "the cosine of a sum")
    .because("the definition, read backwards"),
    conventions=INTERLEAVED,
)

shifted = (
    derive()
    .step(Sum(sin(there) * S[i, c] + cos(there) * C[i, c], i), "the definition, pair by pair")
    .step(
        Sum(
            (cos(turn) * sin(here) + sin(turn) * cos(here)) * S[i, c]
            + (cos(turn) * cos(here) - sin(turn) * sin(here)) * C[i, c],
            i,
        ),
        "the sine and the cosine of a sum",
    )
    .because("the two rows of a pair's block, (cos, sin) and (−sin, cos), times its sine and cosine at t")
)

sinusoidal.theorem(
    "linear_shift",
    "PE(t + φ) = M_φ PE(t) with a block rotation M_φ that does not depend on t",
    claim(PE[t + phi, c], "=", Sum(moved[c, e] * PE[t, e], e), where=inside).proved(shifted),
    sizes=EVEN,
    conventions=OPEN,
)

sinusoidal.theorem(
    "linear_shift_odd",
    "For odd d the first d − 1 columns shift linearly",
    claim(
        PE[t + phi, c], "=", Sum(moved[c, e] * PE[t, e], (e, 2 * h)), t, phi, (c, 2 * h), where=inside
    ).proved(shifted),
    sizes=ODD,
    conventions=INTERLEAVED,
)

sinusoidal.theorem(
    "shifts_compose",
    "Shifts compose: M_α M_β is the rotation M of the shift α + β",
    claim(
        Sum(rotation(alpha, h, d)[c, e] * rotation(beta, h, d)[e, r], e),
        "=",
        rotation(alpha + beta, h, d)[c, r],
    )
    .step(
        blocks(
            cos(alpha * omega[i]) * cos(beta * omega[i]) - sin(alpha * omega[i]) * sin(beta * omega[i]),
            cos(alpha * omega[i]) * sin(beta * omega[i]) + sin(alpha * omega[i]) * cos(beta * omega[i]),
        ),
        "block times block: (cos, sin; −sin, cos) by (cos, sin; −sin, cos)",
    )
    .step(
        blocks(cos((alpha + beta) * omega[i]), sin((alpha + beta) * omega[i])),
        "the cosine and the sine of a sum",
    )
    .because("these are the blocks of the rotation by α + β"),
    given=(alpha, beta),
    sizes=EVEN,
    runs=False,
    conventions=OPEN,
)

sinusoidal.theorem(
    "shifts_are_orthogonal",
    "M_α is orthogonal: M_α M_αᵀ is the identity",
    claim(Sum(rotation(alpha, h, d)[c, e] * rotation(alpha, h, d)[r, e], e), "=", delta(c, r))
    .step(
        Sum(rotation(alpha, h, d)[c, e] * rotation(-alpha, h, d)[e, r], e),
        "the transpose turns back: the cosine is even, the sine odd",
    )
    .step(rotation(lift(0), h, d)[c, r], "shifts compose, and α − α = 0")
    .because("cos 0 = 1 and sin 0 = 0"),
    given=alpha,
    sizes=EVEN,
    runs=False,
    conventions=OPEN,
)

sinusoidal.theorem(
    "bounded",
    "Every entry lies between −1 and 1, for every d",
    claim(PE[t, c], "<=", 1).by_definition("sines and cosines do"),
    claim(-1, "<=", PE[t, c]).by_definition("sines and cosines do"),
    conventions=OPEN,
)

sinusoidal.theorem(
    "inner_product",
    "⟨PE(t), PE(t + φ)⟩ = Σᵢ cos(φ·ωᵢ): it depends on the distance φ only",
    claim(Sum(PE[t, c] * PE[t + phi, c], c), "=", Sum(cos(turn), i), where=inside)
    .step(
        Sum(sin(here) * sin(there) + cos(here) * cos(there), i),
        "the columns taken in pairs of sine and cosine",
    )
    .step(Sum(cos(there - here), i), "the cosine of a difference")
    .because("(t + φ)·ωᵢ − t·ωᵢ = φ·ωᵢ"),
    sizes=EVEN,
    conventions=OPEN,
)

sinusoidal.theorem(
    "norm",
    "‖PE(t)‖² = d/2 at every position",
    claim(Sum(PE[t, c] ** 2, c), "=", d / 2)
    .step(Sum(sin(here) ** 2 + cos(here) ** 2, i), "the columns taken in pairs of sine and cosine")
    .step(Sum(1, i), "sin² + cos² = 1")
    .because("d/2 pairs"),
    sizes=EVEN,
    conventions=OPEN,
)

sinusoidal.theorem(
    "norm_odd",
    "For odd d the first d − 1 columns have squared length (d − 1)/2 at every position",
    claim(Sum(PE[t, c] ** 2, (c, 2 * h)), "=", h)
    .step(Sum(sin(here) ** 2 + cos(here) ** 2, i), "the columns taken in pairs of sine and cosine")
    .because("sin² + cos² = 1 in each of the (d − 1)/2 pairs"),
    sizes=ODD,
    conventions=INTERLEAVED,
)

sinusoidal.theorem(
    "wavelengths",
    "Pair i is a sine and a cosine of wavelength λᵢ = 2π·b²ⁱᐟᵈ: from 2π upwards, and at most b·2π",
    claim(PE[t, 2 * i], "=", sin(2 * pi * t / lambda_[i]), t, (i, pairs))
    .step(sin(here), "the definition")
    .because("ωᵢ = 2π/λᵢ"),
    claim(PE[t, 2 * i + 1], "=", cos(2 * pi * t / lambda_[i]))
    .step(cos(here), "the definition")
    .because("ωᵢ = 2π/λᵢ"),
    claim(lambda_[0], "=", 2 * pi).by_definition("b⁰ = 1"),
    claim(lambda_[i], "<=", lambda_[i + 1], (i, pairs - 1))
    .step(2 * pi * b ** (2 * i / d), "the definition")
    .at_most(2 * pi * b ** (2 * (i + 1) / d), "b > 1, so its powers grow with the exponent")
    .because("the definition, read backwards"),
    claim(lambda_[i], "<=", 2 * pi * b, (i, pairs))
    .step(2 * pi * b ** (2 * i / d), "the definition")
    .because("2i ≤ d − 1, and b > 1"),
    conventions=INTERLEAVED,
    assuming=(lt(1, b),),
    runs=False,
)

rows, extra = sizes("rows extra")

sinusoidal.theorem(
    "prefix",
    "A longer table begins with the shorter one: a position's vector does not depend on how many there are",
    claim(PE[t, c], "=", sinusoidal(rows, d)[t, c], (t, rows), c).by_definition("n is in no entry"),
    sizes={n: rows + extra},
    conventions=OPEN,
)

sinusoidal.theorem(
    "slowest",
    "Where the frequencies are closed, the last pair turns by 1/b at each position, and the first by 1",
    claim(PE[t, d - 2], "=", sin(t / b)).by_definition("the last pair is i = d/2 − 1"),
    claim(PE[t, d - 1], "=", cos(t / b)).by_definition("the last pair is i = d/2 − 1"),
    claim(PE[t, 0], "=", sin(t)).by_definition("b⁰ = 1"),
    claim(PE[t, 1], "=", cos(t)).by_definition("b⁰ = 1"),
    sizes={d: 2 * h + 2},
    conventions={"layout": "interleaved", "frequencies": "closed"},
)
