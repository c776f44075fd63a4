"""What a statement has to be, to mean anything: refused when it is made, in one line that names formula, line and symbol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import sympy
from sympy.core.basic import Basic

from spec.language import expr
from spec.language.arrays import WHOLE, Comprehension, Tensor, listed
from spec.language.binders import Bound, MaxOf, SumOf
from spec.language.calls import ABSENT, Call, Pullback, shape_of, unify
from spec.language.convention import INTERMEDIATES, Convention, Pitfall, Source, Worked
from spec.language.expr import Node, Ref
from spec.language.known import get_formula
from spec.language.lines import Definition, LineChoice, reached
from spec.language.trees import free_symbols, substitute, walk
from spec.language.wellformed import letters, ranges
from spec.language.wellformed.letters import IllFormed, is_condition
from spec.language.wellformed.ranges import SMALL, Scope, Values, number_at, parts, values_of

Place = tuple[str, tuple[int, ...]]
"""An entry of a tensor: its name, and its index in numbers."""


def check_coverage(formula: Any, sizes: set[sympy.Symbol]) -> None:
    """Refuse entries that no line defines or that several do, a tensor that nothing reads, and lines that turn in a circle.

    Raises:
        IllFormed: naming formula and line, and sizes at which an entry shows it.
    """
    for group in _choose_lines(formula):
        for turn in SMALL:
            at = {size: turn[k % len(turn)] for k, size in enumerate(sorted(sizes, key=str))}
            missing = {}
            for name in dict.fromkeys(line.name for line in group):
                lines = [line for line in group if line.name == name]
                places = _find_missing(formula, lines, at)
                if places:
                    missing[lines[0].left.tensor] = places
            if not formula.auxiliary:  # entries that no line defines are 0, which a page would have to say
                _check_missing(formula, group, missing, at)
        _check_order(formula, group, sizes)
    read = {part for line in formula.definitions for part in walk(line.right) if isinstance(part, Tensor)}
    for line in formula.definitions:
        if line.left.tensor not in read | {*formula.outputs} and formula.law is None:
            raise IllFormed(f"{formula.id}, line {line.left}: nothing reads {line.name}, and it is no output")


def _choose_lines(formula: Any) -> Iterator[tuple[Definition, ...]]:
    """The lines under each choice of the conventions that pick lines."""
    options: dict[str, list[str]] = {}
    for item in formula.lines:
        if isinstance(item, LineChoice):
            options[item.convention] = list(item.options)
    for picked in product(*options.values()):
        choice = dict(zip(options, picked, strict=True))
        yield tuple(
            line
            for item in formula.lines
            for line in (item.options[choice[item.convention]] if isinstance(item, LineChoice) else (item,))
        )


def _find_missing(formula: Any, lines: list[Definition], sizes: Values) -> list[Place]:
    """The entries of a tensor that none of its lines defines; one that several define is refused."""
    if any(line.accumulate for line in lines):
        return []
    tensor, found = lines[0].left.tensor, Counter[Any]()
    for line in lines:
        for values in values_of(line.spans.items(), sizes):
            found[tuple(number_at(part, {**sizes, **values}) for part in line.left.index)] += 1
    if any(None in at for at in found):
        return []  # a line for the entries that a look-up names
    for at, count in found.items():
        if count > 1:
            said = "more than one line defines" if len(lines) > 1 else "the line defines more than once"
            entry = f"{_format_place((tensor.name, at))}{_at(sizes)}"
            raise IllFormed(f"{formula.id}, line {lines[-1].left}: {said} {entry}")
    every = product(*(range(number_at(size, sizes) or 0) for size in tensor.shape))
    return [(tensor.name, at) for at in every if not found[at]]


def _check_missing(
    formula: Any, group: tuple[Definition, ...], missing: dict[Tensor, list[Place]], sizes: Values
) -> None:
    """Refuse entries that no line defines where they are returned or read."""
    for tensor, places in missing.items():
        if tensor in formula.outputs:
            raise IllFormed(
                f"{formula.id}: no line defines {_format_place(places[0])}{_at(sizes)} of the output {tensor}"
            )
        for line in group:
            for _, read in _reads(line, {tensor.name}, sizes):
                if read in places:
                    raise IllFormed(
                        f"{formula.id}, line {line.left}: it reads {_format_place(read)}{_at(sizes)}, which no line defines"
                    )


def _format_place(place: Place) -> str:
    name, index = place
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def _at(sizes: Values) -> str:
    return f" ({', '.join(f'{size} = {value}' for size, value in sizes.items())})" if sizes else ""


def _check_order(formula: Any, lines: tuple[Definition, ...], sizes: set[sympy.Symbol]) -> None:
    """Refuse an entry that depends on itself."""
    defined = {line.name for line in lines}
    graph: dict[Any, set[Any]] = {name: set() for name in defined}
    for line in lines:
        graph[line.name] |= {part.name for part in walk(line.right) if isinstance(part, Tensor)} & defined
    turning = {name for name in defined if name in reached(graph, graph[name])}
    if not turning:
        return
    among = tuple(line for line in lines if line.name in turning)
    for turn in SMALL[1:]:
        at = {size: turn[k % len(turn)] for k, size in enumerate(sorted(sizes, key=str))}
        places: dict[Any, set[Any]] = {}
        for line in among:
            for place, read in _reads(line, turning, at):
                places.setdefault(place, set()).add(read)
        circle = _circle(places)
        if circle:
            said = " → ".join(map(_format_place, circle))
            line = next(line for line in among if line.name == circle[0][0])
            raise IllFormed(f"{formula.id}, line {line.left}: the lines turn in a circle: {said}")


def _reads(line: Definition, names: set[str], sizes: Values) -> Iterator[tuple[Place, Place]]:
    """Which entries a line reads of some tensors for which entry it defines, at given sizes."""
    whole: set[Tensor] = set()
    within: set[Tensor] = set()
    for part, scope in parts(line.right, Scope(line.spans)):
        if isinstance(part, Tensor) and part.name in names:
            whole.add(part)
        if isinstance(part, Ref) and part.tensor.name in names:
            within.add(part.tensor)
            wanted = {s for one in (*part.index, *scope.held) for s in free_symbols(one)}
            ends = {s for _, span in scope.spans.items() for end in span for s in free_symbols(end)}
            spans = {s: span for s, span in scope.spans.items() if s in wanted | ends or s in line.spans}
            for values in values_of(spans.items(), sizes):
                at = {**sizes, **values}
                read = tuple(number_at(one, at) for one in part.index)
                if None not in read and not any(ranges.truth_at(held, at) is False for held in scope.held):
                    yield _place(line, at), (part.tensor.name, read)  # type: ignore[misc]
    for tensor in whole - within:  # read as a whole, by an application
        for values in values_of(line.spans.items(), sizes):
            for read in product(*(range(number_at(size, sizes) or 0) for size in tensor.shape)):
                yield _place(line, {**sizes, **values}), (tensor.name, read)


def _place(line: Definition, at: Values) -> Place:
    return line.name, tuple(number_at(part, at) or 0 for part in line.left.index)


def _circle(graph: dict[Any, set[Any]]) -> list[Any]:
    """The way from a place back to itself, where there is one."""
    done: set[Any] = set()
    for start in sorted(graph):
        way, branches = [start], [iter(sorted(graph[start]))]
        while branches and start not in done:
            step = next(branches[-1], None)
            if step is None:
                branches.pop()
                done.add(way.pop())
            elif step in way:
                return [*way[way.index(step) :], step]
            elif step not in done and step in graph:
                way.append(step)
                branches.append(iter(sorted(graph[step])))
    return []


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
    _check_names(formula, "stored names the line", formula.stored, sorted(_lines(formula)))
    inputs = [str(item) for item in formula.inputs]
    lines = [line.name for line in formula.definitions]
    conventions = [c.name for c in formula.conventions]
    for pitfall in formula.pitfalls:
        if pitfall.convention:
            _check_names(formula, "a pitfall names the convention", (pitfall.convention,), conventions)
    for worked in formula.worked:
        _check_names(formula, "a worked example gives the input", worked.inputs, inputs)
        if worked.output:
            _check_names(formula, "a worked example is of the line", (worked.output,), lines)


def _lines(formula: Any) -> set[str]:
    """The names of its lines, and of those of the formulas that it applies."""
    return {line.name for line in formula.definitions}.union(*(_lines(callee) for callee in formula.applied))


def _check_names(formula: Any, said: str, names: Iterable[str], has: list[str]) -> None:
    for name in names:
        if name not in has:
            raise IllFormed(f"{formula.id}: {said} {name!r}; the formula has: {', '.join(has) or 'none'}")


ARITHMETIC = (
    expr.Plus,
    expr.Minus,
    expr.Times,
    expr.Over,
    expr.Power,
    expr.Negative,
    expr.Func,
    SumOf,
    MaxOf,
)
"""What is made of values, conditions being none."""


def check_formula(formula: Any) -> None:
    """Refuse a formula that means nothing.

    Raises:
        IllFormed: naming formula, line and symbol.
    """
    check_declared(formula)
    tensors = {*formula.tensors, *formula.outputs, *formula.constants}
    tensors |= {line.left.tensor for line in formula.definitions}
    for tensor in sorted(tensors, key=str):
        letters.check_tensor(tensor, formula.id)
    for item in formula.inputs:
        if not isinstance(item, Tensor) and not letters.is_size(item):
            raise IllFormed(f"{formula.id}: the input {item} is neither a tensor nor a size")
    sizes = sizes_of(formula)
    letters.check_once((*tensors, *sizes), formula.id)
    for tensor in formula.outputs:
        if tensor.name not in {line.name for line in formula.definitions}:
            raise IllFormed(f"{formula.id}: no line defines the output {tensor.name}")
    for line in formula.definitions:
        _check_line(formula, line)
    for size in formula.sizes:
        if size not in sizes:
            raise IllFormed(f"{formula.id}: {size} is explained, but is no size of the formula")
    _check_told(formula, sizes)
    check_coverage(formula, sizes)
    _check_use(formula)
    _check_law(formula)


def _check_told(formula: Any, sizes: set[sympy.Symbol]) -> None:
    """Refuse a size that the inputs do not tell: none is it, and none has an axis in which it is the one size left open."""
    given = [item for item in formula.tensors if item.role not in ("mask", "generator")]
    axes = {sympy.sympify(size) for item in given for size in item.shape}
    told = {item for item in formula.inputs if item in sizes}
    while more := {size for axis in axes if (size := _left_open(axis, told)) is not None} - told:
        told |= more
    for size in sorted(sizes - told, key=str):
        within = ", ".join(sorted(str(axis) for axis in axes if size in free_symbols(axis)))
        raise IllFormed(
            f"{formula.id}: the inputs do not tell the size {size}: no axis that is always given has it alone"
            f"{f' ({within})' if within else ''}; make it an input, or an axis of one"
        )


def _left_open(axis: sympy.Expr, told: set[sympy.Symbol]) -> sympy.Symbol | None:
    """The one size that an axis tells when others are told; None if it tells none."""
    unknown = free_symbols(axis) - told
    if len(unknown) != 1:
        return None
    (size,) = unknown
    slope = sympy.expand(axis).coeff(size)
    return size if slope != 0 and size not in free_symbols(sympy.expand(axis - slope * size)) else None


def _check_line(formula: Any, line: Definition) -> None:
    where = f"{formula.id}, line {line.left}"
    defined = {item.left.tensor for item in formula.definitions}
    given = {item for item in formula.inputs if isinstance(item, Tensor)} | set(formula.constants)
    sizes = sizes_of(formula)
    outer = Scope(line.spans)
    _check_indices(line, where, sizes)
    for part, scope in parts(line.right, outer):
        if isinstance(part, Tensor) and part not in defined | given and part.role != "generator":
            known_names = ", ".join(sorted(t.name for t in defined | given))
            raise IllFormed(
                f"{where}: nothing defines {part.name} of shape ({', '.join(map(str, part.shape))}); "
                f"the formula has: {known_names}"
            )
        if isinstance(part, sympy.Symbol) and part not in sizes and part not in scope.spans:
            raise IllFormed(f"{where}: {part} is neither an index of the line nor a size of the formula")
        if isinstance(part, Bound) and part.var.name in {size.name for size in sizes}:
            raise IllFormed(f"{where}: the index {part.var} has the name of a size")
        if isinstance(part, expr.Choice):
            check_choice(formula, part, where)
    check_calls(line.right, where)
    letters.Parts(where).check(line.right, frozenset(line.spans))
    check_kinds(line.right, where)
    boolean = line.left.tensor.domain == "boolean"
    if not is_condition(line.right) if boolean else decides(line.right):
        kinds = ("a condition", "a value") if boolean else ("a value", "a condition")
        raise IllFormed(f"{where}: {line.name} is {kinds[0]}, but the right side is {kinds[1]}")
    if line.left.tensor.domain in WHOLE and not letters.is_whole(line.right):
        raise IllFormed(f"{where}: {line.name} holds integers, but the right side is not made of integers")
    for side in (line.left, line.right):
        ranges.check_places(side, outer, where)


def _check_indices(line: Definition, where: str, sizes: set[sympy.Symbol]) -> None:
    """Refuse indices of a line that are none, or could be taken for sizes."""
    written = line.ranges[: len(line.ranges) - line.rows]
    for symbol, first, last in line.ranges:
        for letter in sorted((free_symbols(first) | free_symbols(last)) - sizes, key=str):
            raise IllFormed(f"{where}: {letter} is no size of the formula")
        if symbol in sizes:
            raise IllFormed(f"{where}: {symbol} is a size of the formula and an index of the line")
        if (symbol, first, last) in written and symbol.name in {size.name for size in sizes}:
            raise IllFormed(f"{where}: the index {symbol} has the name of a size")
        if not letters.is_index(symbol):
            raise IllFormed(f"{where}: {symbol} is no index")
        ranges.check_range((symbol, first, last), Scope({}), where)


def check_kinds(node: Basic, where: str) -> None:
    """Refuse a condition where a value belongs; a Boolean entry is one as well, 0 or 1."""
    for part in walk(node):
        if isinstance(part, expr.Case | expr.Choice):
            branches = [one if isinstance(part, expr.Case) else one.args[1] for one in part.args[1:]]
            said = [one for one in branches if not isinstance(one, expr.Undefined)]
            if len({decides(one) for one in said if not isinstance(one, Ref)}) > 1:
                raise IllFormed(f"{where}: {part} is a condition in one case and a value in another")
        if isinstance(part, ARITHMETIC):
            for one in (part.body,) if isinstance(part, Bound) else part.args:
                if decides(one):
                    raise IllFormed(
                        f"{where}: {one} is a condition, where a value belongs: write case({one}, 1, 0)"
                    )


def decides(node: Basic) -> bool:
    """Whether a tree is a condition, and no value besides."""
    return not isinstance(node, Ref) and isinstance(node, Node) and is_condition(node)


def check_calls(node: Basic, where: str) -> None:
    """Refuse an application whose arguments do not fit in shape or kind, or in number of indices."""
    for part in walk(node):
        call = part.call if isinstance(part, Pullback) else part
        if not isinstance(call, Call):
            continue
        callee = get_formula(call.formula_id)
        try:
            sizes = unify(callee, call.arguments)
        except ValueError as error:
            raise IllFormed(f"{where}: {error}") from None
        of = callee.line(call.output)
        if isinstance(part, Pullback):
            wanted = tuple(substitute(size, sizes) for size in of.shape)
            if list(map(sympy.expand, shape_of(part.seed))) != list(map(sympy.expand, wanted)):
                raise IllFormed(
                    f"{where}: {callee.id}: {of.name} has shape ({listed(wanted)}), "
                    f"but what is pulled back has shape ({listed(shape_of(part.seed))})"
                )
            named = [t for t in callee.inputs if isinstance(t, Tensor) and t.name == part.wrt]
            if not named:
                raise IllFormed(f"{where}: {callee.id} has no input {part.wrt} to pull back to")
            of = named[0]
        if len(call.index) != len(of.shape):
            raise IllFormed(
                f"{where}: {callee.id}: {of.name} has {len(of.shape)} axes, but {len(call.index)} indices were given"
            )
        for item, value in zip(callee.inputs, call.arguments, strict=True):
            _check_argument(f"{where}: {callee.id}", item, value, sizes)


def _check_argument(where: str, item: Any, value: Basic, sizes: dict[Any, Any]) -> None:
    """Refuse an argument of another kind than the input: nothing, a condition, or integers of a wider range."""
    if value == ABSENT:
        if not isinstance(item, Tensor) or item.role not in ("mask", "generator"):
            raise IllFormed(f"{where}: {item} is no mask, so it has to be given")
        return
    body = value.body if isinstance(value, Comprehension) else value
    if not isinstance(item, Tensor):
        if isinstance(value, Node | Tensor):
            raise IllFormed(f"{where}: {item} is a size; {value} is none")
        return
    if item.domain != "boolean" and is_condition(body):
        raise IllFormed(f"{where}: {item} takes {item.domain} numbers; {value} is a condition")
    tensor = body.tensor if isinstance(body, Ref) else body
    if item.domain == "integer" and isinstance(tensor, Tensor) and tensor.domain == "label":
        raise IllFormed(
            f"{where}: {item} holds integers from 0 on; {value} holds labels, some of them perhaps none"
        )
    if (
        item.domain in ("integer", "label")
        and isinstance(tensor, Tensor)
        and 0 not in (tensor.below, item.below)
    ):
        below = substitute(item.below, sizes)
        others = free_symbols(below) != free_symbols(tensor.below)
        if others or sympy.expand(below - tensor.below).is_negative:
            raise IllFormed(f"{where}: {item} runs below {below}, but {value} below {tensor.below}")


def check_choice(formula: Any, choice: expr.Choice, where: str) -> None:
    """Refuse a choice by a convention that the formula has not, or between other options than it has."""
    name = str(choice.args[0])
    options = {str(pair.args[0]) for pair in choice.args[1:]}
    _check_options(formula, name, options, where)


def _check_options(formula: Any, name: str, options: set[str], where: str) -> None:
    declared = {c.name: set(c.options) for c in formula.conventions}
    if name not in declared:
        raise IllFormed(
            f"{where}: {name} is no convention of the formula; it has: {', '.join(declared) or 'none'}"
        )
    if options != declared[name]:
        raise IllFormed(
            f"{where}: the convention {name} has the options {', '.join(sorted(declared[name]))}; "
            f"the line has: {', '.join(sorted(options))}"
        )


def _check_use(formula: Any) -> None:
    """Refuse inputs and conventions that no line uses, and nothing that a law says of its results."""
    parts = [part for line in formula.definitions for side in (line.left, line.right) for part in walk(side)]
    if formula.law is not None:
        said = (*formula.law.outcome, *(axiom.condition for axiom in formula.law.axioms))
        parts += [part for tree in said for part in walk(tree)]
    used = {part for part in parts if isinstance(part, Tensor | sympy.Symbol)}
    sizes = [size for line in formula.definitions for size in line.left.tensor.shape]
    sizes += [end for line in formula.definitions for _, *ends in line.ranges for end in ends]
    used = used.union(*map(free_symbols, sizes))
    for item in formula.inputs:
        if item not in used and not (isinstance(item, Tensor) and item.role == "generator"):
            raise IllFormed(f"{formula.id}: no line uses the input {item}")
    applied = [get_formula(part.formula_id) for part in parts if isinstance(part, Call)]
    asked = {str(part.args[0]) for part in parts if isinstance(part, expr.Choice)}
    for item in formula.lines:
        if isinstance(item, LineChoice):
            asked.add(item.convention)
            _check_options(formula, item.convention, set(item.options), f"{formula.id}, a choice of lines")
    asked |= {c.name for callee in applied for c in callee.conventions}
    for convention in formula.conventions:
        if convention.name not in asked:
            raise IllFormed(f"{formula.id}: no line uses the convention {convention.name}")


def _check_law(formula: Any) -> None:
    """Refuse an axiom that is no condition, and positions that go together by what is none, or is not theirs, or counted."""
    law = formula.law
    if law is None:
        return
    for axiom in law.axioms:
        if not is_condition(axiom.condition):
            raise IllFormed(f"{formula.id}, axiom {axiom.name!r}: {axiom.condition} is no condition")
    if law.together is None:
        return
    joins = law.together.joins
    where = f"{formula.id}: what is selected together is said by {joins.name}"
    if joins not in {line.left.tensor for line in formula.definitions}:
        raise IllFormed(f"{where}, which no line defines")
    positions = tuple(size for _, size in law.over)
    if joins.domain != "boolean" or joins.shape != positions:
        expected = ", ".join(map(str, positions))
        raise IllFormed(f"{where}, which has to be a condition of each position, ({expected})")
    if law.count is not None:
        raise IllFormed(f"{where}, and positions are counted: a law has one of both")


def sizes_of(formula: Any) -> set[sympy.Symbol]:
    """The sizes of a formula: inputs that are sizes, and those in the shapes of its tensors."""
    tensors = [item for item in formula.inputs if isinstance(item, Tensor)]
    shapes = [size for t in (*tensors, *formula.outputs) for size in (*t.shape, t.below)]
    shapes += [size for line in formula.definitions for size in line.left.tensor.shape]
    found = {item for item in formula.inputs if isinstance(item, sympy.Symbol)}
    return found.union(*(free_symbols(size) for size in shapes))
