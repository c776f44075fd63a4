"""A formula of the project's own."""

from spec.vocabulary import *

(d,) = sizes("d")
(i,) = indices(i=d)
x = data("x", d, meaning="a row")
y = tensor("y", d, meaning="the row, each entry times its own share")

gate = Formula("mine.gate", "A gate", inputs=(x,), lines=(define(y[i], x[i] * sigmoid(x[i])),), outputs=(y,))

gate.theorem("origin", "0 stays 0", claim(gate(each(lift(0), i))[i], "=", 0).by_definition("0 times a share"))
