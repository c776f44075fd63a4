"""Theorems used in the proofs of others: which one, of which formula, at which arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy.core.basic import Basic

from spec.language.calls import Applied, Call, argument
from spec.language.known import known
from spec.language.trees import free_symbols


@dataclass(frozen=True)
class Cited:
    """A theorem of a formula, used where the formula is applied to arguments.

    ``given`` says by name what it is given there, and what the sizes are that it writes others by.
    """

    name: str
    call: Call
    given: tuple[tuple[str, Basic], ...] = ()

    @property
    def formula(self) -> Any:
        """The formula that it is a theorem of."""
        return known(self.call.formula_id)

    @property
    def theorem(self) -> Any:
        """The theorem."""
        return self.formula.theorems[self.name]

    def __str__(self) -> str:
        return f"{self.call.formula_id}, {self.name}"


def cite(name: str, applied: Applied, given: Mapping[str, Any]) -> Cited:
    """The theorem of this name about a formula, at the arguments that the formula is applied to.

    Raises:
        LookupError: the formula has no theorem of this name so far, or it is given something else.
    """
    call = applied.entry(())
    theorems = known(call.formula_id).theorems
    if name not in theorems:
        raise LookupError(f"{call.formula_id} has no theorem {name!r} that could be cited")
    sizes = set().union(*(free_symbols(size) for size in theorems[name].sizes.values()))
    wanted = [*(tensor.name for tensor in theorems[name].given), *sorted(size.name for size in sizes)]
    if sorted(wanted) != sorted(given):
        listed = ", ".join(wanted), ", ".join(given)
        raise LookupError(
            f"{call.formula_id}, {name} is given ({listed[0]}); it was cited with ({listed[1]})"
        )
    return Cited(name, call, tuple((one, argument(given[one])) for one in wanted))


__all__ = ["Cited", "cite"]
