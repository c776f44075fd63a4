"""Cases: which condition decides, what holds in which branch."""

from spec.language import absolute, case, claim, eq, exp, le, lt, sqrt
from spec.language.binders import Every, Max, Some, Sum
from tests.attack.board import B, a, b, c, category, f, g, i, j, l, m, n, ok, z

false = category("cases")
U = {"undefined": True}

false("a case is its first branch", lambda: claim(case(ok[i], a, b), "=", a))
false("a case is its second branch", lambda: claim(case(ok[i], a, b), "=", b))
false("a case swapped", lambda: claim(case(ok[i], a, b), "=", case(ok[i], b, a)))
false("a negated case", lambda: claim(case(~ok[i], a, b), "=", case(ok[i], a, b)))
false("a case of a conjunction", lambda: claim(case(ok[i] & ok[l], a, b), "=", case(ok[i], a, b)))
false(
    "a case of a negated conjunction",
    lambda: claim(case(~(ok[i] & ok[l]), a, b), "=", case(~ok[i] & ~ok[l], a, b)),
)
false(
    "a case of a negated disjunction",
    lambda: claim(case(~(ok[i] | ok[l]), a, b), "=", case(~ok[i] | ~ok[l], a, b)),
)
false(
    "a case of a negated disjunction, one left",
    lambda: claim(case(~(ok[i] | B[i, j]), a, b), "=", case(~ok[i], a, b)),
)
false(
    "a case of a negated conjunction of three",
    lambda: claim(case(~(ok[i] & ok[l] & B[i, j]), a, b), "=", case(~ok[i] | ~ok[l], a, b)),
)
false(
    "a negated conjunction in a sum's case",
    lambda: claim(Sum(case(~(ok[l] & lt(i, l)), f[l]), l), "=", Sum(case(~ok[l], f[l]), l)),
)
false(
    "a case of a weak order for a strict one", lambda: claim(case(le(i, l), a, b), "=", case(lt(i, l), a, b))
)
false("a case of an order turned round", lambda: claim(case(lt(i, l), a, b), "=", case(lt(l, i), b, a)))
false("the negation of an order", lambda: claim(case(~lt(i, l), a, b), "=", case(lt(l, i), a, b)))
false(
    "a case of an order of values", lambda: claim(case(lt(f[i], f[l]), a, b), "=", case(lt(f[l], f[i]), b, a))
)
false("a case of equal values", lambda: claim(case(eq(f[i], f[l]), a, b), "=", case(eq(i, l), a, b)))
false("a case of equal indices of values", lambda: claim(case(eq(i, l), f[i] - f[l], a), "=", a))
false("a case of a shifted order", lambda: claim(case(lt(i, l), a, b), "=", case(le(i, l + 1), a, b)))
false(
    "a case of an order on integers, off by one",
    lambda: claim(case(lt(i, l), a, b), "=", case(le(i + 2, l), a, b)),
)
false("a case that never holds", lambda: claim(case(lt(i, n - 1), a, b), "=", a))
false("a case that holds from the second on", lambda: claim(case(lt(0, i), a, b), "=", a))
false("a case on sizes", lambda: claim(case(lt(n, m), a, b), "=", b))
false("a case on sizes, large", lambda: claim(case(lt(n, 4), a, b), "=", a))
false("a case on a size being one", lambda: claim(case(eq(n, 1), a, b), "=", b))
false("a case in a function", lambda: claim(exp(case(ok[i], a, b)), "=", case(ok[i], exp(a), b)))
false("a case in a square", lambda: claim(case(ok[i], a, b) ** 2, "=", case(ok[i], a**2, b)))
false(
    "a case in a sum outside",
    lambda: claim(Sum(case(ok[l], f[l], g[l]), l), "=", case(ok[i], Sum(f[l], l), Sum(g[l], l))),
)
false(
    "a case in a sum is a restricted one",
    lambda: claim(Sum(case(ok[l], f[l], a), l), "=", Sum(f[l], l, where=ok[l])),
)
false(
    "two cases together",
    lambda: claim(case(ok[i], a, 0) + case(ok[l], b, 0), "=", case(ok[i] & ok[l], a + b, 0)),
)
false(
    "a product of cases",
    lambda: claim(case(ok[i], a, 1) * case(ok[l], b, 1), "=", case(ok[i] | ok[l], a * b, 1)),
)
false(
    "a nested case", lambda: claim(case(ok[i], case(ok[l], a, b), z), "=", case(ok[l], case(ok[i], a, b), z))
)
false(
    "a nested case of the same condition elsewhere",
    lambda: claim(case(ok[i], case(ok[l], a, b), z), "=", case(ok[i], a, z)),
)
false("a rectifier is the number", lambda: claim(case(lt(0, a), a), "=", a))
false("a rectifier squared", lambda: claim(case(lt(0, a), a) ** 2, "=", a**2))
false(
    "a rectifier of a sum",
    lambda: claim(case(lt(0, a + b), a + b), "=", case(lt(0, a), a) + case(lt(0, b), b)),
)
false("a rectifier's parts", lambda: claim(case(lt(0, a), a) + case(lt(a, 0), a), "=", absolute(a)))
false("an absolute value by a weak case", lambda: claim(case(le(a, 0), a, -a), "=", absolute(a)))
false("the sign of a number", lambda: claim(case(lt(0, a), 1, -1) * absolute(a), "=", absolute(a)))
false("the sign of a number, at 0", lambda: claim(case(lt(0, a), 1, case(lt(a, 0), -1, 0)) ** 2, "=", 1))
false("a case where some holds", lambda: claim(case(Some(ok[l], l), a, b), "=", a))
false("a case where every holds", lambda: claim(case(Every(ok[l], l), a, b), "=", case(Some(ok[l], l), a, b)))
false(
    "a case of a some over another row",
    lambda: claim(case(Some(B[i, j], j), a, b), "=", case(Some(B[0, j], j), a, b)),
)
false("the negation of a some", lambda: claim(case(~Some(ok[l], l), a, b), "=", case(Some(~ok[l], l), a, b)))
false(
    "a some of a conjunction",
    lambda: claim(case(Some(ok[l] & lt(l, i), l), a, b), "=", case(Some(ok[l], l) & lt(0, i), a, b)),
)
false(
    "every of a disjunction",
    lambda: claim(case(Every(ok[l] | lt(l, i), l), a, b), "=", case(Every(ok[l], l) | lt(0, i), a, b)),
)
false(
    "a branch's own condition leaks",
    lambda: claim(case(lt(0, a), sqrt(a**2), 0) + case(le(a, 0), sqrt(a**2), 0), "=", a),
)
false(
    "a branch's condition leaks to a later term",
    lambda: claim(case(lt(0, a), a, 0) + sqrt(a**2), "=", case(lt(0, a), a, 0) + a),
)
false(
    "a branch's condition leaks to another entry",
    lambda: claim(case(lt(0, f[i]), sqrt(f[l] ** 2), 0), "=", case(lt(0, f[i]), f[l], 0)),
)
false(
    "a branch's condition leaks to a sum",
    lambda: claim(Sum(case(lt(0, f[l]), 0, sqrt(f[l] ** 2)), l), "=", Sum(case(lt(0, f[l]), 0, f[l]), l)),
)
false(
    "a sign found in one case used in the other",
    lambda: claim(case(lt(0, a), absolute(a), absolute(a)), "=", case(lt(0, a), a, a)),
)
false(
    "an absolute value of a case's value",
    lambda: claim(absolute(case(lt(0, a), a, b)), "=", case(lt(0, a), a, b)),
)
false(
    "an absolute value found first where it is plain",
    lambda: claim(case(lt(0, a), absolute(a), 0) + absolute(a), "=", case(lt(0, a), a, 0) + a),
)
false(
    "an absolute value of entries over two cases",
    lambda: claim(
        Sum(case(lt(0, f[l]), absolute(f[l]), 0) + absolute(f[l]), l),
        "=",
        Sum(case(lt(0, f[l]), f[l], 0) + f[l], l),
    ),
)
false("a quotient known in one case", lambda: claim(case(lt(0, a), a / a, 1) + a / a, "=", 2), **U)
false(
    "a root known in one case",
    lambda: claim(case(lt(c, a), sqrt((a - c) ** 2), sqrt((a - c) ** 2)), "=", a - c),
)
false(
    "a sign in a nested case",
    lambda: claim(
        case(ok[i], case(lt(0, a), absolute(a), 0), absolute(a)), "=", case(ok[i], case(lt(0, a), a, 0), a)
    ),
)
false(
    "a sign in a case of a product",
    lambda: claim(case(lt(0, a) & lt(0, b), absolute(a * b), absolute(a * b)), "=", a * b),
)
false(
    "a sign in a maximum's case",
    lambda: claim(Max(case(lt(0, f[l]), absolute(f[l]), absolute(f[l])), l), "=", Max(f[l], l)),
)
false("an indicator squared and halved", lambda: claim(case(ok[i], 1, 0) ** 2, "=", case(ok[i], 1, 0) / 2))
false("indicators sum to 1", lambda: claim(case(ok[i], 1, 0) + case(ok[l], 0, 1), "=", 1))
false(
    "indicators of both",
    lambda: claim(case(ok[i] & B[i, j], a, 0), "=", case(ok[i], a, 0) * case(B[i, 0], 1, 0)),
)
