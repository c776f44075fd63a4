"""Every way in which induction would show what is false, refused."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from spec.language import (
    Every,
    absolute,
    case,
    claim,
    delta,
    derive,
    each,
    indices,
    le,
    lt,
)
from tests.spec.language.proving.inductions import (
    T,
    W,
    c,
    changed,
    d,
    e,
    later,
    n,
    nothing,
    r,
    refusal,
    run,
    shift,
    start,
    t,
    walk,
    x,
)

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
