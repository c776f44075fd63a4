"""From a formula as written to primitive lines: conventions chosen, calls of other formulas inlined, lines in order."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import sympy
from sympy.core.basic import Basic

from spec.language.arrays import Comprehension, Tensor, each
from spec.language.binders import Bound
from spec.language.calls import ABSENT, Call, Pullback, shape_of, unify
from spec.language.evaluation.softmax_groups import SoftmaxGroups
from spec.language.expr import TRUE, Both, Case, Choice, Either, Literal, Node, Not, Ref
from spec.language.known import get_formula
from spec.language.lines import Definition, LineChoice, Span, collect_dependencies
from spec.language.ordering import Group, arrange
from spec.language.trees import free_symbols, fresh, spell_tree, substitute, transform, walk


@dataclass(frozen=True, eq=False)
class Flat:
    """A formula as primitive lines. ``origin`` tells for each defined tensor which formula's line it is.

    ``absent`` is what an optional mask that is not given stands for. Two of them are equal if they are the same object: they are
    kept once made, and what is worked out from one is remembered with it.
    """

    formula_id: str
    inputs: tuple[Tensor | sympy.Symbol, ...]
    lines: tuple[Definition, ...]
    outputs: tuple[Tensor, ...]
    constants: Mapping[str, Any]
    stored: frozenset[str]
    origin: Mapping[str, tuple[str, str]]
    absent: bool = True

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The lines in an order in which they can be evaluated."""
        return arrange(self.lines)

    @cached_property
    def softmax_groups(self) -> SoftmaxGroups:
        """The exponentials that are divided by their own sum."""
        return SoftmaxGroups.of_lines(self.lines)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all that an evaluation reads of it."""
        unnamed: dict[sympy.Dummy, int] = {}
        parts: list[Any] = [self.formula_id, self.absent, sorted(self.stored), sorted(self.constants.items())]
        trees = [*self.inputs, *self.outputs]
        for line in self.lines:
            parts += [line.accumulate, line.part, len(line.ranges)]
            trees += [line.left, line.right, *(part for span in line.ranges for part in span)]
        spelt = (spell_tree(tree, unnamed) for tree in trees)
        return hashlib.sha256("\n".join((*map(str, parts), *spelt)).encode()).hexdigest()

    @cached_property
    def memo(self) -> dict[type, Any]:
        """What was made of the lines and can be used again, by its kind."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """The lines without what was made of them, which cannot be pickled and is made again."""
        return {name: value for name, value in vars(self).items() if name != "memo"}


def apply_conventions(node: Any, conventions: Mapping[str, str]) -> Any:
    """``node`` with every convention's choice made, and conditions that always hold dropped."""

    def rule(part: Basic) -> Basic | None:
        if isinstance(part, Choice):
            options = {str(pair.args[0]): pair.args[1] for pair in part.args[1:]}
            return options[conventions[str(part.args[0])]]
        if isinstance(part, Case) and part.args[0] == TRUE:
            return part.args[1]
        if isinstance(part, Both) and TRUE in part.args:
            return part.args[1] if part.args[0] == TRUE else part.args[0]
        if isinstance(part, Either) and TRUE in part.args:
            return TRUE
        return None

    return transform(node, rule)


def own_lines(formula: Any, conventions: Mapping[str, str]) -> tuple[Definition, ...]:
    """The lines of a formula as written, the choices of the conventions made; calls stand as they are."""
    lines: list[Definition] = []
    for item in formula.lines:
        lines.extend(item.options[conventions[item.convention]] if isinstance(item, LineChoice) else (item,))
    return tuple(replace(line, right=apply_conventions(line.right, conventions)) for line in lines)


def flatten(formula: Any, conventions: Mapping[str, str]) -> Flat:
    """The primitive lines of ``formula`` under a full choice of conventions."""
    return _Flattener(formula, conventions).run()


@dataclass(frozen=True)
class View:
    """Entries of a tensor, by some symbols: an argument that only picks them is read where they stand."""

    symbols: tuple[sympy.Symbol, ...]
    entry: Ref

    def at(self, index: tuple[Any, ...]) -> Ref:
        """The entry where the symbols have these values."""
        return substitute(self.entry, dict(zip(self.symbols, index, strict=True)))


class _Flattener:
    def __init__(self, formula: Any, conventions: Mapping[str, str]) -> None:
        self.formula, self.conventions = formula, conventions
        self.lines: list[Definition] = []
        self.names = {t.name for t in formula.tensors}
        self.names |= {line.name for line in own_lines(formula, conventions)}
        self.constants: dict[str, Any] = {t.name: value for t, value in formula.constants.items()}
        self.names |= self.constants.keys()
        self.stored = set(formula.stored)
        self.origin: dict[str, tuple[str, str]] = {}
        self.inlined: dict[Any, dict[str, Tensor]] = {}

    def run(self) -> Flat:
        for line in own_lines(self.formula, self.conventions):
            right = self.primitive(line.right, line.spans)
            self.lines.append(Definition(line.left, right, line.ranges, line.accumulate))
            self.origin.setdefault(line.name, (self.formula.id, line.name))
        ordered = [line for group in arrange(self.select_needed_lines()) for line in group.lines]
        return Flat(
            self.formula.id,
            self.formula.inputs,
            tuple(ordered),
            self.formula.outputs,
            self.constants,
            frozenset(self.stored),
            self.origin,
            self.formula.absent(self.conventions),
        )

    def select_needed_lines(self) -> list[Definition]:
        """The lines of the formula's own, and those of calls that they are made from."""
        wanted = collect_dependencies(
            self.lines, (line.name for line in own_lines(self.formula, self.conventions))
        )
        return [line for line in self.lines if line.name in wanted]

    def primitive(self, node: Any, scope: Mapping[sympy.Symbol, Span]) -> Any:
        """``node`` with every call replaced by a reference to inlined lines; ``scope`` ranges the indices around it."""
        if isinstance(node, Call):
            index = tuple(self.primitive(part, scope) for part in node.index)
            used = set().union(*(free_symbols(a) for a in node.arguments))
            outer = tuple(symbol for symbol in scope if symbol in used)
            key = (node.formula_id, node.args[2], tuple((symbol, *scope[symbol]) for symbol in outer))
            if key not in self.inlined:
                self.inlined[key] = self.inline(get_formula(node.formula_id), node.arguments, outer, scope)
            return Ref(self.inlined[key][node.output], *outer, *index)
        if isinstance(node, Pullback):
            raise TypeError(f"{self.formula.id}: a derivative can be used in a theorem, not in a line")
        if isinstance(node, Bound):
            inner = {**scope, node.var: (node.first, node.last)}
            body, where = (self.primitive(part, inner) for part in (node.body, node.where))
            return node.func(body, node.var, node.first, node.last, where)
        if not node.args or isinstance(node, Tensor):
            return node
        children = tuple(self.primitive(child, scope) for child in node.args)
        return node if children == node.args else node.func(*children)

    def inline(
        self,
        callee: Any,
        arguments: tuple[Basic, ...],
        outer: tuple[sympy.Symbol, ...],
        scope: Mapping[sympy.Symbol, Span],
    ) -> dict[str, Tensor]:
        """Add the callee's lines, vectorised over the ``outer`` indices its arguments depend on; its outputs' new tensors."""
        wanted = {c.name for c in callee.conventions}
        flat = callee.flat({name: option for name, option in self.conventions.items() if name in wanted})
        arguments = complete_arguments(callee, arguments, flat.absent)
        changes = unify(callee, arguments)
        lead_sizes = tuple(scope[symbol][1] + 1 for symbol in outer)
        spans_lead = tuple(scope[symbol] for symbol in outer)
        symbols = {s for line in flat.lines for s in line.spans}
        symbols |= {part.var for line in flat.lines for part in walk(line.right) if isinstance(part, Bound)}
        lead: list[sympy.Symbol] = []
        for symbol in outer:
            lead.append(fresh(symbol, symbols | set(lead)))
        tensors: dict[str, Tensor | View | Node] = {}
        for item, value in zip(callee.inputs, arguments, strict=True):
            if isinstance(item, Tensor):
                tensors[item.name] = self.bind(item, value, outer, lead_sizes, scope)
        constants = {name: self.constant(name, value) for name, value in flat.constants.items()}
        whole = {str(i) for i, one in zip(callee.inputs, arguments, strict=True) if isinstance(one, Tensor)}
        new = self.rename_tensors(flat, changes, lead_sizes)

        def rebind(part: Basic) -> Basic | None:
            if not isinstance(part, Ref):
                return None
            name = part.tensor.name
            if name in new:
                return Ref(new[name], *lead, *part.index)
            if part.tensor.role == "constant":
                return Ref(Tensor(constants[name], (), part.tensor.domain, "constant"))
            value = tensors.get(name)
            if value is None:
                return None
            if isinstance(value, View):
                return value.at((*lead, *part.index))
            if isinstance(value, Tensor):
                return Ref(value, *part.index) if name in whole else Ref(value, *lead, *part.index)
            return value

        ranges_lead = tuple((s, *span) for s, span in zip(lead, spans_lead, strict=True))
        for line in flat.lines:
            left, right = (transform(substitute(part, changes), rebind) for part in (line.left, line.right))
            ranges = tuple((s, substitute(a, changes), substitute(b, changes)) for s, a, b in line.ranges)
            self.lines.append(
                Definition(
                    left, apply_conventions(right, self.conventions), (*ranges_lead, *ranges), line.accumulate
                )
            )
        return {output.name: new[output.name] for output in flat.outputs}

    def rename_tensors(
        self, flat: Flat, changes: Mapping[Any, Basic], lead_sizes: tuple[sympy.Expr, ...]
    ) -> dict[str, Tensor]:
        """The tensors of a callee's lines under names that are free here, the leading axes added."""
        new: dict[str, Tensor] = {}
        for line in flat.lines:
            if line.name not in new:
                old = line.left.tensor
                shape = tuple(substitute(size, changes) for size in old.shape)
                new[line.name] = Tensor(self.unique(line.name), (*lead_sizes, *shape), old.domain, "internal")
                self.origin[new[line.name].name] = flat.origin[line.name]
                if line.name in flat.stored:
                    self.stored.add(new[line.name].name)
        return new

    def bind(
        self,
        item: Tensor,
        value: Basic,
        outer: tuple[sympy.Symbol, ...],
        lead_sizes: tuple[sympy.Expr, ...],
        scope: Mapping[sympy.Symbol, Span],
    ) -> Tensor | View | Node:
        """What a callee's input becomes: a whole tensor, entries of one, a plain scalar, or a new line holding an array."""
        if value == ABSENT:
            return TRUE
        if isinstance(value, Tensor):
            return value
        if isinstance(value, Ref | Literal) and not outer:
            return value
        vars_, body = (value.vars, value.body) if isinstance(value, Comprehension) else ((), value)
        inner = {symbol: scope[symbol] for symbol in outer}
        inner |= {var: (sympy.S.Zero, size - 1) for var, size in zip(vars_, shape_of(value), strict=True)}
        right = self.primitive(apply_conventions(body, self.conventions), inner)
        if isinstance(right, Ref) and right.tensor.domain == item.domain:
            return View((*outer, *vars_), right)
        target = Tensor(
            self.unique(item.name), (*lead_sizes, *shape_of(value)), item.domain, "internal", item.below
        )
        left = Ref(target, *outer, *vars_)
        self.lines.append(Definition(left, right, tuple((s, *span) for s, span in inner.items())))
        self.origin[target.name] = (self.formula.id, target.name)
        return target

    def constant(self, name: str, value: Any) -> str:
        """The name of a callee's constant here: another one where something else has its name."""
        if name not in self.constants or self.constants[name] != value:
            name = self.unique(name)
            self.constants[name] = value
        return name

    def unique(self, name: str) -> str:
        """``name``, or the first of ``name_2``, ``name_3``… that is free here."""
        candidate, count = name, 1
        while candidate in self.names:
            count += 1
            candidate = f"{name}_{count}"
        self.names.add(candidate)
        return candidate


def complete_arguments(callee: Any, arguments: tuple[Basic, ...], absent: bool) -> tuple[Basic, ...]:
    """The arguments of a call, a mask that is not given written out where its absence does not stand for True everywhere."""
    if absent or ABSENT not in arguments:
        return arguments
    changes = unify(callee, arguments)
    made: list[Basic] = []
    for item, value in zip(callee.inputs, arguments, strict=True):
        if value == ABSENT and isinstance(item, Tensor):
            spans = [
                (sympy.Symbol(f"absent_{axis}", integer=True), substitute(size, changes))
                for axis, size in enumerate(item.shape)
            ]
            value = each(Not(TRUE), *spans)
        made.append(value)
    return tuple(made)
