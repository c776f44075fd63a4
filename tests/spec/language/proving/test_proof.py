"""What is checked is proved, at the assurance it deserves and no more; what it rests on can be read."""

from __future__ import annotations

from spec.attention.softmax import m, mask, n, s, softmax
from spec.language import (
    Assurance,
    Every,
    Some,
    Sum,
    Theorem,
    case,
    claim,
    delta,
    each,
    eq,
    le,
    lift,
    lt,
    sqrt,
)
from spec.language.proving.proof import check
from spec.normalization.layer_norm import d, eps, layer_norm, x
from tests.spec.language.proving.claims import B, F, a, anything, equal, f, i, j, l, p, proved, r, t, z


def test_the_same_claims_with_what_was_missing_are_proved() -> None:
    """Each false theorem fails for the reason given: with the missing assumption it holds."""
    proved(equal(p[i] / p[i], 1, (i, n), given=(p,)))
    proved(equal(lift(n - m) * a / lift(n - m), a, given=(a,), assuming=(lt(m, n),)))
    rest = Sum(p[j], (j, i + 1, n - 1))
    proved(equal(rest / rest, 1, (i, n), where=lt(i + 1, n), given=(p,)))
    proved(equal(Sum(delta(j, i + 1) * f[j], (j, 0, n - 1)), f[i + 1], (i, n), where=lt(i + 1, n)))
    proved(equal(Sum(delta(j, i + 1), (j, 0, n - 1)), case(lt(i + 1, n), 1), (i, n)))
    kept = Sum(lift(1), (j, 0, m - 1), where=B[i, j])
    proved(equal(kept / kept, 1, (i, n), where=Some(B[i, j], (j, 0, m - 1)), given=(B,)))
    proved(equal(sqrt(p[i] ** 2), p[i], (i, n), given=(p,)))
    plain = layer_norm(x, each(1, (j, d)), each(0, (j, d)), eps)
    proved(
        equal(
            Sum(plain[i], (i, d)),
            0,
            conventions={"eps": "inside", "divisor": "unbiased"},
            assuming=(lt(1, d),),
        ),
        layer_norm,
    )


def test_what_is_assumed_of_every_row_and_column_is_used() -> None:
    """Of all pairs of indices, and of those that an inner range, which may depend on the outer index, leaves."""
    low = Every(Every(le(F[r, t], 0), (t, m)), (r, n))
    total = Sum(F[i, j], (j, 0, m - 1))
    proved(Theorem("claimed", "claimed", (claim(total, "<=", 0, (i, n)),), assuming=(low,)))
    lower = Every(Every(le(F[r, t], 0), (t, 0, r)), (r, n))
    inside = claim(F[i, j], "<=", 0, (i, n), (j, m), where=le(j, i))
    proved(Theorem("claimed", "claimed", (inside,), assuming=(lower, le(n, m))))


def test_an_assumed_equation_of_values_is_refused_with_what_to_do() -> None:
    """Of every index it is a condition, though no proof uses it."""
    told = check(equal(a, z, given=(a, z), assuming=(eq(a, z),)), anything, guard=False).refusal
    assert (
        "a = z equates values and cannot be used: state the claim with the one in place of the other" in told
    )
    every = Every(eq(F[0, t], a), (t, m))
    told = check(equal(F[0, j], a, (j, m), given=(a,), assuming=(every,)), anything, guard=False).refusal
    assert "the two sides differ by" in told


def test_an_obligation_is_listed_with_its_reason() -> None:
    """What a proof rests on can be read off it."""
    total, some_key = Sum(softmax(s, mask)[i, j], (j, m)), Some(mask[i, l], (l, m))
    ours = {"polarity": "true_attends", "fully_masked": "zero"}
    checked = proved(equal(total, 1, (i, n), where=some_key, conventions=ours), softmax)
    sentences = [str(o) for o in checked.obligations]
    assert any(
        "exp(s[i,l]) ≠ 0 in attention.softmax" in text and "at least one index" in text for text in sentences
    )
    assert {"unfold", "cancel", "constants"} <= {r.name for r in checked.rules}


def test_a_proof_at_sizes_says_so() -> None:
    """Sizes put in and sums written out prove no more than the sizes listed."""
    sides = claim(Sum(lift(j), (j, 0, n - 1)), "=", lift(n * (n - 1)) / 2)
    at = tuple({n: size, m: 1} for size in (1, 2, 3, 5, 8))
    checked = check(Theorem("gauss", "", (sides.only_at(*at),)), anything, guard=False)
    assert checked.assurance == Assurance.PROVED_AT_SIZES


def test_an_enclosure_says_so() -> None:
    """Balls at random points are evidence, not proof."""
    sides = claim(Sum(f[j] + p[j], (j, 0, n - 1)), "=", Sum(f[j], (j, 0, n - 1)) + Sum(p[j], (j, 0, n - 1)))
    theorem = Theorem("linear", "", (sides.by_enclosure(),), given=(p,))
    assert check(theorem, anything, guard=False).assurance == Assurance.ENCLOSED


def test_the_weakest_claim_sets_the_assurance() -> None:
    """Never rounded up."""
    good = claim(f[i], "=", f[i], (i, n))
    sums = claim(Sum(lift(j), (j, 0, n - 1)), "=", lift(n * (n - 1)) / 2)
    theorem = Theorem("both", "", (good, sums.only_at({n: 2, m: 1})))
    assert check(theorem, anything, guard=False).assurance == Assurance.PROVED_AT_SIZES


def test_a_mask_that_is_not_given_hides_nothing_whichever_way_masks_are_read() -> None:
    """Without a mask the weights sum to 1, proved for both polarities at once."""
    total = Sum(softmax(s)[i, j], (j, 0, m - 1))
    made = equal(total, 1, (i, n), conventions={"fully_masked": "zero"})
    proved(made, softmax)


def test_a_refusal_shows_the_whole_difference() -> None:
    """Its last term as well as its first, however many there are."""
    checked = check(equal((a + z + 1) ** 9, 0, given=(a, z)), anything, guard=False)
    assert "a^9" in checked.refusal
    assert "z^9" in checked.refusal
    assert checked.refusal.count("a") > 40
    assert "…" not in checked.refusal
