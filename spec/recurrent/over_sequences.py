"""Sentences about every recurrent network: a cell repeated, whatever it carries from one element to the next.

A plain network carries one state H, a long short-term memory two, H and S. ``states`` names what is carried; row n of each
stands after n elements, in a stacked network row n of each layer. The theorems below are then the same sentence for both.
"""

from collections.abc import Callable
from typing import Any

from spec.language.theorem import Proof
from spec.vocabulary import *

Place = tuple[Index, ...]
rows, more, fewer = sizes("rows more fewer")


def within_one(entry: Node, why: str) -> tuple[Claim, Claim]:
    """The claims that an entry lies between −1 and 1."""
    return claim(-1, "<", entry).by_definition(why), claim(entry, "<", 1).by_definition(why)


def agree(
    one: Applied, other: Applied, states: tuple[Tensor, ...], at: Place, there: Place = (), **stated: Any
) -> tuple[Claim, ...]:
    """The claims that a network is ``at`` a place in the states in which another is ``there`` (or at the same place)."""
    (c,) = indices(c=states[0].shape[-1])
    over = stated.pop("over", ())
    return tuple(
        claim(one.output(part)[*at, c], "=", other.output(part)[*(there or at), c], *over, c, **stated)
        for part in states
    )


def with_another_end(formula: Formula, i: Index) -> tuple[Applied, Tensor]:
    """The network on a sequence that goes on differently after element i, and what comes there instead."""
    x, *others = formula.tensors
    t, a = indices(t=x.shape[0], a=x.shape[1])
    later = given("x_later", *x.shape)
    return formula(each(case(le(t, i), x[t, a], later[t, a]), t, a), *others), later


# In one layer -------------------------------------------------------------------------------------------------------------


def prefix(formula: Formula, states: tuple[Tensor, ...], title: str, **also: str) -> None:
    """Theorem ``prefix``: what comes later changes no state before, nor the outputs named, each with the reason why."""
    T, d = formula.outputs[0].shape
    t, i, n, c = indices(t=T, i=T, n=T + 1, c=d)
    run, (changed, later) = formula(*formula.tensors), with_another_end(formula, i)
    claims = []
    for name, why in {
        formula.outputs[0].name: "the state there is the one after t + 1 elements",
        **also,
    }.items():
        (c,) = indices(c=run.output(name).shape[1])
        claims.append(
            claim(changed.output(name)[t, c], "=", run.output(name)[t, c], where=le(t, i))
            .by_induction(n, *agree(changed, run, states, (n,), where=le(n, i + 1)), last=T)
            .because(why)
        )
    formula.theorem("prefix", title, *claims, given=later)


def resumes(formula: Formula, states: tuple[Tensor, ...], title: str, *ends: Tensor) -> None:
    """Theorem ``resumes``: a sequence may be cut; ``ends`` are the outputs that hold the other states after the last element."""
    x, _, *others = formula.tensors
    T, d = formula.outputs[0].shape
    t, m, n, c = indices(t=T, m=T, n=T, c=d)
    run, before = formula(*formula.tensors), formula(x[:rows], *formula.tensors[1:])
    last = (before[rows - 1], *(before.output(end) for end in ends))
    after = formula(x[rows : rows + more], *last, *others[len(ends) :])
    joined = (
        derive()
        .by_induction(m, *agree(before, run, states, (m,)), last=rows)
        .because("the last state of the first part is that of the whole")
    )

    def goes_on(claimed: Claim, why: str) -> Claim:
        same = agree(after, run, states, (n,), (rows + n,))
        return claimed.by_induction(n, *same, last=more, base=(joined,) * len(states)).because(why)

    formula.theorem(
        "resumes",
        title,
        claim(before[t, c], "=", run[t, c], (t, rows), c)
        .by_induction(n, *agree(before, run, states, (n,)), last=rows)
        .because("the state there is the one after t + 1 elements"),
        goes_on(
            claim(after[t, c], "=", run[rows + t, c], (t, more), c), "the state after t + 1 elements more"
        ),
        *(
            goes_on(
                claim(after.output(end)[c], "=", run.output(end)[c], c), "the state after the last element"
            )
            for end in ends
        ),
        sizes={T: rows + more},
    )


# In several layers --------------------------------------------------------------------------------------------------------


def layer_by_layer(
    one: Applied, other: Applied, states: tuple[Tensor, ...], top: Index, until: Index
) -> Proof:
    """Why two stacked networks are in the same states up to an element, in every layer up to the top one."""
    T = states[0].shape[1] - 1
    l, m, j = indices(l=top + 1, m=T + 1, j=T + 1)

    def along(layer: Index) -> tuple[Proof, ...]:
        same = agree(one, other, states, (layer, j), where=le(j, until))
        return (derive().by_induction(j, *same, last=T),) * len(states)

    same = agree(one, other, states, (l, m), over=(m,), where=le(m, until))
    return derive().by_induction(l, *same, last=top, base=along(0), step=along(l + 1))


def deep_prefix(formula: Formula, states: tuple[Tensor, ...], title: str) -> None:
    """Theorem ``prefix`` of a stacked network."""
    layers, elements, d = states[0].shape
    T = elements - 1
    t, i, c = indices(t=T, i=T, c=d)
    run, (changed, later) = formula(*formula.tensors), with_another_end(formula, i)
    same = layer_by_layer(changed, run, states, layers - 1, i + 1).because(
        "the top layer is one of the layers"
    )
    formula.theorem(
        "prefix", title, claim(changed[t, c], "=", run[t, c], where=le(t, i)).proved(same), given=later
    )


def another_layer(
    formula: Formula, states: tuple[Tensor, ...], layer: Callable[[Applied, Index], Applied], title: str
) -> None:
    """Theorem ``another_layer``: ``layer(below, l)`` is layer l as a network of its own that reads the states below."""
    layers, elements, d = states[0].shape
    L, T = layers - 1, elements - 1
    t, n, c = indices(t=T, n=T + 1, c=d)
    kept = {L + 1: fewer + 1, L: fewer}
    lowest = (part[: kept[part.shape[0]]] if part.shape[0] in kept else part for part in formula.tensors)
    deep, below = formula(*formula.tensors), formula(*lowest)
    top = layer(below, fewer + 1)
    unknowing = layer_by_layer(below, deep, states, fewer, T).because(
        "layer by layer, and step by step within each, the lower layers do not know of the top one"
    )
    formula.theorem(
        "another_layer",
        title,
        claim(top[t, c], "=", deep[t, c])
        .by_induction(
            n, *agree(top, deep, states, (n,), (fewer + 1, n)), last=T, step=(unknowing,) * len(states)
        )
        .because("the state there is the one after t + 1 elements"),
        sizes={L: fewer + 1},
    )
