"""The printers: one walk over a statement, two vocabularies (LaTeX and plain Unicode)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import sympy
from sympy.core.basic import Basic
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from spec.language.binders import Bound
from spec.language.expr import Always, Ref

SUM, PRODUCT, UNARY, POWER, ATOM = range(1, 6)
"""Binding strengths; a part that binds more weakly than its place asks for is put in parentheses."""

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "epsilon": "ε", "eta": "η", "theta": "θ",
    "lambda": "λ", "mu": "μ", "nu": "ν", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "psi": "ψ", "omega": "ω",
}  # fmt: skip
SQUARED = {"var": "σ²"}
"""Letters that are printed as a square: a variance is called var in the code, and σ² on paper."""
HATTED = "hat"
"""The end of a name that is printed as a hat: xhat is x̂."""
LOGARITHM = "log_"
"""The beginning of a name that is printed as the logarithm of what follows: log_p is ln p, not a logarithm to the base p."""


def in_order(total: sympy.Add) -> list[sympy.Expr]:
    """The terms of a sum of indices as one writes them: T − 1 − t, t + φ; what is added first, Greek letters and numbers last."""

    def place(term: sympy.Expr) -> tuple[Any, ...]:
        name = min((s.name for s in term.free_symbols), default="")
        return term.could_extract_minus_sign(), term.is_number, name in GREEK, name.islower(), name

    return sorted(total.args, key=place)


class _Plain(StrPrinter):
    """Index arithmetic in plain letters."""

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[sympy.Expr]:
        return in_order(expr)

    def _print_Symbol(self, expr: sympy.Symbol) -> str:
        base, mark, subscript = expr.name.partition("_")
        return GREEK.get(base, base) + mark + subscript

    def _print_Pi(self, expr: Any) -> str:
        return "π"


class _Set(LatexPrinter):
    """Index arithmetic in LaTeX."""

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[sympy.Expr]:
        return in_order(expr)

    def _print_Ref(self, expr: Ref) -> str:
        return Latex().text(expr)


class Printer:
    """Prints trees; subclasses give the vocabulary."""

    rules: ClassVar[dict[type, Callable[[Any, Any], tuple[str, int]]]] = {}

    def text(self, node: Basic, strength: int = 0) -> str:
        """``node`` as text, in parentheses if it binds more weakly than ``strength``."""
        for kind in type(node).__mro__:
            if kind in self.rules:
                out, own = self.rules[kind](self, node)
                return out if own >= strength else self.wrap(out)
        return self.index(node, strength)

    def wrap(self, text: str) -> str:
        """``text`` in parentheses."""
        return f"({text})"

    def name(self, name: str) -> str:
        """A tensor's name."""
        raise NotImplementedError

    def index(self, expr: Basic, strength: int = 0) -> str:
        """Index arithmetic."""
        raise NotImplementedError

    def span(self, node: Bound) -> str:
        """The condition part of a binder."""
        return "" if isinstance(node.where, Always) else self.text(node.where)


def rule(kind: type, *printers: type[Printer]) -> Callable[[Any], Any]:
    """How these printers print a kind of node: a function of printer and node that gives the text and its strength."""

    def register(function: Callable[[Any, Any], tuple[str, int]]) -> Any:
        for printer in printers:
            printer.rules[kind] = function
        return function

    return register


class Latex(Printer):
    """LaTeX, as mathematics is set on a page."""

    rules: ClassVar[dict[type, Callable[[Any, Any], tuple[str, int]]]] = {}

    def wrap(self, text: str) -> str:
        """``text`` in parentheses."""
        return rf"\left({text}\right)"

    def name(self, name: str) -> str:
        """A tensor's name."""
        if name.startswith("adj_"):
            return rf"\bar{{{self.name(name[4:])}}}"
        if name.startswith("sum_"):
            return rf"\Sigma_{{{name[4:]}}}"
        if name in SQUARED:
            return r"\sigma^{2}"
        if name.startswith(LOGARITHM):
            return rf"\ln {self.name(name.removeprefix(LOGARITHM))}"
        if name.endswith(HATTED) and len(name) > len(HATTED):
            return rf"\hat{{{self.name(name.removesuffix(HATTED))}}}"
        base, _, subscript = name.partition("_")
        letters = r"\varepsilon" if base == "eps" else rf"\{base}" if base in GREEK else base
        word = base.rstrip("'")
        if len(word) > 1 and base not in GREEK:
            letters = rf"\mathrm{{{word}}}" + base[len(word) :]
        subscript = subscript.replace("_", r"\,")
        return rf"{letters}_{{\mathrm{{{subscript}}}}}" if subscript else letters

    def index(self, expr: Basic, strength: int = 0) -> str:
        """Index arithmetic."""
        if isinstance(expr, sympy.Symbol):
            base, _, subscript = expr.name.partition("_")
            shown = rf"\mathrm{{{subscript}}}" if len(subscript) > 1 else subscript
            return self.name(base) + (f"_{{{shown}}}" if subscript else "")
        if isinstance(expr, sympy.Tuple):
            return ", ".join(self.text(part) for part in expr.args)
        out = str(_Set().doprint(expr))
        weak = isinstance(expr, sympy.Add) or (isinstance(expr, sympy.Number) and expr.is_negative)
        return self.wrap(out) if weak and strength > SUM else out


class Unicode(Printer):
    """Plain text for a terminal."""

    rules: ClassVar[dict[type, Callable[[Any, Any], tuple[str, int]]]] = {}

    def name(self, name: str) -> str:
        """A tensor's name."""
        if name.startswith("adj_"):
            return self.name(name[4:]) + "\u0304"
        if name in SQUARED:
            return SQUARED[name]
        if name.endswith(HATTED) and len(name) > len(HATTED):
            return self.name(name.removesuffix(HATTED)) + "\u0302"
        base, mark, subscript = name.partition("_")
        return GREEK.get(base, base) + mark + subscript

    def index(self, expr: Basic, strength: int = 0) -> str:
        """Index arithmetic."""
        if isinstance(expr, sympy.Symbol):
            return self.name(expr.name)
        out = str(_Plain().doprint(expr)).replace("**", "^").replace(" ", "").replace("*", "·")
        out = out.replace("ceiling", "ceil")
        broken = isinstance(expr, sympy.Number) and not expr.is_Integer
        weak = broken or isinstance(expr, sympy.Add | sympy.Mul)
        return f"({out})" if weak and strength > SUM else out
