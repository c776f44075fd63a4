"""Theorems about ELMo: what mixing layers can and cannot do, and what the bidirectional language model is the sum of."""

from __future__ import annotations

from spec.attention.weights import softmax
from spec.language import (
    Max,
    Node,
    Proof,
    Sum,
    Tensor,
    Theorem,
    absolute,
    at_most,
    case,
    claim,
    delta,
    each,
    eq,
    exp,
    given,
    indices,
    log,
    step,
)
from spec.recurrent.language_model import (
    L,
    T,
    V,
    bilm_objective,
    c,
    d,
    elmo_mix,
    gamma,
    h,
    ids,
    j,
    k,
    l,
    s_b,
    s_f,
    v,
    w,
)

(i,) = indices("i")
mix = elmo_mix(h, w, gamma)
shift, scale, layer = given("z"), given("beta"), given("x", d)
chosen = given("r", domain="integer", below=L + 1)

elmo_mix.prove(
    Theorem(
        "weights",
        "The layers' weights are positive, and 1 in sum",
        runs=False,
        claims=(
            claim(Sum(mix.output("a")[j], (j, 0, L)), "=", 1),
            claim(0, "<", mix.output("a")[j], (j, L + 1)),
        ),
        proofs=(Proof(why="a softmax sums to 1"), Proof(why="exponentials are positive")),
    )
)

highest = Max(h[j, c], (j, 0, L))
share = exp(w[j]) / Sum(exp(w[l]), (l, 0, L))
lowest = Max(-h[j, c], (j, 0, L))

elmo_mix.prove(
    Theorem(
        "convex",
        "At γ = 1 the mix is a convex combination of the layers: no entry exceeds all of them, or falls short of all",
        at={gamma: 1},
        claims=(claim(mix[c], "<=", highest, (c, d)), claim(-mix[c], "<=", lowest, (c, d))),
        proofs=(
            Proof(
                (step(Sum(share * h[j, c], (j, 0, L)), "the definition; γ = 1"),),
                why="the weights sum to 1, none is negative, and no layer exceeds the highest",
                gap=Sum(share * (highest - h[j, c]), (j, 0, L)),
            ),
            Proof(
                (step(Sum(share * -h[j, c], (j, 0, L)), "the definition; γ = 1"),),
                why="likewise, for the lowest",
                gap=Sum(share * (lowest + h[j, c]), (j, 0, L)),
            ),
        ),
    )
)

elmo_mix.prove(
    Theorem(
        "alike",
        "Where all layers are the same, the mix is γ times it, whatever the weights",
        given=(layer,),
        claims=(
            claim(
                elmo_mix(each(layer[c], (j, L + 1), (c, d)), w, gamma)[c], "=", gamma.value * layer[c], (c, d)
            ),
        ),
        proofs=(Proof(why="the weights sum to 1"),),
    )
)

elmo_mix.prove(
    Theorem(
        "shift_invariant",
        "Adding a number to all of w changes nothing",
        given=(shift,),
        claims=(claim(elmo_mix(h, each(w[j] + shift.value, (j, L + 1)), gamma)[c], "=", mix[c], (c, d)),),
        proofs=(Proof(why="softmax does not change"),),
    )
)

elmo_mix.prove(
    Theorem(
        "linear",
        "The mix is linear in γ and in the layers",
        given=(scale,),
        claims=(
            claim(elmo_mix(h, w, scale.value * gamma.value)[c], "=", scale.value * mix[c], (c, d)),
            claim(
                elmo_mix(each(scale.value * h[j, c], (j, L + 1), (c, d)), w, gamma)[c],
                "=",
                scale.value * mix[c],
                (c, d),
            ),
        ),
        proofs=(Proof(why="γ stands before the sum"), Proof(why="the weights do not depend on the layers")),
    )
)

picked = chosen.value
raised = elmo_mix(h, each(case(eq(j, picked), w[j] + shift.value, w[j]), (j, L + 1)), gamma)
others = Sum(exp(w[j] - w[picked]) * absolute(h[j, c] - h[picked, c]), (j, 0, L))
apart = absolute(h[j, c] - h[picked, c])
weightiest = exp(w[picked] + shift.value)
all_weights = weightiest + Sum(exp(w[j]), (j, 0, L), where=~eq(j, picked))
distances = Sum(exp(w[j]) * apart, (j, 0, L))
remainder = gamma.value * Sum(exp(w[j]) * (h[j, c] - h[picked, c]), (j, 0, L)) / all_weights


def signed(sign: int, value: Node) -> Node:
    """The value, or its negative."""
    return value if sign > 0 else -value


def nearer(sign: int) -> Proof:
    """Why the mix is not further from the layer, to the one side or the other."""
    return Proof(
        (
            step(signed(sign, remainder), "the weights sum to 1; the layer's own term is 0"),
            at_most(
                absolute(gamma) * distances / all_weights,
                "no number exceeds its absolute value",
                gap=Sum(
                    exp(w[j])
                    * (absolute(gamma) * apart - signed(sign, gamma.value * (h[j, c] - h[picked, c]))),
                    (j, 0, L),
                )
                / all_weights,
            ),
        ),
        why="the other weights are positive",
        gap=absolute(gamma) * distances * (all_weights - weightiest) / (weightiest * all_weights),
    )


elmo_mix.prove(
    Theorem(
        "selects",
        "Raising one layer's weight by z brings the mix to γ times that layer: what is left of the others shrinks as e to the −z",
        given=(chosen, shift),
        claims=tuple(
            claim(
                signed(sign, raised[c] - gamma.value * h[picked, c]),
                "<=",
                exp(-shift.value) * absolute(gamma) * Sum(exp(w[j] - w[picked]) * apart, (j, 0, L)),
                (c, d),
            )
            for sign in (1, -1)
        ),
        proofs=(nearer(1), nearer(-1)),
    )
)

# The objective --------------------------------------------------------------------------------------------------------------

objective = bilm_objective(ids, s_f, s_b)
pull = given("g")


def model(scores: Tensor) -> Node:
    """The log-likelihood of the words under the softmax of some scores."""
    return Sum(log(softmax(scores)[k, ids[k]]), (k, 0, T - 1))


def normalizer(scores: Tensor) -> Node:
    """Σ exp over the vocabulary."""
    return Sum(exp(scores[k, v]), (v, 0, V - 1))


bilm_objective.prove(
    Theorem(
        "two_models",
        "The objective is the sum of the log-likelihoods of a model that reads from the left and one that reads from the right",
        claims=(claim(objective[()], "=", model(s_f) + model(s_b)),),
        proofs=(Proof(why="the logarithm of a softmax is the score less ln Σ exp"),),
    )
)

bilm_objective.prove(
    Theorem(
        "not_positive",
        "The objective is at most 0: no probability exceeds 1",
        claims=(claim(objective[()], "<=", 0),),
        proofs=(
            Proof(
                why="a sum of exponentials is at least each of them",
                gap=Sum(
                    (log(normalizer(s_f)) - s_f[k, ids[k]]) + (log(normalizer(s_b)) - s_b[k, ids[k]]),
                    (k, 0, T - 1),
                ),
            ),
        ),
    )
)

offset = given("c", T)

bilm_objective.prove(
    Theorem(
        "shift_invariant",
        "Adding a number to all scores of a position changes nothing",
        given=(offset,),
        claims=(
            claim(
                bilm_objective(ids, each(s_f[k, v] + offset[k], (k, T), (v, V)), s_b)[()],
                "=",
                objective[()],
            ),
        ),
        proofs=(Proof(why="ln Σ exp grows by the same number"),),
    )
)

bilm_objective.prove(
    Theorem(
        "gradient",
        "The gradient with respect to the scores is one-hot less softmax, in each direction",
        given=(pull,),
        claims=tuple(
            claim(
                objective.pullback(pull, name)[k, v],
                "=",
                pull.value * (delta(v, ids[k]) - softmax(scores)[k, v]),
                (k, T),
                (v, V),
            )
            for name, scores in (("s_f", s_f), ("s_b", s_b))
        ),
        proofs=(Proof(why="the derivative of ln Σ exp is the softmax"),) * 2,
    )
)
