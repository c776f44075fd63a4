"""Theorems about long short-term memory over a sequence: it is its cell, step by step, whatever the order of the gates."""

from __future__ import annotations

import sympy

from spec.language import (
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
    T,
    W_h,
    W_x,
    a,
    b,
    block,
    c,
    d,
    e,
    h,
    lstm,
    lstm_step,
    p,
    s,
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
        "The network has 4·d·(p + d + 1) parameters, however long the sequence",
        runs=False,
        claims=(claim(parameters(lstm), "=", 4 * d * (p + d + 1)),),
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
last = lstm_step(
    each(x[rows, a], (a, p)),
    each(before[rows - 1, c], (c, d)),
    each(before.output("s'")[c], (c, d)),
    W_x,
    W_h,
    b,
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
        "One element more is one step more",
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
