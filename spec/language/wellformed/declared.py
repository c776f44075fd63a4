"""What a formula declares besides its lines: inputs, outputs, conventions, constants, and the names in its texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy

from spec.language.arrays import Tensor
from spec.language.convention import INTERMEDIATES, Convention, Pitfall, Source, Worked
from spec.language.lines import Definition, LineChoice
from spec.language.trees import walk
from spec.language.wellformed.letters import IllFormed


def check_declared(formula: Any) -> None:
    """Refuse declarations that are none, or that name what the formula has not.

    Raises:
        IllFormed: naming formula and symbol.
    """
    where = formula.id or "a formula without an ID"
    if not formula.id:
        raise IllFormed(f"{where}: {formula.title!r} needs one, such as subject.name")
    _check_kinds(formula)
    for said, items in (
        ("input", formula.inputs),
        ("output", formula.outputs),
        ("convention", [c.name for c in formula.conventions]),
    ):
        for item in items:
            if list(items).count(item) > 1:
                raise IllFormed(f"{where}: the {said} {item} is declared twice")
    if not formula.outputs and (formula.lines or not formula.auxiliary):
        raise IllFormed(f"{where}: it has no output")
    defined = {line.left.tensor for line in formula.definitions}
    for line in formula.definitions:
        if line.left.tensor in formula.inputs:
            raise IllFormed(f"{where}, line {line.left}: {line.name} is an input, and no line can define it")
    for tensor in formula.outputs:
        if tensor not in defined and tensor.name in {other.name for other in defined}:
            raise IllFormed(
                f"{where}: the output {tensor} has shape {tensor.shape}, unlike the tensor of the lines"
            )
    _check_conventions(formula)
    _check_constants(formula, defined)
    _check_texts(formula)


def _check_kinds(formula: Any) -> None:
    for said, items, kinds in (
        ("inputs", formula.inputs, (Tensor, sympy.Symbol)),
        ("lines", formula.lines, (Definition, LineChoice)),
        ("outputs", formula.outputs, (Tensor,)),
        ("conventions", formula.conventions, (Convention,)),
        ("sources", formula.sources, (Source,)),
        ("pitfalls", formula.pitfalls, (Pitfall,)),
        ("worked", formula.worked, (Worked,)),
    ):
        if not isinstance(items, tuple | list):
            one = f"define({items.left}, …)" if isinstance(items, Definition) else items
            raise IllFormed(f"{formula.id}: its {said} are a tuple, as in ({one},); {one} was given")
        for item in items:
            if not isinstance(item, kinds):
                names = " or ".join(kind.__name__.lower() for kind in kinds)
                raise IllFormed(f"{formula.id}: {item!r} among its {said} is no {names}")


def _check_conventions(formula: Any) -> None:
    for convention in formula.conventions:
        where, options = f"{formula.id}, convention {convention.name}", convention.options
        if convention.name == "intermediates":
            raise IllFormed(f"{where}: every formula has a convention of this name already")
        for option in (convention.default, *convention.absent):
            if option not in options:
                raise IllFormed(f"{where}: {option!r} is no option; it has: {', '.join(options)}")
    if formula.intermediates not in INTERMEDIATES.options:
        raise IllFormed(
            f"{formula.id}: intermediates is one of {', '.join(INTERMEDIATES.options)}; {formula.intermediates!r} was given"
        )


def _check_constants(formula: Any, defined: set[Tensor]) -> None:
    for tensor, value in formula.constants.items():
        if not isinstance(tensor, Tensor) or tensor.role != "constant":
            raise IllFormed(f"{formula.id}: {tensor!r} has a value, but is no constant")
        if not any(tensor in set(walk(line.right)) for line in formula.definitions):
            raise IllFormed(f"{formula.id}: no line uses the constant {tensor}")
        exact = None if isinstance(value, str | float) else sympy.sympify(value)
        if exact is None or not exact.is_Rational:
            raise IllFormed(f"{formula.id}: the constant {tensor} is an exact number; {value!r} was given")
        if (tensor.domain == "positive" and exact <= 0) or (tensor.domain == "nonnegative" and exact < 0):
            raise IllFormed(f"{formula.id}: the constant {tensor} is {tensor.domain}; {value} was given")


def _check_texts(formula: Any) -> None:
    _known(formula, "stored names the line", formula.stored, sorted(_lines(formula)))
    inputs = [str(item) for item in formula.inputs]
    lines = [line.name for line in formula.definitions]
    conventions = [c.name for c in formula.conventions]
    for pitfall in formula.pitfalls:
        if pitfall.convention:
            _known(formula, "a pitfall names the convention", (pitfall.convention,), conventions)
    for worked in formula.worked:
        _known(formula, "a worked example gives the input", worked.inputs, inputs)
        if worked.output:
            _known(formula, "a worked example is of the line", (worked.output,), lines)


def _lines(formula: Any) -> set[str]:
    """The names of its lines, and of those of the formulas that it applies."""
    return {line.name for line in formula.definitions}.union(*(_lines(callee) for callee in formula.applied))


def _known(formula: Any, said: str, names: Iterable[str], has: list[str]) -> None:
    for name in names:
        if name not in has:
            raise IllFormed(f"{formula.id}: {said} {name!r}; the formula has: {', '.join(has) or 'none'}")
