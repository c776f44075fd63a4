"""Blocks: only a width of at least 1 divides a range into blocks, and only whole blocks."""

from __future__ import annotations

import sympy

from spec.language import Formula, Sum, define, delta, given, lift, sizes, tensor
from tests.spec.language.proving.attacks.attack import Attack, at_most, related
from tests.spec.language.proving.claims import F, anything, f, i, j, l, m, n, p, t

(h, d) = sizes("h d")
width = given("k", domain="integer", below=n)
row = given("w", h * d)
flat = tensor("flat", n * m)
LINE = Formula(
    "test.attacks.line",
    "Rows in a line",
    (F,),
    (define(flat[i * m + j], F[i, j], (i, n), (j, m)),),
    (flat,),
    auxiliary=True,
)
line = LINE(F)
DIFFER, WIDTH = "differ", "≥ 1|width|stays in|not known|whole blocks"
block = sympy.floor


def _over(first, last, inner_first, inner_last):
    """A count over i, t and an index of i·t places, each in its block of width i."""
    inner = Sum(lift(block(l / i)) - lift(block(l / i)) + 1, (l, 0, i * t - 1))
    return Sum(Sum(inner, (t, inner_first, inner_last)), (i, first, last))


def _looked_up(least):
    """A count over the blocks of a width that is looked up, where it is at least so much; else 0."""
    return Sum(delta(t, width) * Sum(lift(block(l / t)), (l, 0, n - 1)), (t, least, n - 1))


BLOCKS = (
    Attack(
        "a sum over blocks of negative width, of negative number, is empty",
        anything,
        lambda: related(_over(-2, -1, -2, -1), "=", 0),
        WIDTH,
    ),
    Attack("the same for one width", anything, lambda: related(_over(-1, -1, -3, -1), "=", 0), WIDTH),
    Attack(
        "the same for widths as large as a size",
        anything,
        lambda: related(_over(-n, -1, -m, -1), "=", 0),
        WIDTH,
    ),
    Attack("the same as an estimate", anything, lambda: at_most(_over(-2, -1, -2, -1), 0), WIDTH),
    Attack(
        "the same with values",
        anything,
        lambda: related(
            Sum(Sum(Sum(p[0] ** 2 + lift(block(l / i)), (l, 0, i * t - 1)), (t, -2, -1)), (i, -2, -1)),
            "=",
            0,
            given=(p,),
        ),
        WIDTH,
    ),
    Attack(
        "blocks of a width that may be 0",
        anything,
        lambda: related(
            Sum(lift(block(l / i)), (l, 0, i * m - 1)), "=", Sum(lift(t) * i, (t, 0, m - 1)), (i, n)
        ),
        WIDTH,
        shown=False,
    ),
    Attack(
        "blocks of a looked up width",
        anything,
        lambda: related(_looked_up(0), "=", 0, given=(width,)),
        WIDTH,
    ),
    Attack(
        "blocks of a looked up width that is at least 1",
        anything,
        lambda: related(_looked_up(1), "=", 0, given=(width,)),
        DIFFER + "|" + WIDTH,
    ),
    Attack(
        "a sum over blocks that are not whole",
        anything,
        lambda: related(Sum(lift(block(l / d)), (l, 0, h * d)), "=", Sum(lift(t) * d, (t, 0, h - 1))),
        WIDTH,
    ),
    Attack(
        "a sum over blocks that begins within one",
        anything,
        lambda: related(Sum(lift(block(l / d)), (l, 1, h * d - 1)), "=", Sum(lift(t) * d, (t, 0, h - 1))),
        WIDTH,
        shown=False,
    ),
    Attack(
        "the block of an index is that of the next",
        anything,
        lambda: related(lift(block(l / d)), "=", lift(block((l + 1) / d)), (l, h * d - 1)),
        WIDTH,
    ),
    Attack(
        "an index is a multiple of the width",
        anything,
        lambda: related(Sum(lift(l) - d * lift(block(l / d)), (l, 0, h * d - 1)), "=", 0),
        DIFFER,
    ),
    Attack(
        "a block has one place fewer",
        anything,
        lambda: related(
            Sum(lift(block(l / d)), (l, 0, h * d - 1)), "=", Sum(lift(t) * (d - 1), (t, 0, h - 1))
        ),
        DIFFER,
    ),
    Attack(
        "rows in a line, of another width",
        LINE,
        lambda: related(line[i * n + j], "=", F[i, j], (i, n), (j, m)),
        WIDTH,
    ),
    Attack(
        "rows in a line, one after the last",
        LINE,
        lambda: related(line[(i + 1) * m + j], "=", F[i, j], (i, n), (j, m)),
        WIDTH,
    ),
    Attack(
        "rows in a line, columns exchanged for rows",
        LINE,
        lambda: related(
            Sum(line[l], (l, 0, n * m - 1)), "=", Sum(Sum(F[i, j], (j, 0, n - 1)), (i, 0, m - 1))
        ),
        "differ|stays in",
    ),
    Attack(
        "a size replaced by a negative number",
        anything,
        lambda: related(Sum(lift(1), (i, 0, n - 1)), "=", 0, sizes={n: sympy.Integer(-1)}),
        "at least 1|≥ 1",
        shown=False,
    ),
    Attack(
        "a size replaced by the negative of another",
        anything,
        lambda: related(Sum(f[i], (i, 0, n - 1)), "=", 0, sizes={n: -m}),
        "at least 1|≥ 1",
        shown=False,
    ),
    Attack(
        "a size replaced by a difference that may be negative",
        anything,
        lambda: related(lift(1), "=", 1, (i, n), sizes={n: m - 5}),
        "at least 1|≥ 1",
        shown=False,
    ),
)
