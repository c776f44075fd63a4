"""One step of a recurrent network: what every recurrent network here repeats. It has no page of its own."""

from spec.vocabulary import *

p, d = sizes("p d")
a, c, e = indices(a=p, c=d, e=d)

x = data("x", p, meaning="the element that arrives")
h = data("h", d, meaning="the state before: what is kept of the elements read so far")
W_xh = parameter("W_xh", d, p, meaning="what each unit of the state takes from the element")
W_hh = parameter("W_hh", d, d, meaning="what each unit of the state takes from the state before")
h_new = tensor("h'", d, meaning="the state after: the old one and the element, squashed together")

step = Formula(
    "recurrent.step",
    "Recurrent step",
    sizes={p: "width of an element", d: "width of the state"},
    inputs=(x, h, W_xh, W_hh),
    lines=(define(h_new[c], tanh(Sum(W_hh[c, e] * h[e], e) + Sum(W_xh[c, a] * x[a], a))),),
    outputs=(h_new,),
    stored=("h'",),
    auxiliary=True,
)
