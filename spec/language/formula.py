"""Formulas: declared inputs, numbered definitions, outputs, conventions, sources; and their flattening to primitive lines."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import sympy
from sympy.core.basic import Basic

from spec.language.calls import Applied, argument
from spec.language.expr import Node, Ref, Tensor, free_symbols, lift

if TYPE_CHECKING:
    from spec.language.flatten import Flat
    from spec.language.law import Law
    from spec.language.theorem import Theorem

Span = tuple[sympy.Expr, sympy.Expr]
"""First and last value of an index, both included."""


def data(name: str, *shape: Any, domain: str = "real", below: Any = 0) -> Tensor:
    """An input that may carry leading batch dimensions."""
    return Tensor(name, shape, domain, "data", below)


def parameter(name: str, *shape: Any, domain: str = "real") -> Tensor:
    """An input without batch dimensions: a weight, gain, bias or table."""
    return Tensor(name, shape, domain, "parameter")


def optional_mask(name: str, *shape: Any) -> Tensor:
    """An optional boolean input; absent means all True, unless the chosen conventions say otherwise."""
    return Tensor(name, shape, "boolean", "mask")


def number(name: str, domain: str = "real", below: Any = 0) -> Tensor:
    """An input that is a Python number."""
    return Tensor(name, (), domain, "number", below)


def tensor(name: str, *shape: Any, domain: str = "real") -> Tensor:
    """A tensor that a line of the formula defines."""
    return Tensor(name, shape, domain, "internal")


@dataclass(frozen=True)
class Definition:
    """One numbered line: ``left[indices] = right`` for the indices' ranges.

    A left index is a symbol, or any expression of symbols (``2*i``): then the line defines the entries it reaches. With
    ``accumulate`` the line adds to its entries instead (derivatives are written so); entries no line reaches are 0.
    """

    left: Ref
    right: Node
    ranges: tuple[tuple[sympy.Symbol, sympy.Expr, sympy.Expr], ...]
    accumulate: bool = False

    @property
    def name(self) -> str:
        """The tensor it defines."""
        return self.left.tensor.name

    @property
    def spans(self) -> dict[sympy.Symbol, Span]:
        """The range of each index."""
        return {symbol: (first, last) for symbol, first, last in self.ranges}


def define(left: Ref | Tensor, right: Any, **ranges: tuple[Any, Any]) -> Definition:
    """The line ``left = right``; an index that stands alone on the left runs over its axis, others over ``ranges``."""
    left = left.value if isinstance(left, Tensor) else left
    spans: dict[sympy.Symbol, Span] = {}
    for part, size in zip(left.index, left.tensor.shape, strict=True):
        if isinstance(part, sympy.Symbol) and not part.is_positive:  # a size is one place: B[T, c]
            spans[part] = (sympy.S.Zero, size - 1)
    symbols = {s.name: s for part in left.index for s in free_symbols(part)}
    for name, (first, last) in ranges.items():
        if name not in symbols:
            raise ValueError(
                f"{left}: the range of {name} was given, but {name} is no index of the left side"
            )
        spans[symbols[name]] = (sympy.sympify(first), sympy.sympify(last))
    return Definition(left, lift(right), tuple((s, *span) for s, span in spans.items()))


@dataclass(frozen=True)
class LineChoice:
    """Alternative groups of lines, picked by a convention."""

    convention: str
    options: Mapping[str, tuple[Definition, ...]]


def lines_by_convention(name: str, /, **options: tuple[Definition, ...]) -> LineChoice:
    """Groups of lines of which a convention picks one."""
    return LineChoice(name, options)


@dataclass(frozen=True)
class Convention:
    """A point where the world legitimately differs: a name, its options with a sentence each, and ours.

    ``absent`` tells, by option, what an optional mask that is not given stands for: True everywhere if not said.
    """

    name: str
    options: Mapping[str, str]
    default: str
    absent: Mapping[str, bool] = field(default_factory=dict)


INTERMEDIATES = Convention(
    "intermediates",
    {
        "accumulate": "arithmetic runs in the accumulation type; only outputs and stored lines are rounded to the storage type",
        "storage": "every operation rounds to the storage type",
    },
    "accumulate",
)


@dataclass(frozen=True)
class Source:
    """Where a formula comes from: a lecture deck (S0 … S4) or a paper."""

    kind: str
    where: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.where}, {self.detail}" if self.detail else self.where


def deck(number: int, detail: str) -> Source:
    """A slide of lecture deck S0 … S4."""
    return Source("deck", f"S{number}", detail)


def paper(where: str, detail: str = "") -> Source:
    """A publication."""
    return Source("paper", where, detail)


@dataclass(frozen=True)
class Worked:
    """Numbers printed in a source: inputs, the outputs they give, and how many decimals were printed."""

    title: str
    inputs: Mapping[str, Any]
    expected: Any
    decimals: int
    source: Source


_KNOWN: dict[str, Formula] = {}


def known(formula_id: str) -> Formula:
    """The formula with this ID, among all that have been constructed."""
    return _KNOWN[formula_id]


def registered() -> list[str]:
    """The IDs of all formulas that have been constructed, those of tests apart."""
    return [formula_id for formula_id in _KNOWN if not formula_id.startswith("test.")]


def forget(formula_id: str) -> None:
    """Drop a formula that was constructed for a single evaluation."""
    _KNOWN.pop(formula_id, None)


@dataclass(frozen=True, eq=False)
class Formula:
    """One symbolic statement, from which everything else is derived.

    ``inputs`` are tensors in declared order, or size symbols (passed as Python integers). ``stored`` names the lines that an
    implementation may hold in the storage type even when it accumulates in a wider one. ``constants`` gives the values of
    tensors with role ``constant``.
    """

    id: str
    title: str
    inputs: tuple[Tensor | sympy.Symbol, ...]
    lines: tuple[Definition | LineChoice, ...]
    outputs: tuple[Tensor, ...]
    conventions: tuple[Convention, ...] = ()
    constants: Mapping[Tensor, Any] = field(default_factory=dict)
    stored: tuple[str, ...] = ()
    intermediates: str = "accumulate"
    sources: tuple[Source, ...] = ()
    worked: tuple[Worked, ...] = ()
    notes: str = ""
    auxiliary: bool = False
    law: Law | None = None
    theorems: dict[str, Theorem] = field(default_factory=dict)
    _flat: dict[Any, Flat] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        _KNOWN[self.id] = self

    def __call__(self, *arguments: Any) -> Applied:
        """The formula applied inside a statement; index the result. A missing trailing mask is absent."""
        given = list(arguments)
        while len(given) < len(self.inputs) and self.is_mask(self.inputs[len(given)]):
            given.append(None)
        if len(given) != len(self.inputs):
            names = ", ".join(str(i) for i in self.inputs)
            raise ValueError(f"{self.id} takes ({names}); {len(arguments)} arguments were given")
        return Applied(self.id, self.outputs[0].name, tuple(argument(a) for a in given))

    @staticmethod
    def is_mask(item: Tensor | sympy.Symbol) -> bool:
        """Whether an input is the optional mask."""
        return isinstance(item, Tensor) and item.role == "mask"

    def absent(self, conventions: Mapping[str, str] | None = None) -> bool:
        """What an optional mask that is not given stands for, everywhere."""
        chosen = self.choose(conventions)
        return all(c.absent.get(chosen[c.name], True) for c in self.conventions)

    @property
    def module(self) -> str:
        """The subject: ``attention`` of ``attention.softmax``."""
        return self.id.split(".")[0]

    def choose(self, conventions: Mapping[str, str] | None = None) -> dict[str, str]:
        """The full choice of conventions, defaults filled in.

        Raises:
            ValueError: an unknown convention or option, named with what is known.
        """
        offered = {c.name: c for c in (*self.conventions, replace(INTERMEDIATES, default=self.intermediates))}
        for name, option in (conventions or {}).items():
            if name not in offered:
                raise ValueError(f"{self.id} has no convention {name!r}; it has: {', '.join(offered)}")
            if option not in offered[name].options:
                raise ValueError(
                    f"{self.id}: convention {name} is one of {', '.join(offered[name].options)}; {option!r} was given"
                )
        return {name: (conventions or {}).get(name, c.default) for name, c in offered.items()}

    def flat(self, conventions: Mapping[str, str] | None = None) -> Flat:
        """The primitive lines of this formula under a choice of conventions: calls inlined, choices made."""
        from spec.language.flatten import flatten

        chosen = self.choose(conventions)
        key = tuple(sorted(chosen.items()))
        if key not in self._flat:
            self._flat[key] = flatten(self, chosen)
        return self._flat[key]

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """The inputs that are tensors (everything but sizes)."""
        return tuple(i for i in self.inputs if isinstance(i, Tensor))

    @cached_property
    def applied(self) -> tuple[Formula, ...]:
        """The formulas that its lines apply, in order of appearance, each with those of no page of their own that it applies."""
        from spec.language.calls import Call
        from spec.language.expr import walk

        found: dict[str, Formula] = {}
        for item in self.lines:
            groups = item.options.values() if isinstance(item, LineChoice) else ((item,),)
            for part in (part for group in groups for line in group for part in walk(line.right)):
                if isinstance(part, Call) and part.formula_id not in found:
                    callee = found[part.formula_id] = known(part.formula_id)
                    if callee.auxiliary:
                        found |= {f.id: f for f in callee.applied}
        return tuple(found.values())

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the statement, so that evidence recorded for another statement is recognised as stale."""
        parts: list[str] = [self.id]
        for options in _all_choices(self.conventions):
            flat = self.flat(options)
            parts += [
                sympy.srepr(line.left) + sympy.srepr(line.right) + repr(line.ranges) for line in flat.lines
            ]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def prove(self, theorem: Theorem) -> Theorem:
        """Attach a theorem about this formula."""
        if theorem.name in self.theorems:
            raise ValueError(f"{self.id} already has a theorem {theorem.name}")
        self.theorems[theorem.name] = theorem
        return theorem


def _all_choices(conventions: Iterable[Convention]) -> Iterable[dict[str, str]]:
    choices: list[dict[str, str]] = [{}]
    for convention in conventions:
        choices = [{**c, convention.name: option} for c in choices for option in convention.options]
    return choices


def dependencies(lines: Iterable[Definition]) -> dict[str, set[str]]:
    """For each tensor that lines define, the tensors it is defined from."""
    from spec.language.expr import refs

    graph: dict[str, set[str]] = {}
    for line in lines:
        used: set[str] = {r.tensor.name for r in refs(line.right)}
        for part in line.left.index:
            used |= {r.tensor.name for r in refs(part)} if isinstance(part, Basic) else set()
        graph.setdefault(line.name, set()).update(used)
    return graph
