"""The normal form never changes a value, whatever the tree and however its bound indices are named."""

from __future__ import annotations

from functools import reduce
from operator import mul
from typing import Any

import flint
import numpy as np
import sympy
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from spec.language.binders import Bound, MaxOf, Sum
from spec.language.expr import Func, Node, case, eq, exp, le, lift, sin, sqrt
from spec.language.proving.deciding.vanishing import vanishes
from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.knowledge.linear import contradictory, follows, form
from spec.language.proving.obligations import Undischarged, Unprovable
from spec.language.proving.reading.derivatives import derivative
from spec.language.proving.reading.frames import Frame
from spec.language.proving.reading.reader import Reader
from spec.language.proving.terms.polynomials import Atom, Poly, number
from spec.language.proving.terms.replacing import Change, rebuild
from spec.language.proving.terms.writing import tree
from spec.language.symbols import indices
from spec.language.trees import substitute, walk
from tests.spec.language.proving.random_trees import (
    NAMES,
    TENSORS,
    agree,
    bindings,
    conditions,
    enclosures,
    m,
    n,
    positives,
    tensors,
    values,
)

i, j, l = NAMES
f, g, F, p, M, a, pi = (TENSORS[name] for name in ("f", "g", "F", "p", "M", "a", "pi"))
LENGTHS = st.fixed_dictionaries({n: st.integers(1, 4), m: st.integers(1, 4)})
SEEDS = st.integers(0, 2**16)
FRAME = Frame({i: Atom("symbol", "i").poly})
"""Where the index i stands for itself; ``place`` says over which range it runs."""


def place() -> tuple[Reader, Frame, Facts]:
    """A reader at which the index i runs over 0 … n-1."""
    reader = Reader()
    facts = reader.n.empty
    at, size = reader.index(i, FRAME, facts), reader.index(n, FRAME, facts)
    return reader, FRAME, reader.within(at, number(0), size - 1, facts).as_root()


def read(node: Node) -> tuple[Reader, Facts, Poly]:
    """The normal form of a tree in which i is free; examples whose obligations are not discharged are left out."""
    reader, frame, facts = place()
    try:
        poly = reader.value(node, frame, facts)
    except (Undischarged, Unprovable):
        assume(False)
    assume(len(poly.terms) <= 100)
    return reader, facts, poly


def written(reader: Reader, poly: Poly) -> Node:
    """The normal form as a tree."""
    try:
        return tree(reader.n, poly)
    except Unprovable:
        assume(False)
        raise


def same(left: Node, right: Node, lengths: dict[sympy.Symbol, int], seed: int) -> None:
    """Two trees have the same values at every i."""
    given_ = bindings(tensors([left, right]), lengths, seed)
    try:
        pairs = list(
            zip(enclosures(left, given_, [(i, n)]), enclosures(right, given_, [(i, n)]), strict=True)
        )
    except IndexError:  # an entry before the start of its range, times 0
        assume(False)
    for x, y in pairs:
        assert agree(x, y), f"{left}  ->  {right}: {x} against {y}"


@settings(max_examples=400, deadline=None)
@given(values({i: n}, 3), LENGTHS, SEEDS)
@example(Sum(f[i] * Sum(f[i], (i, 0, n - 1)), (i, 0, n - 1)), {n: 3, m: 2}, 0)
@example(Sum(F[i, j] * Sum(f[i], (i, 0, i)), (j, 0, m - 1)), {n: 3, m: 2}, 0)
@example(case(M[i, 0], exp(f[i]), a) ** 2, {n: 2, m: 2}, 1)
def test_the_normal_form_has_the_value_of_the_tree(node: Node, lengths: Any, seed: int) -> None:
    """Random trees with shadowed names, evaluated in balls before and after."""
    reader, _, poly = read(node)
    same(node, written(reader, poly), lengths, seed)


@settings(max_examples=150, deadline=None)
@given(values({i: n}, 3))
def test_the_normal_form_of_a_normal_form_is_itself(node: Node) -> None:
    """Rebuilding every atom changes nothing."""
    reader, facts, poly = read(node)
    again = rebuild(reader.n, poly, Change(again=True), facts)
    assert rebuild(reader.n, again, Change(again=True), facts) == again


def renamed(node: Any, names: list[sympy.Symbol]) -> Any:
    """The tree with every bound index renamed to the next of some fresh names."""
    if isinstance(node, Bound):
        body, where = renamed(node.body, names), renamed(node.where, names)
        new = sympy.Symbol(f"x_{len(names)}", integer=True)
        names.append(new)
        body, where = (substitute(part, {node.var: new}) for part in (body, where))
        return node.func(body, new, renamed(node.first, names), renamed(node.last, names), where)
    if not node.args or not isinstance(node, Node):
        return node
    return node.func(*(renamed(child, names) for child in node.args))


@settings(max_examples=150, deadline=None)
@given(values({i: n}, 3))
def test_bound_names_do_not_matter(node: Node) -> None:
    """A tree and the same tree with all bound indices renamed have one normal form."""
    reader, facts, poly = read(node)
    other = reader.value(renamed(node, []), FRAME, facts)
    assert other == poly or not vanishes(reader.n, other - poly, facts)


FACTORS = st.sampled_from(
    [
        f[i],
        f[j],
        f[n - 1 - j],
        F[i, l],
        F[j, l],
        F[pi[j], l],
        exp(F[j, l] / p[j]),
        sqrt(p[j]),
        a,
        p[i] ** (-1),
    ]
)
GUARDS = st.sampled_from([M[i, l], M[j, l], M[n - 1 - j, l], ~M[j, 0], M[pi[j], l] | M[i, 0]])


@settings(max_examples=80, deadline=None)
@given(st.lists(FACTORS, min_size=1, max_size=4), GUARDS)
def test_the_order_of_sums_does_not_matter(factors: list[Node], where: Node) -> None:
    """Σ_j Σ_l and Σ_l Σ_j have one normal form."""
    body = reduce(mul, factors)
    inner, outer = (j, 0, n - 1), (l, 0, m - 1)
    reader, facts, poly = read(Sum(Sum(case(where, body), inner), outer))
    assert reader.value(Sum(Sum(case(where, body), outer), inner), FRAME, facts) == poly


@settings(max_examples=80, deadline=None)
@given(st.lists(FACTORS, min_size=1, max_size=4), GUARDS)
def test_reversing_a_sum_does_not_matter(factors: list[Node], where: Node) -> None:
    """Σ_j f(j) and Σ_j f(n-1-j) have one normal form."""
    body = Sum(case(where, reduce(mul, factors)), (l, 0, m - 1))
    reader, facts, poly = read(Sum(body, (j, 0, n - 1)))
    backwards = substitute(body, {j: n - 1 - j})
    other = reader.value(Sum(backwards, (j, 0, n - 1)), FRAME, facts)
    assert other == poly or not vanishes(reader.n, other - poly, facts)


@settings(max_examples=60, deadline=None)
@given(values({i: n}, 2), values({i: n}, 2), LENGTHS, SEEDS)
def test_what_is_said_to_vanish_is_zero(left: Node, right: Node, lengths: Any, seed: int) -> None:
    """Equality is never claimed of trees whose values differ."""
    reader, facts, poly = read(left - right)
    try:
        if vanishes(reader.n, poly, facts):
            return
    except Undischarged:
        return
    same(left, right, lengths, seed)


@settings(max_examples=200, deadline=None)
@given(st.one_of(values({i: n}, 3), positives({i: n}, 2)), LENGTHS, SEEDS)
def test_a_sign_that_is_claimed_is_the_sign(node: Node, lengths: Any, seed: int) -> None:
    """Of negative, null and positive, the true one is never ruled out: neither from the tree nor from its normal form."""
    reader, facts, poly = read(node)
    mask = reader.signs.sign(node, FRAME, facts) & reader.n.sign(poly, facts)
    for ball in enclosures(node, bindings(tensors([node]), lengths, seed), [(i, n)]):
        found = 4 if ball > 0 else 1 if ball < 0 else 7
        assert found & mask, f"{node} = {ball}, but its signs are {mask}"


@settings(max_examples=200, deadline=None)
@given(conditions({i: n}, 2), conditions({i: n}, 1), LENGTHS, SEEDS)
def test_a_condition_that_is_decided_is_decided_rightly(
    condition: Node, known: Node, lengths: Any, seed: int
) -> None:
    """Under a known condition another is replaced by its truth value only where it has it."""
    reader, frame, facts = place()
    here = facts.assume_value(reader.condition(known, frame, facts))
    assume(not here.impossible)
    out = reader.condition(condition, frame, here)
    assume(out.constant is not None)
    given_ = bindings(tensors([condition, known]), lengths, seed)
    for ball in enclosures(case(condition, 1), given_, [(i, n)], where=known):
        assert ball == int(out.constant or 0)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(-3, 3), st.integers(-4, 4)), max_size=5
    ),
    st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(-3, 3), st.integers(-4, 4)),
)
def test_linear_reasoning_never_concludes_what_is_false(facts: Any, goal: Any) -> None:
    """Against all integers in a box."""
    unknowns = [Atom("symbol", name).poly for name in "xyz"]

    def inequality(row: Any) -> Any:
        poly = number(row[3])
        for unknown, coefficient in zip(unknowns, row[:3], strict=True):
            poly = poly + unknown * coefficient
        return form(poly)

    def holds(row: Any, at: tuple[int, ...]) -> bool:
        return sum(c * v for c, v in zip(row[:3], at, strict=True)) + row[3] >= 0

    known = tuple(inequality(row) for row in facts)
    box = list(np.ndindex(9, 9, 9))
    points = [tuple(v - 4 for v in at) for at in box]
    models = [at for at in points if all(holds(row, at) for row in facts)]
    if contradictory(known):
        assert not models
    if follows(known, inequality(goal)):
        assert all(holds(goal, at) for at in models)


SMOOTH = st.one_of(values({i: n}, 2), positives({i: n}, 2))


@settings(max_examples=120, deadline=None)
@given(SMOOTH, LENGTHS, SEEDS, st.integers(0, 3))
@example(
    Sum(f[j] * exp(f[j] * f[i]), (j, 0, n - 1)) / sqrt(Sum(f[i] ** 2, (i, 0, n - 1)) + p[0]),
    {n: 3, m: 1},
    3,
    1,
)
@example(Sum(sin(f[pi[j]]), (j, 0, i)), {n: 3, m: 1}, 5, 2)
def test_derivatives_agree_with_difference_quotients(node: Node, lengths: Any, seed: int, at: int) -> None:
    """At symbolic index, evaluated, against quotients in balls of 700 bits."""
    assume(
        not any(
            isinstance(part, MaxOf) or (isinstance(part, Func) and part.name == "abs") for part in walk(node)
        )
    )
    reader, facts, poly = read(node)
    r = sympy.Symbol("r", integer=True)
    place_ = Atom("symbol", "r").poly
    here = reader.within(place_, number(0), reader.index(n, FRAME, facts) - 1, facts)
    reader.n.declare("f", "real", (reader.index(n, FRAME, facts),))
    reader.n.originals.setdefault("f", f)
    try:
        slope = derivative(reader.n, poly, "f", (place_,), here)
    except (Undischarged, Unprovable):
        assume(False)
    assume(len(slope.terms) <= 100)
    at %= lengths[n]
    out = written(reader, slope)
    given_ = bindings(tensors([node, out]) | {"f": f}, lengths, seed)
    try:
        slopes = enclosures(out, given_, [(i, n), (r, n)])
    except IndexError:
        assume(False)
    slopes = [slopes[k * lengths[n] + at] for k in range(lengths[n])]
    step = flint.arb(2) ** -200
    flint.ctx.prec = 700
    try:
        base = np.array([flint.arb(float(v)) for v in given_.reals["f"]], dtype=object)
        moved = []
        for sign in (1, -1):
            shifted = base.copy()
            shifted[at] = shifted[at] + sign * step
            given_.reals["f"] = shifted
            moved.append(enclosures(node, given_, [(i, n)], bits=700))
        quotients = [(x - y) / (2 * step) for x, y in zip(*moved, strict=True)]
    finally:
        flint.ctx.prec = 53
    for found, quotient in zip(slopes, quotients, strict=True):
        assert abs(float((found - quotient).mid())) < 1e-25 * (1 + abs(float(quotient.mid()))), (
            f"{node}: {out}"
        )


def test_restricted_sums_are_split_by_their_conditions() -> None:
    """The part with a condition and the part without it make the whole."""
    reader, frame, facts = place()
    parts = Sum(f[j], (j, 0, n - 1), where=le(j, i)) + Sum(f[j], (j, 0, n - 1), where=~le(j, i))
    poly = reader.value(parts - Sum(f[j], (j, 0, n - 1)), frame, facts)
    assert not vanishes(reader.n, poly, facts)


def test_a_sum_and_its_own_reciprocal_cancel_inside_a_sum() -> None:
    """Σᵢ (Σⱼ p) / (Σⱼ p) over rows is the number of rows."""
    reader, frame, facts = place()
    P = TENSORS["P"]
    inner = Sum(P[l, j], (j, 0, m - 1))
    assert reader.value(Sum(inner / inner, (l, 0, n - 1)), frame, facts) == reader.value(
        lift(n), frame, facts
    )


def test_statistics_of_equal_indices_agree_case_by_case() -> None:
    """Where two indices agree, entries at them do."""
    reader, frame, facts = place()
    at = indices("t")[0]
    symbol = Atom("symbol", "t").poly
    facts = reader.within(symbol, number(0), reader.index(n, frame, facts) - 1, facts)
    frame = frame.bind({at: symbol})
    difference = reader.value(case(eq(i, at), f[i]) - case(eq(i, at), f[at]), frame, facts)
    assert difference
    assert not vanishes(reader.n, difference, facts)
