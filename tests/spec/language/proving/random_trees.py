"""Random statement trees with deliberate shadowing of bound names, and their values in balls."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np
import sympy
from hypothesis import strategies as st

from spec.language.arrays import Tensor
from spec.language.binders import Max, Some, Sum
from spec.language.evaluation.balls import BallArithmetic
from spec.language.evaluation.binding import Bindings
from spec.language.expr import (
    Node,
    absolute,
    case,
    cos,
    delta,
    eq,
    exp,
    le,
    lift,
    lt,
    sigmoid,
    sin,
    sqrt,
    tanh,
)
from spec.language.symbols import sizes
from spec.language.trees import refs
from tests.spec.language.evaluation.interpreter import Interpreter

n, m = sizes("n m")
NAMES = sympy.symbols("i j l", integer=True)  # without sizes: so the normal form writes them
TENSORS = {
    "f": Tensor("f", (n,)),
    "g": Tensor("g", (m,)),
    "F": Tensor("F", (n, m)),
    "p": Tensor("p", (n,), "positive"),
    "P": Tensor("P", (n, m), "positive"),
    "M": Tensor("M", (n, m), "boolean"),
    "a": Tensor("a", ()),
    "pi": Tensor("pi", (n,), "permutation"),
    "at": Tensor("at", (m,), "integer", below=n),
}
BEYOND = 3
Scope = dict[sympy.Symbol, sympy.Expr]


def _index(scope: Scope, size: sympy.Expr) -> list[Any]:
    """Index expressions in 0 … size-1."""
    plain = [s for s, own in scope.items() if own == size]
    if size == n:
        plain += [TENSORS["pi"][s] for s in plain] + [
            TENSORS["at"][s] for s, own in scope.items() if own == m
        ]
        plain += [n - 1 - s for s, own in scope.items() if own == n]
    return [*plain, sympy.S.Zero]


@st.composite
def conditions(draw: Any, scope: Scope, depth: int = 1) -> Node:
    """A condition over the indices in scope."""
    every = [*scope, *_index(scope, n)]
    kind = draw(
        st.sampled_from(
            ["entry", "le", "lt", "eq", "not", "and", "or", "some"] if depth else ["entry", "le", "eq"]
        )
    )
    if kind == "entry":
        return TENSORS["M"][draw(st.sampled_from(_index(scope, n))), draw(st.sampled_from(_index(scope, m)))]
    if kind in ("le", "lt", "eq"):
        build = {"le": le, "lt": lt, "eq": eq}[kind]
        return build(draw(st.sampled_from(every)), draw(st.sampled_from(every)) + draw(st.integers(-1, 1)))
    if kind == "not":
        return ~draw(conditions(scope, depth - 1))
    if kind == "some":
        symbol = draw(st.sampled_from(NAMES))
        return Some(draw(conditions({**scope, symbol: m}, 0)), (symbol, 0, m - 1))
    a, b = draw(conditions(scope, depth - 1)), draw(conditions(scope, depth - 1))
    return a & b if kind == "and" else a | b


@st.composite
def positives(draw: Any, scope: Scope, depth: int) -> Node:
    """A tree that is positive by its form."""
    kind = draw(
        st.sampled_from(["entry", "exp", "sum", "square", "size", "guarded"] if depth else ["entry", "size"])
    )
    if kind == "entry":
        return TENSORS["p"][draw(st.sampled_from(_index(scope, n)))]
    if kind == "size":
        return lift(draw(st.sampled_from([n, m, n + m, sympy.Integer(2)])))
    if kind == "exp":
        return exp(draw(values(scope, depth - 1)) / 4)
    if kind == "square":
        return draw(values(scope, depth - 1)) ** 2 + draw(positives(scope, 0))
    symbol, size = draw(st.sampled_from(NAMES)), draw(st.sampled_from([n, m]))
    inner = {**scope, symbol: size}
    if kind == "guarded":
        return Sum(
            draw(positives(inner, depth - 1)), (symbol, 0, size - 1), where=draw(conditions(inner, 0))
        ) + lift(1)
    return Sum(draw(positives(inner, depth - 1)), (symbol, 0, size - 1))


@st.composite
def values(draw: Any, scope: Scope, depth: int) -> Node:
    """A tree over the indices in scope."""
    leaves = ["number", "index", "f", "g", "F", "a", "delta"]
    inner = [
        "plus",
        "minus",
        "times",
        "over",
        "square",
        "sum",
        "sum",
        "sum",
        "part",
        "case",
        "exp",
        "angle",
        "root",
        "other",
        "max",
    ]
    kind = draw(st.sampled_from(leaves if depth == 0 else inner))
    if kind == "number":
        return lift(sympy.Rational(draw(st.integers(-3, 3)), draw(st.integers(1, 3))))
    if kind == "index":
        return lift(draw(st.sampled_from([*scope, n])))
    if kind in ("f", "g"):
        return TENSORS[kind][draw(st.sampled_from(_index(scope, n if kind == "f" else m)))]
    if kind == "F":
        return TENSORS["F"][draw(st.sampled_from(_index(scope, n))), draw(st.sampled_from(_index(scope, m)))]
    if kind == "a":
        return lift(TENSORS["a"])
    if kind == "delta":
        every = [*scope, *_index(scope, n)]
        return delta(draw(st.sampled_from(every)), draw(st.sampled_from(every)))
    part = values(scope, depth - 1)
    if kind == "plus":
        return draw(part) + draw(part)
    if kind == "minus":
        return draw(part) - draw(part)
    if kind == "times":
        return draw(part) * draw(part)
    if kind == "over":
        return draw(part) / draw(positives(scope, depth - 1))
    if kind == "square":
        return draw(part) ** 2
    if kind == "case":
        return case(draw(conditions(scope)), draw(part), draw(part))
    if kind == "exp":
        return exp(draw(part) / 8)
    if kind == "angle":
        return draw(st.sampled_from([sin, cos]))(draw(part))
    if kind == "root":
        under = draw(positives(scope, depth - 1))
        return draw(part) / sqrt(under) if draw(st.booleans()) else sqrt(under) * draw(part)
    if kind == "other":
        return draw(st.sampled_from([tanh, sigmoid, absolute]))(draw(part))
    symbol, size = draw(st.sampled_from(NAMES)), draw(st.sampled_from([n, m]))
    wider = {**scope, symbol: size}
    if kind == "max":
        return Max(draw(values(wider, depth - 1)), (symbol, 0, size - 1))
    if kind == "part" and scope:
        outer = draw(st.sampled_from(sorted(scope, key=str)))
        span = draw(st.sampled_from([(0, outer), (outer, scope[outer] - 1), (outer + 1, scope[outer] - 1)]))
        return Sum(draw(values({**scope, symbol: scope[outer]}, depth - 1)), (symbol, *span))
    where = draw(st.one_of(st.none(), conditions(wider)))
    body = draw(values(wider, depth - 1))
    return (
        Sum(body, (symbol, 0, size - 1)) if where is None else Sum(body, (symbol, 0, size - 1), where=where)
    )


def tensors(trees: list[Node]) -> dict[str, Tensor]:
    """The tensors that occur in some trees."""
    return {r.tensor.name: r.tensor for tree in trees for r in refs(tree)}


def bindings(
    needed: dict[str, Tensor], lengths: dict[sympy.Symbol, int], seed: int, beyond: int = BEYOND
) -> Bindings:
    """Random values for tensors.

    Arrays are longer than declared: a rewriting may move an entry out of its range where a factor is 0, and what stands there
    must not matter.
    """
    random = np.random.default_rng(seed)
    out = Bindings(sizes=dict(lengths))
    for name in sorted(needed):
        tensor = needed[name]
        shape = tuple(int(sympy.sympify(size).subs(lengths)) + beyond for size in tensor.shape)
        if tensor.domain == "boolean":
            out.booleans[name] = random.random(shape) < 0.6
        elif tensor.domain == "permutation":
            inside = random.permutation(shape[0] - beyond)
            out.integers[name] = np.concatenate([inside, random.integers(0, shape[0] - beyond, beyond)])
        elif tensor.domain == "integer":
            out.integers[name] = random.integers(0, int(sympy.sympify(tensor.below).subs(lengths)), shape)
        elif tensor.domain == "positive":
            out.reals[name] = random.uniform(0.25, 2, shape)
            out.positive.add(name)
        else:
            out.reals[name] = random.uniform(-1.5, 1.5, shape)
    return out


def enclosures(
    tree: Node, given: Bindings, over: Any, where: Node | None = None, bits: int = 192
) -> list[Any]:
    """The values of a tree as balls, one for each value of its free indices at which ``where`` holds."""
    saved = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        evaluator = Interpreter(BallArithmetic(), given)
        with evaluator.within([(s, 0, size - 1) for s, size in over], where) as held:
            extent = tuple(len(evaluator.ranges[s]) for s in evaluator.scope)
            if where is not None:
                tree = case(where, tree)
            out = np.broadcast_to(np.asarray(evaluator.value(tree), dtype=object), extent)
            keep = np.full(extent, True) if held is None else np.broadcast_to(held.holds, extent)
            return [out[at] for at in np.ndindex(*extent) if keep[at]]
    finally:
        flint.ctx.prec = saved


def agree(a: Any, b: Any) -> bool:
    """Whether two balls overlap and are tight enough for that to mean something."""
    return bool(
        a.is_finite()
        and b.is_finite()
        and a.overlaps(b)
        and float(a.rad()) < 1e-20 * (1 + abs(float(a.mid())))
    )
