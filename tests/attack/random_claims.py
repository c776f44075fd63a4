"""Random claims, true and false: a tree, and the same tree rewritten by laws of which some do not hold.

What is equal by a law is what a prover may be led to accept: so most claims are close to a true one.
"""

from __future__ import annotations

from typing import Any

import sympy
from hypothesis import strategies as st

from spec.language import (
    absolute,
    case,
    claim,
    delta,
    eq,
    exp,
    le,
    lift,
    log,
    lt,
    sigmoid,
    sin,
    sqrt,
    tanh,
)
from spec.language.binders import Every, Max, Some, Sum
from spec.language.expr import TRUE, Node
from spec.language.symbols import Letter, indices
from spec.language.theorem import Theorem, drop_fixed_indices
from spec.language.trees import substitute
from tests.attack.board import (
    B,
    F,
    G,
    a,
    anything,
    at,
    c,
    f,
    i,
    j,
    k,
    l,
    m,
    mentioned,
    n,
    ok,
    p,
    pi,
    q,
    r,
    s,
)
from tests.attack.laws import rewritten

(e,) = indices(e=m)
BOUND = {n: (l, r), m: (j, e)}
Scope = tuple[Letter, ...]


def _places(scope: Scope, size: sympy.Expr) -> list[Any]:
    """Index expressions in 0 … size − 1."""
    plain: list[Any] = [symbol for symbol in scope if symbol.size == size]
    if size == n:
        plain += [pi[symbol] for symbol in plain] + [at[symbol] for symbol in scope if symbol.size == m] + [k]
        plain += [n - 1 - symbol for symbol in scope if symbol.size == n]
    return [*plain, sympy.S.Zero, size - 1]


@st.composite
def conditions(draw: Any, scope: Scope, depth: int = 1) -> Node:
    """A condition over the indices in scope."""
    kinds = ["entry", "mask", "order", "equal", "values", "sign"]
    kind = draw(st.sampled_from([*kinds, "not", "and", "or", "some", "every"] if depth else kinds))
    whole = _places(scope, n)
    if kind == "entry":
        return ok[draw(st.sampled_from(whole))]
    if kind == "mask":
        return B[draw(st.sampled_from(whole)), draw(st.sampled_from(_places(scope, m)))]
    if kind in ("order", "equal"):
        letters = [*scope, sympy.S.Zero, n - 1]
        left, right = (
            draw(st.sampled_from(letters)),
            draw(st.sampled_from(letters)) + draw(st.integers(-1, 1)),
        )
        return draw(st.sampled_from([le, lt]))(left, right) if kind == "order" else eq(left, right)
    if kind == "values":
        return draw(st.sampled_from([le, lt, eq]))(
            f[draw(st.sampled_from(whole))], f[draw(st.sampled_from(whole))]
        )
    if kind == "sign":
        return draw(st.sampled_from([lt, le]))(
            0, draw(st.sampled_from([a.as_node(), f[draw(st.sampled_from(whole))]]))
        )
    if kind == "not":
        return ~draw(conditions(scope, depth - 1))
    if kind in ("some", "every"):
        size = draw(st.sampled_from([n, m]))
        symbol = draw(st.sampled_from(BOUND[size]))
        inner = draw(conditions((*(x for x in scope if x != symbol), symbol), 0))
        return (Some if kind == "some" else Every)(inner, symbol)
    left, right = draw(conditions(scope, depth - 1)), draw(conditions(scope, depth - 1))
    return left & right if kind == "and" else left | right


@st.composite
def trees(draw: Any, scope: Scope, depth: int) -> Node:
    """A tree over the indices in scope."""
    leaves = ["f", "f", "F", "a", "p", "q", "c", "s", "number", "index", "delta"]
    inner = [
        "plus",
        "minus",
        "times",
        "square",
        "sum",
        "sum",
        "part",
        "max",
        "max",
        "case",
        "case",
        "case",
        "root",
        "absolute",
        "absolute",
        "exp",
        "over",
        "power",
        "odd",
        "log",
    ]
    kind = draw(st.sampled_from(leaves if depth == 0 else inner))
    whole = _places(scope, n)
    if kind in ("f", "p", "q"):
        return {"f": f, "p": p, "q": q}[kind][draw(st.sampled_from(whole))]
    if kind == "F":
        return draw(st.sampled_from([F, G]))[
            draw(st.sampled_from(whole)), draw(st.sampled_from(_places(scope, m)))
        ]
    if kind in ("a", "c", "s"):
        return {"a": a, "c": c, "s": s}[kind].as_node()
    if kind == "number":
        return lift(draw(st.integers(-2, 3)))
    if kind == "index":
        return lift(draw(st.sampled_from([*scope, n])))
    if kind == "delta":
        return delta(draw(st.sampled_from(whole)), draw(st.sampled_from(whole)))
    part = trees(scope, depth - 1)
    if kind in ("plus", "minus", "times"):
        left, right = draw(part), draw(part)
        return {"plus": left + right, "minus": left - right, "times": left * right}[kind]
    if kind == "square":
        return draw(part) ** 2
    if kind == "case":
        return case(draw(conditions(scope)), draw(part), draw(part))
    if kind == "root":
        return sqrt(draw(part) ** 2)
    if kind == "absolute":
        return absolute(draw(part))
    if kind == "exp":
        return draw(st.sampled_from([exp, sin, tanh, sigmoid]))(draw(part))
    if kind == "log":
        return log(draw(st.sampled_from([c.as_node(), p[draw(st.sampled_from(whole))], exp(draw(part))])))
    if kind == "over":
        under = draw(st.sampled_from([c.as_node(), p[draw(st.sampled_from(whole))], a**2 + 1, lift(n)]))
        return draw(part) / under
    if kind == "power":
        return draw(part) ** draw(st.sampled_from([n, 2, 3, *(x for x in scope)]))
    if kind == "odd":
        return draw(part) * draw(st.sampled_from([q[0], s.as_node(), f[0]]))
    size = draw(st.sampled_from([n, n, m]))
    symbol = draw(st.sampled_from(BOUND[size]))
    wider = (*(x for x in scope if x != symbol), symbol)
    body = draw(trees(wider, depth - 1))
    where = draw(st.one_of(st.just(None), conditions(wider)))
    rest = {} if where is None else {"where": where}
    if kind == "max":
        return Max(body, symbol, **rest)
    if kind == "part" and size == n and i in scope:
        return Sum(
            body,
            draw(
                st.sampled_from(
                    [(symbol, 0, i), (symbol, 0, i - 1), (symbol, i, n - 1), (symbol, i + 1, n - 1)]
                )
            ),
            **rest,
        )
    return Sum(body, symbol, **rest)


@st.composite
def bounds(draw: Any) -> Any:
    """An inequality of a kind that has led the prover astray: a member and a maximum, a part and a sum, a sign."""
    kind = draw(st.sampled_from(["member", "part", "sign", "sign", "maxima", "square", "power", "case"]))
    relation = draw(st.sampled_from(["<=", "<=", "<"]))
    where = draw(st.one_of(st.just(TRUE), conditions((i,))))
    body = draw(trees((l,), 1))
    condition = draw(conditions((i, l)))
    here = substitute(body, {l: i})
    if kind == "member":
        return claim(here, relation, Max(body, l, where=condition), where=where)
    if kind == "part":
        return claim(Sum(body, l, where=condition), relation, Sum(body, l), where=where)
    if kind == "maxima":
        return claim(Max(body, l, where=condition), relation, Max(body, l), where=where)
    if kind == "square":
        return claim(
            here, relation, absolute(here) * draw(st.sampled_from([lift(1), c.as_node()])), where=where
        )
    if kind == "power":
        base = draw(st.sampled_from([a.as_node(), f[i], here]))
        return claim(0, relation, base ** draw(st.sampled_from([n, i, 2 * n, n + 1, 2])), where=where)
    if kind == "case":
        return claim(0, relation, case(condition, here, draw(trees((i, l), 1))), where=where)
    return claim(0, relation, draw(trees((i,), 2)), where=where)


@st.composite
def theorems(draw: Any) -> Theorem:
    """A random claim as a theorem about nothing in particular."""
    if draw(st.integers(0, 2)) == 0:
        made = draw(bounds())
    else:
        left = draw(trees((i,), draw(st.integers(1, 3))))
        right = draw(rewritten(left))
        relation = draw(st.sampled_from(["=", "=", "=", "<=", "<"]))
        where = draw(st.one_of(st.just(TRUE), conditions((i,))))
        made = claim(left, relation, right, where=where)
        if draw(st.integers(0, 4)) == 0:
            made = made.step(draw(rewritten(left)), "so")
    assuming = draw(
        st.sampled_from(
            [
                (),
                (),
                (),
                (lt(0, a),),
                (Every(lt(0, f[l]), l),),
                (Some(ok[l], l),),
                (le(1, f[0]),),
                (eq(n, m),),
            ]
        )
    )
    made = drop_fixed_indices(made)
    return Theorem("random", "random", (made,), mentioned((made,), assuming, anything), assuming=assuming)
