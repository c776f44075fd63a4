"""Statements as plain Python: a function that does what the lines say, one after the other, in loops over NumPy arrays.

Names are those of the statement. A prime is written out, ``h'`` is ``h_new``; a name that Python needs for itself has an
underscore at its end, ``self_``. A formula that draws gives the probabilities that its lines define, and takes no generator.
Numbers are floats: what leaves their range, as exp(1000) does, is an error or infinite here, and neither in the statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import sympy
from sympy.core.basic import Basic
from sympy.core.containers import Tuple as BasicTuple

from spec.language.arrays import WHOLE, Comprehension, Tensor
from spec.language.binders import Bound
from spec.language.calls import Call
from spec.language.expr import Func, Ref
from spec.language.flatten import own_lines
from spec.language.formula import Formula
from spec.language.known import get_formula
from spec.language.lines import Definition
from spec.language.ordering import Group, arrange
from spec.language.render.python_layout import Assignment, Loop, fit, indented, write_parts
from spec.language.render.python_names import (
    MATH,
    NUMPY,
    TAKEN,
    Applied,
    called,
    closure,
    free_name,
    identifier,
    key_of,
    name_functions,
)
from spec.language.render.python_nodes import (
    Python,
    at_index,
    decimal,
    draws,
    rows,
    shape_of_whole,
    stands_for,
)
from spec.language.trees import free_symbols, refs, transform, walk

SIGMOID = "def sigmoid(x):\n    return 1 / (1 + exp(-x))"


def python(formula: Formula, conventions: Mapping[str, str] | None = None) -> str:
    """The source of one function that computes the outputs of a formula from its inputs, line by line.

    Raises:
        ValueError: lines that refer to one another in a way that no loop follows.
    """
    key = key_of(formula, conventions)
    return _Function(key, name_functions(closure(key))).source()


def program(formula: Formula, conventions: Mapping[str, str] | None = None) -> str:
    """What :func:`python` gives, after all that it calls: imports, then the function of each formula applied.

    Raises:
        ValueError: as :func:`python`.
    """
    keys = closure(key_of(formula, conventions))
    names = name_functions(keys)
    parts = [_Function(key, names).source() for key in keys]
    used = set(re.findall(r"\w+", "\n".join(parts)))
    if "sigmoid" in used:
        parts, used = [SIGMOID, *parts], used | {"exp"}
    modules = [(home, [name for name in known if name in used]) for home, known in _MODULES]
    imports = [f"from {home} import {', '.join(found)}" for home, found in modules if found]
    return "\n\n\n".join((["\n".join(imports)] if imports else []) + parts) + "\n"


_MODULES = (("math", MATH), ("numpy", NUMPY))


class _Function:
    """The function of a formula, as it is being written."""

    def __init__(self, key: Applied, names: Mapping[Applied, str]) -> None:
        self.formula: Formula = get_formula(key[0])
        self.name, self.printer = names[key], Python(key, names)
        lines = _needed(own_lines(self.formula, self.formula.choose(dict(key[1]))), self.formula)
        self.lines = [replace(line, right=transform(line.right, _go_on)) for line in lines]
        self.taken = {identifier(line.name) for line in self.lines} | {*names.values()}
        self.taken |= {identifier(str(item)) for item in self.formula.inputs} | TAKEN
        self.taken |= {identifier(t.name) for t in self.formula.constants}
        parts = (part for line in self.lines for side in (line.left, line.right) for part in walk(side))
        self.taken |= {identifier(part.name) for part in parts if isinstance(part, sympy.Symbol)}

    def source(self) -> str:
        """The function as text."""
        body: list[Assignment | Loop] = []
        lines = dict(zip(map(_read_out, self.lines), self.lines, strict=True))
        for group in arrange(lines):
            body += self.write_group(group, lines, allocate=True)
        given = [self.parameter(item) for item in self.formula.inputs if not draws(item)]
        outputs = ", ".join(self.printer.name(t.name) for t in self.formula.outputs)
        text = [*write_parts(body, 4), *fit(f"return {outputs}", 4)]
        masks = [line for item in self.formula.tensors for line in self.write_mask(item)]
        used = set(re.findall(r"\w+", "\n".join((*text, *masks))))
        head = [*self.write_sizes(used), *self.write_constants(used)]
        return "\n".join(
            (*fit(f"def {self.name}({', '.join(given)}):", 0), *indented(head), *indented(masks), *text)
        )

    def parameter(self, item: Any) -> str:
        """An input as the function takes it."""
        optional = isinstance(item, Tensor) and item.role == "mask"
        return identifier(str(item)) + ("=None" if optional else "")

    def write_mask(self, item: Tensor) -> Iterator[str]:
        """What a mask that is not given stands for, where its entries are read."""
        if item.name in self.printer.filled:
            name = self.printer.name(item.name)
            made = "ones" if stands_for(self.printer.key) else "zeros"
            yield f"if {name} is None:"
            yield f"    {name} = {made}({self.shape(item)}, bool)"

    def write_constants(self, used: set[str]) -> Iterator[str]:
        """The numbers that the statement fixes."""
        for item, value in self.formula.constants.items():
            if self.printer.name(item.name) in used:
                yield f"{self.printer.name(item.name)} = {decimal(sympy.Rational(value))[0]}"

    def write_sizes(self, used: set[str]) -> Iterator[str]:
        """The sizes that are used, read off the shapes of the inputs."""
        known = {item for item in self.formula.inputs if isinstance(item, sympy.Symbol)}
        places: dict[sympy.Symbol, tuple[Tensor, int, Any, Any]] = {}
        axes = [
            (item, axis, sympy.expand(size))
            for item in self.formula.tensors
            if item.role != "mask"
            for axis, size in enumerate(item.shape)
        ]
        axes.sort(key=lambda one: not one[2].is_Symbol)
        for item, axis, size in axes * 2:  # a size may be told by one that comes later
            open_ = [s for s in size.free_symbols if s not in known]
            if len(open_) == 1:
                slope = size.coeff(open_[0])
                places[open_[0]] = (item, axis, slope, sympy.expand(size - slope * open_[0]))
                known.add(open_[0])
        wanted = {s for s in places if identifier(s.name) in used}
        for symbol, (_, _, slope, rest) in reversed(places.items()):
            if symbol in wanted:
                wanted |= (free_symbols(slope) | free_symbols(rest)) & places.keys()
        read: set[Tensor] = set()
        for symbol, (item, axis, slope, rest) in places.items():
            if symbol not in wanted or ((plain := (slope, rest) == (1, 0)) and item in read):
                continue
            name, length = self.printer.name(item.name), len(item.shape)
            if plain and length > 1:
                read.add(item)
                here = {at: s for s, (one, at, *kind) in places.items() if one is item and kind == [1, 0]}
                said = (identifier(here[at].name) if here.get(at) in wanted else "_" for at in range(length))
                yield f"{', '.join(said)} = {name}.shape"
                continue
            value: Any = sympy.Symbol("there")
            value = value - rest if slope == 1 else sympy.floor((value - rest) / slope)
            there = f"{name}.shape[{axis}]" if axis else f"len({name})"
            yield f"{identifier(symbol.name)} = {self.printer.index(value).replace('there', there)}"

    def shape(self, item: Tensor) -> str:
        """The shape of a tensor as an argument."""
        sizes = [self.printer.index(size) for size in item.shape]
        return sizes[0] if len(sizes) == 1 else f"({', '.join(sizes)})"

    def write_group(
        self, group: Group, lines: Mapping[Definition, Definition], allocate: bool = False
    ) -> list[Assignment | Loop]:
        """The lines of a group, as they are in ``lines``; a recurrence as a loop over the index that it steps through."""
        own = {read: lines[read] for read in group.lines if read in lines}
        out: list[Assignment | Loop] = list(self.allocate([*own.values()])) if allocate else []
        if group.step is None:
            return out + [part for line in own.values() for part in self.write_line(line)]
        names = {line.name for line in own}
        fixed: dict[Definition, Definition] = {}
        moving: dict[Definition, Definition] = {}
        for read, line in own.items():
            if not names & {ref.tensor.name for ref in refs(read.right)}:
                out += self.write_line(line)
            else:
                (moving if free_symbols(group.step.of(line)) & line.spans.keys() else fixed)[read] = line
        for inner in arrange(fixed):
            out += self.write_group(inner, fixed)
        return [*out, self.write_steps(group, moving)] if moving else out

    def write_steps(self, group: Group, lines: Mapping[Definition, Definition]) -> Loop:
        """The lines that a recurrence goes through at each step, in a loop.

        Raises:
            ValueError: they do not go through the same values.
        """
        assert group.step is not None
        spans = {(at := group.step.of(line), line.spans.get(at)) for line in lines.values()}
        (step, span), *others = spans
        if others or span is None:
            said = ", ".join(dict.fromkeys(line.name for line in lines))
            raise ValueError(f"{self.formula.id}: no loop steps through the lines of {said} together")
        through = self.printer.range(*span)
        through = through if group.step.ascends else f"reversed({through})"
        loop = Loop(f"for {self.printer.index(step)} in {through}:")
        inside = {
            read: replace(line, ranges=tuple(r for r in line.ranges if r[0] != step))
            for read, line in lines.items()
        }
        for inner in group.body:
            loop.body += self.write_group(inner, inside)
        return loop

    def allocate(self, lines: Sequence[Definition]) -> Iterator[Assignment]:
        """Arrays of zeros, for what is defined entry by entry."""
        for tensor in dict.fromkeys(line.left.tensor for line in lines):
            own = [line for line in lines if line.left.tensor == tensor]
            if tensor.shape and (len(lines) > 1 or len(self.whole(own[0])) < len(tensor.shape)):
                kind = ", bool" if tensor.domain == "boolean" else ", int" if tensor.domain in WHOLE else ""
                yield Assignment(self.printer.name(tensor.name), f"zeros({self.shape(tensor)}{kind})")

    def whole(self, line: Definition) -> tuple[tuple[sympy.Symbol, Any], ...]:
        """The last axes of a line along which both of its sides are taken as arrays: those that nobody wrote, or along which a
        formula is applied.
        """
        calls = [part for part in walk(line.right) if isinstance(part, Call)]
        shape = line.left.tensor.shape
        for count in range(len(line.ranges), 0, -1):
            axes = tuple((symbol, last + 1) for symbol, _, last in line.ranges[-count:])
            symbols = tuple(symbol for symbol, _ in axes)
            wanted = count <= line.rows or any(call.index[-count:] == symbols for call in calls)
            left = line.left.index[-count:] == symbols and shape[-count:] == tuple(size for _, size in axes)
            if wanted and left and rows(line.right, axes) is not None:
                return axes
        return ()

    def write_line(self, line: Definition) -> list[Assignment | Loop]:
        """A line as an assignment, in a loop for each of its indices."""
        axes = self.whole(line)
        right = rows(line.right, axes)
        assert right is not None
        left = at_index(line.left, line.left.index[: len(line.left.index) - len(axes)])
        ranges = line.ranges[: len(line.ranges) - len(axes)]
        before: list[Assignment | Loop] = []
        if ranges:  # what is the same for all indices is worked out once
            moving = {symbol for symbol, *_ in ranges}
            moving |= {one.var for one in walk(right) if isinstance(one, Bound)}
            moving |= {v for one in walk(right) if isinstance(one, Comprehension) for v in one.vars}
            while call := next(
                (c for c in walk(right) if isinstance(c, Call) and not _within(c, moving)), None
            ):
                made = self.made(call)
                before.append(Assignment(made.name, self.printer.text(at_index(call, ()))))
                right = transform(right, partial(_read, call=call, made=made))
        call = right if isinstance(right, Call) and not right.index else None
        target, value = self.printer.text(left), self.printer.text(right)
        inner: Assignment | Loop = Assignment(target, value, call, "+=" if line.accumulate else "=")
        for symbol, first, last in reversed(ranges):
            inner = Loop(f"for {self.printer.index(symbol)} in {self.printer.range(first, last)}:", [inner])
        return [*before, inner]

    def made(self, call: Call) -> Tensor:
        """A name for what a formula gives."""
        name = identifier(call.output)
        if name in self.taken:
            name = f"{self.printer.names[called(call.formula_id, self.printer.key[1])]}_{name}"
        name = free_name(name, self.taken)
        self.taken.add(name)
        return Tensor(name, shape_of_whole(call))


def _needed(lines: Sequence[Definition], formula: Formula) -> list[Definition]:
    """The lines that the outputs are made of: others say what another convention would use."""
    reads: dict[str, set[str]] = {}
    for line in lines:
        named = (ref.tensor.name for side in (line.left, _read_out(line).right) for ref in refs(side))
        reads.setdefault(line.name, set()).update(named)
    needed, waiting = set[str](), {output.name for output in formula.outputs}
    while waiting:
        needed |= waiting
        waiting = {read for name in waiting for read in reads.get(name, ())} - needed
    return [line for line in lines if line.name in needed]


def _go_on(node: Basic) -> Basic | None:
    """What derivatives stop at is the argument itself."""
    return node.args[1] if isinstance(node, Func) and node.name == "stop" else None


def _within(call: Call, symbols: set[sympy.Symbol]) -> bool:
    """Whether what a formula is given depends on some indices."""
    return bool(free_symbols(call.args[2]) & symbols)


def _read(node: Basic, call: Call, made: Tensor) -> Basic | None:
    """An entry of what a formula gives, as an entry of the tensor that holds it."""
    same = isinstance(node, Call) and node.args[:3] == call.args[:3]
    return Ref(made, *node.index) if same else None


def _read_out(line: Definition) -> Definition:
    """A line in which arrays that are given to formulas show as entries, so that it is seen what is read."""
    return replace(line, right=transform(line.right, _entries))


def _entries(node: Basic) -> Basic | None:
    """A formula applied, with arrays given entry by entry."""
    if not isinstance(node, Call):
        return None
    given = (
        a[()] if isinstance(a, Tensor) and a.shape else a.as_node() if isinstance(a, Tensor) else a
        for a in node.arguments
    )
    return Call(*node.args[:2], BasicTuple(*given), node.args[3])
