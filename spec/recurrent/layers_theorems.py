"""Theorems about recurrent networks in several layers and in both directions: each is made of plain ones."""

from __future__ import annotations

from typing import Any

import sympy

from spec.language import (
    Comprehension,
    Proof,
    Theorem,
    case,
    claim,
    each,
    given,
    indices,
    induction,
    le,
    sizes,
)
from spec.language.calls import Applied
from spec.recurrent.cells_theorems import parameters
from spec.recurrent.sequences import (
    L,
    T,
    U,
    W_hb,
    W_hf,
    W_layers,
    W_xb,
    W_xf,
    W_xh,
    a,
    bidirectional,
    c,
    d,
    e,
    h_both,
    h_layers,
    k,
    l,
    p,
    rnn,
    stacked,
    t,
    x,
)

i, j, n, m = indices("i j n m")
(fewer,) = sizes("fewer")
later = given("x_later", T, p)
unread = each(0, (k, 1), (c, d))
"""Output weights where only the states are asked for."""

deep = stacked(x, h_layers, W_xh, W_layers, U)

stacked.prove(
    Theorem(
        "bounded",
        "Every entry of the states of the top layer lies between −1 and 1",
        claims=(claim(-1, "<", deep[t, c], (t, T), (c, d)), claim(deep[t, c], "<", 1, (t, T), (c, d))),
        proofs=(Proof(why="it is a tanh"), Proof(why="it is a tanh")),
    )
)

stacked.prove(
    Theorem(
        "parameters",
        "The network has d·(p + (2·L + 1)·d) parameters, however long the sequence",
        runs=False,
        claims=(claim(parameters(stacked), "=", d * (p + (2 * L + 1) * d)),),
        proofs=(Proof(why="the sizes of W_xh, W_hh and U, in none of which T occurs"),),
    )
)


def lowest(count: Any) -> Applied:
    """The lowest layers alone: so many above the first."""
    return stacked(
        x,
        each(h_layers[l, c], (l, count + 1), (c, d)),
        W_xh,
        each(W_layers[l, c, e], (l, count + 1), (c, d), (e, d)),
        each(U[l, c, e], (l, count), (c, d), (e, d)),
    )


def on(states: Comprehension, layer: Any) -> Applied:
    """A layer above the first, as a network of its own that reads these states."""
    return rnn(
        states,
        each(h_layers[layer, c], (c, d)),
        each(U[layer - 1, c, e], (c, d), (e, d)),
        each(W_layers[layer, c, e], (c, d), (e, d)),
        unread,
    )


below = lowest(fewer)
top = on(each(below[t, c], (t, T), (c, d)), fewer + 1)
whole = deep.output("H")
same = claim(below.output("H")[l, m, c], "=", whole[l, m, c], (m, T + 1), (c, d))

stacked.prove(
    Theorem(
        "another_layer",
        "The states of the top layer are those of a network that reads the states of the layers below",
        sizes={L: fewer + 1},
        claims=(claim(top[t, c], "=", deep[t, c], (t, T), (c, d)),),
        proofs=(
            Proof(
                induction=induction(
                    n,
                    claim(top.output("H")[n, c], "=", whole[fewer + 1, n, c], (c, d)),
                    last=T,
                    step=(
                        Proof(
                            induction=induction(
                                l,
                                same,
                                last=fewer,
                                base=(Proof(induction=induction(m)),),
                                step=(Proof(induction=induction(m)),),
                            ),
                            why="layer by layer, and step by step within each, the lower layers do not know of the top one",
                        ),
                    ),
                ),
            ),
        ),
    )
)

first_layer = rnn(x, each(h_layers[0, c], (c, d)), W_xh, each(W_layers[0, c, e], (c, d), (e, d)), unread)
second = on(each(first_layer[t, c], (t, T), (c, d)), 1)

stacked.prove(
    Theorem(
        "two_layers",
        "Two layers are a network that reads the states of a network",
        sizes={L: sympy.S.One},
        claims=(claim(deep[t, c], "=", second[t, c], (t, T), (c, d)),),
        proofs=(
            Proof(
                induction=induction(
                    n,
                    claim(second.output("H")[n, c], "=", whole[1, n, c], (c, d)),
                    last=T,
                    step=(
                        Proof(
                            induction=induction(
                                m, claim(first_layer.output("H")[m, c], "=", whole[0, m, c], (c, d)), last=T
                            ),
                            why="the lower layer does not know of the upper one",
                        ),
                    ),
                ),
                why="the states of each layer are those of its network",
            ),
        ),
    )
)

changed = stacked(each(case(le(t, i), x[t, a], later[t, a]), (t, T), (a, p)), h_layers, W_xh, W_layers, U)

stacked.prove(
    Theorem(
        "prefix",
        "The states up to an element do not depend on the elements after it",
        given=(later,),
        claims=(claim(changed[t, c], "=", deep[t, c], (i, T), (t, T), (c, d), where=le(t, i)),),
        proofs=(
            Proof(
                induction=induction(
                    l,
                    claim(
                        changed.output("H")[l, n, c],
                        "=",
                        whole[l, n, c],
                        (n, T + 1),
                        (c, d),
                        where=le(n, i + 1),
                    ),
                    last=L,
                    base=(Proof(induction=induction(n)),),
                    step=(Proof(induction=induction(n)),),
                ),
                why="the top layer is one of the layers",
            ),
        ),
    )
)

# Directions -----------------------------------------------------------------------------------------------------------------

both = bidirectional(x, h_both, W_xf, W_hf, W_xb, W_hb)
swapped = bidirectional(
    each(x[T - 1 - t, a], (t, T), (a, p)),
    each(h_both[1 - i, c], (i, 2), (c, d)),
    W_xb,
    W_hb,
    W_xf,
    W_hf,
)

bidirectional.prove(
    Theorem(
        "bounded",
        "Every entry of every state lies between −1 and 1",
        claims=(
            claim(-1, "<", both[t, k], (t, T), (k, 2 * d)),
            claim(both[t, k], "<", 1, (t, T), (k, 2 * d)),
        ),
        proofs=(Proof(why="it is a tanh"), Proof(why="it is a tanh")),
    )
)

bidirectional.prove(
    Theorem(
        "reversal",
        "Reversing the input and exchanging the directions reverses the states and exchanges their halves",
        claims=(
            claim(swapped[t, c], "=", both[T - 1 - t, d + c], (t, T), (c, d)),
            claim(swapped[t, d + c], "=", both[T - 1 - t, c], (t, T), (c, d)),
        ),
        proofs=(
            Proof(
                induction=induction(
                    n, claim(swapped.output("F")[n, c], "=", both.output("B")[T - n, c], (c, d)), last=T
                ),
                why="what the one direction reads from the left, the other reads from the right",
            ),
            Proof(
                induction=induction(
                    n, claim(swapped.output("B")[T - n, c], "=", both.output("F")[n, c], (c, d)), last=T
                ),
                why="what the one direction reads from the right, the other reads from the left",
            ),
        ),
    )
)

forwards = rnn(x, each(h_both[0, c], (c, d)), W_xf, W_hf, unread)
backwards = rnn(each(x[T - 1 - t, a], (t, T), (a, p)), each(h_both[1, c], (c, d)), W_xb, W_hb, unread)

bidirectional.prove(
    Theorem(
        "halves",
        "The first half is a network that reads from the left, the second one that reads from the right; neither knows the other",
        claims=(
            claim(both[t, c], "=", forwards[t, c], (t, T), (c, d)),
            claim(both[t, d + c], "=", backwards[T - 1 - t, c], (t, T), (c, d)),
        ),
        proofs=(
            Proof(
                induction=induction(
                    n, claim(both.output("F")[n, c], "=", forwards.output("H")[n, c], (c, d)), last=T
                ),
                why="the state after t + 1 elements",
            ),
            Proof(
                induction=induction(
                    n, claim(both.output("B")[T - n, c], "=", backwards.output("H")[n, c], (c, d)), last=T
                ),
                why="the state after T − t elements",
            ),
        ),
    )
)

bidirectional.prove(
    Theorem(
        "parameters",
        "The network has 2·d·(p + d) parameters, however long the sequence",
        runs=False,
        claims=(claim(parameters(bidirectional), "=", 2 * d * (p + d)),),
        proofs=(Proof(why="two matrices for each direction"),),
    )
)
