"""Formulas: declared inputs, numbered definitions, outputs, conventions, reasons, sources; and their theorems."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, reduce
from typing import Any

import sympy

from spec.language.arrays import Tensor
from spec.language.calls import Applied, Call, argument
from spec.language.convention import (
    INTERMEDIATES,
    Convention,
    Pitfall,
    Reference,
    Source,
    Worked,
    choose,
    pitfall,
)
from spec.language.expr import Node, Ref, lift
from spec.language.flatten import Flat, flatten
from spec.language.known import add, get_formula
from spec.language.law import Law
from spec.language.lines import Definition, LineChoice, define
from spec.language.theorem import Claim, Theorem, drop_fixed_indices
from spec.language.trees import walk
from spec.language.wellformed.formulas import check_formula
from spec.language.wellformed.later import Waiting, examination
from spec.language.wellformed.letters import IllFormed
from spec.language.wellformed.theorems import check_abbreviation


def data(name: str, *shape: Any, domain: str = "real", below: Any = 0, meaning: str = "") -> Tensor:
    """An input that may carry leading batch dimensions."""
    return Tensor(name, shape, domain, "data", below, meaning)


def parameter(name: str, *shape: Any, domain: str = "real", below: Any = 0, meaning: str = "") -> Tensor:
    """An input without batch dimensions: a weight, gain, bias or table."""
    return Tensor(name, shape, domain, "parameter", below, meaning)


def optional_mask(name: str, *shape: Any, meaning: str = "") -> Tensor:
    """An optional boolean input; absent means all True, unless the chosen conventions say otherwise."""
    return Tensor(name, shape, "boolean", "mask", meaning=meaning)


def number(name: str, domain: str = "real", below: Any = 0, meaning: str = "") -> Tensor:
    """An input that is a Python number."""
    return Tensor(name, (), domain, "number", below, meaning)


def constant(name: str, domain: str = "positive", meaning: str = "") -> Tensor:
    """A number that the statement fixes; its value stands in the formula's ``constants``."""
    return Tensor(name, (), domain, "constant", meaning=meaning)


def tensor(name: str, *shape: Any, domain: str = "real", meaning: str = "") -> Tensor:
    """A tensor that a line of the formula defines."""
    return Tensor(name, shape, domain, "internal", meaning=meaning)


def parameters(formula: Formula) -> Node:
    """How many numbers the parameters of a formula hold: the sum of their declared sizes, as they stand."""
    shapes = (part.shape for part in formula.tensors if part.role == "parameter")
    return reduce(operator.add, (reduce(operator.mul, map(lift, shape)) for shape in shapes))


@dataclass(frozen=True, eq=False)
class Formula:
    """One symbolic statement, from which everything else is derived.

    ``inputs`` are tensors in declared order, or size symbols (passed as Python integers). ``stored`` names the lines that an
    implementation may hold in the storage type even when it accumulates in a wider one. ``constants`` gives the values of
    tensors with role ``constant``. ``why`` is the question that it answers; ``sizes`` says what each size counts.
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
    why: str = ""
    sizes: Mapping[sympy.Symbol, str] = field(default_factory=dict)
    pitfalls: tuple[Pitfall, ...] = ()
    abbreviations: dict[str, Definition] = field(default_factory=dict)
    waiting: Waiting = field(default_factory=Waiting, repr=False)
    _theorems: dict[str, Theorem] = field(default_factory=dict, repr=False)
    _flat: dict[Any, Flat] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check_formula(self)
        add(self)

    def __call__(self, *arguments: Any) -> Applied:
        """The formula applied inside a statement; index the result. A missing trailing mask is absent."""
        given = list(arguments)
        while len(given) < len(self.inputs) and self.is_mask(self.inputs[len(given)]):
            given.append(None)
        if len(given) != len(self.inputs):
            names = ", ".join(str(i) for i in self.inputs)
            raise ValueError(f"{self.id} takes ({names}); {len(arguments)} arguments were given")
        return Applied(self.id, self.outputs[0].name, tuple(map(argument, given, self.inputs)))

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
        return choose(self.id, self._conventions_by_name, conventions)

    @property
    def theorems(self) -> Mapping[str, Theorem]:
        """What is claimed about this formula, by name.

        Raises:
            IllFormed: a theorem, not examined so far, is not well formed.
        """
        self.waiting.catch_up()
        return self._theorems

    @cached_property
    def _conventions_by_name(self) -> tuple[Convention, ...]:
        """The conventions that can be chosen."""
        return (*self.conventions, replace(INTERMEDIATES, default=self.intermediates))

    def flat(self, conventions: Mapping[str, str] | None = None) -> Flat:
        """The primitive lines of this formula under a choice of conventions: calls inlined, choices made."""
        chosen = self.choose(conventions)
        key = tuple(sorted(chosen.items()))
        if key not in self._flat:
            self._flat[key] = flatten(self, chosen)
        return self._flat[key]

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """All lines as written, those of every option of a choice included."""
        return tuple(
            line
            for item in self.lines
            for group in (item.options.values() if isinstance(item, LineChoice) else ((item,),))
            for line in group
        )

    def line(self, name: str) -> Tensor:
        """The tensor of this name that the lines define.

        Raises:
            ValueError: no line defines it; it names those that are.
        """
        for tensor in (*self.outputs, *(line.left.tensor for line in self.definitions)):
            if tensor.name == name:
                return tensor
        defined = ", ".join(dict.fromkeys(line.name for line in self.definitions))
        raise ValueError(f"{self.id} defines no {name!r}; its lines define: {defined}")

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """The inputs that are tensors (everything but sizes)."""
        return tuple(i for i in self.inputs if isinstance(i, Tensor))

    @cached_property
    def applied(self) -> tuple[Formula, ...]:
        """The formulas that its lines apply, in order of appearance, each with those of no page of their own that it applies."""
        found: dict[str, Formula] = {}
        for line in self.definitions:
            for part in walk(line.right):
                if isinstance(part, Call) and part.formula_id not in found:
                    callee = found[part.formula_id] = get_formula(part.formula_id)
                    if callee.auxiliary:
                        found |= {f.id: f for f in callee.applied}
        return tuple(found.values())

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the statement, so that evidence recorded for another statement is recognised as stale."""
        parts = [self.id, *(f"{c.name} {list(c.options)} {c.default}" for c in self.conventions)]
        parts += [f"{item} {item.shape} {item.domain} {item.below}" for item in self.tensors]
        for item in self.lines:
            options = item.options.items() if isinstance(item, LineChoice) else (("", (item,)),)
            for choice, lines in options:
                parts += [
                    f"{choice} {sympy.srepr(line.left)} {sympy.srepr(line.right)} {line.ranges} {line.accumulate}"
                    for line in lines
                ]
        parts += [callee.fingerprint for callee in self.applied]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def let(self, left: Ref | Tensor, right: Any, *spans: Any) -> None:
        """An abbreviation that the theorems about this formula may use, ``let(xhat[i], (x[i] - mu) / sqrt(var + eps))``."""
        line = define(left, right, *spans)
        if line.name in self.abbreviations:
            raise ValueError(f"{self.id}: {line.name} already abbreviates something")
        check_abbreviation(self, line)
        self.abbreviations[line.name] = line

    def theorem(
        self, name: str, title: str, *claims: Claim, given: Any = (), sizes: Any = None, **stated: Any
    ) -> Theorem:
        """A theorem about this formula: a name, a sentence, its claims with their proofs; see :class:`Theorem` for the rest.

        Raises:
            ValueError: a second theorem of this name, or one that is not well formed.
        """
        where, listed = f"{self.id}, {name}", {"given": given, "assuming": stated.pop("assuming", ())}
        for said, items in listed.items():
            listed[said] = (items,) if isinstance(items, Tensor | Node) else items
            if not isinstance(listed[said], tuple | list):
                raise IllFormed(f"{where}: {said} takes one, or a tuple of them; {items!r} was given")
        for item in listed["given"]:
            if not isinstance(item, Tensor):
                raise IllFormed(f"{where}: given are tensors, as given('u', n) makes them; {item!r} is none")
        offered = {field.name for field in fields(Theorem)}
        for said in stated:
            if said not in offered:
                raise IllFormed(
                    f"{where}: a theorem has no {said}; it may have: {', '.join(sorted(offered))}"
                )
        sizes = {size: sympy.sympify(value) for size, value in (sizes or {}).items()}
        for number, c in enumerate(claims, 1):
            if not isinstance(c, Claim):
                raise TypeError(f"{where}: claim {number} is none: write claim(left, relation, right)")
        made = tuple(drop_fixed_indices(c) for c in claims)
        assumed = tuple(map(lift, listed["assuming"]))
        return self.prove(Theorem(name, title, made, tuple(listed["given"]), sizes, assumed, **stated))

    def prove(self, theorem: Theorem) -> Theorem:
        """Attach a theorem about this formula."""
        if theorem.name in self._theorems:
            raise ValueError(f"{self.id} already has a theorem {theorem.name}")
        self.waiting.examine(examination(self, theorem))
        self._theorems[theorem.name] = theorem
        return theorem


__all__ = [
    "Formula", "Pitfall", "Reference", "Source", "Worked", "constant", "data", "number", "optional_mask", "parameter",
    "parameters", "pitfall", "tensor",
]  # fmt: skip
