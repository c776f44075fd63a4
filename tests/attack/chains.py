"""Chains of steps, gaps, and relations."""

from spec.language import Claim, Step, absolute, case, claim, le, lift, lt, sqrt
from spec.language.binders import Max, Sum
from spec.language.theorem import Proof
from tests.attack.board import a, b, c, category, f, i, l, m, n, p, s, z

false = category("chains and gaps")
ONE = lift(1)

RAW = {">": (0, 1), ">=": (0, 1), "!=": (1, 1), "≤": (1, 0), "": (0, 1), "==": (0, 1), "<>": (1, 1)}
for relation, (left, right) in RAW.items():
    held = (
        relation if relation in (">", ">=", "!=") else {"≤": "<=", "": "=", "==": "=", "<>": "!="}[relation]
    )
    false(
        f"{left} {relation or 'beside'} {right}",
        lambda left=left, right=right, relation=relation: Claim(lift(left), lift(right), relation=relation),
        made=True,
        meant=held,
    )
    false(
        f"an entry {relation or 'beside'} itself or one more",
        lambda left=left, right=right, relation=relation: Claim(
            f[i] + left, f[i] + right, ((i, n),), relation=relation
        ),
        made=True,
        meant=held,
    )
    false(
        f"steps related by {relation or 'nothing'}",
        lambda relation=relation: claim(a, "=", a + 1).proved(Proof((Step(a + 1, "so", relation),))),
        made=True,
    )
    false(
        f"steps of an inequality related by {relation or 'nothing'}",
        lambda relation=relation: claim(a, "<=", a - 1).proved(Proof((Step(a - 1, "so", relation),))),
        made=True,
    )
    false(
        f"a strict claim by steps related by {relation or 'nothing'}",
        lambda relation=relation: claim(a, "<", a).proved(Proof((Step(a, "so", relation),))),
        made=True,
    )
false("a chain up and down", lambda: claim(a, "=", a + s).at_most(a + s, "s ≥ 0"))
false("a chain up and down again", lambda: claim(a, "<", a).below(a + 1, "1 > 0").at_most(a, "so"))
false("a chain of equals that ends elsewhere", lambda: claim(a, "=", b).step(a + 0, "so"))
false("a chain by way of another", lambda: claim(a, "=", b).step(b + (a - b), "so").step(b, "so"))
false(
    "a chain through a quotient by 0",
    lambda: claim(a, "=", b).step(a * (b - b) / (b - b), "so").step(b * (a - a) / (a - a), "so"),
    undefined=True,
)
false("a chain through an undefined quotient", lambda: claim(a, "=", b).step(a + 0 / z, "so").because("so"))
false(
    "a chain through a quotient of itself",
    lambda: claim(a, "=", a * z / z).step(a * (z / z), "so"),
    undefined=True,
)
false(
    "a chain through a root",
    lambda: claim(a, "=", absolute(a)).step(sqrt(a) ** 2, "so").step(sqrt(a**2), "so"),
)
false(
    "a chain that squares",
    lambda: claim(a, "<=", b).at_most(a**2, "so").at_most(b**2, "so").because("so"),
    assuming=(le(a**2, b**2),),
)
false("a gap of unknown sign", lambda: claim(a, "<=", a + b).because("so", gap=b))
false("a gap that is not the difference", lambda: claim(a, "<=", a + b).because("so", gap=b**2))
false("a gap that is a square but negative", lambda: claim(a, "<=", a - b**2).because("so", gap=b**2))
false("a strict gap that may be 0", lambda: claim(a, "<", a + b**2).because("so", gap=b**2))
false("a strict gap of a nonnegative", lambda: claim(a, "<", a + s).because("so", gap=s))
false(
    "a gap that is a sum that may be empty",
    lambda: claim(a, "<", a + Sum(p[l], (l, i + 1, n - 1)), i).because(
        "so", gap=Sum(p[l], (l, i + 1, n - 1))
    ),
)
false("a gap of a cube", lambda: claim(a, "<=", a + b**3).because("so", gap=b * b**2))
false("a gap of a product of reals", lambda: claim(a, "<=", a + b * z).because("so", gap=b * z))
false(
    "a gap of a case",
    lambda: claim(a, "<=", a + case(lt(0, b), b, b)).because("so", gap=case(lt(0, b), b, b)),
)
false("a gap with a root of a real", lambda: claim(a, "<", a + sqrt(s)).because("so", gap=sqrt(s)))
false("a gap of a maximum", lambda: claim(a, "<=", a + Max(f[l], l)).because("so", gap=Max(f[l], l)))
false("a gap of a power", lambda: claim(a, "<=", a + b**n).because("so", gap=b**n))
false("a gap of a power by an index", lambda: claim(a, "<=", a + b**i, i).because("so", gap=b**i))
false("a gap divided by a real", lambda: claim(a, "<=", a + c / b).because("so", gap=c / b), undefined=True)
false("a strict claim without a strict step", lambda: claim(a, "<", a + s).at_most(a + s, "s ≥ 0"))
false(
    "an equality shown by two inequalities, one way",
    lambda: claim(Max(f[l], l), "=", f[i], i).step(Max(f[l], l), "so"),
)
false(
    "a step of an induction's claim",
    lambda: claim(Sum(f[l], (l, 0, i)), "<=", Sum(f[l], l)).at_most(Sum(f[l], l), "so"),
)
false(
    "a step through x to the n",
    lambda: claim(0, "<", a).step(a * f[0] ** n - a * f[0] ** n, "so").below(a, "so"),
)
false("two steps through x to the n", lambda: claim(0, "<", a).below(f[i] ** n, "so").step(a, "so"))
false(
    "two steps through x to the n, as a product",
    lambda: claim(0, "<", a).below(a * f[0] ** n / f[0] ** n, "a power is positive"),
    undefined=True,
)
false("a first step through x to the n", lambda: claim(0, "<", a).below(a**n, "so").because("so"))
false("an enclosure of a bound on a size", lambda: claim(lift(n), "<=", 4).by_enclosure())
false("an enclosure of a bound on a sum of sizes", lambda: claim(lift(n + m), "<=", 8).by_enclosure())
false("an enclosure of a bound on an index", lambda: claim(lift(i), "<=", 3).by_enclosure())
false(
    "an enclosure where nothing is claimed at small sizes",
    lambda: claim(f[i], "=", 0, where=lt(4, i)).by_enclosure(),
)
false("an enclosure where nothing is claimed often", lambda: claim(f[i], "<=", 10 - lift(n)).by_enclosure())
false("an enclosure of what ordinary draws never break", lambda: claim(a, "<=", 3).by_enclosure())
false(
    "an enclosure that ignores ties",
    lambda: claim(
        case(lt(f[i], f[l]), 1, 0) + case(lt(f[l], f[i]), 1, 0), "=", 1, where=lt(i, l)
    ).by_enclosure(),
)
false("an enclosure that ignores zeros", lambda: claim(case(lt(0, absolute(a)), 1, 0), "=", 1).by_enclosure())
