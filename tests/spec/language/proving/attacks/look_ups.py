"""Look-ups: an integer that is looked up may be even, and may be any number below its bound."""

from __future__ import annotations

from spec.language import Formula, Sum, case, data, define, delta, eq, given, lift, sizes, tensor
from tests.spec.language.proving.attacks.attack import Attack, at_most, related
from tests.spec.language.proving.claims import F, anything, f, i, j, n, pi, t

(h,) = sizes("h")
u, v, w = data("u", h), data("v", h), data("w", h)
woven, braid, single = tensor("y", 2 * h), tensor("y", 3 * h), tensor("y", 2 * h)
k = given("k", domain="integer", below=2 * h)
k3 = given("k", domain="integer", below=3 * h)
half = given("k", domain="integer", below=h)
table = given("T", n, domain="integer", below=2 * h)
WOVEN = Formula(
    "test.attacks.woven",
    "Two rows in turn",
    (u, v),
    (define(woven[2 * i], u[i], (i, h)), define(woven[2 * i + 1], v[i], (i, h))),
    (woven,),
    auxiliary=True,
)
BRAID = Formula(
    "test.attacks.braid",
    "Three rows in turn",
    (u, v, w),
    (
        define(braid[3 * i], u[i], (i, h)),
        define(braid[3 * i + 1], v[i], (i, h)),
        define(braid[3 * i + 2], w[i], (i, h)),
    ),
    (braid,),
    auxiliary=True,
)
SPARSE = Formula(
    "test.attacks.sparse",
    "A row at even places",
    (u,),
    (define(single[2 * i], u[i], (i, h)),),
    (single,),
    auxiliary=True,
)
both, three, sparse = WOVEN(u, v), BRAID(u, v, w), SPARSE(u)
OPEN = "divisible|stays in|parity|not known"

words = given("words", n, domain="integer", below=n)

LOOK_UPS = (
    Attack(
        "an entry at an integer of either parity is 0",
        WOVEN,
        lambda: related(both[k], "=", 0, given=(k,)),
        OPEN,
    ),
    Attack("its square is 0", WOVEN, lambda: related(both[k] ** 2, "=", 0, given=(k,)), OPEN),
    Attack(
        "an entry at a looked up integer is 0",
        WOVEN,
        lambda: related(both[table[0]], "=", 0, given=(table,)),
        OPEN,
    ),
    Attack(
        "an entry at the last looked up integer is 0",
        WOVEN,
        lambda: related(both[table[n - 1]], "=", 0, given=(table,)),
        OPEN,
    ),
    Attack(
        "a sum over looked up entries is 0",
        WOVEN,
        lambda: related(Sum(both[table[i]], (i, n)), "=", 0, given=(table,)),
        OPEN,
    ),
    Attack(
        "an entry past an integer is 0", WOVEN, lambda: related(both[half + 1], "=", 0, given=(half,)), OPEN
    ),
    Attack(
        "an entry at the difference of two integers is 0",
        WOVEN,
        lambda: related(both[2 * h - 1 - k], "=", 0, given=(k,)),
        OPEN,
    ),
    Attack(
        "one of three rows in turn, at any integer, is 0",
        BRAID,
        lambda: related(three[k3], "=", 0, given=(k3,)),
        OPEN,
    ),
    Attack(
        "one of three rows in turn, at an integer from the end, is 0",
        BRAID,
        lambda: related(three[3 * h - 1 - k3], "=", 0, given=(k3,)),
        OPEN,
    ),
    Attack(
        "one of three rows in turn, at twice an integer, is 0",
        BRAID,
        lambda: related(three[2 * half], "=", 0, given=(half,)),
        OPEN,
    ),
    Attack(
        "a row at even places is 0 at any integer",
        SPARSE,
        lambda: related(sparse[k], "=", 0, given=(k,)),
        OPEN,
    ),
    Attack(
        "a row at even places is 0 at a looked up integer",
        SPARSE,
        lambda: related(sparse[table[0]], "=", 0, given=(table,)),
        OPEN,
    ),
    Attack(
        "an entry at an integer is that of the first row",
        WOVEN,
        lambda: related(both[k], "=", u[0], given=(k,)),
        OPEN,
    ),
    Attack(
        "a looked up integer is not another",
        anything,
        lambda: related(delta(table[0], k), "=", 0, given=(table, k)),
        "differ",
    ),
    Attack(
        "a looked up integer is not twice another",
        anything,
        lambda: related(delta(table[0], 2 * half), "=", 0, given=(table, half)),
        "differ",
    ),
    Attack(
        "an integer is not the half of a size",
        anything,
        lambda: related(delta(2 * half, n), "=", 0, given=(half,)),
        "differ",
    ),
    Attack(
        "a look-up that is equal comes from an equal index",
        anything,
        lambda: related(case(eq(table[i], table[j]), delta(i, j), 1), "=", 1, (i, n), (j, n), given=(table,)),
        "differ",
    ),
    Attack(
        "a permutation keeps the order",
        anything,
        lambda: at_most(lift(pi[i]), lift(pi[i + 1]), (i, n - 1), given=(pi,)),
        "is not visible",
    ),
    Attack(
        "every integer is looked up",
        anything,
        lambda: related(Sum(delta(table[i], t), (i, n)), "=", 1, (t, 2 * h), given=(table,)),
        "differ",
    ),
    Attack(
        "a sum over looked up entries is a sum over the row",
        anything,
        lambda: related(Sum(f[words[i]], (i, n)), "=", Sum(f[i], (i, n)), given=(words,)),
        "differ",
    ),
    Attack(
        "an integer looked up beyond its bound",
        anything,
        lambda: related(F[0, table[0]], "=", F[0, table[0]], given=(table,)),
        "stays in",
    ),
)
