"""Theorems about recurrent networks: what a state has seen, what its gradient is worth, and how long that lasts."""

from __future__ import annotations

import sympy

from spec.language import (
    Comprehension,
    Every,
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
    given,
    indices,
    induction,
    le,
    lt,
    sizes,
    step,
)
from spec.language.calls import Pullback
from spec.recurrent.cells_theorems import parameters
from spec.recurrent.sequences import T, W_hh, W_hy, W_xh, a, c, d, e, h, k, p, r, rnn, t, x

i, j, u, n = indices("i j u n")
rows, more = sizes("rows more")
later, pull = given("x_later", T, p), given("g", T, d)

run = rnn(x, h, W_xh, W_hh, W_hy)
shares = run.output("P")

rnn.prove(
    Theorem(
        "bounded",
        "Every entry of every state lies between −1 and 1",
        claims=(claim(-1, "<", run[t, c], (t, T), (c, d)), claim(run[t, c], "<", 1, (t, T), (c, d))),
        proofs=(Proof(why="it is a tanh"), Proof(why="it is a tanh")),
    )
)

rnn.prove(
    Theorem(
        "distribution",
        "At every step the outputs are probabilities: positive, and 1 in sum",
        claims=(
            claim(Sum(shares[t, k], (k, 0, r - 1)), "=", 1, (t, T)),
            claim(0, "<", shares[t, k], (t, T), (k, r)),
        ),
        proofs=(Proof(why="a softmax sums to 1"), Proof(why="exponentials are positive")),
    )
)

rnn.prove(
    Theorem(
        "parameters",
        "The network has d·(p + d + r) parameters, however long the sequence",
        runs=False,
        claims=(claim(parameters(rnn), "=", d * (p + d + r)),),
        proofs=(Proof(why="the sizes of W_xh, W_hh and W_hy, in none of which T occurs"),),
    )
)

# What a state has seen ------------------------------------------------------------------------------------------------------

changed = rnn(each(case(le(t, i), x[t, a], later[t, a]), (t, T), (a, p)), h, W_xh, W_hh, W_hy)
alike = claim(changed[t, c], "=", run[t, c], (t, T), (c, d), where=le(t, i))
here = claim(changed[t, c], "=", run[t, c], (c, d), where=le(t, i))

rnn.prove(
    Theorem(
        "prefix",
        "The states and probabilities up to an element do not depend on the elements after it",
        given=(later,),
        claims=(
            claim(alike.left, "=", alike.right, (i, T), *alike.over, where=alike.where),
            claim(changed.output("P")[t, k], "=", shares[t, k], (i, T), (t, T), (k, r), where=le(t, i)),
        ),
        proofs=(
            Proof(induction=induction(t)),
            Proof(
                induction=induction(
                    n, claim(changed[n, c], "=", run[n, c], (c, d), where=le(n, i)), last=T - 1
                ),
                why="a probability depends on its own state alone",
            ),
        ),
    )
)

gradient = run.pullback(each(case(le(t, i), pull[t, c]), (t, T), (c, d)), "x")

rnn.prove(
    Theorem(
        "no_future_gradient",
        "No gradient flows from a state to an element after it",
        given=(pull,),
        claims=(claim(gradient[j, a], "=", 0, (i, T), (j, T), (a, p), where=lt(i, j)),),
        proofs=(
            Proof(
                induction=induction(
                    n,
                    claim(
                        run.pullback(each(delta(t, n) * delta(c, e), (t, T), (c, d)), "x")[j, a],
                        "=",
                        0,
                        (e, d),
                        where=lt(n, j),
                    ),
                    last=T - 1,
                ),
                why="the derivative of a state is made of those of the states before it, and of its own element",
            ),
        ),
    )
)


def first(array: Tensor, count: sympy.Expr, width: sympy.Expr) -> Comprehension:
    """The first rows of an array."""
    return each(array[j, c], (j, count), (c, width))


before = rnn(first(x, rows, p), h, W_xh, W_hh, W_hy)
rest = each(x[rows + j, c], (j, more), (c, p))
after = rnn(rest, each(before[rows - 1, c], (c, d)), W_xh, W_hh, W_hy)

rnn.prove(
    Theorem(
        "resumes",
        "A sequence may be cut: the second part, begun with the last state of the first, gives the states of the whole",
        sizes={T: rows + more},
        claims=(
            claim(before[t, c], "=", run[t, c], (t, rows), (c, d)),
            claim(after[t, c], "=", run[rows + t, c], (t, more), (c, d)),
        ),
        proofs=(
            Proof(induction=induction(t)),
            Proof(
                induction=induction(
                    t,
                    base=(
                        Proof(
                            induction=induction(
                                n, claim(before[n, c], "=", run[n, c], (c, d)), last=rows - 1
                            ),
                            why="the last state of the first part is that of the whole",
                        ),
                    ),
                ),
            ),
        ),
    )
)

# What the gradient of a state is worth ---------------------------------------------------------------------------------------


def slope(at: sympy.Expr, row: sympy.Symbol, column: sympy.Symbol) -> Pullback:
    """∂h_t[row]/∂h[column], the derivative of a state with respect to the initial one."""
    return run.pullback(each(delta(i, at) * delta(j, row), (i, T), (j, d)), "h")[column]


def total(at: sympy.Expr, row: sympy.Symbol) -> Node:
    """Σ |∂h_t[row]/∂h[e]| over e."""
    return Sum(absolute(slope(at, row, e)), (e, 0, d - 1))


factor = W_hh[c, u] * slope(t, u, e)
passed = 1 - run[t + 1, c] ** 2

rnn.prove(
    Theorem(
        "slopes",
        "∂h_t/∂h is the product of diag(1 − h_k²) W_hh over the steps k up to t: each step multiplies by its own factor",
        claims=(
            claim(slope(0, c, e), "=", (1 - run[0, c] ** 2) * W_hh[c, e], (c, d), (e, d)),
            claim(
                slope(t + 1, c, e),
                "=",
                passed * Sum(factor, (u, 0, d - 1)),
                (t, T - 1),
                (c, d),
                (e, d),
            ),
        ),
        proofs=(
            Proof(why="the derivative of tanh is 1 − tanh²"),
            Proof(why="the derivative of tanh is 1 − tanh²; the input does not depend on the initial state"),
        ),
    )
)

omega = given("omega", domain="positive")
row = Sum(absolute(W_hh[c, e]), (e, 0, d - 1))
row_sums = Every(le(row, omega.value), (c, 0, d - 1))
weighted = Sum(absolute(W_hh[c, u]) * total(t, u), (u, 0, d - 1))
inside = Sum(absolute(W_hh[c, u]) * absolute(slope(t, u, e)), (u, 0, d - 1))
outside = absolute(Sum(factor, (u, 0, d - 1)))

rnn.prove(
    Theorem(
        "vanishes",
        "If no row of W_hh sums to more than ω in absolute values, none of ∂h_t/∂h sums to more than ωᵗ: below 1 it vanishes",
        given=(omega,),
        assuming=(row_sums,),
        claims=(claim(total(t, c), "<=", omega.value ** (t + 1), (t, T), (c, d)),),
        proofs=(
            Proof(
                induction=induction(
                    t,
                    base=(
                        Proof(
                            (
                                step((1 - run[0, c] ** 2) * row, "the derivative of tanh is 1 − tanh²"),
                                at_most(row, "a square is at least 0", gap=run[0, c] ** 2 * row),
                            ),
                            why="the assumption",
                            gap=omega.value - row,
                        ),
                    ),
                    step=(
                        Proof(
                            (
                                step(
                                    passed * Sum(outside, (e, 0, d - 1)),
                                    "one factor more, which is positive",
                                ),
                                at_most(
                                    passed * Sum(inside, (e, 0, d - 1)),
                                    "the triangle inequality",
                                    gap=passed * Sum(inside - outside, (e, 0, d - 1)),
                                ),
                                at_most(
                                    weighted,
                                    "a square is at least 0; the sums exchanged",
                                    gap=run[t + 1, c] ** 2 * weighted,
                                ),
                                at_most(
                                    Sum(absolute(W_hh[c, u]), (u, 0, d - 1)) * omega.value ** (t + 1),
                                    "the hypothesis",
                                    gap=Sum(
                                        absolute(W_hh[c, u]) * (omega.value ** (t + 1) - total(t, u)),
                                        (u, 0, d - 1),
                                    ),
                                ),
                            ),
                            why="the assumption",
                            gap=omega.value ** (t + 1)
                            * (omega.value - Sum(absolute(W_hh[c, u]), (u, 0, d - 1))),
                        ),
                    ),
                ),
            ),
        ),
    )
)

scaled = rnn(
    each(0, (t, T), (a, p)),
    each(0, (c, d)),
    W_xh,
    each(omega.value * delta(c, e), (c, d), (e, d)),
    W_hy,
)
still = claim(scaled[n, c], "=", 0, (c, d))


def grown(at: sympy.Expr, row: sympy.Symbol, column: sympy.Symbol) -> Pullback:
    """∂h_t[row]/∂h[column] of the network with W_hh = ω·I at rest."""
    return scaled.pullback(each(delta(i, at) * delta(j, row), (i, T), (j, d)), "h")[column]


rnn.prove(
    Theorem(
        "explodes",
        "At rest and with W_hh = ω·I, ∂h_t/∂h is ωᵗ: the bound is attained, and above 1 the gradient explodes",
        given=(omega,),
        claims=(claim(grown(t, c, e), "=", omega.value ** (t + 1) * delta(c, e), (t, T), (c, d), (e, d)),),
        proofs=(
            Proof(
                induction=induction(
                    n,
                    still,
                    claim(grown(n, c, e), "=", omega.value ** (n + 1) * delta(c, e), (c, d), (e, d)),
                    last=T - 1,
                ),
                why="tanh is 0 at 0, and its slope there is 1",
            ),
        ),
    )
)
