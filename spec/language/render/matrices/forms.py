"""The matrix form of a formula, line by line, and in one equation for the top of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from spec.language.arrays import Tensor
from spec.language.formula import Formula
from spec.language.known import get_formula
from spec.language.render.matrices.reading import Equation, NoForm, Reader
from spec.language.render.matrices.terms import (
    Absent,
    Applied,
    Cases,
    Entry,
    Function,
    Open,
    Product,
    Repeated,
    Run,
    Term,
)
from spec.language.render.statements import latex

SHORT, LONG, MOST = 8, 24, 5
"""How many names and numbers one equation of a summary may have, how many all of them; and how many equations there may be."""
FEW = 3
"""So many weights that a formula is handed on are written in a summary, if one of them is a matrix."""


class Written(NamedTuple):
    """An equation in LaTeX, and the range of its indices, which is empty where it has none."""

    equation: str
    ranges: str = ""


def equations(formula: Formula, conventions: Mapping[str, str] | None = None) -> list[Equation]:
    """The lines of a formula as equations; none where a line has no such form, or none is about vectors or matrices."""
    try:
        found = Reader(formula, formula.choose(conventions)).read()
    except NoForm:
        return []
    return found if any(part.axes for one in found for part in one.right.walk()) else []


def matrix_form(formula: Formula, conventions: Mapping[str, str] | None = None) -> list[Written]:
    """The lines of a formula as equations between vectors and matrices, without indices.

    There are none where a line is about single entries, or has a condition on indices that is no mask, or where all that the
    lines say is about numbers. An index that counts matrices or vectors (a head, a step) stays as a subscript, and its range
    follows the equation. A matrix has the capital of the small letter that the statement has for its entries, where no other
    array has it. How the equations are to be read is said in :mod:`spec.language.render.matrices.terms`.
    """
    return [_write(one) for one in equations(formula, conventions)]


def summary(formula: Formula, conventions: Mapping[str, str] | None = None) -> list[Written]:
    """What a formula computes, in one equation, or a few where one would be long: for the top of its page.

    Lines that are used once are put in where they are used. An optional mask is left out, as is the case in which a quotient is
    not defined; a mask that the formula makes itself stays. Of a formula that is applied, what it is given as weights is left
    out where that is much, or gains and biases alone; one without any is written out. A number that a vector is scaled by keeps
    its letter; ranges are not said. None where that is too long, and where there is no matrix form.
    """
    return [_write(one)._replace(ranges="") for one in summarise(formula, conventions)]


def _write(equation: Equation) -> Written:
    parts = []
    for symbol, first, last in equation.ranges:
        below = f"{latex(symbol)} < {latex(last + 1)}"
        parts.append(below if first == 0 else rf"{latex(first)} \le {latex(symbol)} \le {latex(last)}")
    return Written(f"{equation.left.text()} = {equation.right.text()}", r",\ ".join(parts))


# Summaries ----------------------------------------------------------------------------------------------------------------


def summarise(
    formula: Formula, conventions: Mapping[str, str] | None = None, masked: bool = False
) -> list[Equation]:
    """The equations of a summary; with ``masked`` the optional mask is kept."""
    plain = [
        replace(one, right=_simplify(one.right, conventions, masked))
        for one in equations(formula, conventions)
    ]
    outputs = [output.name for output in formula.outputs]
    if not {one.left.tensor.name for one in plain}.issuperset(outputs):
        return []
    for wanted in (outputs, outputs[:1]):
        found = _explained(plain, wanted)
        says = any(not isinstance(one.right, Entry) or one.right.looked_up for one in found)
        if says and len(found) <= MOST and sum(length(one.right) for one in found) <= LONG:
            return found
    found = [one for one in plain if one.left.tensor.name in outputs]
    named = any(isinstance(one.right, Entry | Applied) for one in found)  # says nothing without what it names
    return [] if named or len(found) > FEW or sum(length(one.right) for one in found) > LONG else found


def _explained(plain: Sequence[Equation], wanted: Sequence[str]) -> list[Equation]:
    """The equations of these arrays and of all that they are made of, those that are used once put in where they are used."""
    by_name: dict[str, list[Equation]] = {}
    for one in plain:
        by_name.setdefault(one.left.tensor.name, []).append(one)
    needed, waiting = set(wanted), list(wanted)
    while waiting:
        for one in by_name[waiting.pop()]:
            used = {e.tensor.name for e in _entries(one.right) if e.tensor.name in by_name} - needed
            needed |= used
            waiting += used
    current = {name: list(by_name[name]) for name in by_name if name in needed}
    for name, group in list(current.items()):
        for place, host in enumerate(group if name in current else ()):
            once = [
                entry
                for entry in _entries(host.right)
                if _is_used_once(entry.tensor.name, current, wanted) and _fits(current, host, entry)
            ]
            lines: dict[Term, Term] = {entry: current[entry.tensor.name][0].right for entry in once}
            right = host.right.change(lines.get)
            if lines and length(right) <= SHORT:
                group[place] = replace(host, right=right)
                inserted = {entry.tensor.name for entry in once}
                current = {other: rest for other, rest in current.items() if other not in inserted}
    numbers = {name for name, group in current.items() if not group[0].left.axes and not group[0].ranges}
    shown = [one for name, group in current.items() if name in wanted or name not in numbers for one in group]
    return [one for one in shown if not _renames(one, shown)]


def _is_used_once(name: str, current: Mapping[str, Sequence[Equation]], wanted: Sequence[str]) -> bool:
    """Whether an array that one equation defines, and that is not wanted itself, is named once in all of them."""
    rights = [one.right for group in current.values() for one in group]
    uses = sum(entry.tensor.name == name for right in rights for entry in _entries(right))
    return name not in wanted and len(current.get(name, ())) == 1 == uses


def _fits(current: Mapping[str, Sequence[Equation]], host: Equation, entry: Entry) -> bool:
    """Whether the line that defines an array can stand in another in the array's place."""
    line = current[entry.tensor.name][0]
    if host.left.tensor == entry.tensor or not _same(entry, line.left):
        return False
    if any(isinstance(one, Entry) and one.sliced for one in line.right.walk()):
        return False
    return bool(entry.axes) or length(line.right) <= 2


def _renames(one: Equation, shown: Sequence[Equation]) -> bool:
    """Whether an equation only says what the states of a recurrence are called, or where they begin."""
    used = {
        e.tensor for other in shown for e in _entries(other.right) if other.left.tensor != one.left.tensor
    }
    named = isinstance(one.right, Entry) and len(shown) > 1 and one.left.tensor not in used
    begins = len(one.left.axes) == 1 and len(one.left.places) > 1
    return named and (bool(one.ranges) or begins)


def _same(entry: Entry, left: Entry) -> bool:
    """Whether an entry is all that a line defines; the axes that both leave open have letters of their own."""
    if len(entry.places) != len(left.places):
        return False
    for one, other in zip(entry.places, left.places, strict=True):
        if isinstance(one, Open) != isinstance(other, Open):
            return False
        if isinstance(one, Open) and (one.first is not None or one.places is not None):
            return False
        if not isinstance(one, Open) and one != other:
            return False
    return True


def _entries(term: Term) -> list[Entry]:
    """The arrays that a term names, as they stand in it."""
    if isinstance(term, Entry):
        return [term]
    parts = term.ends if isinstance(term, Run) and term.ends else term.parts
    return [entry for part in parts for entry in _entries(part)]


def length(term: Term) -> int:
    """How many names and numbers a term has."""
    if not term.parts:
        return 0 if isinstance(term, Absent) else 1
    parts = term.ends if isinstance(term, Run) and term.ends else term.parts
    return sum(map(length, parts))


def _simplify(term: Term, conventions: Mapping[str, str] | None, masked: bool) -> Term:
    """A term as a summary has it."""

    def rule(part: Term) -> Term | None:
        if isinstance(part, Cases) and part.otherwise.text() == "0":
            return _simplify(part.then, conventions, masked)
        if not isinstance(part, Applied):
            return None
        arguments = tuple(_simplify(one, conventions, masked) for one in part.arguments)
        if not masked:
            arguments = tuple(Absent(()) if _is_mask(one) else one for one in arguments)
        return _written_out(replace(part, arguments=arguments), conventions) or _without_weights(
            replace(part, arguments=arguments)
        )

    return term.change(rule)


def _is_mask(argument: Term) -> bool:
    of = argument.row if isinstance(argument, Repeated) else argument
    return isinstance(of, Entry) and of.tensor.role == "mask"


def _written_out(part: Applied, conventions: Mapping[str, str] | None) -> Term | None:
    """What a formula without weights of its own says, for what it is given."""
    callee = get_formula(part.formula_id)
    named = {c.name for c in callee.conventions}
    chosen = {name: option for name, option in (conventions or {}).items() if name in named}
    absent = {
        str(item) for item, one in zip(part.items, part.arguments, strict=True) if isinstance(one, Absent)
    }
    has_mask = any(callee.is_mask(item) and str(item) not in absent for item in callee.inputs)
    found = summarise(callee, chosen, masked=has_mask)
    if len(found) != 1 or found[0].left.tensor.name != part.output or part.index or found[0].ranges:
        return None
    inputs = {str(item): one for item, one in zip(part.items, part.arguments, strict=True)}
    right = found[0].right.resize(dict(part.sizes))
    mapped = len(part.axes) > len(found[0].left.axes)
    for one in right.walk():
        if isinstance(one, Entry) and (one.tensor.name not in inputs or one.tensor.role == "parameter"):
            return None
        if isinstance(one, Entry) and not _same(one, replace(one, places=tuple(map(Open, one.axes)))):
            return None
        if (
            mapped
            and isinstance(one, Product | Function)
            and getattr(one, "name", "norm") in {"norm", "square"}
        ):
            return None

    def put_in(one: Term) -> Term | None:
        if not isinstance(one, Entry):
            return None
        given = inputs[one.tensor.name]
        return given.row if isinstance(given, Repeated) else given

    return right.change(put_in)


def _without_weights(part: Applied) -> Term:
    """A formula applied, without the weights that it is given where they are many, or gains and biases alone."""
    weights = [one for item, one in zip(part.items, part.arguments, strict=True) if _is_weight(item)]
    if len(weights) <= FEW and any(len(one.axes) > 1 for one in weights):
        return part
    kept = (
        Absent(()) if _is_weight(item) else one for item, one in zip(part.items, part.arguments, strict=True)
    )
    return replace(part, arguments=tuple(kept))


def _is_weight(item: Any) -> bool:
    return isinstance(item, Tensor) and item.role in {"parameter", "number"}
