"""The registry: every formula by its permanent ID, found without importing the others."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from spec.language import own
from spec.language.formula import Formula
from spec.language.known import list_registered
from spec.language.procedure import Procedure
from spec.language.wellformed.later import later
from spec.language.wellformed.letters import IllFormed

SUBJECTS = (
    "similarity",
    "embedding",
    "recurrent",
    "scores",
    "attention",
    "positional",
    "normalization",
    "activation",
    "feedforward",
    "transformer",
    "bert",
    "gpt",
    "llama",
    "transformer_xl",
    "xlnet",
    "evoformer",
    "vision",
    "masking",
    "objectives",
    "routing",
    "decoding",
    "optimization",
    "scaling",
)
"""The subjects, in the order in which they are read: packages of ``spec``, with one module for each formula."""
HOME = Path(__file__).parents[1]
"""The folder of the subjects."""


CLOSE = 12
"""So many IDs are offered for a part of one."""


class UnknownFormula(LookupError):  # noqa: N818  (a name for what the user typed, not for a fault)
    """No formula has this ID."""

    def __str__(self) -> str:
        return str(self.args[0])


@cache
def ids() -> tuple[str, ...]:
    """Every ID, in reading order: the subjects' own lists (``FORMULAS`` of each package). No formula is imported."""
    return tuple(
        f"{subject}.{name}" for subject in SUBJECTS for name in import_module(f"spec.{subject}").FORMULAS
    )


def find(formula_id: str) -> Formula:
    """The formula with this ID; its module and those of the formulas that it applies are imported, no others.

    One in a file of a user's is named by where it is, ``my_spec.py:rms_gate`` (:mod:`spec.language.own`); once it was read, its
    ID is known, too.

    Raises:
        UnknownFormula: naming the closest IDs, or saying what is wrong with the file.
    """
    address = formula_id if own.is_address(formula_id) else own.address_of(formula_id)
    if address is None:
        found = _find(formula_id)
        found.waiting.catch_up()
        return found
    try:
        return own.formula_at(address, ids())
    except own.Unreadable as error:
        raise UnknownFormula(str(error)) from None


@cache
def _find(formula_id: str) -> Formula:
    if formula_id not in ids():
        known = (*ids(), *procedure_ids())
        if formula_id in known:
            raise UnknownFormula(f"{formula_id} is a procedure: it has no formula, and nothing to evaluate")
        parts = [i for i in known if formula_id in i]
        close = get_close_matches(formula_id, known, n=3) or parts[: CLOSE * (len(parts) < len(known))]
        hint = f"; did you mean {' or '.join(close)}?" if close else f"; known: {', '.join(known)}"
        raise UnknownFormula(f"no formula has the ID {formula_id!r}{hint}")
    with later():  # those of the formulas that it applies, until they are read
        module = _import_statement(formula_id)
    for value in vars(module).values():
        if isinstance(value, Formula) and value.id == formula_id:
            return value
    raise UnknownFormula(f"spec.{formula_id} states no formula with the ID {formula_id!r}")


def _import_statement(statement_id: str) -> ModuleType:
    """The module of one of our statements.

    Raises:
        IllFormed: a mistake in it, or in one that it imports; one line that names file and line.
    """
    before = set(list_registered())
    try:
        return import_module(f"spec.{statement_id}")
    except ModuleNotFoundError:  # what we need is not installed
        raise
    except Exception as error:
        own.forget_refused(before)
        path = _at_fault(error)
        if path is None:
            raise
        shown = f"spec/{path.relative_to(HOME).as_posix()}"
        raise IllFormed(own.describe_mistake(error, path, shown)) from error


def _at_fault(error: Exception) -> Path | None:
    """The innermost file of statements in which something went wrong; None if it was none of these."""
    if isinstance(error, SyntaxError) and error.filename:
        return Path(error.filename) if Path(error.filename).is_relative_to(HOME) else None
    files = [Path(frame.filename) for frame in extract_tb(error.__traceback__)]
    ours = [file for file in files if file.is_relative_to(HOME)]
    stated = [file for file in ours if file.relative_to(HOME).parts[0] in SUBJECTS]
    return stated[-1] if stated else None


def formulas() -> Mapping[str, Formula]:
    """All formulas by ID, in the order in which they are read."""
    found = _formulas()
    for formula in found.values():
        formula.waiting.catch_up()
    return found


@cache
def _formulas() -> Mapping[str, Formula]:
    return {formula_id: _find(formula_id) for formula_id in ids()}


@cache
def procedure_ids() -> tuple[str, ...]:
    """The IDs of procedures, in reading order (``PROCEDURES`` of each package that has any). None is imported."""
    return tuple(
        f"{subject}.{name}"
        for subject in SUBJECTS
        for name in getattr(import_module(f"spec.{subject}"), "PROCEDURES", ())
    )


@cache
def procedures() -> Mapping[str, Procedure]:
    """All procedures by ID, in the order in which they are read."""
    return {
        procedure_id: next(
            value
            for value in vars(_import_statement(procedure_id)).values()
            if isinstance(value, Procedure) and value.id == procedure_id
        )
        for procedure_id in procedure_ids()
    }


@cache
def statement_ids() -> tuple[str, ...]:
    """The IDs of formulas and procedures, subject by subject."""
    every = (*ids(), *procedure_ids())
    return tuple(name for subject in SUBJECTS for name in every if name.split(".")[0] == subject)


def statement(statement_id: str) -> Formula | Procedure:
    """The formula or the procedure with this ID.

    Raises:
        UnknownFormula: naming the closest IDs.
    """
    return procedures()[statement_id] if statement_id in procedure_ids() else find(statement_id)
