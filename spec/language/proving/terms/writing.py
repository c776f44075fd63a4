"""Writing terms back as trees: for messages, and so that a normal form can be evaluated like any statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import sympy
from sympy.core.containers import Tuple as BasicTuple
from sympy.core.symbol import Str

from spec.language.arrays import Comprehension, Tensor
from spec.language.binders import AnyOf, Bound, MaxOf, SumOf
from spec.language.calls import ABSENT, Call
from spec.language.expr import (
    TRUE,
    Both,
    Case,
    Compare,
    Func,
    Literal,
    Node,
    Not,
    Power,
    Ref,
    exp,
    lift,
    lt,
    sqrt,
)
from spec.language.proving.knowledge.linear import form
from spec.language.proving.obligations import Unprovable
from spec.language.proving.rules.normal import Normal
from spec.language.proving.terms.polynomials import UNIT, Atom, Mono, Poly, inside
from spec.language.render import unicode

LETTERS = "jlrtuwxyzabcefghkmnopqsv"


class Writer:
    """Writes terms as trees, giving bound symbols letters that are not taken.

    Indices are written as SymPy has them, over looked up integers too: a block of these can be written in no other way.
    ``guarded`` trees look at entries only inside a case on the range conditions, so that they can be evaluated.
    """

    def __init__(self, n: Normal, taken: Iterable[str], guarded: bool = False) -> None:
        self.n, self.names, self.taken, self.guarded = n, dict[str, str](), set(taken), guarded

    def letter(self, symbol: Atom) -> sympy.Symbol:
        """The index or size symbol for an atom."""
        name = symbol.name
        if any(mark in name for mark in "~‹!"):
            if name not in self.names:
                wish = name.split("~")[0].split("!")[0]
                free = [x for x in (*([wish] if "‹" not in wish else []), *LETTERS) if x not in self.taken]
                self.names[name] = free[0] if free else f"j{len(self.names)}"
                self.taken.add(self.names[name])
            return sympy.Symbol(self.names[name], integer=True)
        size = form(symbol.poly - 1) in self.n.size_forms
        return sympy.Symbol(name, integer=True, positive=True) if size else sympy.Symbol(name, integer=True)

    def release(self, bound: Iterable[Atom]) -> None:
        """Forget the letters of bound symbols after their scope."""
        for symbol in bound:
            self.taken.discard(self.names.pop(symbol.name, ""))

    # Indices -----------------------------------------------------------------------------------------------------------

    def index(self, poly: Poly) -> Any:
        """An index expression."""
        parts = []
        for mono, c in poly.ordered:
            factors = [sympy.Rational(c.numerator, c.denominator)]
            for atom, k in mono.pows:
                factors.append(self._index_atom(atom) ** k if k > 1 else self._index_atom(atom))
            parts.append(sympy.Mul(*factors))
        return sympy.Add(*parts)

    def _index_atom(self, atom: Atom) -> Any:
        if atom.kind == "symbol":
            return self.letter(atom)
        if atom.kind == "floor":
            return sympy.floor(self.index(atom.args[0]))
        return self._entry(atom)

    def _entry(self, atom: Atom) -> Ref:
        tensor = self.n.originals.get(atom.name)
        if tensor is None:
            tensor = Tensor(atom.name, (sympy.Integer(1),) * len(atom.args), self.n.domain(atom.name))
        return Ref(tensor, *(self.index(arg) for arg in atom.args))

    # Values ------------------------------------------------------------------------------------------------------------

    def value(self, poly: Poly) -> Node:
        """A value."""
        if not poly.terms:
            return lift(0)
        if poly.is_index and all(a.kind == "symbol" for m in poly.terms for a in m.atoms):
            return lift(self.index(poly))
        out: Node | None = None
        for mono, c in sorted(poly.ordered, key=lambda term: term[1] < 0):
            term = self.mono(mono, c if out is None else abs(c))
            out = term if out is None else out + term if c > 0 else out - term
        assert out is not None
        return out

    def mono(self, mono: Mono, coefficient: Fraction) -> Node:
        """A term."""
        above: list[Node] = []
        below: list[Node] = []
        for atom, k in mono.pows:
            if atom.kind in ("inverse", "inverse_root"):
                inner = self.value(atom.args[0])
                inner = sqrt(inner) if atom.kind == "inverse_root" else inner
                below.append(inner if k == 1 else Power(inner, lift(k)))
            else:
                inner = self.atom(atom)
                above.append(inner if k == 1 else Power(inner, lift(k)))
        if mono.exponent is not None:
            above.append(exp(self.value(mono.exponent)))
        number = sympy.Rational(abs(coefficient).numerator, abs(coefficient).denominator)
        above.sort(key=lambda factor: isinstance(factor, Bound))  # a sum reaches to the end of a product
        if number != 1 or not above:
            above.insert(0, lift(number))
        out = _product(above)
        out = out / _product(below) if below else out
        out = -out if coefficient < 0 else out
        return self._write_case(mono.lits, out)

    def _write_case(self, lits: Iterable[Atom], out: Node) -> Node:
        """The value where conditions hold, else 0."""
        plain = [
            x for x in lits if not self.guarded or not any(a.kind in ("bool", "look_up") for a in inside(x))
        ]
        entries = sorted(
            (lit for lit in lits if lit not in plain), key=lambda lit: lit.kind not in ("ge", "eq")
        )
        for group in (*([lit] for lit in reversed(entries)), plain):
            out = Case(self.condition(group), out, lift(0)) if group else out
        return out

    def atom(self, atom: Atom) -> Node:
        """An atom."""
        if atom.kind in ("symbol", "floor"):
            return Literal(self._index_atom(atom))
        if atom.kind in ("entry", "look_up"):
            return self._entry(atom)
        if atom.kind == "root":
            return sqrt(self.value(atom.args[0]))
        if atom.kind == "function":
            return Func(Str(atom.name), self.value(atom.args[0])) if atom.args else Literal(sympy.pi)
        if atom.kind in ("sum", "maximum"):
            return self._binder(atom)
        if atom.kind == "state":
            return self._state(atom)
        raise Unprovable(f"{atom} cannot be written")

    def _state(self, atom: Atom) -> Node:
        """A state of a recurrence: the formula applied to its inputs, or the derivative of that."""
        spec = self.n.states[atom.name]
        index, _, arrays = spec.parts(atom)
        own = len(spec.tensor.shape)
        arguments = {item.name: self._array(array) for item, array in zip(spec.inputs, arrays, strict=True)}
        sizes = {str(s): self.index(p) for s, p in zip(spec.sizes, spec.parts(atom)[1], strict=True)}
        given = [arguments.get(str(item), sizes.get(str(item), ABSENT)) for item in spec.formula.inputs]
        name = spec.tensor.name if spec.wrt is None else f"∂{spec.tensor.name}/∂{spec.wrt.name}"
        places = [self.index(p) for p in (*index[:own], *index[own:])]
        return Call(Str(spec.formula.id), Str(name), BasicTuple(*given), BasicTuple(*places))

    def _array(self, array: Poly) -> Node:
        """An input of a recurrence: a tensor as it is, or an array by its entries."""
        atom = array.atom
        if atom is None or atom.kind != "array" or atom.body is None:
            return self.value(array)
        entry = atom.body.atom
        whole = tuple(symbol.poly for symbol in atom.bound)
        if entry is not None and entry.name in self.n.originals and entry.args == whole:
            return self.n.originals[entry.name]
        spans = {symbol: (first, last) for symbol, first, last, _ in self._spans(atom.bound, atom.lits)}
        made = Comprehension(
            self.value(atom.body),
            *(BasicTuple(self.letter(s), spans[s][1] + 1) for s in atom.bound),
        )
        self.release(atom.bound)
        return made

    def _binder(self, atom: Atom) -> Node:
        assert atom.body is not None
        kind = SumOf if atom.kind == "sum" else MaxOf
        spans = list(self._spans(atom.bound, atom.lits))
        inner: Node = self.value(atom.body)
        for place, (symbol, first, last, rest) in enumerate(reversed(spans)):
            if self.guarded and atom.kind == "sum":
                inner, rest = self._write_case(rest, inner), []
            where = self.condition(rest)
            kind_ = kind if place == 0 or atom.kind == "maximum" else SumOf
            inner = kind_(inner, self.letter(symbol), first, last, where)
        self.release(atom.bound)
        return inner

    def _spans(
        self, bound: tuple[Atom, ...], lits: tuple[Atom, ...]
    ) -> Iterator[tuple[Atom, sympy.Expr, sympy.Expr, list[Atom]]]:
        """Ranges for bound symbols, in an order in which each range is known from the symbols before it."""
        left, later = [*lits, *_consequences(lits, bound)], list(bound)
        while later:
            for symbol in later:
                others = frozenset(later) - {symbol}
                low = self._limit(symbol, left, others, 1)
                high = self._limit(symbol, left, others, -1)
                if low is not None and high is not None:
                    break
            else:
                raise Unprovable("the range of a bound index cannot be written")
            for used in (low[0], high[0]):
                left.remove(used)
            later.remove(symbol)
            known = frozenset(later)
            rest = [lit for lit in left if not lit.symbols & known and lit in lits]
            left = [lit for lit in left if lit.symbols & known]
            yield symbol, low[1], high[1], rest

    def _limit(
        self, symbol: Atom, lits: list[Atom], others: frozenset[Atom], sign: int
    ) -> tuple[Atom, sympy.Expr] | None:
        for lit in lits:
            if lit.kind != "ge" or lit.symbols & others:
                continue
            linear = lit.args[0].linear_in(symbol)
            if linear is None or linear[0] * sign <= 0:
                continue
            bound = self.index(linear[1].scale(-1 / linear[0]))
            if abs(linear[0]) != 1:
                bound = sympy.ceiling(bound) if sign > 0 else sympy.floor(bound)
            return lit, bound
        return None

    # Conditions --------------------------------------------------------------------------------------------------------

    def condition(self, lits: Iterable[Atom]) -> Node:
        """A conjunction of conditions."""
        out: Node = TRUE
        for lit in lits:
            one = self.literal(lit)
            out = one if out == TRUE else Both(out, one)
        return out

    def literal(self, lit: Atom) -> Node:
        """A condition."""
        if lit.kind == "not":
            return Not(self.literal(lit.lits[0]))
        if lit.kind in ("ge", "eq"):
            poly = lit.args[0]
            less = Poly(
                {m: -c for m, c in poly.terms.items() if c < 0 or (m == UNIT and len(poly.terms) == 1)}
            )
            more = poly + less
            return Compare(Str("<=" if lit.kind == "ge" else "=="), self.index(less), self.index(more))
        if lit.kind == "bool":
            return self._entry(lit)
        if lit.kind == "positive":
            return lt(0, self.value(lit.args[0]))
        spans = list(self._spans(lit.bound, lit.lits))
        inner: Node = TRUE
        for symbol, first, last, rest in reversed(spans):
            body = self.condition(rest)
            body = body if inner == TRUE else inner if body == TRUE else Both(inner, body)
            inner = AnyOf(body, self.letter(symbol), first, last, TRUE)
        self.release(lit.bound)
        return inner


def _consequences(lits: tuple[Atom, ...], bound: tuple[Atom, ...]) -> list[Atom]:
    """Ranges that follow from chains such as j ≤ l ≤ m - 1, so that each bound symbol has one of its own."""
    found: dict[str, Atom] = {}
    current = [lit for lit in lits if lit.kind == "ge"]
    for symbol in bound if len(bound) > 1 else ():
        for low in list(current):
            for high in list(current):
                a, b = low.args[0].linear_in(symbol), high.args[0].linear_in(symbol)
                if a is not None and b is not None and a[0] > 0 > b[0]:
                    poly = low.args[0].scale(-b[0]) + high.args[0].scale(a[0])
                    if poly.symbols & frozenset(bound):
                        lit = Atom("ge", "", (poly,))
                        found.setdefault(lit.key, lit)
        current = [*current, *found.values()]
    return [lit for lit in found.values() if lit not in lits]


def _product(factors: list[Node]) -> Node:
    out = factors[0]
    for factor in factors[1:]:
        out = out * factor
    return out


def tree(n: Normal, poly: Poly) -> Node:
    """The polynomial as a tree that can be evaluated: entries are looked at only where the range conditions hold."""
    return Writer(n, (s.name for s in poly.symbols), guarded=True).value(poly)


def write_polynomial(n: Normal, poly: Poly) -> Node | str:
    """The polynomial as a tree; as its key where it cannot be written so."""
    try:
        return Writer(n, (s.name for s in poly.symbols)).value(poly)
    except Unprovable:
        return poly.key


def text(n: Normal, poly: Poly) -> str:
    """The polynomial as text."""
    tree = write_polynomial(n, poly)
    return tree if isinstance(tree, str) else unicode(tree)


def condition_text(n: Normal, lit: Atom) -> str:
    """A condition as text."""
    return unicode(Writer(n, (s.name for s in lit.symbols)).literal(lit))
