"""Theorems about attention: what softmax weights are, and what attention can and cannot see."""

from __future__ import annotations

from spec.attention.weights import c, d_k, d_v, i, j, k, l, m, mask, n, q, s, scaled_dot_product, softmax, v
from spec.language import (
    Comprehension,
    Max,
    Node,
    Proof,
    Some,
    Sum,
    Theorem,
    case,
    claim,
    delta,
    each,
    eq,
    exp,
    given,
    step,
)
from spec.scores import scaled_dot

OURS = {"polarity": "true_attends", "fully_masked": "zero"}
some_key = Some(mask[i, l], (l, 0, m - 1))
g, t = given("g", n, m), given("t", n)
keys = given("pi", m, domain="permutation")

# Softmax ------------------------------------------------------------------------------------------------------------------

weights = softmax(s, mask)
total = Sum(exp(s[i, l]), (l, 0, m - 1), where=mask[i, l])
others = Sum(exp(s[i, l]), (l, 0, m - 1), where=mask[i, l] & ~eq(l, j))

softmax.prove(
    Theorem(
        "sums_to_one",
        "The weights of a query with a permitted key sum to 1; without one they are all 0",
        conventions=OURS,
        claims=(
            claim(Sum(weights[i, j], (j, 0, m - 1)), "=", 1, (i, n), where=some_key),
            claim(weights[i, j], "=", 0, (i, n), (j, m), where=~some_key),
        ),
        proofs=(
            Proof(
                (
                    step(
                        Sum(exp(s[i, j]) / total, (j, 0, m - 1), where=mask[i, j]),
                        "the definition; a masked key contributes 0",
                    ),
                    step(
                        Sum(exp(s[i, j]), (j, 0, m - 1), where=mask[i, j]) / total,
                        "the denominator does not depend on j",
                    ),
                ),
                why="a sum of exponentials over at least one key is positive, so it cancels",
            ),
            Proof(why="no key is permitted, so every weight is 0 by definition"),
        ),
    )
)

softmax.prove(
    Theorem(
        "shift_invariant",
        "Adding a number to all scores of a query does not change its weights",
        given=(t,),
        conventions=OURS,
        claims=(
            claim(
                softmax(each(s[i, j] + t[i], (i, n), (j, m)), mask)[i, j], "=", weights[i, j], (i, n), (j, m)
            ),
        ),
        proofs=(
            Proof(
                (
                    step(
                        case(
                            mask[i, j],
                            exp(s[i, j] + t[i]) / Sum(exp(s[i, l] + t[i]), (l, 0, m - 1), where=mask[i, l]),
                        ),
                        "the definition",
                    ),
                    step(
                        case(mask[i, j], exp(t[i]) * exp(s[i, j]) / (exp(t[i]) * total)),
                        "the exponential of a sum; its factor without l leaves the sum",
                    ),
                ),
                why="the factor is positive and cancels",
            ),
        ),
    )
)

softmax.prove(
    Theorem(
        "jacobian",
        "The Jacobian of a row is diag(a) − aaᵀ",
        given=(g,),
        conventions=OURS,
        claims=(
            claim(
                weights.pullback(g, "s")[i, j],
                "=",
                weights[i, j] * (g[i, j] - Sum(g[i, l] * weights[i, l], (l, 0, m - 1))),
                (i, n),
                (j, m),
            ),
        ),
        proofs=(
            Proof(
                (
                    step(
                        Sum(
                            g[i, l] * (delta(j, l) * weights[i, j] - weights[i, j] * weights[i, l]),
                            (l, 0, m - 1),
                        ),
                        "the quotient rule: ∂aₗ/∂sⱼ = δⱼₗ aⱼ − aⱼ aₗ",
                    ),
                ),
                why="the delta picks l = j; aⱼ leaves the sum",
            ),
        ),
    )
)

softmax.prove(
    Theorem(
        "between_0_and_1",
        "Every weight lies between 0 and 1",
        conventions=OURS,
        claims=(
            claim(0, "<=", weights[i, j], (i, n), (j, m)),
            claim(weights[i, j], "<=", 1, (i, n), (j, m)),
        ),
        proofs=(
            Proof(why="a quotient of exponentials is positive", gap=case(mask[i, j], exp(s[i, j]) / total)),
            Proof(why="what is missing to 1 are the other weights", gap=case(mask[i, j], others / total, 1)),
        ),
    )
)

softmax.prove(
    Theorem(
        "permutation_equivariant",
        "Permuting the keys of every query permutes its weights",
        given=(keys,),
        conventions=OURS,
        claims=(
            claim(
                softmax(
                    each(s[i, keys[j]], (i, n), (j, m)),
                    each(mask[i, keys[j]], (i, n), (j, m)),
                )[i, j],
                "=",
                weights[i, keys[j]],
                (i, n),
                (j, m),
            ),
        ),
        proofs=(Proof(why="a sum over all keys does not depend on their order"),),
    )
)

# Scaled dot-product attention ---------------------------------------------------------------------------------------------

w = given("w", d_v)
place = given("r", domain="integer", below=m)
other_k, other_v = given("k_other", d_k), given("v_other", d_v)
seed = given("g", n, d_v)
queries = given("pi", n, domain="permutation")

attended = scaled_dot_product(q, k, v, mask)
dots = scaled_dot(q, k)
shares = softmax(each(dots[i, j], (i, n), (j, m)), mask)
reach = Sum(w[c] * v[j, c], (c, 0, d_v - 1))
farthest = Max(reach, (j, 0, m - 1), where=mask[i, j])

scaled_dot_product.prove(
    Theorem(
        "convex_hull",
        "Every output lies in the convex hull of the permitted values: in no direction w does it exceed them all",
        given=(w,),
        conventions=OURS,
        claims=(claim(Sum(w[c] * attended[i, c], (c, 0, d_v - 1)), "<=", farthest, (i, n), where=some_key),),
        proofs=(
            Proof(
                (
                    step(
                        Sum(shares[i, j] * reach, (j, 0, m - 1), where=mask[i, j]),
                        "the definition, the sums exchanged",
                    ),
                ),
                why="the weights sum to 1, none is negative, and no value exceeds the largest",
                gap=Sum(shares[i, j] * (farthest - reach), (j, 0, m - 1), where=mask[i, j]),
            ),
        ),
    )
)

scaled_dot_product.prove(
    Theorem(
        "key_permutation",
        "Permuting keys, values and mask alike changes nothing",
        given=(keys,),
        conventions=OURS,
        claims=(
            claim(
                scaled_dot_product(
                    q,
                    each(k[keys[j], c], (j, m), (c, d_k)),
                    each(v[keys[j], c], (j, m), (c, d_v)),
                    each(mask[i, keys[j]], (i, n), (j, m)),
                )[i, c],
                "=",
                attended[i, c],
                (i, n),
                (c, d_v),
            ),
        ),
        proofs=(
            Proof(
                (
                    step(
                        Sum(shares[i, keys[j]] * v[keys[j], c], (j, 0, m - 1), where=mask[i, keys[j]]),
                        "the definition: every row of keys, values and mask is read at π(j)",
                    ),
                ),
                why="a sum over all keys does not depend on their order",
            ),
        ),
    )
)

scaled_dot_product.prove(
    Theorem(
        "query_permutation",
        "Permuting queries and mask alike permutes the outputs",
        given=(queries,),
        conventions=OURS,
        claims=(
            claim(
                scaled_dot_product(
                    each(q[queries[i], c], (i, n), (c, d_k)),
                    k,
                    v,
                    each(mask[queries[i], j], (i, n), (j, m)),
                )[i, c],
                "=",
                attended[queries[i], c],
                (i, n),
                (c, d_v),
            ),
        ),
        proofs=(Proof(why="each output depends on its own query only"),),
    )
)


def replaced_at(row: Node) -> tuple[Comprehension, Comprehension]:
    """Keys and values with those of one slot replaced by others."""
    return (
        each(case(eq(j, row), other_k[c], k[j, c]), (j, m), (c, d_k)),
        each(case(eq(j, row), other_v[c], v[j, c]), (j, m), (c, d_v)),
    )


hidden = each(mask[i, j] & ~eq(j, place.value), (i, n), (j, m))
without = scaled_dot_product(q, k, v, hidden)

scaled_dot_product.prove(
    Theorem(
        "masked_for_all",
        "A key masked for every query has no influence: neither on the outputs nor on any gradient",
        given=(place, other_k, other_v, seed),
        conventions=OURS,
        claims=(
            claim(
                scaled_dot_product(q, *replaced_at(place.value), hidden)[i, c],
                "=",
                without[i, c],
                (i, n),
                (c, d_v),
            ),
            claim(without.pullback(seed, "v")[place.value, c], "=", 0, (c, d_v)),
            claim(without.pullback(seed, "k")[place.value, c], "=", 0, (c, d_k)),
        ),
        proofs=(
            Proof(why="no permitted key is the replaced one, so no sum meets it"),
            Proof(why="the slot occurs in no sum"),
            Proof(why="the slot occurs in no sum"),
        ),
    )
)

scaled_dot_product.prove(
    Theorem(
        "masked_for_one",
        "A key masked for a query has no influence on that query's output",
        given=(place, other_k, other_v),
        conventions=OURS,
        claims=(
            claim(
                scaled_dot_product(q, *replaced_at(place.value), mask)[i, c],
                "=",
                attended[i, c],
                (i, n),
                (c, d_v),
                where=~mask[i, place.value],
            ),
        ),
        proofs=(Proof(why="the sums of this query run over keys that differ from the replaced one"),),
    )
)
