"""A recurrence about which the tests of induction claim things, and what the checker says of them."""

from __future__ import annotations

from spec.language import (
    Assurance,
    Claim,
    Formula,
    Proof,
    Sum,
    Theorem,
    case,
    data,
    define,
    each,
    given,
    indices,
    le,
    sizes,
    tanh,
    tensor,
)
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
