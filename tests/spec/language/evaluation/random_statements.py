"""Random statements: lines of every kind over five tensors, with inputs of prime sizes, for comparing ways to evaluate them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy

from spec.language import (
    Max,
    Some,
    Sum,
    absolute,
    case,
    cos,
    data,
    define,
    delta,
    eq,
    exp,
    indices,
    le,
    log,
    lt,
    parameter,
    sigmoid,
    sin,
    sizes,
    sqrt,
    tanh,
    tensor,
)
from spec.language.arrays import Tensor
from spec.language.expr import Literal, Not, Ref, Undefined
from spec.language.flatten import Flat
from spec.language.lines import Definition
from spec.language.trees import substitute

n, m, d, T = sizes("n m d T")
SIZES = {n: (1, 2, 3, 5), m: (2, 3, 5, 7), d: (2, 3, 7), T: (1, 2, 5)}
A, B = data("A", n, m), parameter("B", m, d)
v, w, u = data("v", n), data("w", m), parameter("u", d)
ids = Tensor("ids", (m,), "integer", "data", n)
mask = Tensor("mask", (n, m), "boolean", "mask")
keep = Tensor("keep", (m,), "boolean", "data")
eps = Tensor("eps", (), "positive", "number")
X = data("X", T, d)
INPUTS = (A, B, v, w, u, ids, mask, keep, eps, X)
REAL = (A, B, v, w, u, X)
LETTERS = ["i", "j", "k", "l", "a", "b", "c", "e", "p", "q", "r", "s"]


class Writer:
    """Writes random trees; ``scope`` gives to each index around the size that it runs below."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.scope: dict[sympy.Symbol, Any] = {}
        self.known: list[Tensor] = [*REAL]

    def pick(self, *options: Any) -> Any:
        """One of some things."""
        return options[self.rng.integers(len(options))]

    def fresh(self) -> sympy.Symbol:
        """An index that is not around; now and then one that is, which it hides."""
        taken = {str(s) for s in self.scope} if self.rng.random() < 0.9 else ()
        (symbol,) = indices(self.pick(*(name for name in LETTERS if name not in taken)))
        return symbol

    def index(self, size: Any, deep: int = 1) -> Any:
        """An index below ``size``, mostly; what leaves the axis is guarded by :meth:`entry`."""
        own = [s for s, below in self.scope.items() if below == size]
        options: list[Callable[[], Any]] = [lambda: sympy.S.Zero, lambda: size - 1]
        if own:
            symbol = self.pick(*own)
            options = [lambda: symbol] * 6 + [
                *options,
                lambda: size - 1 - symbol,
                lambda: sympy.floor(symbol / 2),
            ]
            options.append(lambda: symbol * (symbol + 1) / 2 - symbol * (symbol - 1) / 2)
        if size == n and deep:
            options.append(lambda: ids[self.index(m, 0)])
        return self.pick(*options)()

    def entry(self) -> Any:
        """An entry of a tensor, perhaps one to the side where there is one."""
        one = self.pick(*self.known)
        if not one.shape:
            return one[()]
        at = [self.index(size) for size in one.shape]
        if self.rng.random() < 0.25:
            axis = int(self.rng.integers(len(at)))
            if isinstance(at[axis], sympy.Symbol):
                shift = int(self.pick(-1, 1, 2))
                moved = at[axis] + shift
                at[axis] = moved
                inside = le(0, moved) & le(moved, one.shape[axis] - 1)
                return case(inside, Ref(one, *at), self.pick(0, 1, eps[()]))
        return Ref(one, *at)

    def condition(self, deep: int) -> Any:
        """A condition on indices, masks or numbers."""
        options: list[Callable[[], Any]] = [
            lambda: keep[self.index(m)],
            lambda: mask[self.index(n), self.index(m)],
        ]
        if self.scope:
            symbol, other = (self.pick(*self.scope) for _ in range(2))
            compare = self.pick(le, lt, eq)
            options += [
                lambda: compare(symbol, other),
                lambda: compare(symbol, other + 1),
                lambda: le(2 * symbol, n),
            ]
        options.append(lambda: lt(ids[self.index(m)], self.index(n)))
        if deep > 0:
            options += [
                lambda: self.condition(deep - 1) & self.condition(deep - 1),
                lambda: self.condition(deep - 1) | self.condition(deep - 1),
                lambda: Not(self.condition(deep - 1)),
                lambda: le(self.value(deep - 1), self.value(deep - 1)),
                lambda: self.bound(lambda inside: Some(self.condition(deep - 1), inside)),
            ]
        return self.pick(*options)()

    def bound(self, build: Callable[[Any], Any]) -> Any:
        """Something that binds an index, over a whole axis or over part of one that other indices give."""
        size, symbol = self.pick(n, m, d), self.fresh()
        around = [s for s, below in self.scope.items() if below == size]
        first, last = sympy.S.Zero, size - 1
        if around and self.rng.random() < 0.3:
            first, last = self.pick((first, self.pick(*around)), (self.pick(*around), last))
        saved = dict(self.scope)
        self.scope[symbol] = size
        try:
            return build((symbol, first, last))
        finally:
            self.scope = saved

    def total(self, deep: int) -> Any:
        """A sum, of products often, under a condition sometimes."""

        def build(span: Any) -> Any:
            body = self.value(deep)
            if self.rng.random() < 0.5:
                body = body * self.value(deep - 1)
            where = {"where": self.condition(min(deep, 1))} if self.rng.random() < 0.4 else {}
            return Sum(body, span, **where)

        return self.bound(build)

    def share(self, deep: int) -> Any:
        """An exponential by the sum of all of them."""
        symbol, size = self.fresh(), self.pick(n, m)
        saved = dict(self.scope)
        self.scope[symbol] = size
        score = self.value(min(deep, 1))
        where = {"where": self.condition(0)} if self.rng.random() < 0.3 else {}
        self.scope = saved
        at = self.index(size, 0)
        return exp(substitute(score, {symbol: at})) / Sum(exp(score), (symbol, 0, size - 1), **where)

    def value(self, deep: int) -> Any:
        """A value."""
        if deep <= 0:
            literal = self.pick(1, 2, -1, sympy.Rational(1, 3), n, d)
            return self.pick(self.entry, self.entry, self.entry, lambda: Literal(sympy.sympify(literal)))()
        a, b = (lambda: self.value(deep - 1)), (lambda: self.value(deep - 1))
        return self.pick(
            lambda: a() + b(),
            lambda: a() - b(),
            lambda: a() * b(),
            lambda: a() / (1 + absolute(b())),
            lambda: -a(),
            lambda: a() ** int(self.pick(0, 1, 2, 3, -1)),
            lambda: (1 + absolute(a())) ** (b() / 5),
            lambda: (lambda x: x * x)(a()),
            lambda: self.pick(tanh, sigmoid, sin, cos)(a()),
            lambda: sqrt(1 + absolute(a())),
            lambda: exp(tanh(a())),
            lambda: exp(log(1 + absolute(a()))),
            lambda: log(1 + a() ** 2),
            lambda: case(self.condition(1), a(), b()),
            lambda: case(self.condition(1), a(), 0),
            lambda: self.total(deep - 1),
            lambda: self.total(deep - 1),
            lambda: self.bound(lambda span: Max(self.value(deep - 1), span)),
            lambda: self.share(deep - 1),
            lambda: delta(self.index(n), self.index(n)) * a(),
            lambda: case(self.condition(0), Literal(sympy.S.One), 0) + Ref(keep, self.index(m)) * a(),
            lambda: Literal(self.index(n, 0) / (n + 1)),
            lambda: case(mask[self.index(n), self.index(m)], a(), Undefined()),
        )()

    def line(self, name: str, deep: int) -> tuple[list[Definition], Tensor]:
        """Lines that define one tensor."""
        self.scope = {}
        i, j, c = indices("i j c")
        kind = int(self.rng.integers(7))
        if kind == 0:  # in two parts
            out = tensor(name, n + 1, d)
            self.scope = {c: d}
            first = define(out[0, c], self.value(deep))
            self.scope = {i: n, c: d}
            return [first, define(out[i + 1, c], self.value(deep), (i, 0, n - 1))], out
        if kind == 1:  # backwards
            out = tensor(name, m, n)
            self.scope = {j: m, i: n}
            return [define(out[m - 1 - j, i], self.value(deep), (j, 0, m - 1))], out
        if kind == 2:  # side by side
            out = tensor(name, n, m * d)
            self.scope = {i: n, c: d, j: m}
            return [define(out[i, j * d + c], self.value(deep), (j, 0, m - 1), (c, 0, d - 1))], out
        if kind == 3:  # added up where a look-up leads
            out = tensor(name, n, d)
            self.scope = {j: m, c: d}
            ranges = ((j, sympy.S.Zero, m - 1), (c, sympy.S.Zero, d - 1))
            return [Definition(Ref(out, ids[j], c), self.value(deep), ranges, accumulate=True)], out
        if kind == 4:  # a number
            out = tensor(name)
            return [define(out, self.value(deep))], out
        if kind == 5:  # half of a square
            out = tensor(name, n, n)
            self.scope = {i: n, j: n}
            ranges = ((i, sympy.S.Zero, n - 1), (j, sympy.S.Zero, i))
            return [Definition(Ref(out, i, j), self.value(deep), ranges)], out
        out = tensor(name, n, m)
        self.scope = {i: n, j: m}
        return [define(out[i, j], self.value(deep))], out

    def conditions(self, name: str) -> tuple[list[Definition], Tensor]:
        """A line that defines conditions, or integers."""
        i, j = indices("i j")
        self.scope = {i: n, j: m}
        if self.rng.random() < 0.5:
            held = Tensor(name, (n, m), "boolean", "internal")
            return [define(held[i, j], self.condition(2))], held
        whole = Tensor(name, (n, m), "integer", "internal", n)
        right = case(keep[j], Literal(self.index(n)), Literal(sympy.S.Zero))
        return [define(whole[i, j], right)], whole

    def recurrence(self, name: str, deep: int) -> tuple[list[Definition], Tensor]:
        """Lines that step through an index, up or down, through two, or read all that came before."""
        t, s, c, e, k = indices("t s c e k")
        kind = int(self.rng.integers(5))
        if kind == 0:
            grid = tensor(name, n + 1, T + 1, d)
            (l,) = indices("l")
            self.scope = {t: T, c: d}
            bottom = define(grid[0, t + 1, c], tanh(grid[0, t, c] + self.value(deep)), (t, 0, T - 1))
            self.scope = {l: n + 1, c: d}
            first = define(grid[l, 0, c], self.value(deep))
            self.scope = {c: d}
            inner = tanh(grid[l, t - 1, c] + Sum(u[e] * grid[l - 1, t, e], (e, 0, d - 1)) + self.value(deep))
            return [first, bottom, define(grid[l, t, c], inner, (l, 1, n), (t, 1, T))], grid
        h = tensor(name, T + 1, d)
        self.scope = {c: d}
        edge = self.value(deep)
        more = self.value(deep)
        if kind == 1:
            step = tanh(h[t + 1, c] + Sum(h[t + 1, e] * u[e], (e, 0, d - 1)) + X[t, c] + more)
            return [define(h[T, c], edge), define(h[t, c], step, (t, 0, T - 1))], h
        if kind == 2:
            past = Sum(h[s, c] * u[c], (s, 0, t - 1), where=le(2 * s, t + n))
            return [define(h[0, c], edge), define(h[t, c], tanh(past) + more, (t, 1, T))], h
        if (
            kind == 3
        ):  # two tensors that refer to each other, one within the step; the weights of a softmax on the past
            g = tensor(f"{name}_g", T + 1, d)
            score = exp(h[t - 1, c]) / Sum(exp(h[t - 1, k]), (k, 0, d - 1))
            return [
                define(h[0, c], edge),
                define(h[t, c], tanh(g[t, c]) * score, (t, 1, T)),
                define(g[t, c], Sum(u[e] * h[t - 1, e], (e, 0, c)) + X[t - 1, c] + more, (t, 1, T)),
            ], h
        step = case(keep[0] & le(c, t), h[t - 1, c], tanh(h[t - 1, d - 1 - c] + X[t - 1, c])) + more
        return [define(h[0, c], edge), define(h[t, c], step, (t, 1, T))], h


def statement(seed: int) -> Flat:
    """A few lines, the later ones made from the earlier ones."""
    writer = Writer(np.random.default_rng(seed))
    lines: list[Definition] = []
    outputs: list[Tensor] = []
    for place in range(3):
        name = f"y{place}"
        if writer.rng.random() < 0.2:
            made, out = writer.conditions(name)
            reader = case(out[0, 0], w[0], 1) if out.domain == "boolean" else v[out[0, 0]]
            kept = tensor(f"{name}_kept")
            made, out = [*made, define(kept, reader)], kept
        elif writer.rng.random() < 0.35:
            made, out = writer.recurrence(name, 1)
        else:
            made, out = writer.line(name, 3)
        lines += made
        outputs.append(out)
        writer.known.append(out)
    stored = frozenset(out.name for out in outputs[:2])
    origin = {line.name: ("test", line.name) for line in lines}
    return Flat("test.random", INPUTS, tuple(lines), tuple(outputs), {}, stored, origin)


def inputs(seed: int) -> dict[str, Any]:
    """Inputs of the statements, at distinct prime sizes mostly."""
    rng = np.random.default_rng(seed)
    size = {symbol: int(rng.choice(options)) for symbol, options in SIZES.items()}
    made: dict[str, Any] = {
        one.name: rng.normal(size=tuple(size[s] for s in one.shape)) * float(rng.choice((1.0, 1.0, 30.0)))
        for one in REAL
    }
    made["X"][..., 0] = 0.0
    made["ids"] = rng.integers(0, size[n], size[m])
    made["mask"] = None if rng.random() < 0.2 else rng.random((size[n], size[m])) < 0.6
    made["keep"] = rng.random(size[m]) < 0.5
    made["eps"] = 2.0**-10
    return made
