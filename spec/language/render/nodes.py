"""How each kind of node is printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import sympy
from sympy import Basic

from spec.language import expr
from spec.language.arrays import Comprehension, Tensor
from spec.language.binders import AnyOf, Bound, Expectation, MaxOf, SumOf
from spec.language.calls import ABSENT, Call, Pullback, unify
from spec.language.expr import Ref
from spec.language.known import get_formula, list_registered
from spec.language.render.printer import (
    ATOM,
    LOGARITHM,
    POWER,
    PRODUCT,
    SQUARED,
    SUM,
    UNARY,
    Latex,
    Printer,
    Unicode,
    rule,
)
from spec.language.trees import free_symbols, substitute


@rule(Comprehension, Latex, Unicode)
def _comprehension(p: Printer, node: Comprehension) -> tuple[str, int]:
    if (part := _part(p, node)) is not None:
        return part, ATOM
    spans = ", ".join(f"{p.index(s)}<{p.index(n)}" for s, n in zip(node.vars, node.shape, strict=True))
    body = p.text(node.body)
    return (rf"\left({body}\right)_{{{spans}}}" if isinstance(p, Latex) else f"({body} for {spans})"), ATOM


def _part(p: Printer, node: Comprehension) -> str | None:
    """An array that is a part of another: H[t] for (H[t, e])_{e<d}, b[d:2d] for (b[d + c])_{c<d}, H for all of it."""
    body, rank = node.body, len(node.vars)
    if not isinstance(body, Ref | Call) or len(body.index) < rank:
        return None
    axes = _shape(body)
    leading, open_ = body.index[:-rank], body.index[-rank:]
    if axes is None or any(free_symbols(part) & set(node.vars) for part in leading):
        return None
    spans = []
    for part, symbol, size, axis in zip(open_, node.vars, node.shape, axes[-rank:], strict=True):
        first = part - symbol if isinstance(part, sympy.Expr) else symbol
        if free_symbols(first) & set(node.vars):
            return None
        spans.append("" if first == 0 and size == axis else _span(p, first, first + size))
    if isinstance(body, Call):  # a part of a result reads better entry by entry
        return None if any(spans) else p.text(Call(*body.args[:3], sympy.Tuple(*leading)))
    if not any(spans):
        return p.text(Ref(body.tensor, *leading))
    while not spans[-1]:
        spans.pop()
    places = [*(p.text(part) for part in leading), *(span or _colon(p) for span in spans)]
    return f"{p.name(body.tensor.name)}[{', '.join(places)}]"


def _colon(p: Printer) -> str:
    return "{:}" if isinstance(p, Latex) else ":"


def _span(p: Printer, first: Any, end: Any) -> str:
    """The places from the first up to an end, which is left out; an array's own beginning is not named."""
    return f"{'' if first == 0 else p.index(first, SUM)}{_colon(p)}{p.index(end, SUM)}"


def _shape(body: Ref | Call) -> tuple[sympy.Expr, ...] | None:
    """The shape of what an entry is read from; None if it is not known (a line of a theorem's formula that is no output)."""
    if isinstance(body, Ref):
        return body.tensor.shape
    callee = get_formula(body.formula_id)
    shapes = [t.shape for t in callee.outputs if t.name == body.output]
    sizes = unify(callee, body.arguments)
    return tuple(substitute(size, sizes) for size in shapes[0]) if shapes else None


def short_name(formula_id: str) -> str:
    """The last part of an ID where no other formula shares it: softmax, but scores.cosine and similarity.cosine."""
    name = formula_id.split(".")[-1]
    return formula_id if sum(other.split(".")[-1] == name for other in list_registered()) > 1 else name


def _write_application(p: Printer, node: Call, own: str = "") -> str:
    """A formula applied; with the ``own`` letter of the formula for that input, whatever it is given."""
    name, inputs = short_name(node.formula_id), get_formula(node.formula_id).inputs
    given = zip(inputs, node.arguments, strict=False)
    arguments = ", ".join(
        p.name(own) if own and str(item) == own else p.text(a) for item, a in given if a != ABSENT
    )
    first = node.output == get_formula(node.formula_id).outputs[0].name
    of = "" if first else ("{}." if isinstance(p, Latex) else ".") + p.name(node.output)
    if isinstance(p, Latex):
        shown = name.replace("_", r"\_")
        return rf"\operatorname{{{shown}}}\left({arguments}\right){of}"
    return f"{name}({arguments}){of}"


@rule(Call, Latex, Unicode)
def _call(p: Printer, node: Call) -> tuple[str, int]:
    callee = get_formula(node.formula_id)
    inner = {line.name for line in callee.definitions} - {t.name for t in callee.outputs}
    if node.arguments == callee.inputs and node.output in inner:
        line = Ref(callee.line(node.output), *node.index)  # a letter of the statement, for its own inputs
        return p.text(line), POWER if line.tensor.name in SQUARED else ATOM
    index = ", ".join(p.text(part) for part in node.index)
    if not index:
        return _write_application(p, node), ATOM
    named = node.output != get_formula(node.formula_id).outputs[0].name
    if isinstance(p, Latex) and not (named and "_" in node.output):  # as in a Ref: one subscript, no second
        return rf"{_write_application(p, node)}_{{{index}}}", ATOM
    return f"{_write_application(p, node)}[{index}]", ATOM


@rule(Pullback, Latex, Unicode)
def _pullback(p: Printer, node: Pullback) -> tuple[str, int]:
    seed, index = p.text(node.seed), ", ".join(p.text(part) for part in node.index)
    letter, call = p.name(node.wrt), _write_application(p, node.call, node.wrt)
    items = map(str, get_formula(node.call.formula_id).inputs)
    there = p.text(dict(zip(items, node.call.arguments, strict=False))[node.wrt])
    elsewhere = there != letter  # the derivative by a letter of the formula, in whose place an array stands
    if isinstance(p, Latex):
        slope = rf"\frac{{\partial {call}}}{{\partial {letter}}}"
        slope = rf"\left.{slope}\right|_{{{letter} = {there}}}" if elsewhere else slope
        entry = f"_{{{index}}}" if index else ""
        return rf"\left[\left({slope}\right)^{{\!\top}} {seed}\right]{entry}", ATOM
    at = f" at {letter} = {there}" if elsewhere else ""
    return f"[(∂{call}/∂{letter}{at})ᵀ {seed}]" + (f"[{index}]" if index else ""), ATOM


@rule(Ref, Latex)
def _ref_latex(p: Latex, node: Ref) -> tuple[str, int]:
    name = p.name(node.tensor.name)
    if not node.index:
        return name, POWER if node.tensor.name in SQUARED else ATOM
    subscript = ", ".join(p.text(part) for part in node.index)
    letter, strength = node.tensor.name.removeprefix(LOGARITHM), ATOM
    if letter != node.tensor.name:
        strength = UNARY
    if "_" in letter and not letter.startswith(("adj_", "sum_")):
        return rf"{name}[{subscript}]", strength
    if node.tensor.name.startswith("sum_"):
        return rf"{{{name}}}_{{{subscript}}}", ATOM
    return rf"{name}_{{{subscript}}}", strength


@rule(Ref, Unicode)
def _ref_unicode(p: Unicode, node: Ref) -> tuple[str, int]:
    name = p.name(node.tensor.name)
    if not node.index:
        return name, POWER if node.tensor.name in SQUARED else ATOM
    return f"{name}[{','.join(p.text(part) for part in node.index)}]", ATOM


@rule(Tensor, Latex, Unicode)
def _tensor(p: Printer, node: Tensor) -> tuple[str, int]:
    return p.name(node.name), ATOM


@rule(expr.Literal, Latex, Unicode)
def _literal(p: Printer, node: expr.Literal) -> tuple[str, int]:
    text = _decimal(node.value) or p.index(node.value, SUM)
    return text, SUM if isinstance(node.value, sympy.Add) else PRODUCT if _compound(node.value) else ATOM


def _decimal(value: sympy.Expr) -> str:
    """A number as papers print it, such as 0.044715, where its fraction would be unwieldy; empty for all others."""
    if not (value.is_Rational and value.is_positive and value.q >= 1000):
        return ""
    places = max(sympy.multiplicity(2, value.q), sympy.multiplicity(5, value.q))
    if 10**places % value.q:
        return ""
    whole, rest = divmod(value.p * 10**places // value.q, 10**places)
    return f"{whole}.{rest:0{places}d}"


def _compound(value: sympy.Expr) -> bool:
    return (
        isinstance(value, sympy.Mul)
        or (value.is_Rational and not value.is_Integer)
        or bool(value.is_negative)
    )


@rule(expr.Plus, Latex, Unicode)
def _plus(p: Printer, node: expr.Plus) -> tuple[str, int]:
    return f"{p.text(node.args[0], SUM)} + {p.text(node.args[1], SUM)}", SUM


@rule(expr.Minus, Latex, Unicode)
def _minus(p: Printer, node: expr.Minus) -> tuple[str, int]:
    sign = "-" if isinstance(p, Latex) else "−"
    return f"{p.text(node.args[0], SUM)} {sign} {p.text(node.args[1], PRODUCT)}", SUM


@rule(expr.Negative, Latex, Unicode)
def _negative(p: Printer, node: expr.Negative) -> tuple[str, int]:
    return ("-" if isinstance(p, Latex) else "−") + p.text(node.args[0], PRODUCT), SUM


@rule(expr.Times, Latex, Unicode)
def _times(p: Printer, node: expr.Times) -> tuple[str, int]:
    left, right = p.text(node.args[0], PRODUCT), p.text(node.args[1], PRODUCT)
    if isinstance(node.args[0], SumOf):
        left = p.wrap(left)
    if isinstance(p, Unicode):
        return f"{left}·{right}", PRODUCT
    return rf"{left} \cdot {right}" if right[:1].isdigit() else rf"{left}\,{right}", PRODUCT


@rule(expr.Over, Latex)
def _over_latex(p: Latex, node: expr.Over) -> tuple[str, int]:
    return rf"\frac{{{p.text(node.args[0])}}}{{{p.text(node.args[1])}}}", POWER


@rule(expr.Over, Unicode)
def _over_unicode(p: Unicode, node: expr.Over) -> tuple[str, int]:
    left = p.text(node.args[0], PRODUCT)
    left = p.wrap(left) if isinstance(node.args[0], SumOf) else left
    return f"{left} / {p.text(node.args[1], POWER)}", PRODUCT


@rule(expr.Power, Latex, Unicode)
def _power(p: Printer, node: expr.Power) -> tuple[str, int]:
    base = p.text(node.args[0], ATOM)
    if isinstance(p, Latex):
        return rf"{base}^{{{p.text(node.args[1])}}}", POWER
    return f"{base}^{p.text(node.args[1], ATOM)}", POWER


@rule(expr.Func, Latex)
def _func_latex(p: Latex, node: expr.Func) -> tuple[str, int]:
    argument = p.text(node.args[1])
    if node.name == "exp":
        return rf"e^{{{argument}}}", POWER
    if node.name == "sqrt":
        return rf"\sqrt{{{argument}}}", POWER
    if node.name == "abs":
        return rf"\left|{argument}\right|", ATOM
    if node.name == "round":
        return rf"\left\lfloor {argument} \right\rceil", ATOM
    known = {"log": r"\ln", "sin": r"\sin", "cos": r"\cos", "tanh": r"\tanh", "sigmoid": r"\sigma"}
    known |= {"erf": r"\operatorname{erf}", "stop": r"\operatorname{SG}"}
    return rf"{known[node.name]}\left({argument}\right)", ATOM


@rule(expr.Func, Unicode)
def _func_unicode(p: Unicode, node: expr.Func) -> tuple[str, int]:
    known = {"sqrt": "√", "log": "ln", "sigmoid": "σ", "stop": "SG"}
    name, strength = known.get(node.name, node.name), POWER if node.name == "sqrt" else ATOM
    return f"{name}({p.text(node.args[1])})", strength


@rule(SumOf, Latex)
def _sum_latex(p: Latex, node: SumOf) -> tuple[str, int]:
    below = f"{p.index(node.var)}={p.index(node.first)}{_condition(p, node)}"
    return rf"\sum_{{{below}}}^{{{p.index(node.last)}}} {p.text(node.body, PRODUCT)}", PRODUCT


@rule(MaxOf, Latex)
def _max_latex(p: Latex, node: MaxOf) -> tuple[str, int]:
    reach = rf"{p.index(node.var)}={p.index(node.first)} \ldots {p.index(node.last)}"
    return rf"\max_{{{reach}{_condition(p, node)}}} {p.text(node.body, PRODUCT)}", PRODUCT


@rule(AnyOf, Latex)
def _any_latex(p: Latex, node: AnyOf) -> tuple[str, int]:
    reach = rf"{p.index(node.var)} \in [{p.index(node.first)}, {p.index(node.last)}]{_condition(p, node)}"
    return rf"\exists\, {reach} :\ {p.text(node.body)}", SUM


def _condition(p: Latex, node: Bound) -> str:
    condition = p.span(node)
    return rf",\ {condition}" if condition else ""


@rule(SumOf, Unicode)
@rule(MaxOf, Unicode)
@rule(AnyOf, Unicode)
def _bound_unicode(p: Unicode, node: Bound) -> tuple[str, int]:
    sign = "Σ" if isinstance(node, SumOf) else "max" if isinstance(node, MaxOf) else "∃"
    condition = p.span(node)
    reach = f"{p.index(node.var)}={p.index(node.first)}…{p.index(node.last)}"
    where = f" | {condition}" if condition else ""
    return f"{sign}[{reach}{where}] {p.text(node.body, PRODUCT)}", PRODUCT


NEXT_ROW = r" \\ "


@rule(expr.Case, Latex)
def _case_latex(p: Latex, node: expr.Case) -> tuple[str, int]:
    rows = [rf"{value} & \text{{{word}}}{condition}" for value, word, condition in _rows(p, node)]
    return rf"\begin{{cases}} {NEXT_ROW.join(rows)} \end{{cases}}", ATOM


@rule(expr.Case, Unicode)
def _case_unicode(p: Unicode, node: expr.Case) -> tuple[str, int]:
    return (
        f"{{ {';  '.join(f'{value}  {word}{condition}' for value, word, condition in _rows(p, node))} }}",
        ATOM,
    )


def _rows(p: Printer, node: expr.Case) -> Iterator[tuple[str, str, str]]:
    """The rows of a case, of which the first that applies counts; a case that is the other branch of one adds to its rows."""
    word, left = "if ", cast(Basic, node)
    while isinstance(left, expr.Case):
        condition, then, left = left.args
        yield p.text(then), word, p.text(condition)
        word = "else if "
    yield p.text(left), "otherwise", ""


@rule(expr.Undefined, Latex, Unicode)
def _undefined(p: Printer, node: expr.Undefined) -> tuple[str, int]:
    return (r"\text{unspecified}" if isinstance(p, Latex) else "unspecified"), ATOM


@rule(expr.Delta, Latex, Unicode)
def _delta(p: Printer, node: expr.Delta) -> tuple[str, int]:
    a, b = (p.text(part) for part in node.args)
    return (rf"\delta_{{{a},\, {b}}}" if isinstance(p, Latex) else f"δ[{a},{b}]"), ATOM


@rule(expr.Compare, Latex, Unicode)
def _compare(p: Printer, node: expr.Compare) -> tuple[str, int]:
    signs = {"<=": (r"\le", "≤"), "<": ("<", "<"), "==": ("=", "=")}
    latex_sign, unicode_sign = signs[str(node.args[0])]
    a, b = (p.text(part) for part in node.args[1:])
    return (f"{a} {latex_sign} {b}" if isinstance(p, Latex) else f"{a} {unicode_sign} {b}"), SUM


@rule(expr.Both, Latex, Unicode)
@rule(expr.Either, Latex, Unicode)
def _junction(p: Printer, node: expr.Both | expr.Either) -> tuple[str, int]:
    latex_sign, unicode_sign = (r"\wedge", "and") if isinstance(node, expr.Both) else (r"\vee", "or")
    a, b = (p.text(part, 0 if type(part) is type(node) else SUM) for part in node.args)  # a ∧ b ∧ c
    return (rf"{a} {latex_sign} {b}" if isinstance(p, Latex) else f"{a} {unicode_sign} {b}"), 0


@rule(expr.Not, Latex, Unicode)
def _not(p: Printer, node: expr.Not) -> tuple[str, int]:
    some = node.args[0]
    if isinstance(some, AnyOf) and isinstance(some.body, expr.Not):
        held = p.text(some.body.args[0], SUM)
        span = p.index(some.var), p.index(some.first), p.index(some.last)
        if isinstance(p, Latex):
            return rf"{held} \ \text{{ for all }} {span[1]} \le {span[0]} \le {span[2]}", 0
        return f"{held} for all {span[0]}={span[1]}…{span[2]}", 0
    inner = p.text(node.args[0], ATOM)
    return (rf"\neg {inner}" if isinstance(p, Latex) else f"not {inner}"), UNARY


@rule(expr.Always, Latex, Unicode)
def _always(p: Printer, node: expr.Always) -> tuple[str, int]:
    return (r"\top" if isinstance(p, Latex) else "true"), ATOM


@rule(expr.Choice, Latex, Unicode)
def _choice(p: Printer, node: expr.Choice) -> tuple[str, int]:
    name = str(node.args[0])
    shown = [(p.text(pair.args[1]), f"under {name} = {pair.args[0]}") for pair in node.args[1:]]
    if isinstance(p, Latex):
        rows = (f"{value} & {_words(said)}" for value, said in shown)
        return rf"\begin{{cases}} {_LINE_BREAK.join(rows)} \end{{cases}}", ATOM
    return f"{{ {';  '.join(f'{value}  {said}' for value, said in shown)} }}", ATOM


_LINE_BREAK = r" \\ "


def _words(said: str) -> str:
    """Words in LaTeX."""
    return rf"\text{{{said}}}".replace("_", r"\_")


@rule(Expectation, Latex, Unicode)
def _expectation(p: Printer, node: Expectation) -> tuple[str, int]:
    body = p.text(node.body)
    return (rf"\mathbb{{E}}\left[{body}\right]" if isinstance(p, Latex) else f"E[{body}]"), ATOM
