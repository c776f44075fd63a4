"""Small formulas for the laws of those rules that are about formulas: defined by a line, by alternating lines, step by step."""

from __future__ import annotations

from spec.language.arrays import Tensor
from spec.language.binders import Sum
from spec.language.expr import tanh
from spec.language.formula import Formula
from spec.language.lines import define
from spec.language.symbols import indices, sizes

n, m, h = sizes("n m h")
i, j, l = indices("i j l")

x, y = Tensor("x", (n, h)), Tensor("y", (m, h))
u, v = Tensor("u", (h,)), Tensor("v", (h,))
f = Tensor("f", (n + 1,), "real", "data")

_products, _woven, _state = Tensor("s", (n, m)), Tensor("s", (2 * h,)), Tensor("s", (n + 1,))

products = Formula(
    "rules.products",
    "Products of rows",
    inputs=(x, y),
    lines=(define(_products[i, j], Sum(x[i, l] * y[j, l], (l, 0, h - 1))),),
    outputs=(_products,),
    auxiliary=True,
)

woven = Formula(
    "rules.woven",
    "Two rows in turn",
    inputs=(u, v),
    lines=(define(_woven[2 * i], u[i], (i, 0, h - 1)), define(_woven[2 * i + 1], v[i], (i, 0, h - 1))),
    outputs=(_woven,),
    auxiliary=True,
)

running = Formula(
    "rules.running",
    "A running value",
    inputs=(f,),
    lines=(define(_state[0], tanh(f[0])), define(_state[i], tanh(_state[i - 1] + f[i]), (i, 1, n))),
    outputs=(_state,),
    auxiliary=True,
)
