"""Names in Python: of letters, and of the functions of all formulas that one applies."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping, Sequence

from spec.language.calls import Call
from spec.language.flatten import own_lines
from spec.language.formula import Formula
from spec.language.known import get_formula
from spec.language.trees import walk

MATH = ("ceil", "cos", "erf", "exp", "log", "pi", "sin", "sqrt", "tanh")
NUMPY = ("array", "nan", "ones", "zeros")
BUILTIN = ("abs", "all", "any", "bool", "int", "len", "max", "range", "reversed", "round", "sum")
TAKEN = frozenset((*keyword.kwlist, "self", *MATH, *NUMPY, *BUILTIN, "sigmoid"))
"""What no name of a statement may be here."""
Applied = tuple[str, tuple[tuple[str, str], ...]]
"""A formula by its ID, with the options chosen."""


def identifier(name: str) -> str:
    """A name of a statement as one of Python."""
    name = re.sub(r"\W", "_", name.replace("'", "_new"))
    return f"{name}_" if name in TAKEN else name


def function_name(formula: Formula) -> str:
    """The name of the function of a formula: the last part of its ID."""
    return identifier(formula.id.split(".")[-1])


def key_of(formula: Formula, conventions: Mapping[str, str] | None) -> Applied:
    """A formula with the options of its own that are chosen."""
    own = {c.name for c in formula.conventions}
    return formula.id, tuple((name, o) for name, o in formula.choose(conventions).items() if name in own)


def called(formula_id: str, chosen: Iterable[tuple[str, str]]) -> Applied:
    """A formula as one that has chosen these options applies it."""
    callee = get_formula(formula_id)
    own = {c.name for c in callee.conventions}
    return key_of(callee, {name: option for name, option in chosen if name in own})


def closure(key: Applied) -> list[Applied]:
    """A formula and all that it applies, each after what it applies itself."""
    found: dict[Applied, None] = {}

    def visit(one: Applied) -> None:
        for line in own_lines(get_formula(one[0]), get_formula(one[0]).choose(dict(one[1]))):
            for part in walk(line.right):
                if isinstance(part, Call) and called(part.formula_id, one[1]) not in found:
                    visit(called(part.formula_id, one[1]))
        found[one] = None

    visit(key)
    return list(found)


def name_functions(keys: Sequence[Applied]) -> dict[Applied, str]:
    """What the functions are called: by the last part of the ID, with the subject before it where that is taken."""
    letters = {identifier(str(item)) for key in keys for item in get_formula(key[0]).inputs}
    letters |= {identifier(line.name) for key in keys for line in get_formula(key[0]).definitions}
    names = {keys[-1]: function_name(get_formula(keys[-1][0]))}
    for key in keys[:-1]:
        name = function_name(get_formula(key[0]))
        taken = letters.union(names.values())
        if name in taken:
            name = identifier(key[0].replace(".", "_"))
        names[key] = free_name(name, taken)
    return names


def free_name(name: str, taken: Iterable[str]) -> str:
    """A name, or the first of it with a number that is not taken."""
    candidate, count = name, 1
    while candidate in taken:
        count += 1
        candidate = f"{name}_{count}"
    return candidate
