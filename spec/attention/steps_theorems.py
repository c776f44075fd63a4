"""Theorems about the decoder steps: weights, context, what is hidden, and that annotations have no order of their own."""

from __future__ import annotations

from spec.attention.steps import (
    V,
    W,
    W_c,
    W_h,
    W_o,
    W_s,
    W_y,
    b,
    bahdanau_step,
    d,
    e,
    encoded,
    h,
    luong_step,
    mask,
    s,
    v,
    w,
    y,
)
from spec.attention.weights import j, l, m
from spec.language import (
    Applied,
    Comprehension,
    Max,
    Proof,
    Some,
    Sum,
    Tensor,
    Theorem,
    case,
    claim,
    each,
    eq,
    given,
    step,
)

OURS = {"polarity": "true_attends", "fully_masked": "zero"}
some_key = Some(mask[l], (l, 0, m - 1))
order = given("pi", m, domain="permutation")
place = given("r", domain="integer", below=m)


def bahdanau(annotations: Tensor | Comprehension, visible: Tensor | Comprehension) -> Applied:
    """Bahdanau's step over these annotations."""
    return bahdanau_step(s, y, annotations, W, v, W_s, W_y, W_c, visible)


def luong(annotations: Tensor | Comprehension, visible: Tensor | Comprehension) -> Applied:
    """Luong's step over these annotations."""
    return luong_step(s, y, annotations, W_s, W_y, W_h, W_o, visible)


for formula, stepped, memory, width, outputs in (
    (bahdanau_step, bahdanau, h, e, {"s_next": d, "c": e}),
    (luong_step, luong, encoded, d, {"s_next": d, "h_tilde": d, "P": V}),
):
    taken = stepped(memory, mask)
    alpha = taken.output("alpha")
    direction, other = given("g", width), given("h_other", width)
    reach = Sum(direction[b] * memory[j, b], (b, 0, width - 1))
    farthest = Max(reach, (j, 0, m - 1), where=mask[j])
    hidden = each(mask[j] & ~eq(j, place.value), (j, m))
    replaced = each(case(eq(j, place.value), other[b], memory[j, b]), (j, m), (b, width))
    permuted = stepped(each(memory[order[j], b], (j, m), (b, width)), each(mask[order[j]], (j, m)))

    formula.prove(
        Theorem(
            "weights",
            "The weights of the permitted annotations sum to 1, those of the others are 0; without one they are all 0",
            conventions=OURS,
            claims=(
                claim(Sum(alpha[j], (j, 0, m - 1)), "=", 1, where=some_key),
                claim(alpha[j], "=", 0, (j, m), where=~mask[j]),
                claim(0, "<=", alpha[j], (j, m)),
            ),
            proofs=(
                Proof(why="a sum of exponentials over at least one annotation is positive, so it cancels"),
                Proof(why="the definition"),
                Proof(why="a quotient of exponentials is positive", gap=alpha[j]),
            ),
        )
    )
    formula.prove(
        Theorem(
            "convex_hull",
            "The context lies in the convex hull of the permitted annotations",
            given=(direction,),
            conventions=OURS,
            claims=(
                claim(
                    Sum(direction[b] * taken.output("c")[b], (b, 0, width - 1)),
                    "<=",
                    farthest,
                    where=some_key,
                ),
            ),
            proofs=(
                Proof(
                    (
                        step(
                            Sum(alpha[j] * reach, (j, 0, m - 1), where=mask[j]),
                            "the definition, the sums exchanged",
                        ),
                    ),
                    why="the weights sum to 1, none is negative, and no annotation exceeds the largest",
                    gap=Sum(alpha[j] * (farthest - reach), (j, 0, m - 1), where=mask[j]),
                ),
            ),
        )
    )
    formula.prove(
        Theorem(
            "masked_annotation",
            "A masked annotation has no influence on anything the step returns",
            given=(place, other),
            conventions=OURS,
            claims=tuple(
                claim(
                    stepped(replaced, hidden).output(name)[b],
                    "=",
                    stepped(memory, hidden).output(name)[b],
                    (b, size),
                )
                for name, size in (*outputs.items(), ("alpha", m))
            ),
            proofs=tuple(
                Proof(why="no permitted annotation is the replaced one") for _ in (*outputs, "alpha")
            ),
        )
    )
    formula.prove(
        Theorem(
            "annotations_without_order",
            "Permuting annotations and mask alike permutes the weights and changes nothing else",
            given=(order,),
            conventions=OURS,
            claims=(
                claim(permuted.output("alpha")[j], "=", alpha[order[j]], (j, m)),
                *(
                    claim(permuted.output(name)[b], "=", taken.output(name)[b], (b, size))
                    for name, size in outputs.items()
                ),
            ),
            proofs=tuple(
                Proof(why="a sum over all annotations does not depend on their order")
                for _ in ("alpha", *outputs)
            ),
        )
    )

stepped_b, stepped_l = bahdanau(h, mask), luong(encoded, mask)
some_word = stepped_l.output("P")

bahdanau_step.prove(
    Theorem(
        "state_bounded",
        "Every entry of the new state lies strictly between -1 and 1",
        conventions=OURS,
        claims=(claim(-1, "<", stepped_b[b], (b, d)), claim(stepped_b[b], "<", 1, (b, d))),
        proofs=(Proof(why="it is a hyperbolic tangent"),) * 2,
    )
)

luong_step.prove(
    Theorem(
        "state_bounded",
        "Every entry of the new state and of h̃ lies strictly between -1 and 1",
        conventions=OURS,
        claims=tuple(
            part
            for name in ("s_next", "h_tilde")
            for part in (
                claim(-1, "<", stepped_l.output(name)[b], (b, d)),
                claim(stepped_l.output(name)[b], "<", 1, (b, d)),
            )
        ),
        proofs=(Proof(why="it is a hyperbolic tangent"),) * 4,
    )
)

luong_step.prove(
    Theorem(
        "words_sum_to_one",
        "The probabilities of all words sum to 1, and none is negative",
        conventions=OURS,
        claims=(
            claim(Sum(some_word[w], (w, 0, V - 1)), "=", 1),
            claim(0, "<=", some_word[w], (w, V)),
        ),
        proofs=(
            Proof(why="a sum of exponentials over at least one word is positive, so it cancels"),
            Proof(why="a quotient of exponentials is positive", gap=some_word[w]),
        ),
    )
)
