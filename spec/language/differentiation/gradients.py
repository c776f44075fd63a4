"""Vector–Jacobian products, symbolically: the derivative of a formula is again lines, evaluated like any others.

Every sum is first given a name of its own, so that only elementwise expressions are differentiated, each with respect to one
reference at a time; the chain rule then adds, for ``T[f(i)] = body`` and a reference ``x[g(i)]`` inside,
``x̄[g(i)] += T̄[f(i)]·∂body/∂x[g(i)]``. Where ``g`` is invertible the line is solved for the entry of ``x̄``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import sympy
from sympy.core.basic import Basic
from sympy.core.symbol import Str

from spec.language import expr
from spec.language.arrays import DISCRETE, Tensor
from spec.language.binders import Bound, MaxOf, Sum, SumOf
from spec.language.evaluation.dimensions import Size, whole
from spec.language.evaluation.precision import Precision
from spec.language.evaluation.running_error import RunningError
from spec.language.exact import is_whole
from spec.language.expr import TRUE, Node, Ref, case, eq, le, lift
from spec.language.flatten import Flat
from spec.language.formula import Formula
from spec.language.lengths import longest
from spec.language.lines import Definition, Span, dependencies
from spec.language.ordering import arrange
from spec.language.trees import free_symbols, fresh, refs, substitute, walk


def derivative(node: Any, leaf: Ref) -> Node | None:
    """The derivative of an expression without sums with respect to one reference; None where it is 0.

    Raises:
        TypeError: an expression that cannot be differentiated, such as a maximum.
    """
    if node == leaf:
        return lift(1)
    if isinstance(node, Ref | expr.Literal | expr.Undefined) or leaf not in set(walk(node)):
        return None
    if isinstance(node, expr.Case):
        then, otherwise = (derivative(part, leaf) for part in node.args[1:])
        if then is None and otherwise is None:
            return None
        return case(node.args[0], 0 if then is None else then, 0 if otherwise is None else otherwise)
    parts = [derivative(part, leaf) for part in node.args if isinstance(part, Node)]
    rule = _RULES.get(type(node))
    if rule is None:
        raise TypeError(f"{type(node).__name__} cannot be differentiated: {node}")
    return rule(node, parts)


def two_sided_slope(share: expr.Func) -> tuple[Node, Node]:
    """The slope of σ(a) as it is derived, and where a statement has 1 − σ(a) beside it.

    Who writes that as σ(−a) forms the slope of this one, σ(−a)(1 − σ(−a)), which loses the digits where σ(a) is small; the other
    form loses them where it is near 1. The second result, exactly the same number, has the roundings of both.
    """
    rest = expr.Func(Str("sigmoid"), expr.Negative(share.args[1]))
    slope, other = (expr.Times(gate, expr.Minus(lift(1), gate)) for gate in (share, rest))
    return slope, expr.Minus(expr.Plus(slope, other), expr.Times(share, rest))


def product(a: Node, b: Node) -> Node:
    """a·b, without a factor 1."""
    one = lift(1)
    return b if a == one else a if b == one else expr.Times(a, b)


def _sum(a: Node | None, b: Node | None) -> Node | None:
    return b if a is None else a if b is None else expr.Plus(a, b)


def _minus(a: Node | None, b: Node | None) -> Node | None:
    return a if b is None else expr.Negative(b) if a is None else expr.Minus(a, b)


def _times(node: Any, d: list[Node | None]) -> Node | None:
    a, b = node.args
    if a == b and d[0] is not None:
        return product(expr.Times(lift(2), a), d[0])
    left = None if d[0] is None else product(d[0], b)
    right = None if d[1] is None else product(a, d[1])
    return _sum(left, right)


def _over(node: Any, d: list[Node | None]) -> Node | None:
    _, b = node.args
    left = None if d[0] is None else expr.Over(d[0], b)
    right = None if d[1] is None else expr.Over(product(node, d[1]), b)
    return _minus(left, right)


def _power(node: Any, d: list[Node | None]) -> Node | None:
    a, y = node.args
    if not isinstance(y, expr.Literal):  # of a positive base: e to the power y·ln a
        by_base = None if d[0] is None else product(expr.Over(y, a), d[0])
        by_exponent = None if d[1] is None else product(expr.Func(Str("log"), a), d[1])
        found = _sum(by_base, by_exponent)
        return None if found is None else product(node, found)
    if d[0] is None:
        return None
    lower = a if y == lift(2) else expr.Power(a, expr.Literal(y.value - 1))
    slope: Node = expr.Times(y, lower)
    if not y.value.is_Rational and is_whole(y.value):  # an index: a⁰ is 1 at every a
        slope = case(eq(y.value, 0), 0, slope)
    return product(slope, d[0])


def _func(node: Any, d: list[Node | None]) -> Node | None:
    (inner,) = d
    if inner is None or node.name == "stop":
        return None
    if node.name not in SLOPES:
        raise TypeError(f"{node.name} cannot be differentiated: {node}")
    return product(SLOPES[node.name](node, node.args[1]), inner)


SLOPES: dict[str, Callable[[Any, Any], Node]] = {
    "exp": lambda node, a: node,
    # 1/x, written with the logarithm: who keeps that alone, as every log-sum-exp does, has its rounding in the slope.
    "log": lambda node, a: expr.Over(lift(1), expr.Func(Str("exp"), node)),
    "sqrt": lambda node, a: expr.Over(lift(1), expr.Times(lift(2), node)),
    "sin": lambda node, a: expr.Func(Str("cos"), a),
    "cos": lambda node, a: expr.Negative(expr.Func(Str("sin"), a)),
    "tanh": lambda node, a: expr.Minus(lift(1), expr.Times(node, node)),
    "sigmoid": lambda node, a: expr.Times(node, expr.Minus(lift(1), node)),
    "erf": lambda node, a: expr.Times(
        expr.Over(lift(2), expr.Func(Str("sqrt"), lift(sympy.pi))),
        expr.Func(Str("exp"), expr.Negative(expr.Times(a, a))),
    ),
}
"""The slope of f(a), from f(a) and a."""


_RULES: dict[type, Any] = {
    expr.Plus: lambda node, d: _sum(*d),
    expr.Minus: lambda node, d: _minus(*d),
    expr.Negative: lambda node, d: None if d[0] is None else expr.Negative(d[0]),
    expr.Times: _times,
    expr.Over: _over,
    expr.Power: _power,
    expr.Func: _func,
}


def obstacle(part: Basic) -> str:
    """Why a part is not differentiated, in words; empty if it is."""
    if isinstance(part, MaxOf):
        return "a maximum"
    if isinstance(part, expr.Func) and part.name not in SLOPES and part.name != "stop":
        return part.name
    return ""


def walk_values(node: Basic) -> Iterator[Basic]:
    """A node and the parts of it whose values pass into its own: conditions, ranges and indices apart."""
    yield node
    if isinstance(node, Ref | expr.Literal):
        return
    parts = (
        node.args[1:]
        if isinstance(node, expr.Case)
        else node.args[:1]
        if isinstance(node, Bound)
        else node.args
    )
    for part in parts:
        yield from walk_values(part)


def _list_tensors_read(node: Basic) -> list[str]:
    return [part.tensor.name for part in walk_values(node) if isinstance(part, Ref)]


@lru_cache(maxsize=256)
def obstacles(flat: Flat) -> Mapping[str, str]:
    """For each tensor that reaches an output through such a part, or may: the part, in words."""
    found: dict[str, str] = {}
    lines = [line for line in flat.lines if line.left.tensor.domain not in DISCRETE]
    for line in lines:
        for part in walk_values(line.right):
            said = obstacle(part)
            if said:
                found |= {name: said for name in _list_tensors_read(part) if name not in found}
    before = -1
    while before < len(found):
        before = len(found)
        for line in lines:
            if line.name in found:
                found |= {
                    name: found[line.name] for name in _list_tensors_read(line.right) if name not in found
                }
    return found


def name_sums(flat: Flat) -> tuple[Definition, ...]:
    """The lines of a formula with every sum inside an expression moved to a line of its own."""
    binder = _SumNamer({line.name for line in flat.lines} | {str(item) for item in flat.inputs})
    for line in flat.lines:
        binder.add(line)
    return tuple(line for group in arrange(binder.lines) for line in group.lines)


def name_rests(lines: Sequence[Definition]) -> tuple[tuple[Definition, ...], dict[expr.Func, Node]]:
    """The lines with 1 − z, for a gate z = σ(a) that a line defines, as a line of its own; and every such rest by its σ(a).

    An implementation may form it as σ(−a). Then it differentiates z and its rest each by itself, and rounds otherwise in each.
    """
    by_name: dict[str, list[Definition]] = {}
    for line in lines:
        by_name.setdefault(line.name, []).append(line)
    gates = {name for name, own in by_name.items() if all(_is_share(line.right) for line in own)}
    changes, rests = dict[Node, Node](), dict[str, Tensor]()
    for node in _from_one(lines):
        (_, gate) = node.args
        if isinstance(gate, Ref) and gate.tensor.name in gates:
            name, shape = gate.tensor.name, gate.tensor.shape
            rests[name] = Tensor(f"{name}_rest", shape, "real", "internal")
            changes[node] = Ref(rests[name], *gate.index)
    made: list[Definition] = []
    for line in lines:
        made.append(replace(line, right=substitute(line.right, changes)))
        if line.name in rests:
            left = Ref(rests[line.name], *line.left.index)
            made.append(Definition(left, expr.Minus(lift(1), line.right), line.ranges, line.accumulate))
    ordered = tuple(line for group in arrange(made) for line in group.lines) if rests else tuple(lines)
    return ordered, {node.args[1]: node for node in _from_one(ordered) if _is_share(node.args[1])}


def _from_one(lines: Iterable[Definition]) -> Iterator[Any]:
    """Every difference 1 − x."""
    for line in lines:
        for node in walk(line.right):
            if isinstance(node, expr.Minus) and node.args[0] == lift(1):
                yield node


def _is_share(node: Any) -> bool:
    return isinstance(node, expr.Func) and node.name == "sigmoid"


class _SumNamer:
    def __init__(self, names: set[str]) -> None:
        self.names, self.lines = names, list[Definition]()

    def add(self, line: Definition) -> None:
        right = line.right
        if isinstance(right, SumOf):
            inner = {**line.spans, right.var: (right.first, right.last)}
            right = SumOf(self.name_sums(right.body, inner, TRUE), *right.args[1:])
        elif line.left.tensor.domain not in DISCRETE:
            right = self.name_sums(right, line.spans, TRUE)
        self.lines.append(Definition(line.left, right, line.ranges, line.accumulate))

    def name_sums(self, node: Any, scope: Mapping[sympy.Symbol, Span], guard: Node) -> Any:
        if isinstance(node, SumOf):
            return self.name(node, scope, guard)
        if isinstance(node, expr.Case):
            condition, then, otherwise = node.args
            inside = condition if guard == TRUE else expr.Both(guard, condition)
            return expr.Case(
                condition, self.name_sums(then, scope, inside), self.name_sums(otherwise, scope, guard)
            )
        if isinstance(node, Bound) or not node.args or isinstance(node, Ref | expr.Literal):
            return node
        return node.func(*(self.name_sums(child, scope, guard) for child in node.args))

    def name(self, node: SumOf, scope: Mapping[sympy.Symbol, Span], guard: Node) -> Ref:
        inner = {**scope, node.var: (node.first, node.last)}
        where = node.where
        if any(not isinstance(part, sympy.Symbol) for ref in refs(node) for part in ref.index):
            where = where if guard == TRUE else guard if where == TRUE else expr.Both(guard, where)
        body = self.name_sums(node.body, inner, TRUE)
        total = SumOf(body, node.var, node.first, node.last, where)
        asked = set(free_symbols(total))
        for symbol in reversed(list(scope)):  # an inner range may be bounded by outer indices
            if symbol in asked:
                asked |= {s for end in scope[symbol] for s in free_symbols(sympy.sympify(end))}
        free = [symbol for symbol in scope if symbol in asked]
        count = 1
        while f"sum_{count}" in self.names:
            count += 1
        self.names.add(f"sum_{count}")
        shape = tuple(longest(sympy.Integer(0), scope[s][1], scope) for s in free)
        target = Tensor(f"sum_{count}", shape, "real", "internal")
        left = Ref(target, *free)
        self.lines.append(Definition(left, total, tuple((s, *scope[s]) for s in free), part=True))
        return left


ADJOINT = "adj_"
"""Prefix of the name of a tensor's adjoint; rendered as a bar."""


@dataclass(frozen=True)
class Derivative:
    """The vector–Jacobian product of a formula.

    Attributes:
        flat: the lines: the formula's own (sums named), then the adjoints. Its inputs are the formula's and the seeds,
            its outputs the gradients.
        forward: names of the tensors of the formula's own lines.
        seeds: for each output, the tensor that holds its cotangent.
        gradients: for each differentiated input, the tensor that holds its gradient.
    """

    flat: Flat
    forward: tuple[str, ...]
    seeds: Mapping[str, Tensor]
    gradients: Mapping[str, Tensor]

    def fill_cotangents(self, cotangents: Mapping[str, Any], sizes: Mapping[Size, int]) -> dict[str, Any]:
        """The inputs that hold cotangents, from these by the names of outputs; an output left out has cotangent 0."""
        made = {}
        for name, tensor in self.seeds.items():
            given = cotangents.get(name)
            made[tensor.name] = (
                np.zeros([whole(size, sizes) for size in tensor.shape]) if given is None else given
            )
        return made


def adjoint_of(tensor: Tensor) -> Tensor:
    """The tensor that holds the adjoint of ``tensor``."""
    return Tensor(ADJOINT + tensor.name, tensor.shape, "real", "internal")


_CACHE: dict[Any, Derivative] = {}


def vjp(
    formula: Formula, wrt: Sequence[str] | None = None, conventions: Mapping[str, str] | None = None
) -> Derivative:
    """The vector–Jacobian product of all outputs with respect to inputs (by default every real tensor among them).

    Raises:
        ValueError: an input that does not exist or is not real.
    """
    real = {t.name: t.role for t in formula.tensors if t.domain in ("real", "positive", "nonnegative")}
    given = [name for name, role in real.items() if role in ("data", "parameter")]
    names = given if wrt is None else list(wrt)
    for name in names:
        if name not in real:
            raise ValueError(f"{formula.id} has no real input {name!r} to differentiate with respect to")
    key = (formula, tuple(names), tuple(sorted(formula.choose(conventions).items())))
    if key not in _CACHE:
        _CACHE[key] = _Chain(formula.flat(conventions), [t for t in formula.tensors if t.name in names]).run()
    return _CACHE[key]


class _Chain:
    def __init__(self, flat: Flat, wrt: list[Tensor]) -> None:
        self.flat, self.wrt = flat, wrt
        self.lines, self.rests = name_rests(name_sums(flat))
        self.active = self._active()
        self.slopes = dict(two_sided_slope(share) for share in self.rests)
        self.parts: dict[str, list[Definition]] = {}
        self.symbols: dict[str, tuple[sympy.Symbol, ...]] = {}
        self.names: set[str] = set()

    def _active(self) -> set[str]:
        """Tensors through which the inputs reach the outputs."""
        # Conditions and integers are constant wherever they are decided.
        graph = dependencies(line for line in self.lines if line.left.tensor.domain not in DISCRETE)
        reached, grew = {t.name for t in self.wrt}, True
        while grew:
            more = {name for name, used in graph.items() if used & reached} - reached
            reached, grew = reached | more, bool(more)
        return reached

    def run(self) -> Derivative:
        tensors = {t.name: t for t in self.wrt} | {line.name: line.left.tensor for line in self.lines}
        for line in self.lines:
            if set(line.left.index) <= set(line.spans):
                self.symbols.setdefault(line.name, line.left.index)
        for name, tensor in tensors.items():
            letters = (sympy.Symbol("ijklcrst"[axis], integer=True) for axis in range(len(tensor.shape)))
            self.symbols.setdefault(name, tuple(letters))
        self.names = {ADJOINT + name for name in tensors}
        seeds = {t.name: Tensor(f"seed_{t.name}", t.shape, "real", "data") for t in self.flat.outputs}
        for line in reversed(self.lines):
            if line.name in self.active:
                self.line(line)
        adjoints: list[Definition] = []
        for name, tensor in tensors.items():
            if name in self.active:
                adjoints += self.total(tensor, seeds.get(name))
        gradients = {t.name: adjoint_of(t) for t in self.wrt}
        lines = [line for group in arrange((*self.lines, *adjoints)) for line in group.lines]
        flat = Flat(
            f"{self.flat.formula_id} (gradient)",
            (*self.flat.inputs, *seeds.values()),
            tuple(lines),
            tuple(gradients.values()),
            self.flat.constants,
            self.flat.stored,
            self.flat.origin,
            self.flat.absent,
        )
        return Derivative(flat, tuple(dict.fromkeys(line.name for line in self.lines)), seeds, gradients)

    def total(self, tensor: Tensor, seed: Tensor | None) -> list[Definition]:
        """The lines that define the adjoint of ``tensor`` from its contributions."""
        parts, lines, target = self.parts.get(tensor.name, []), list[Definition](), adjoint_of(tensor)
        symbols = self.symbols[tensor.name]
        ranges = tuple((s, sympy.S.Zero, size - 1) for s, size in zip(symbols, tensor.shape, strict=True))
        terms: list[Node] = [] if seed is None else [seed[symbols]]
        for number, part in enumerate(parts, start=1):
            alike = part.left.index == symbols and part.ranges[: len(ranges)] == ranges
            if alike and not part.accumulate:
                terms.append(part.right)
                continue
            own = Tensor(self.unique(f"{target.name}_{number}"), tensor.shape, "real", "internal")
            lines.append(Definition(Ref(own, *part.left.index), part.right, part.ranges, part.accumulate))
            terms.append(Ref(own, *symbols))
        right: Node = terms[0] if terms else lift(0)
        for term in terms[1:]:
            right = expr.Plus(right, term)
        lines.append(Definition(Ref(target, *symbols), right, ranges))
        return lines

    def unique(self, name: str) -> str:
        """The name of a part of an adjoint, which another tensor's adjoint must not have."""
        while name in self.names:
            name += "_part"
        self.names.add(name)
        return name

    def line(self, line: Definition) -> None:
        """Add the contributions of one line to the adjoints of what it reads."""
        body, spans, where = line.right, dict(line.spans), TRUE
        if isinstance(body, SumOf):
            var = fresh(body.var, set(spans)) if body.var in spans else body.var
            spans[var] = (body.first, body.last)
            body, where = (substitute(part, {body.var: var}) for part in (body.body, body.where))
        adjoint = Ref(adjoint_of(line.left.tensor), *line.left.index)
        for leaf in dict.fromkeys(refs(body)):
            if leaf.tensor.name not in self.active:
                continue
            slope = derivative(body, leaf)
            if slope is not None:
                if self.slopes and any(rest in self.rests.values() for rest in walk(body)):
                    slope = substitute(slope, self.slopes)
                self.contribute(leaf, adjoint, slope, spans, where)

    def contribute(
        self, leaf: Ref, adjoint: Ref, slope: Node, spans: dict[sympy.Symbol, Span], where: Node
    ) -> None:
        if isinstance(slope, expr.Case) and slope.args[2] == lift(0):
            where = slope.args[0] if where == TRUE else expr.Both(where, slope.args[0])
            slope = slope.args[1]
        parts, term = self.parts.setdefault(leaf.tensor.name, []), product(adjoint, slope)
        guarded = where != TRUE or any(isinstance(part, expr.Case) for part in walk(slope))
        solved = self.solve(leaf, spans, guarded)
        if solved is None:
            ranges = tuple((s, *span) for s, span in spans.items())
            right = term if where == TRUE else case(where, term)
            parts.append(Definition(leaf, right, ranges, accumulate=True))
            return
        changes, own, rest, limits = solved
        term, where = substitute(term, changes), substitute(where, changes)
        for limit in limits:
            where = limit if where == TRUE else expr.Both(limit, where)
        for symbol, (first, last) in reversed(list(rest.items())):
            first, last = substitute(first, changes), substitute(last, changes)
            inside = where if symbol in free_symbols(where) else TRUE
            where = TRUE if inside is not TRUE else where
            term = Sum(term, (symbol, first, last), where=inside)
        if where != TRUE:
            term = case(where, term)
        ranges = tuple((s, *span) for s, span in own.items())
        parts.append(Definition(Ref(leaf.tensor, *own), term, ranges))

    def solve(
        self, leaf: Ref, spans: dict[sympy.Symbol, Span], guarded: bool
    ) -> tuple[dict[Any, Any], dict[sympy.Symbol, Span], dict[sympy.Symbol, Span], list[Node]] | None:
        """Solve ``leaf.index = symbols of the leaf's tensor`` for the line's indices.

        Returns the substitution, the ranges of the solved symbols and of the remaining indices (to be summed over), and
        conditions on the former: where a ``guarded`` reference is not read everywhere, its index may leave the tensor.
        None if some index is neither a symbol nor a symbol plus a constant, or occurs twice, or ranges over something
        that depends on another index.
        """
        targets = self.symbols[leaf.tensor.name]
        limits: list[Node] = []
        changes: dict[Any, Any] = {}
        own: dict[sympy.Symbol, Span] = {}
        used: set[sympy.Symbol] = set()
        for part, target, size in zip(leaf.index, targets, leaf.tensor.shape, strict=True):
            inside = [s for s in spans if isinstance(part, sympy.Expr) and s in free_symbols(part)]
            if len(inside) != 1 or isinstance(part, Node) or inside[0] in used:
                return None
            (symbol,) = inside
            shift = part - symbol
            first, last = spans[symbol]
            if symbol in free_symbols(shift) or (free_symbols(first) | free_symbols(last)) & set(spans):
                return None
            used.add(symbol)
            changes[symbol] = target - shift
            low, high = first + shift, last + shift
            if guarded and not low.is_nonnegative:
                limits.append(le(low, target))
                low = sympy.S.Zero
            if guarded and not (size - 1 - high).is_nonnegative:
                limits.append(le(target, high))
                high = size - 1
            own[target] = (low, high)
        rest: dict[sympy.Symbol, Span] = {}
        taken = set(own) | set(spans)
        for symbol, span in spans.items():
            if symbol in used:
                continue
            if (free_symbols(span[0]) | free_symbols(span[1])) & set(spans):
                return None
            new = symbol
            if symbol in own:
                new = fresh(symbol, taken)
                taken.add(new)
                changes[symbol] = new
            rest[new] = span
        return {old: new for old, new in changes.items() if old != new}, own, rest, limits


def pull_back(
    formula: Formula,
    inputs: Mapping[str, Any] | Sequence[Any],
    seeds: Mapping[str, Any] | Any,
    wrt: Sequence[str] | None = None,
    conventions: Mapping[str, str] | None = None,
    dtype: str = "float64",
) -> dict[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]:
    """Gradients at a point: for each input its float64 value, and how far a right implementation in ``dtype`` may be.

    Args:
        formula: the formula to differentiate.
        inputs: as for :func:`spec.language.evaluation.evaluate.evaluate`.
        seeds: the cotangent of the first output, or cotangents by the names of outputs (0 for those left out).
        wrt: names of inputs; every real tensor by default.
        conventions: a choice of conventions; ours where not given.
        dtype: the storage type of the implementation.
    """
    from spec.language.evaluation.binding import bind, by_name
    from spec.language.evaluation.evaluate import run

    gradient = vjp(formula, wrt, conventions)
    inputs = by_name(formula, inputs)
    if not isinstance(seeds, Mapping):
        seeds = {formula.outputs[0].name: seeds}
    every = {**inputs, **gradient.fill_cotangents(seeds, bind(formula.flat(conventions), inputs).sizes)}
    precision = Precision.of(dtype, formula.choose(conventions)["intermediates"])
    done = run(
        gradient.flat,
        RunningError(precision.operations),
        bind(gradient.flat, every),
        precision.storage,
        every=False,
    )
    found = {name: done.tensors[tensor.name] for name, tensor in gradient.gradients.items()}
    made = {name: (number.floats(), number.bounds()) for name, number in found.items()}
    # Where nothing bounds the error, the value is float64's.
    if not all(np.isfinite(far).all() for _, far in made.values()):
        plain = run(gradient.flat, RunningError(), bind(gradient.flat, every), every=False)
        for name, tensor in gradient.gradients.items():
            (value, far), other = made[name], plain.tensors[tensor.name].floats()
            unknown = ~np.isfinite(far)
            made[name] = np.where(unknown, other, value), np.where(unknown, np.inf, far)
    return made
