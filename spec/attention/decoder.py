"""What the decoder steps share: conventions about annotations, and what attention over annotations always has."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from spec.attention.masks import OURS, permitted
from spec.attention.parts import in_the_hull, replace_row
from spec.vocabulary import *

POLARITY = Convention(
    "polarity",
    {
        "true_attends": "True marks the annotations that may be attended to",
        "true_drops": "True marks those that may not",
    },
    default="true_attends",
    absent={"true_drops": False},
)
FULLY_MASKED = Convention(
    "fully_masked",
    {
        "zero": "without a permitted annotation the weights and the context are 0",
        "unspecified": "nothing is said about that case (0/0 and NaN included)",
    },
    default="zero",
)
Lines: TypeAlias = Callable[[Tensor], Any]
"""A run of a step: for each of its lines, what that run makes of it."""


def context(alpha: Tensor, h: Tensor, mask: Tensor, f: Index) -> Node:
    """Entry f of the context: the permitted annotations, weighed."""
    j, u = indices(j=h.shape[0], u=h.shape[0])
    read = Sum(alpha[j] * h[j, f], j, where=permitted(mask, j))
    some = Some(permitted(mask, u), u)
    return by_convention("fully_masked", zero=read, unspecified=case(some, read, Undefined()))


def prove_about_annotations(
    formula: Formula,
    step: Callable[[Any, Any], Applied],
    h: Tensor,
    mask: Tensor,
    further: Mapping[Node, Callable[[Lines], Node]],
) -> None:
    """Prove what holds for every step that attends to annotations.

    ``step`` applies the formula to annotations and a mask. ``further`` tells of an entry of each other output how it
    is made, given the lines that it is made from.
    """
    m, width = h.shape
    j, u, f = indices(j=m, u=m, f=width)
    eta, alpha, c = (formula.line(name) for name in ("eta", "alpha", "c"))
    some_key, total = Some(mask[u], u), Sum(exp(eta[j]), j, where=mask[j])

    formula.theorem(
        "weights",
        "The weights of the permitted annotations sum to 1, those of the others are 0; without one they are all 0",
        claim(Sum(alpha[j], j), "=", 1, where=some_key)
        .step(
            total / Sum(exp(eta[u]), u, where=mask[u]), "the definition; the denominator does not depend on j"
        )
        .because("a sum of exponentials over at least one annotation is positive, so it cancels"),
        claim(alpha[j], "=", 0, where=~mask[j]).by_definition(
            "the softmax is 0 where the mask does not permit"
        ),
        claim(0, "<=", alpha[j]).by_definition("a quotient of exponentials is positive", gap=alpha[j]),
        conventions=OURS,
    )

    g = given("g", width)
    formula.theorem(
        "convex_hull",
        "Where there is a permitted annotation, the context lies in the convex hull of those permitted",
        in_the_hull(Sum(g[f] * c[f], f), alpha[j], Sum(g[f] * h[j, f], f), j, mask[j], some_key),
        given=g,
        conventions=OURS,
    )

    r, h_other = given("r", domain="integer", below=m), given("h_other", width)
    hidden = each(mask[j] & ~eq(j, r), j)
    before, after = step(h, hidden), step(replace_row(h, r, h_other), hidden)
    share = exp(eta[j]) / Sum(exp(eta[u]), u, where=hidden[u])
    formula.theorem(
        "masked_annotation",
        "A masked annotation has no influence on anything the step returns",
        claim(after.output(alpha)[j], "=", before.output(alpha)[j])
        .step(case(hidden[j], share), "the sum leaves r out; other scores are as they were")
        .because("the definition, with r masked"),
        claim(after.output(c)[f], "=", before.output(c)[f])
        .step(Sum(share * h[j, f], j, where=hidden[j]), "the sums leave r out")
        .because("the definition, with r masked"),
        *(_same(after, before.output, entry, made) for entry, made in further.items()),
        given=(r, h_other),
        conventions=OURS,
    )

    pi = given("pi", m, domain="permutation")
    same_terms = "π reaches every annotation once: the same terms in another order"
    permuted = step(each(h[pi[j], f], j, f), each(mask[pi[j]], j))
    formula.theorem(
        "annotations_without_order",
        "Permuting annotations and mask alike permutes the weights and changes nothing else",
        claim(permuted.output(alpha)[j], "=", alpha[pi[j]])
        .step(
            case(mask[pi[j]], exp(eta[pi[j]]) / Sum(exp(eta[pi[u]]), u, where=mask[pi[u]])),
            "the annotation at place j is now number π(j), with its score",
        )
        .step(case(mask[pi[j]], exp(eta[pi[j]]) / Sum(exp(eta[u]), u, where=mask[u])), same_terms)
        .because("the definition of α at π(j)"),
        claim(permuted.output(c)[f], "=", c[f])
        .step(Sum(alpha[pi[j]] * h[pi[j], f], j, where=mask[pi[j]]), "the weights move with the annotations")
        .step(Sum(alpha[j] * h[j, f], j, where=mask[j]), same_terms)
        .because("the definition of c"),
        *(_same(permuted, lambda line: line, entry, made) for entry, made in further.items()),
        given=pi,
        conventions=OURS,
    )


def _same(run: Applied, other: Lines, entry: Node, made: Callable[[Lines], Node]) -> Claim:
    """The claim that a run returns the same as another, since what it makes it from is the same."""
    return (
        claim(run.output(entry.tensor)[entry.index], "=", other(entry.tensor)[entry.index])
        .step(made(other), "it is made from lines that are the same in both runs")
        .because("the definition")
    )
