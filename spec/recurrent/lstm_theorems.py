"""Theorems about long short-term memory over a sequence: it is its cell, step by step, whatever the order of the gates."""

from __future__ import annotations

from dataclasses import replace

import sympy

from spec.language import (
    Claim,
    Comprehension,
    Index,
    Proof,
    Tensor,
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
from spec.recurrent.cells import GATES, lstm_cell
from spec.recurrent.cells_theorems import parameters
from spec.recurrent.lstm import (
    L,
    T,
    U,
    W_h,
    W_h_both,
    W_layers,
    W_x,
    W_x_both,
    a,
    b,
    b_both,
    b_layers,
    backwards,
    block,
    c,
    d,
    direction,
    e,
    h,
    h_both,
    h_layers,
    k,
    l,
    lstm,
    lstm_bidirectional,
    lstm_stacked,
    p,
    s,
    s_both,
    s_layers,
    t,
    x,
)

i, j, m, n = indices("i j m n")
rows, more, fewer = sizes("rows more fewer")
later = given("x_later", T, p)

run = lstm(x, h, s, W_x, W_h, b)
hidden, internal = run.output("H"), run.output("S")

lstm.prove(
    Theorem(
        "bounded",
        "Every entry of every state lies between −1 and 1",
        claims=(claim(-1, "<", run[t, c], (t, T), (c, d)), claim(run[t, c], "<", 1, (t, T), (c, d))),
        proofs=(Proof(why="a tanh times a σ"), Proof(why="a tanh times a σ")),
    )
)

lstm.prove(
    Theorem(
        "parameters",
        "The network has 4·(d·p + d·d + d) parameters, however long the sequence",
        runs=False,
        claims=(claim(parameters(lstm), "=", 4 * (d * p + d * d + d)),),
        proofs=(Proof(why="two matrices and a bias for each of the four blocks, in none of which T occurs"),),
    )
)

changed = lstm(each(case(le(t, i), x[t, a], later[t, a]), (t, T), (a, p)), h, s, W_x, W_h, b)

lstm.prove(
    Theorem(
        "prefix",
        "The states up to an element do not depend on the elements after it",
        given=(later,),
        claims=(claim(changed[t, c], "=", run[t, c], (i, T), (t, T), (c, d), where=le(t, i)),),
        proofs=(
            Proof(
                induction=induction(
                    n,
                    claim(changed.output("H")[n, c], "=", hidden[n, c], (c, d), where=le(n, i + 1)),
                    claim(changed.output("S")[n, c], "=", internal[n, c], (c, d), where=le(n, i + 1)),
                    last=T,
                ),
                why="the state after t + 1 elements",
            ),
        ),
    )
)


def first(array: Tensor, count: Index, width: Index) -> Comprehension:
    """The first rows of an array."""
    return each(array[j, c], (j, count), (c, width))


def cell_of(element: Comprehension, states: Comprehension, internals: Comprehension) -> Applied:
    """One step of the cell, with the blocks of the packed weights."""
    blocks: list[Comprehension] = []
    for gate in GATES:
        blocks += [
            each(block(gate, W_x, rest=(a,)), (c, d), (a, p)),
            each(block(gate, W_h, rest=(e,)), (c, d), (e, d)),
            each(block(gate, b), (c, d)),
        ]
    return lstm_cell(element, states, internals, *blocks)


before = lstm(first(x, rows, p), h, s, W_x, W_h, b)
same = (
    claim(before.output("H")[n, c], "=", hidden[n, c], (c, d)),
    claim(before.output("S")[n, c], "=", internal[n, c], (c, d)),
)
again = tuple(claim(before.output(part)[m, c], "=", run.output(part)[m, c], (c, d)) for part in "HS")
one = cell_of(each(x[0, a], (a, p)), each(h[c], (c, d)), each(s[c], (c, d)))
last = cell_of(
    each(x[rows, a], (a, p)), each(before[rows - 1, c], (c, d)), each(before.output("s'")[c], (c, d))
)

lstm.prove(
    Theorem(
        "one_step",
        "On one element it is the cell, with the blocks that the gate order names",
        sizes={T: sympy.S.One},
        claims=(
            claim(run[0, c], "=", one[c], (c, d)),
            claim(run.output("s'")[c], "=", one.output("s'")[c], (c, d)),
        ),
        proofs=(Proof(why="the sequence begins with h and s"),) * 2,
    )
)

lstm.prove(
    Theorem(
        "iterates",
        "One element more is one step more of the cell, with the blocks that the gate order names",
        sizes={T: rows + 1},
        claims=(
            claim(run[rows, c], "=", last[c], (c, d)),
            claim(run.output("s'")[c], "=", last.output("s'")[c], (c, d)),
        ),
        proofs=(
            Proof(
                induction=induction(n, *same, last=rows),
                why="up to then the states are those of the shorter sequence",
            ),
        )
        * 2,
    )
)

rest = each(x[rows + j, c], (j, more), (c, p))
after = lstm(rest, each(before[rows - 1, c], (c, d)), each(before.output("s'")[c], (c, d)), W_x, W_h, b)

continued = Proof(
    induction=induction(
        n,
        claim(after.output("H")[n, c], "=", hidden[rows + n, c], (c, d)),
        claim(after.output("S")[n, c], "=", internal[rows + n, c], (c, d)),
        last=more,
        base=(
            Proof(
                induction=induction(m, *again, last=rows),
                why="the last state of the first part is that of the whole",
            ),
        )
        * 2,
    ),
    why="the state after as many elements more",
)

lstm.prove(
    Theorem(
        "resumes",
        "A sequence may be cut: the second part, begun with the last states of the first, gives the states of the whole",
        sizes={T: rows + more},
        claims=(
            claim(before[t, c], "=", run[t, c], (t, rows), (c, d)),
            claim(after[t, c], "=", run[rows + t, c], (t, more), (c, d)),
            claim(after.output("s'")[c], "=", run.output("s'")[c], (c, d)),
        ),
        proofs=(
            Proof(induction=induction(n, *same, last=rows), why="the state after t + 1 elements"),
            continued,
            continued,
        ),
    )
)

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
        "The network has 4·(d·p + (L + 1)·(d·d + d) + L·d·d) parameters, however long the sequence",
        runs=False,
        claims=(claim(parameters(lstm_stacked), "=", 4 * (d * p + (L + 1) * (d * d + d) + L * d * d)),),
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
        "The network has 8·(d·p + d·d + d) parameters, however long the sequence",
        runs=False,
        claims=(claim(parameters(lstm_bidirectional), "=", 8 * (d * p + d * d + d)),),
        proofs=(Proof(why="two matrices and a bias for each of the four blocks, in each direction"),),
    )
)
