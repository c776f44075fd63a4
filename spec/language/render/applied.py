"""How formulas applied inside others are printed: arrays as arguments, results, derivatives."""

from __future__ import annotations

from typing import Any

import sympy

from spec.language.arrays import Comprehension
from spec.language.calls import ABSENT, Call, Pullback, unify
from spec.language.expr import Ref
from spec.language.known import known, registered
from spec.language.render.printer import ATOM, POWER, SQUARED, SUM, Latex, Printer, Unicode, rule
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
    if not any(spans):
        return p.text(
            Ref(body.tensor, *leading)
            if isinstance(body, Ref)
            else Call(*body.args[:3], sympy.Tuple(*leading))
        )
    if isinstance(body, Call):
        return None  # a part of a result reads better entry by entry
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
    callee = known(body.formula_id)
    shapes = [t.shape for t in callee.outputs if t.name == body.output]
    sizes = unify(callee, body.arguments)
    return tuple(substitute(size, sizes) for size in shapes[0]) if shapes else None


def short_name(formula_id: str) -> str:
    """The last part of an ID where no other formula shares it: softmax, but scores.cosine and similarity.cosine."""
    name = formula_id.split(".")[-1]
    return formula_id if sum(other.split(".")[-1] == name for other in registered()) > 1 else name


def _applied(p: Printer, node: Call, own: str = "") -> str:
    """A formula applied; with the ``own`` letter of the formula for that input, whatever it is given."""
    name, inputs = short_name(node.formula_id), known(node.formula_id).inputs
    given = zip(inputs, node.arguments, strict=False)
    arguments = ", ".join(
        p.name(own) if own and str(item) == own else p.text(a) for item, a in given if a != ABSENT
    )
    first = node.output == known(node.formula_id).outputs[0].name
    of = (
        "" if first else rf"{{}}.{p.name(node.output)}" if isinstance(p, Latex) else f".{p.name(node.output)}"
    )
    if isinstance(p, Latex):
        shown = name.replace("_", r"\_")
        return rf"\operatorname{{{shown}}}\left({arguments}\right){of}"
    return f"{name}({arguments}){of}"


@rule(Call, Latex, Unicode)
def _call(p: Printer, node: Call) -> tuple[str, int]:
    callee = known(node.formula_id)
    inner = {line.name for line in callee.definitions} - {t.name for t in callee.outputs}
    if node.arguments == callee.inputs and node.output in inner:
        line = Ref(callee.line(node.output), *node.index)  # a letter of the statement, for its own inputs
        return p.text(line), POWER if line.tensor.name in SQUARED else ATOM
    index = ", ".join(p.text(part) for part in node.index)
    if not index:
        return _applied(p, node), ATOM
    named = node.output != known(node.formula_id).outputs[0].name
    if isinstance(p, Latex) and not (named and "_" in node.output):  # as in a Ref: one subscript, no second
        return rf"{_applied(p, node)}_{{{index}}}", ATOM
    return f"{_applied(p, node)}[{index}]", ATOM


@rule(Pullback, Latex, Unicode)
def _pullback(p: Printer, node: Pullback) -> tuple[str, int]:
    seed, index = p.text(node.seed), ", ".join(p.text(part) for part in node.index)
    letter, call = p.name(node.wrt), _applied(p, node.call, node.wrt)
    items = map(str, known(node.call.formula_id).inputs)
    there = p.text(dict(zip(items, node.call.arguments, strict=False))[node.wrt])
    elsewhere = (
        there != letter
    )  # the derivative by a letter of the formula, where another array stands in its place
    if isinstance(p, Latex):
        slope = rf"\frac{{\partial {call}}}{{\partial {letter}}}"
        slope = rf"\left.{slope}\right|_{{{letter} = {there}}}" if elsewhere else slope
        return (
            rf"\left[\left({slope}\right)^{{\!\top}} {seed}\right]" + (f"_{{{index}}}" if index else ""),
            ATOM,
        )
    at = f" at {letter} = {there}" if elsewhere else ""
    return f"[(∂{call}/∂{letter}{at})ᵀ {seed}]" + (f"[{index}]" if index else ""), ATOM
