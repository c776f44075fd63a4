"""Induction in the prover: what it shows."""

from __future__ import annotations

import re
from dataclasses import replace

from spec.language import (
    Assurance,
    Every,
    Formula,
    Sum,
    Theorem,
    absolute,
    claim,
    define,
    derive,
    each,
    le,
    sizes,
    tanh,
)
from spec.language.known import forget
from spec.language.proving.proof import check
from tests.spec.language.proving.inductions import (
    T,
    W,
    c,
    changed,
    checked,
    d,
    e,
    h,
    later,
    n,
    nothing,
    omega,
    r,
    run,
    start,
    t,
    walk,
    x,
)


def test_a_state_that_nothing_moves_stays() -> None:
    """h = 0 from h[0] = 0 and x = 0: base and step, and the hypothesis is named among the rules."""
    found = checked(claim(nothing[t, c], "=", 0, (t, T + 1), (c, d)), proof=derive().by_induction(t))
    assert found.assurance == Assurance.PROVED, found.refusal
    assert {"recurrence", "hypothesis"} <= {rule.name for rule in found.rules}
    (shown,) = [item.induction for item in found.claims]
    assert shown is not None
    assert (len(shown.base), len(shown.step)) == (1, 1)


def test_states_do_not_depend_on_what_comes_after_them() -> None:
    """Entries after r replaced: the states up to r + 1 stay, and the hypothesis is used under its condition."""
    same = claim(changed[t, c], "=", run[t, c], (r, T), (t, T + 1), (c, d), where=le(t, r + 1))
    found = checked(same, proof=derive().by_induction(t), given=(later,))
    assert found.assurance == Assurance.PROVED, found.refusal


def test_an_inequality_is_carried_from_step_to_step() -> None:
    """|∂h_t/∂h_0| sums to at most ωᵗ where no row of |W| sums to more than ω: the assumption holds for every row."""
    plain = Formula(
        "test.linear",
        "",
        (start, W, x),
        (
            define(h[0, c], start[c]),
            define(h[t, c], Sum(W[c, e] * h[t - 1, e], (e, 0, d - 1)) + 0 * x[t - 1, c], (t, 1, T)),
        ),
        (h,),
        auxiliary=True,
    )
    bounded = Every(le(Sum(absolute(W[c, e]), (e, 0, d - 1)), omega), (c, 0, d - 1))
    at_start = Every(le(absolute(start[c]), 1), (c, 0, d - 1))
    state = plain(start, W, x)
    row = Sum(absolute(W[c, e]), (e, 0, d - 1))
    weighted = Sum(absolute(W[c, e]) * absolute(state[t, e]), (e, 0, d - 1))
    proof = derive().by_induction(
        t,
        step=(
            derive()
            .step(absolute(Sum(W[c, e] * state[t, e], (e, 0, d - 1))), "the definition")
            .at_most(weighted, "the triangle inequality")
            .at_most(
                row * omega**t,
                "the hypothesis",
                gap=Sum(absolute(W[c, e]) * (omega**t - absolute(state[t, e])), (e, 0, d - 1)),
            )
            .because("no row of |W| sums to more than ω", gap=omega**t * (omega - row)),
        ),
    )
    made = Theorem(
        "bounded",
        "bounded",
        (claim(absolute(state[t, c]), "<=", omega**t, (t, T + 1), (c, d)).proved(proof),),
        given=(omega,),
        assuming=(bounded, at_start),
    )
    try:
        found = check(made, plain, guard=False)
        assert found.assurance == Assurance.PROVED, found.refusal
        without = replace(made, assuming=(at_start,))
        assert check(without, plain, guard=False).assurance == Assurance.REFUSED
        other = replace(made, assuming=(bounded,))
        assert re.search("at t = 0", check(other, plain, guard=False).refusal)
    finally:
        forget(plain.id)


def test_claims_shown_together_use_each_other_one_step_earlier() -> None:
    """Each of two claims may rest on both at the value before; what follows from them is a derivation."""
    together = derive().by_induction(
        n,
        claim(nothing[n, c], "=", 0, (c, d)),
        claim(changed[n, c], "=", run[n, c], (c, d), where=le(n, r + 1)),
        last=T,
    )
    goal = claim(changed[T, c] + nothing[T, c], "=", run[T, c], (r, T), (c, d), where=le(T - 1, r))
    found = checked(goal, proof=together, given=(later,))
    assert found.assurance == Assurance.PROVED, found.refusal


def test_an_induction_may_stand_inside_another() -> None:
    """The base of one rests on another: the second part of a sequence begins where the first ends."""
    rows, more = sizes("rows more")
    first = walk(each(x[t, c], (t, rows), (c, d)), start, W)
    second = walk(each(x[rows + t, c], (t, more), (c, d)), each(first[rows, c], (c, d)), W)
    before = derive().by_induction(n, claim(first[n, c], "=", run[n, c], (c, d)), last=rows)
    found = checked(
        claim(second[t, c], "=", run[rows + t, c], (t, more + 1), (c, d)),
        proof=derive().by_induction(t, base=before),
        sizes={T: rows + more},
    )
    assert found.assurance == Assurance.PROVED, found.refusal


def test_one_step_needs_no_induction() -> None:
    """The first state, and each from the one before it."""
    nexts = tanh(Sum(W[c, e] * run[t, e], (e, 0, d - 1))) + x[t, c]
    found = checked(claim(run[t + 1, c], "=", nexts, (t, T), (c, d)), proof=derive())
    assert found.assurance == Assurance.PROVED, found.refusal
