"""Statements as text: LaTeX for pages, plain Unicode for the terminal. One printer, two vocabularies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import sympy
from sympy.core.basic import Basic

from spec.language.calls import ABSENT, Call, Comprehension, Pullback
from spec.language.expr import (
    Always,
    AnyOf,
    Both,
    Bound,
    Case,
    Choice,
    Compare,
    Delta,
    Either,
    Func,
    Literal,
    MaxOf,
    Minus,
    Negative,
    Not,
    Over,
    Plus,
    Power,
    Ref,
    SumOf,
    Tensor,
    Times,
    Undefined,
    free_symbols,
)
from spec.language.flatten import chosen
from spec.language.formula import Definition, Formula, LineChoice, known
from spec.language.theorem import Claim, Expectation

SUM, PRODUCT, UNARY, POWER, ATOM = range(1, 6)
"""Binding strengths; a part that binds more weakly than its place asks for is put in parentheses."""

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "epsilon": "ε", "eta": "η", "theta": "θ",
    "lambda": "λ", "mu": "μ", "nu": "ν", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "psi": "ψ", "omega": "ω",
}  # fmt: skip


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


def _rule(kind: type, *printers: type[Printer]) -> Callable[[Any], Any]:
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
        base, _, subscript = name.partition("_")
        letters = (
            rf"\{base}" if base in GREEK and base != "eps" else r"\varepsilon" if base == "eps" else base
        )
        if len(base) > 1 and base not in GREEK:
            letters = rf"\mathrm{{{base}}}"
        subscript = subscript.replace("_", r"\,")
        return rf"{letters}_{{\mathrm{{{subscript}}}}}" if subscript else letters

    def index(self, expr: Basic, strength: int = 0) -> str:
        """Index arithmetic."""
        if isinstance(expr, sympy.Symbol):
            base, _, subscript = expr.name.partition("_")
            return self.name(base) + (f"_{{{subscript}}}" if subscript else "")
        if isinstance(expr, sympy.Tuple):
            return ", ".join(self.text(part) for part in expr.args)
        out = sympy.latex(expr)
        weak = isinstance(expr, sympy.Add) or (isinstance(expr, sympy.Number) and expr.is_negative)
        return self.wrap(out) if weak and strength > SUM else out


class Unicode(Printer):
    """Plain text for a terminal."""

    rules: ClassVar[dict[type, Callable[[Any, Any], tuple[str, int]]]] = {}

    def name(self, name: str) -> str:
        """A tensor's name."""
        if name.startswith("adj_"):
            return self.name(name[4:]) + "\u0304"
        base, mark, subscript = name.partition("_")
        return GREEK.get(base, base) + mark + subscript

    def index(self, expr: Basic, strength: int = 0) -> str:
        """Index arithmetic."""
        if isinstance(expr, sympy.Symbol):
            return self.name(expr.name)
        out = str(expr).replace("**", "^").replace(" ", "").replace("*", "·")
        out = out.replace("ceiling", "ceil")
        weak = isinstance(expr, sympy.Add | sympy.Mul) or (
            isinstance(expr, sympy.Number) and not expr.is_Integer
        )
        return f"({out})" if weak and strength > SUM else out


@_rule(Ref, Latex)
def _ref_latex(p: Latex, node: Ref) -> tuple[str, int]:
    name = p.name(node.tensor.name)
    if not node.index:
        return name, ATOM
    subscript = ", ".join(p.text(part) for part in node.index)
    if "_" in node.tensor.name and not node.tensor.name.startswith(("adj_", "sum_")):
        return rf"{name}[{subscript}]", ATOM
    if node.tensor.name.startswith("sum_"):
        return rf"{{{name}}}_{{{subscript}}}", ATOM
    return rf"{name}_{{{subscript}}}", ATOM


@_rule(Ref, Unicode)
def _ref_unicode(p: Unicode, node: Ref) -> tuple[str, int]:
    name = p.name(node.tensor.name)
    return (f"{name}[{','.join(p.text(part) for part in node.index)}]" if node.index else name), ATOM


@_rule(Tensor, Latex, Unicode)
def _tensor(p: Printer, node: Tensor) -> tuple[str, int]:
    return p.name(node.name), ATOM


@_rule(Literal, Latex, Unicode)
def _literal(p: Printer, node: Literal) -> tuple[str, int]:
    return p.index(node.value, SUM), SUM if isinstance(node.value, sympy.Add) else PRODUCT if _compound(
        node.value
    ) else ATOM


def _compound(value: sympy.Expr) -> bool:
    return (
        isinstance(value, sympy.Mul)
        or (value.is_Rational and not value.is_Integer)
        or bool(value.is_negative)
    )


@_rule(Plus, Latex, Unicode)
def _plus(p: Printer, node: Plus) -> tuple[str, int]:
    return f"{p.text(node.args[0], SUM)} + {p.text(node.args[1], SUM)}", SUM


@_rule(Minus, Latex, Unicode)
def _minus(p: Printer, node: Minus) -> tuple[str, int]:
    sign = "-" if isinstance(p, Latex) else "−"
    return f"{p.text(node.args[0], SUM)} {sign} {p.text(node.args[1], PRODUCT)}", SUM


@_rule(Negative, Latex, Unicode)
def _negative(p: Printer, node: Negative) -> tuple[str, int]:
    return ("-" if isinstance(p, Latex) else "−") + p.text(node.args[0], PRODUCT), SUM


@_rule(Times, Latex, Unicode)
def _times(p: Printer, node: Times) -> tuple[str, int]:
    left, right = p.text(node.args[0], PRODUCT), p.text(node.args[1], PRODUCT)
    if isinstance(node.args[0], SumOf):
        left = p.wrap(left)
    if isinstance(p, Unicode):
        return f"{left}·{right}", PRODUCT
    return rf"{left} \cdot {right}" if right[:1].isdigit() else rf"{left}\,{right}", PRODUCT


@_rule(Over, Latex)
def _over_latex(p: Latex, node: Over) -> tuple[str, int]:
    return rf"\frac{{{p.text(node.args[0])}}}{{{p.text(node.args[1])}}}", ATOM


@_rule(Over, Unicode)
def _over_unicode(p: Unicode, node: Over) -> tuple[str, int]:
    left = p.text(node.args[0], PRODUCT)
    left = p.wrap(left) if isinstance(node.args[0], SumOf) else left
    return f"{left} / {p.text(node.args[1], POWER)}", PRODUCT


@_rule(Power, Latex, Unicode)
def _power(p: Printer, node: Power) -> tuple[str, int]:
    base = p.text(node.args[0], ATOM)
    if isinstance(p, Latex):
        return rf"{base}^{{{p.text(node.args[1])}}}", POWER
    return f"{base}^{p.text(node.args[1], ATOM)}", POWER


@_rule(Func, Latex)
def _func_latex(p: Latex, node: Func) -> tuple[str, int]:
    argument = p.text(node.args[1])
    if node.name == "exp":
        return rf"e^{{{argument}}}", POWER
    if node.name == "sqrt":
        return rf"\sqrt{{{argument}}}", ATOM
    if node.name == "abs":
        return rf"\left|{argument}\right|", ATOM
    if node.name == "round":
        return rf"\left\lfloor {argument} \right\rceil", ATOM
    known = {"log": r"\ln", "sin": r"\sin", "cos": r"\cos", "tanh": r"\tanh", "sigmoid": r"\sigma"}
    return rf"{known[node.name]}\left({argument}\right)", ATOM


@_rule(Func, Unicode)
def _func_unicode(p: Unicode, node: Func) -> tuple[str, int]:
    known = {"sqrt": "√", "log": "ln", "sigmoid": "σ"}
    return f"{known.get(node.name, node.name)}({p.text(node.args[1])})", ATOM


@_rule(SumOf, Latex)
def _sum_latex(p: Latex, node: SumOf) -> tuple[str, int]:
    return rf"\sum_{{{_below(p, node)}}}^{{{p.index(node.last)}}} {p.text(node.body, PRODUCT)}", PRODUCT


@_rule(MaxOf, Latex)
def _max_latex(p: Latex, node: MaxOf) -> tuple[str, int]:
    return rf"\max_{{{_below(p, node)} \ldots {p.index(node.last)}}} {p.text(node.body, PRODUCT)}", PRODUCT


@_rule(AnyOf, Latex)
def _any_latex(p: Latex, node: AnyOf) -> tuple[str, int]:
    return (
        rf"\exists\, {p.index(node.var)} \in [{p.index(node.first)}, {p.index(node.last)}] : {p.text(node.body)}",
        SUM,
    )


def _below(p: Latex, node: Bound) -> str:
    condition = p.span(node)
    return f"{p.index(node.var)}={p.index(node.first)}" + (rf",\ {condition}" if condition else "")


@_rule(SumOf, Unicode)
@_rule(MaxOf, Unicode)
@_rule(AnyOf, Unicode)
def _bound_unicode(p: Unicode, node: Bound) -> tuple[str, int]:
    sign = "Σ" if isinstance(node, SumOf) else "max" if isinstance(node, MaxOf) else "∃"
    condition = p.span(node)
    reach = f"{p.index(node.var)}={p.index(node.first)}…{p.index(node.last)}" + (
        f" | {condition}" if condition else ""
    )
    return f"{sign}[{reach}] {p.text(node.body, PRODUCT)}", PRODUCT


@_rule(Case, Latex)
def _case_latex(p: Latex, node: Case) -> tuple[str, int]:
    condition, then, otherwise = (p.text(part) for part in node.args)
    return (
        rf"\begin{{cases}} {then} & \text{{if }} {condition} \\ {otherwise} & \text{{otherwise}} \end{{cases}}",
        ATOM,
    )


@_rule(Case, Unicode)
def _case_unicode(p: Unicode, node: Case) -> tuple[str, int]:
    condition, then, otherwise = (p.text(part) for part in node.args)
    return f"{{ {then}  if {condition};  {otherwise}  otherwise }}", ATOM


@_rule(Undefined, Latex, Unicode)
def _undefined(p: Printer, node: Undefined) -> tuple[str, int]:
    return (r"\text{unspecified}" if isinstance(p, Latex) else "unspecified"), ATOM


@_rule(Delta, Latex, Unicode)
def _delta(p: Printer, node: Delta) -> tuple[str, int]:
    a, b = (p.text(part) for part in node.args)
    return (rf"\delta_{{{a},\, {b}}}" if isinstance(p, Latex) else f"δ[{a},{b}]"), ATOM


@_rule(Compare, Latex, Unicode)
def _compare(p: Printer, node: Compare) -> tuple[str, int]:
    signs = {"<=": (r"\le", "≤"), "<": ("<", "<"), "==": ("=", "=")}
    latex_sign, unicode_sign = signs[str(node.args[0])]
    a, b = (p.text(part) for part in node.args[1:])
    return (f"{a} {latex_sign} {b}" if isinstance(p, Latex) else f"{a} {unicode_sign} {b}"), SUM


@_rule(Both, Latex, Unicode)
@_rule(Either, Latex, Unicode)
def _junction(p: Printer, node: Both | Either) -> tuple[str, int]:
    latex_sign, unicode_sign = (r"\wedge", "and") if isinstance(node, Both) else (r"\vee", "or")
    a, b = (p.text(part, SUM) for part in node.args)
    return (rf"{a} {latex_sign} {b}" if isinstance(p, Latex) else f"{a} {unicode_sign} {b}"), 0


@_rule(Not, Latex, Unicode)
def _not(p: Printer, node: Not) -> tuple[str, int]:
    some = node.args[0]
    if isinstance(some, AnyOf) and isinstance(some.body, Not):
        held, span = (
            p.text(some.body.args[0], SUM),
            (p.index(some.var), p.index(some.first), p.index(some.last)),
        )
        if isinstance(p, Latex):
            return rf"{held} \ \text{{ for all }} {span[1]} \le {span[0]} \le {span[2]}", 0
        return f"{held} for all {span[0]}={span[1]}…{span[2]}", 0
    inner = p.text(node.args[0], ATOM)
    return (rf"\neg {inner}" if isinstance(p, Latex) else f"not {inner}"), UNARY


@_rule(Always, Latex, Unicode)
def _always(p: Printer, node: Always) -> tuple[str, int]:
    return (r"\top" if isinstance(p, Latex) else "true"), ATOM


@_rule(Choice, Latex, Unicode)
def _choice(p: Printer, node: Choice) -> tuple[str, int]:
    options = [f"{pair.args[0]}: {p.text(pair.args[1])}" for pair in node.args[1:]]
    return f"<{node.args[0]}: {'; '.join(options)}>", ATOM


@_rule(Comprehension, Latex, Unicode)
def _comprehension(p: Printer, node: Comprehension) -> tuple[str, int]:
    if (part := _part(node)) is not None:
        return p.text(part), ATOM
    spans = ", ".join(f"{p.index(s)}<{p.index(n)}" for s, n in zip(node.vars, node.shape, strict=True))
    body = p.text(node.body)
    return (rf"\left({body}\right)_{{{spans}}}" if isinstance(p, Latex) else f"({body} for {spans})"), ATOM


def _part(node: Comprehension) -> Ref | None:
    """A whole part of a tensor, the last axes left open: h for (h[e])_{e<d}, H[t] for (H[t, e])_{e<d}."""
    body, rank = node.body, len(node.vars)
    if (
        not isinstance(body, Ref)
        or body.index[-rank:] != node.vars
        or body.tensor.shape[-rank:] != node.shape
    ):
        return None
    leading = body.index[:-rank]
    if any(free_symbols(part) & set(node.vars) for part in leading):
        return None
    return Ref(body.tensor, *leading)


def _applied(p: Printer, node: Call) -> str:
    name = node.formula_id.split(".")[-1]
    arguments = ", ".join(p.text(a) for a in node.arguments if a != ABSENT)
    first = node.output == known(node.formula_id).outputs[0].name
    of = (
        "" if first else rf"{{}}.{p.name(node.output)}" if isinstance(p, Latex) else f".{p.name(node.output)}"
    )
    if isinstance(p, Latex):
        shown = name.replace("_", r"\_")
        return rf"\operatorname{{{shown}}}\left({arguments}\right){of}"
    return f"{name}({arguments}){of}"


@_rule(Call, Latex, Unicode)
def _call(p: Printer, node: Call) -> tuple[str, int]:
    index = ", ".join(p.text(part) for part in node.index)
    named = node.output != known(node.formula_id).outputs[0].name
    if isinstance(p, Latex) and not (named and "_" in node.output):  # as in a Ref: one subscript, no second
        return rf"{_applied(p, node)}_{{{index}}}", ATOM
    return f"{_applied(p, node)}[{index}]", ATOM


@_rule(Pullback, Latex, Unicode)
def _pullback(p: Printer, node: Pullback) -> tuple[str, int]:
    call, seed, index = (
        _applied(p, node.call),
        p.text(node.seed),
        ", ".join(p.text(part) for part in node.index),
    )
    if isinstance(p, Latex):
        return (
            rf"\left[\left(\frac{{\partial {call}}}{{\partial {p.name(node.wrt)}}}\right)^{{\!\top}} {seed}\right]_{{{index}}}",
            ATOM,
        )
    return f"[(∂{call}/∂{p.name(node.wrt)})ᵀ {seed}][{index}]", ATOM


_LATEX, _UNICODE = Latex(), Unicode()


@_rule(Expectation, Latex, Unicode)
def _expectation(p: Printer, node: Expectation) -> tuple[str, int]:
    body = p.text(node.body)
    return (rf"\mathbb{{E}}\left[{body}\right]" if isinstance(p, Latex) else f"E[{body}]"), ATOM


def latex(node: Basic) -> str:
    """A tree as LaTeX (without dollars)."""
    return _LATEX.text(node)


def unicode(node: Basic) -> str:
    """A tree as plain Unicode text."""
    return _UNICODE.text(node)


@dataclass(frozen=True)
class Line:
    """A numbered line of a statement as text: the equation, and the range of its indices."""

    number: int
    equation: str
    ranges: str


def statement(
    formula: Formula, conventions: Mapping[str, str] | None = None, style: str = "unicode"
) -> list[Line]:
    """The numbered lines of a formula as written, under a choice of conventions; ``style`` is ``latex`` or ``unicode``."""
    p: Printer = _LATEX if style == "latex" else _UNICODE
    options = formula.choose(conventions)
    lines: list[Definition] = []
    for item in formula.lines:
        lines.extend(item.options[options[item.convention]] if isinstance(item, LineChoice) else (item,))
    return [
        Line(number, f"{p.text(line.left)} = {p.text(chosen(line.right, options))}", _ranges(p, line))
        for number, line in enumerate(lines, start=1)
    ]


def _ranges(p: Printer, line: Definition) -> str:
    less = r"\le" if isinstance(p, Latex) else "≤"
    parts = []
    for symbol, (first, last) in line.spans.items():
        if first == 0:
            parts.append(f"{p.index(symbol)} < {p.index(last + 1)}")
        else:
            parts.append(f"{p.index(first)} {less} {p.index(symbol)} {less} {p.index(last)}")
    return (r",\ " if isinstance(p, Latex) else ", ").join(parts)


def claim_text(claim: Claim, style: str = "unicode") -> str:
    """A claim as text."""
    p: Printer = _LATEX if style == "latex" else _UNICODE
    sign = {"=": "=", "<": "<", "<=": r"\le" if style == "latex" else "≤"}[claim.relation]
    where = "" if isinstance(claim.where, Always) else p.text(claim.where)
    joint = r"\quad\text{where } " if style == "latex" else "   where "
    return f"{p.text(claim.left)} {sign} {p.text(claim.right)}" + (joint + where if where else "")
