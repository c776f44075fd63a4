"""Induction in the prover: what it shows, and every way in which it would show what is false, refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from spec.language import (
    Assurance,
    Claim,
    Every,
    Formula,
    Proof,
    Sum,
    Theorem,
    absolute,
    case,
    claim,
    data,
    define,
    delta,
    derive,
    each,
    given,
    indices,
    le,
    lt,
    sizes,
    tanh,
    tensor,
)
from spec.language.known import forget
from spec.language.proving.proof import Checked, check

T, d = sizes("T d")
t, k, n, c, e, r = indices("t k n c e r")
x, W, h = data("x", T, d), data("W", d, d), tensor("h", T + 1, d)
start = data("start", d)
later, shift = given("later", T, d), given("z")
omega = given("omega", domain="positive")

walk = Formula(
    "test.walk",
    "A recurrence",
    (x, start, W),
    (
        define(h[0, c], start[c]),
        define(h[t, c], tanh(Sum(W[c, e] * h[t - 1, e], (e, 0, d - 1))) + x[t - 1, c], (t, 1, T)),
    ),
    (h,),
    auxiliary=True,
)
run = walk(x, start, W)
nothing = walk(each(0, (t, T), (c, d)), each(0, (c, d)), W)
changed = walk(each(case(le(t, r), x[t, c], later[t, c]), (t, T), (c, d)), start, W)


def checked(*claims: Claim, proof: Proof, **rest: object) -> Checked:
    """A theorem about the recurrence, with one proof for its claims."""
    proofs = tuple(claim.proved(proof) for claim in claims)
    return check(Theorem("claimed", "claimed", proofs, **rest), walk, guard=False)  # type: ignore[arg-type]


def refusal(*claims: Claim, proof: Proof, **rest: object) -> str:
    """Why it is refused; it must be."""
    found = checked(*claims, proof=proof, **rest)
    assert found.assurance == Assurance.REFUSED
    assert "\n" not in found.refusal
    return found.refusal


# What induction shows -----------------------------------------------------------------------------------------------------


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


# What it does not -----------------------------------------------------------------------------------------------------------

Refused = Callable[[], str]
FALSE: dict[str, tuple[Refused, str]] = {}


def false(name: str, reason: str) -> Callable[[Refused], Refused]:
    """Register a false claim or a broken proof with what its refusal must say."""

    def add(build: Refused) -> Refused:
        FALSE[name] = (build, reason)
        return build

    return add


@false("a wrong base", "at t = 0")
def _() -> str:
    started = walk(each(0, (t, T), (c, d)), start, W)
    return refusal(claim(started[t, c], "=", 0, (t, T + 1), (c, d)), proof=derive().by_induction(t))


@false("a step that needs more than the hypothesis", "from t to t [+] 1")
def _() -> str:
    pushed = walk(x, each(0, (c, d)), W)
    return refusal(claim(pushed[t, c], "=", 0, (t, T + 1), (c, d)), proof=derive().by_induction(t))


@false("the hypothesis used at t + 1", "from t to t [+] 1")
def _() -> str:
    """h[t] = h'[t] for other inputs: base true, and the step would need the claim itself."""
    other = walk(later, start, W)
    return refusal(
        claim(other[t, c], "=", run[t, c], (t, T + 1), (c, d)), proof=derive().by_induction(t), given=(later,)
    )


@false("the hypothesis used beyond its condition", "from t to t [+] 1")
def _() -> str:
    same = claim(changed[t, c], "=", run[t, c], (r, T), (t, T + 1), (c, d), where=le(t, r + 2))
    return refusal(same, proof=derive().by_induction(t), given=(later,))


@false("the hypothesis used for other weights", "from n to n [+] 1")
def _() -> str:
    """Shown for W = 0, used for W."""
    V = each(0, (c, d), (e, d))
    idle = walk(each(0, (t, T), (c, d)), start, V)
    moved = walk(each(0, (t, T), (c, d)), start, W)
    together = derive().by_induction(
        n,
        claim(idle[n, c], "=", case(le(1, n), 0, start[c]), (c, d)),
        claim(moved[n, c], "=", case(le(1, n), 0, start[c]), (c, d)),
        last=T,
    )
    return refusal(claim(moved[T, c], "=", 0, (c, d)), proof=together)


@false("what is shown is used beyond its last index", "the two sides differ by")
def _() -> str:
    """Shown of the states up to r + 1, used at r + 2."""
    short = derive().by_induction(n, claim(changed[n, c], "=", run[n, c], (c, d)), last=r + 1)
    return refusal(
        claim(changed[r + 2, c], "=", run[r + 2, c], (r, T - 1), (c, d)),
        proof=short,
        given=(later,),
    )


@false("what is shown of one entry is used of another", "from n to n [+] 1")
def _() -> str:
    """The entry 0 alone: its own step already needs the others."""
    first = derive().by_induction(n, claim(changed[n, 0], "=", run[n, 0], where=le(n, r + 1)), last=T)
    return refusal(
        claim(changed[t, c], "=", run[t, c], (r, T), (t, T + 1), (c, d), where=le(t, r)),
        proof=first,
        given=(later,),
    )


@false("an inequality used in the wrong direction", "from t to t [+] 1")
def _() -> str:
    """No state is below 0 if the one before is at least 0: x may be anything."""
    free = walk(x, each(0, (c, d)), each(0, (c, d), (e, d)))
    return refusal(claim(0, "<=", free[t, c], (t, T + 1), (c, d)), proof=derive().by_induction(t))


@false("an induction over an index that the claim does not have", "n is no index of the claim")
def _() -> str:
    return refusal(claim(nothing[t, c], "=", 0, (t, T + 1), (c, d)), proof=derive().by_induction(n))


@false("an index that stands for something already", "c already stands for something|stands for two things")
def _() -> str:
    twice = derive().by_induction(c, claim(nothing[c, c], "=", 0, (c, d)), last=T)
    return refusal(claim(nothing[T, c], "=", 0, (c, d)), proof=twice)


@false("the index of an outer induction taken again", "stands for two things|already stands")
def _() -> str:
    inner = derive().by_induction(c, claim(run[n, c], "=", nothing[n, c], (n, T)), last=d - 1)
    outer = derive().by_induction(n, claim(nothing[n, c], "=", 0, (c, d)), last=T, step=inner)
    return refusal(claim(nothing[T, c], "=", 0, (c, d)), proof=outer)


@false("one letter for the index of an induction and another index", "c already stands for something")
def _() -> str:
    (steps,), (entry,) = indices(c=T), indices(c=d)
    return refusal(
        claim(nothing[T, 0], "=", 0),
        proof=derive().by_induction(steps, claim(nothing[steps, entry], "=", 0, entry), last=T),
    )


@false("an induction at listed sizes", "is not one at listed sizes")
def _() -> str:
    return refusal(
        claim(nothing[t, c], "=", 0, (t, T + 1), (c, d)),
        proof=derive().by_induction(t).only_at({T: 2, d: 1}),
    )


@false("a witness for the step", "is shown by derivation")
def _() -> str:
    return refusal(
        claim(nothing[t, c], "=", 0, (t, T + 1), (c, d)),
        proof=derive().by_induction(t, step=derive().by_enclosure()),
    )


@false("a hypothesis whose left side is no state", "its left side is neither a state")
def _() -> str:
    squared = derive().by_induction(n, claim(nothing[n, c] ** 2, "=", 0, (c, d)), last=T)
    return refusal(claim(nothing[T, c], "=", 0, (c, d)), proof=squared)


@false("a derivative under an assumption about what it is taken of", "under an assumption on it")
def _() -> str:
    fixed = Every(le(x[0, c], 0), (c, 0, d - 1))
    pulled = run.pullback(each(delta(t, T), (t, T + 1), (c, d)), "x")
    return refusal(claim(pulled[0, c], "=", pulled[0, c] + 1, (c, d)), proof=derive(), assuming=(fixed,))


@false("a strict claim from steps that are not", "no step is strict")
def _() -> str:
    return refusal(
        claim(0, "<", absolute(shift) + 0),
        proof=derive().at_most(absolute(shift), "an absolute value"),
        given=(shift,),
    )


@false("a strict claim that is not strict", "> 0 is not visible")
def _() -> str:
    return refusal(claim(0, "<", absolute(shift)), proof=derive(), given=(shift,))


@false("the last condition of a range", "the two sides differ by")
def _() -> str:
    """The state after r + 1 elements is the last that does not depend on the later ones."""
    return refusal(
        claim(changed[r + 2, c], "=", run[r + 2, c], (r, T - 1), (c, d)),
        proof=derive().by_induction(
            n, claim(changed[n, c], "=", run[n, c], (c, d), where=lt(n, r + 2)), last=T
        ),
        given=(later,),
    )


@pytest.mark.parametrize("name", FALSE)
def test_a_false_induction_is_refused(name: str) -> None:
    """In one line that says where it fails."""
    build, reason = FALSE[name]
    said = build()
    assert re.search(reason, said), said
