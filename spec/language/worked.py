"""Worked examples: numbers worked out by hand, or printed in a source, recomputed as balls."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import flint
import numpy as np
import sympy

from spec.language.arrays import Tensor
from spec.language.evaluation.evaluate import enclose
from spec.language.formula import Formula, Worked


def ball(value: Any) -> Any:
    """An exact expression, such as ``2``, ``"6/7"``, ``"2*sqrt(3)"`` or ``"log(4)"``, as a ball."""
    expr = sympy.sympify(value)
    if expr.is_Rational:
        return flint.arb(flint.fmpq(int(expr.p), int(expr.q)))
    if isinstance(expr, sympy.Mul):
        result = flint.arb(1)
        for factor in expr.args:
            result = result * ball(factor)
        return result
    if isinstance(expr, sympy.Pow) and expr.exp == sympy.Rational(1, 2):
        return ball(expr.base).sqrt()
    if isinstance(expr, sympy.log):
        return ball(expr.args[0]).log()
    raise ValueError(
        f"a worked example holds rational numbers, square roots and logarithms; {value!r} was given"
    )


def inputs_of(formula: Formula, worked: Worked) -> dict[str, Any]:
    """The inputs of a worked example, real tensors as balls."""
    found: dict[str, Any] = {}
    for item in formula.inputs:
        if str(item) not in worked.inputs:
            continue
        given = worked.inputs[str(item)]
        if isinstance(item, Tensor) and item.domain in ("real", "positive", "nonnegative", "share"):
            array = np.array(given, dtype=object)
            found[str(item)] = np.array(np.frompyfunc(ball, 1, 1)(array), dtype=object)
        else:
            found[str(item)] = np.array(given) if isinstance(item, Tensor) else given
    return found


def recompute(formula: Formula, worked: Worked) -> list[tuple[Any, Any]]:
    """For each printed number the ball that encloses the true one."""
    flat = formula.flat(worked.conventions)
    wanted = formula.line(worked.output) if worked.output else formula.outputs[0]
    (found,) = enclose(replace(flat, outputs=(wanted,)), inputs_of(formula, worked))
    printed = np.array(worked.expected, dtype=object)
    return list(zip(np.broadcast_to(found, printed.shape).flat, printed.flat, strict=True))


def agrees(found: Any, printed: Any, decimals: int) -> bool:
    """Whether the enclosed number, rounded to so many decimals, is the printed one."""
    value, half = Fraction(Decimal(str(printed))), Fraction(1, 2 * 10**decimals)
    ball_ = flint.arb(flint.fmpq(value.numerator, value.denominator))
    return bool(abs(found - ball_) <= flint.arb(flint.fmpq(half.numerator, half.denominator)))


def difference(formula: Formula, worked: Worked) -> str:
    """The first number of a worked example that does not follow from the statement, in a line; empty if all do."""
    try:
        name, shape = worked.output or formula.outputs[0].name, np.array(worked.expected, dtype=object).shape
        places = product(*map(range, shape))
        for index, (found, said) in zip(places, recompute(formula, worked), strict=True):
            if not agrees(found, said, worked.decimals):
                where = f"{name}[{', '.join(map(str, index))}]" if index else name
                return f"{where} is {float(found.mid()):.{worked.decimals + 2}f}; {said} was worked out"
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # inputs do not fit, or are none
        return " ".join(str(error).split())
    return ""
