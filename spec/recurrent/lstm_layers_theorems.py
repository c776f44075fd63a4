"""Theorems about LSTMs in several layers and in both directions: each is made of plain ones."""

from __future__ import annotations

from dataclasses import replace

from spec.language import (
    Claim,
    Index,
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
from spec.recurrent.lstm import (
    L,
    T,
    U,
    W_h_both,
    W_layers,
    W_x,
    W_x_both,
    a,
    b_both,
    b_layers,
    backwards,
    c,
    d,
    direction,
    e,
    h_both,
    h_layers,
    k,
    l,
    lstm,
    lstm_bidirectional,
    lstm_stacked,
    p,
    s_both,
    s_layers,
    t,
    x,
)

i, j, m, n = indices("i j m n")
(fewer,) = sizes("fewer")
later = given("x_later", T, p)

# Layers ---------------------------------------------------------------------------------------------------------------------

deep = lstm_stacked(x, h_layers, s_layers, W_x, W_layers, b_layers, U)

lstm_stacked.prove(
    Theorem(
        "bounded",
        "Every entry of the states of the top layer lies between −1 and 1",
        claims=(claim(-1, "<", deep[t, c], (t, T), (c, d)), claim(deep[t, c], "<", 1, (t, T), (c, d))),
        proofs=(Proof(why="a tanh times a σ"), Proof(why="a tanh times a σ")),
    )
)

lstm_stacked.prove(
    Theorem(
        "parameters",
        "The network has 4·d·(p + (2·L + 1)·d + L + 1) parameters, however long the sequence",
        runs=False,
        claims=(claim(parameters(lstm_stacked), "=", 4 * d * (p + (2 * L + 1) * d + L + 1)),),
        proofs=(Proof(why="the sizes of W_x, W_h, b and U, in none of which T occurs"),),
    )
)


def lowest(count: Index) -> Applied:
    """The lowest layers alone: so many above the first."""
    return lstm_stacked(
        x,
        each(h_layers[l, c], (l, count + 1), (c, d)),
        each(s_layers[l, c], (l, count + 1), (c, d)),
        W_x,
        each(W_layers[l, k, e], (l, count + 1), (k, 4 * d), (e, d)),
        each(b_layers[l, k], (l, count + 1), (k, 4 * d)),
        each(U[l, k, e], (l, count), (k, 4 * d), (e, d)),
    )


below = lowest(fewer)
top = lstm(
    each(below[t, c], (t, T), (c, d)),
    each(h_layers[fewer + 1, c], (c, d)),
    each(s_layers[fewer + 1, c], (c, d)),
    each(U[fewer, k, e], (k, 4 * d), (e, d)),
    each(W_layers[fewer + 1, k, e], (k, 4 * d), (e, d)),
    each(b_layers[fewer + 1, k], (k, 4 * d)),
)


def lower(level: Index, at: Index) -> tuple[Claim, ...]:
    """The states of a layer do not depend on whether there is a layer above the others."""
    return tuple(
        claim(below.output(part)[level, at, c], "=", deep.output(part)[level, at, c], (c, d)) for part in "HS"
    )


unknowing = Proof(
    induction=induction(
        l,
        *(replace(part, over=((m, T + 1), (c, d))) for part in lower(l, m)),
        last=fewer,
        base=(Proof(induction=induction(j, *lower(0, j), last=T)),) * 2,
        step=(Proof(induction=induction(j, *lower(l + 1, j), last=T)),) * 2,
    ),
    why="layer by layer, and step by step within each, the lower layers do not know of the top one",
)

lstm_stacked.prove(
    Theorem(
        "another_layer",
        "The states of the top layer are those of a network that reads the states of the layers below",
        sizes={L: fewer + 1},
        claims=(claim(top[t, c], "=", deep[t, c], (t, T), (c, d)),),
        proofs=(
            Proof(
                induction=induction(
                    n,
                    *(
                        claim(top.output(part)[n, c], "=", deep.output(part)[fewer + 1, n, c], (c, d))
                        for part in "HS"
                    ),
                    last=T,
                    step=(unknowing, unknowing),
                ),
                why="the state after t + 1 elements",
            ),
        ),
    )
)

changed_deep = lstm_stacked(
    each(case(le(t, i), x[t, a], later[t, a]), (t, T), (a, p)), h_layers, s_layers, W_x, W_layers, b_layers, U
)


def alike(level: Index, at: Index) -> tuple[Claim, ...]:
    """The states of a layer up to an element do not depend on what comes after it."""
    return tuple(
        claim(
            changed_deep.output(part)[level, at, c],
            "=",
            deep.output(part)[level, at, c],
            (c, d),
            where=le(at, i + 1),
        )
        for part in "HS"
    )


lstm_stacked.prove(
    Theorem(
        "prefix",
        "The states up to an element do not depend on the elements after it",
        given=(later,),
        claims=(claim(changed_deep[t, c], "=", deep[t, c], (i, T), (t, T), (c, d), where=le(t, i)),),
        proofs=(
            Proof(
                induction=induction(
                    l,
                    *(replace(part, over=((m, T + 1), (c, d))) for part in alike(l, m)),
                    last=L,
                    base=(Proof(induction=induction(j, *alike(0, j), last=T)),) * 2,
                    step=(Proof(induction=induction(j, *alike(l + 1, j), last=T)),) * 2,
                ),
                why="the top layer is one of the layers",
            ),
        ),
    )
)

# Directions -----------------------------------------------------------------------------------------------------------------

both = lstm_bidirectional(x, h_both, s_both, W_x_both, W_h_both, b_both)
swapped = lstm_bidirectional(
    each(x[T - 1 - t, a], (t, T), (a, p)),
    each(h_both[1 - i, c], (i, 2), (c, d)),
    each(s_both[1 - i, c], (i, 2), (c, d)),
    each(W_x_both[1 - i, k, a], (i, 2), (k, 4 * d), (a, p)),
    each(W_h_both[1 - i, k, e], (i, 2), (k, 4 * d), (e, d)),
    each(b_both[1 - i, k], (i, 2), (k, 4 * d)),
)

lstm_bidirectional.prove(
    Theorem(
        "bounded",
        "Every entry of every state lies between −1 and 1",
        claims=(
            claim(-1, "<", both[t, k], (t, T), (k, 2 * d)),
            claim(both[t, k], "<", 1, (t, T), (k, 2 * d)),
        ),
        proofs=(Proof(why="a tanh times a σ"), Proof(why="a tanh times a σ")),
    )
)

lstm_bidirectional.prove(
    Theorem(
        "halves",
        "The first half is an LSTM that reads from the left, the second one that reads from the right; neither knows the other",
        claims=(
            claim(both[t, c], "=", direction(x, 0, t), (t, T), (c, d)),
            claim(both[t, d + c], "=", direction(backwards, 1, T - 1 - t), (t, T), (c, d)),
        ),
        proofs=(Proof(why="so it is defined"), Proof(why="so it is defined")),
    )
)

lstm_bidirectional.prove(
    Theorem(
        "reversal",
        "Reversing the input and exchanging the directions reverses the states and exchanges their halves",
        claims=(
            claim(swapped[t, c], "=", both[T - 1 - t, d + c], (t, T), (c, d)),
            claim(swapped[t, d + c], "=", both[T - 1 - t, c], (t, T), (c, d)),
        ),
        proofs=(
            Proof(why="what the one direction reads from the left, the other reads from the right"),
            Proof(why="what the one direction reads from the right, the other reads from the left"),
        ),
    )
)

lstm_bidirectional.prove(
    Theorem(
        "parameters",
        "The network has 8·d·(p + d + 1) parameters, however long the sequence",
        runs=False,
        claims=(claim(parameters(lstm_bidirectional), "=", 8 * d * (p + d + 1)),),
        proofs=(Proof(why="two matrices and a bias for each of the four blocks, in each direction"),),
    )
)
