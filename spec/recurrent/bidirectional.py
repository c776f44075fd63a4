"""Recurrent networks in both directions: one state has read what came before, the other what comes after."""

from spec.recurrent.over_sequences import within_one
from spec.recurrent.rnn import rnn
from spec.recurrent.step import step
from spec.vocabulary import *

T, p, d = sizes("T p d")
t, n, a, c, k, i, j = indices(t=T, n=T + 1, a=p, c=d, k=2 * d, i=2, j=1)

x = data("x", T, p, meaning="the sequence, element by element")
h = data("h", 2, d, meaning="the first state of each direction: before the first element, after the last")
W_xf = parameter("W_xf", d, p, meaning="what the forward state takes from the element")
W_hf = parameter("W_hf", d, d, meaning="what the forward state takes from the one before")
W_xb = parameter("W_xb", d, p, meaning="what the backward state takes from the element")
W_hb = parameter("W_hb", d, d, meaning="what the backward state takes from the one after")
F = tensor("F", T + 1, d, meaning="forward state: what stands before each place has been read")
B = tensor("B", T + 1, d, meaning="backward state: what stands after each place has been read")
states = tensor("states", T, 2 * d, meaning="both states at each element, side by side")

bidirectional = Formula(
    "recurrent.bidirectional",
    "Bidirectional recurrent network",
    why="How can a word be read in the light of what follows it? In “a bank accepts deposits” the word that tells which bank is "
    "meant comes later, and a network that reads from the left has not seen it. So a second network reads from the right, with "
    "weights of its own, and the two states at an element are put side by side. Between them they have read the whole sequence.",
    sizes={T: "elements of the sequence", p: "width of an element", d: "width of each direction's state"},
    inputs=(x, h, W_xf, W_hf, W_xb, W_hb),
    lines=(
        define(F[0], h[0]),
        define(F[t], step(x[t - 1], F[t - 1], W_xf, W_hf), (t, 1, T)),
        define(B[T], h[1]),
        define(B[t], step(x[t], B[t + 1], W_xb, W_hb), (t, 0, T - 1)),
        define(states[t, c], F[t + 1, c]),
        define(states[t, d + c], B[t, c]),
    ),
    outputs=(states,),
    pitfalls=(
        pitfall("backward states are left last first", mutant="backward_not_turned_back"),
        pitfall("the first axis is reversed: the time only if there is no batch", mutant="first_axis_turned"),
        pitfall("the backward state leaves out the element itself", mutant="element_left_out"),
        pitfall("backward begins with the state in which forward ended", theorem="halves"),
    ),
    sources=(
        deck(1, "ELMo: concatenated hidden layers"),
        deck(3, "ELMo, step 1"),
        deck(4, "bidirectional LSTM"),
        paper("schuster1997", "bidirectional recurrent networks"),
        paper("graves2005"),
    ),
    worked=(
        Worked(
            "One unit each way with all weights 1, on 1 and then 0: at the 0, forward has read the 1, backward has not",
            {"x": [[1], [0]], "h": [[0], [0]], "W_xf": [[1]], "W_hf": [[1]], "W_xb": [[1]], "W_hb": [[1]]},
            [["0.7616", "0.7616"], ["0.6420", "0.0000"]],
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

unread = each(0, j, c)
"""Output weights where only the states are asked for."""
turned = each(x[T - 1 - t, a], t, a)
exchanged = bidirectional(turned, each(h[1 - i, c], i, c), W_xb, W_hb, W_xf, W_hf)
forwards = rnn(x, h[0], W_xf, W_hf, unread)
backwards = rnn(turned, h[1], W_xb, W_hb, unread)

bidirectional.theorem(
    "bounded", "Every entry of every state lies between −1 and 1", *within_one(states[t, k], "it is a tanh")
)

bidirectional.theorem(
    "reversal",
    "Reversing the input and exchanging the directions reverses the states and exchanges their halves",
    claim(exchanged[t, c], "=", states[T - 1 - t, d + c])
    .by_induction(n, claim(exchanged.output(F)[n, c], "=", B[T - n, c], c), last=T)
    .because("what the one direction reads from the left, the other reads from the right"),
    claim(exchanged[t, d + c], "=", states[T - 1 - t, c])
    .by_induction(n, claim(exchanged.output(B)[T - n, c], "=", F[n, c], c), last=T)
    .because("what the one direction reads from the right, the other reads from the left"),
)

bidirectional.theorem(
    "halves",
    "The first half is a network that reads from the left, the second one that reads from the right; neither knows the other",
    claim(states[t, c], "=", forwards[t, c])
    .by_induction(n, claim(F[n, c], "=", forwards.output("H")[n, c], c), last=T)
    .because("the state after t + 1 elements"),
    claim(states[t, d + c], "=", backwards[T - 1 - t, c])
    .by_induction(n, claim(B[T - n, c], "=", backwards.output("H")[n, c], c), last=T)
    .because("the state after T − t elements"),
)

bidirectional.theorem(
    "parameters",
    "The network has 2·d·(p + d) parameters, however long the sequence",
    claim(parameters(bidirectional), "=", 2 * d * (p + d)).by_definition("two matrices for each direction"),
    runs=False,
)
