"""Where false claims are written down: a register, letters, and small formulas to hang them on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import sympy

from spec.language import (
    Claim,
    Formula,
    Sum,
    Tensor,
    Theorem,
    absolute,
    case,
    data,
    define,
    exp,
    given,
    indices,
    log,
    lt,
    number,
    parameter,
    sizes,
    sqrt,
    tensor,
)
from spec.language.binders import Max
from spec.language.theorem import drop_fixed_indices
from spec.language.trees import walk

# Letters ------------------------------------------------------------------------------------------------------------------

n, m = sizes("n m")
i, l, r, j, e = indices(i=n, l=n, r=n, j=m, e=m)
f, F = data("f", n), data("F", n, m)
out = tensor("out", n)
anything = Formula(
    "test.attack",
    "Sums of rows",
    (f, F),
    (define(out[i], f[i] + Sum(F[i, j], j)),),
    (out,),
    auxiliary=True,
)
a, b, z = given("a"), given("b"), given("z")
c, s = given("c", domain="positive"), given("s", domain="nonnegative")
g, G, y = given("g", n), given("G", n, m), given("y", m)
p, q = given("p", n, domain="positive"), given("q", n, domain="nonnegative")
B, ok = given("B", n, m, domain="boolean"), given("ok", n, domain="boolean")
pi = given("pi", n, domain="permutation")
at = given("at", m, domain="integer", below=n)
k = given("k", domain="integer", below=n)

# Formulas -----------------------------------------------------------------------------------------------------------------

T = sizes("T")[0]
t, u = indices(t=T, u=T)
x = data("x", T)


def mapped(name: str, line: Callable[[Any], Any], domain: str = "real") -> tuple[Formula, Tensor]:
    """The formula ``y[i] = line(x[i])``, and its input."""
    inner, result = data("x", n, domain=domain), tensor("y", n)
    made = Formula(
        f"test.attack_{name}",
        name,
        (inner,),
        (define(result[i], line(inner[i])),),
        (result,),
        auxiliary=True,
    )
    return made, inner


rooted, x_root = mapped("root", sqrt, "nonnegative")
logged, x_log = mapped("log", log, "positive")
squared, x_square = mapped("square", lambda v: v**2)
rectified, x_relu = mapped("relu", lambda v: case(lt(0, v), v))
folded, x_abs = mapped("abs", absolute)
grown, x_exp = mapped("exp", exp)
inverted, x_over = mapped("over", lambda v: 1 / v, "positive")

top = tensor("top")
v = data("v", n)
largest = Formula("test.attack_max", "Largest", (v,), (define(top, Max(v[i], i)),), (top,), auxiliary=True)
S = tensor("S", T + 1)
w = number("w")
running = Formula(
    "test.attack_running",
    "A running sum with decay",
    (x, w),
    (define(S[0], 0), define(S[t], w * S[t - 1] + x[t - 1], (t, 1, T))),
    (S,),
    auxiliary=True,
)
tokens, E = data("tokens", T, domain="integer", below=n), parameter("E", n, m)
looked_up = tensor("looked", T, m)
lookup = Formula(
    "test.attack_lookup",
    "Rows looked up",
    (tokens, E),
    (define(looked_up[t, j], E[tokens[t], j]),),
    (looked_up,),
    auxiliary=True,
)

# The register -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FalseClaim:
    """A false claim: where it belongs, how it is stated, and how evaluation may show it false.

    ``undefined``: a side has no value somewhere. ``made``: already the statement may be refused, when it is written.
    ``one``: a letter that is free in an assumption stands for one index, not for all. ``meant``: the relation as evaluation
    knows it. ``vacuous``: it is claimed nowhere. ``meaningless``: the oracle cannot read it.
    """

    category: str
    name: str
    build: Callable[[], Any]
    formula: Formula
    undefined: bool = False
    made: bool = False
    one: bool = False
    meant: str = ""
    vacuous: bool = False
    meaningless: bool = False
    stated: dict[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What it is called in lists."""
        return f"{self.category}: {self.name}"

    def theorem(self) -> Theorem:
        """The theorem that claims it, everything that it mentions given."""
        built = self.build()
        if isinstance(built, Theorem):
            return built
        claims = built if isinstance(built, tuple) else (built,)
        claims = tuple(drop_fixed_indices(claim) for claim in claims)
        rest = dict(self.stated)
        rest["sizes"] = {size: sympy.sympify(value) for size, value in rest.get("sizes", {}).items()}
        rest.setdefault("given", mentioned(claims, rest.get("assuming", ()), self.formula))
        return Theorem("claimed", self.name, claims, **rest)


CLAIMS: list[FalseClaim] = []


def category(title: str) -> Callable[..., None]:
    """How the claims of a category are written down: ``false("a square is positive", lambda: claim(0, "<", a**2))``."""

    def false(
        name: str,
        build: Callable[[], Any],
        formula: Formula = anything,
        **rest: Any,
    ) -> None:
        own = {
            key: rest.pop(key)
            for key in ("undefined", "made", "one", "meant", "vacuous", "meaningless")
            if key in rest
        }
        CLAIMS.append(FalseClaim(title, name, build, formula, **own, stated=rest))

    return false


def mentioned(claims: tuple[Claim, ...], assuming: tuple[Any, ...], formula: Formula) -> tuple[Tensor, ...]:
    """The tensors with the role of something given that some claims and assumptions mention, their proofs included."""
    trees = [*assuming]
    for claim in claims:
        trees += [claim.left, claim.right, claim.where, *(step.to for step in claim.proof.steps)]
        if claim.proof.induction is not None:
            for inner in claim.proof.induction.claims:
                trees += [inner.left, inner.right, inner.where]
    found = dict.fromkeys(part for tree in trees for part in walk(tree) if isinstance(part, Tensor))
    return tuple(part for part in found if part.role == "given" and part not in formula.tensors)
