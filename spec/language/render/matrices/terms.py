"""Equations between vectors and matrices as small trees, which are written as LaTeX and have a value in NumPy.

No index says what is combined with what: a value is what NumPy makes of the arrays as they stand, and so it is the meaning that
a reader gives to the text. A vector is a column where it stands to the right of a matrix, and a row where it stands to the left.
A vector that is added to a matrix is added to every row, a number to every entry. Functions apply entry by entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from math import erf
from typing import Any, ClassVar, TypeAlias

import numpy as np
import sympy
from sympy.core.basic import Basic

from spec.language import expr
from spec.language.arrays import Tensor
from spec.language.render import printer
from spec.language.render.statements import latex
from spec.language.trees import substitute

SUM, ENTRYWISE, PRODUCT, POWER, ATOM = range(1, 6)
"""Binding strengths; a part that binds more weakly than its place asks for is put in parentheses."""
Axes: TypeAlias = tuple[sympy.Symbol, ...]
_LATEX = printer.Latex()


@dataclass(frozen=True)
class Values:
    """What a tree is evaluated with: arrays by name, numbers by symbol, and how a formula is applied to arrays."""

    arrays: Mapping[str, Any]
    numbers: Mapping[sympy.Symbol, int]
    apply: Callable[[str, str, tuple[Any, ...]], Any]

    def number(self, value: Any) -> float:
        """The value of index arithmetic, of a literal, or of an entry that stands in a condition."""
        if isinstance(value, expr.Ref):
            index = tuple(int(self.number(one)) for one in value.index)
            return float(np.asarray(self.arrays[value.tensor.name])[index])
        found = value.value if isinstance(value, expr.Literal) else sympy.sympify(value)
        return float(
            found.xreplace({symbol: sympy.sympify(number) for symbol, number in self.numbers.items()})
        )

    def at(self, **more: Any) -> Values:
        """The same with more numbers."""
        return replace(self, numbers={**self.numbers, **more["numbers"]})

    def holds(self, condition: Basic) -> bool:
        """Whether a condition on indices holds."""
        if isinstance(condition, expr.Compare):
            left, right = map(self.number, condition.args[1:])
            return {"<": left < right, "<=": left <= right, "==": left == right}[str(condition.args[0])]
        if isinstance(condition, expr.Both | expr.Either):
            return (all if isinstance(condition, expr.Both) else any)(map(self.holds, condition.args))
        if isinstance(condition, expr.Not):
            return not self.holds(condition.args[0])
        return condition == expr.TRUE or bool(self.number(condition))


@dataclass(frozen=True)
class Term:
    """A number, a vector or a matrix; ``axes`` are the statement's indices that it has been freed of."""

    axes: Axes

    def write(self) -> tuple[str, int]:
        """The LaTeX, and how strongly it binds."""
        raise NotImplementedError

    def value(self, at: Values) -> Any:
        """The value."""
        raise NotImplementedError

    def text(self, strength: int = 0) -> str:
        """The LaTeX, in parentheses if it binds more weakly than ``strength``."""
        text, own = self.write()
        return text if own >= strength else _LATEX.wrap(text)

    @property
    def parts(self) -> tuple[Term, ...]:
        """The trees directly below."""
        found: list[Term] = []
        for one in fields(self):
            value = getattr(self, one.name)
            found += [value] if isinstance(value, Term) else []
            found += [part for part in value if isinstance(part, Term)] if isinstance(value, tuple) else []
        return tuple(found)

    def walk(self) -> Iterator[Term]:
        """This and everything below."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def change(self, rule: Callable[[Term], Term | None]) -> Term:
        """This with every part replaced for which the rule gives another, outermost first."""
        found = rule(self)
        if found is not None:
            return found
        changes: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, Term):
                changes[one.name] = value.change(rule)
            elif isinstance(value, tuple):
                changes[one.name] = tuple(
                    part.change(rule) if isinstance(part, Term) else part for part in value
                )
        return replace(self, **changes)

    def resize(self, changes: Mapping[Any, Any]) -> Term:
        """This with other sizes."""

        def changed(value: Any) -> Any:
            if isinstance(value, Term):
                return value.resize(changes)
            if isinstance(value, tuple):
                return tuple(map(changed, value))
            return substitute(value, changes) if isinstance(value, Basic) else value

        return replace(self, **{one.name: changed(getattr(self, one.name)) for one in fields(self)})


@dataclass(frozen=True)
class Open:
    """An axis that an entry leaves open: all of it, the part from ``first`` to ``end``, or the places that a vector names."""

    symbol: sympy.Symbol
    first: sympy.Expr | None = None
    end: sympy.Expr | None = None
    places: Tensor | None = None


@dataclass(frozen=True)
class Entry(Term):
    """A named array or a part of one; ``places`` are one for each axis, a subscript where it is no :class:`Open` one."""

    tensor: Tensor
    letter: str
    places: tuple[Any, ...] = ()

    @property
    def looked_up(self) -> bool:
        """Whether another array says which places of it are meant."""
        return any(isinstance(one, Open) and one.places is not None for one in self.places)

    @property
    def sliced(self) -> bool:
        """Whether it is a part of an array that begins or ends within an axis."""
        return any(isinstance(one, Open) and one.first is not None for one in self.places)

    def write(self) -> tuple[str, int]:  # noqa: D102
        special = self.tensor.name in printer.SQUARED
        base, mark, own = self.letter.partition("_{")
        looked_up = [
            _LATEX.name(one.places.name) for one in self.places if isinstance(one, Open) and one.places
        ]
        fixed = [latex(one) for one in self.places if not isinstance(one, Open)]
        listed = [own.removesuffix("}")] * bool(mark) + fixed + looked_up
        text = base + (rf"_{{{', '.join(listed)}}}" if listed else "")
        spans = [one for one in self.places if isinstance(one, Open)]
        while spans and spans[-1].first is None:
            spans.pop()
        if spans:
            shown = (
                "{:}" if s.first is None else f"{latex(s.first) if s.first != 0 else ''}{{:}}{latex(s.end)}"
                for s in spans
            )
            text += f"[{', '.join(shown)}]"
        return text, POWER if special else ATOM

    def value(self, at: Values) -> Any:  # noqa: D102
        index: list[Any] = []
        for one in self.places:
            if not isinstance(one, Open):
                index.append(int(at.number(one)))
            elif one.places is not None:
                index.append(np.asarray(at.arrays[one.places.name]).astype(int))
            elif one.first is None:
                index.append(slice(None))
            else:
                index.append(slice(int(at.number(one.first)), int(at.number(one.end))))
        return np.asarray(at.arrays[self.tensor.name])[tuple(index)]


@dataclass(frozen=True)
class Number(Term):
    """Index arithmetic as a value: sizes and literals."""

    node: Basic

    def text(self, strength: int = 0) -> str:  # noqa: D102
        own = {SUM: printer.SUM, ENTRYWISE: printer.PRODUCT, PRODUCT: printer.PRODUCT, ATOM: printer.ATOM}
        return _LATEX.text(self.node, own.get(strength, printer.POWER if strength else 0))

    def write(self) -> tuple[str, int]:  # noqa: D102
        return self.text(), ATOM

    def value(self, at: Values) -> Any:  # noqa: D102
        return at.number(self.node)


@dataclass(frozen=True)
class Ones(Term):
    """A vector of ones."""

    size: sympy.Expr

    def write(self) -> tuple[str, int]:  # noqa: D102
        return r"\mathbf{1}", ATOM

    def value(self, at: Values) -> Any:  # noqa: D102
        return np.ones(int(at.number(self.size)))


@dataclass(frozen=True)
class Joint(Term):
    """Two terms joined entry by entry: ``+``, ``-``, ``*`` or ``/``."""

    sign: str
    left: Term
    right: Term

    def write(self) -> tuple[str, int]:  # noqa: D102
        left, right = self.left, self.right
        if self.sign in "+-":
            after = SUM if self.sign == "+" else ENTRYWISE
            return f"{left.text(SUM)} {self.sign} {right.text(after)}", SUM
        if self.sign == "/":
            return rf"\frac{{{left.text()}}}{{{right.text()}}}", POWER
        if left.axes and right.axes:
            factors = (part.text(ENTRYWISE if _entrywise(part) else POWER) for part in (left, right))
            return r" \odot ".join(factors), ENTRYWISE
        shown = left.text(PRODUCT), right.text(PRODUCT)
        return (r" \cdot " if shown[1][0].isdigit() else r"\, ").join(shown), PRODUCT

    def value(self, at: Values) -> Any:  # noqa: D102
        left, right = self.left.value(at), self.right.value(at)
        if self.sign in "+-":
            return left + right if self.sign == "+" else left - right
        return left * right if self.sign == "*" else left / right


def _entrywise(part: Term) -> bool:
    return isinstance(part, Joint) and part.sign == "*" and bool(part.left.axes and part.right.axes)


@dataclass(frozen=True)
class Product(Term):
    """A product of matrices, or of a matrix and a vector; of two vectors, ``inner`` xᵀy, or else ``outer`` x yᵀ."""

    left: Term
    right: Term
    kind: str = "matrix"

    def write(self) -> tuple[str, int]:  # noqa: D102
        mark = r"^{\top}"
        row = self.kind == "inner" or (isinstance(self.left, Ones) and self.kind == "matrix")
        left = (
            self.left.text(ATOM) + mark
            if row
            else self.left.text(ATOM if _side(self.left) == "column" else PRODUCT)
        )
        outer = self.kind == "outer"
        right = self.right.text(ATOM if outer or _side(self.right) == "row" else PRODUCT) + mark * outer
        return rf"{left}\, {right}", PRODUCT

    def value(self, at: Values) -> Any:  # noqa: D102
        left, right = self.left.value(at), self.right.value(at)
        return np.outer(left, right) if self.kind == "outer" else left @ right


def _side(part: Term) -> str:
    """Whether a vector is written as a product of a row and a matrix, or of a matrix and a column."""
    if isinstance(part, Joint) and part.sign == "*" and not part.left.axes:
        return _side(part.right)
    if len(part.axes) != 1 or not isinstance(part, Product):
        return ""
    return "row" if isinstance(part.left, Ones) or len(part.left.axes) == 1 else "column"


@dataclass(frozen=True)
class Transposed(Term):
    """A matrix with rows and columns exchanged."""

    of: Term

    def write(self) -> tuple[str, int]:  # noqa: D102
        return self.of.text(ATOM) + r"^{\top}", POWER

    def value(self, at: Values) -> Any:  # noqa: D102
        return self.of.value(at).T


@dataclass(frozen=True)
class Function(Term):
    """A function of numbers, entry by entry, or one of a vector: ``norm``, its square ``square``, ``softmax`` of each row."""

    name: str
    of: Term

    WRITTEN: ClassVar[dict[str, str]] = {
        "exp": r"\exp", "log": r"\ln", "sin": r"\sin", "cos": r"\cos", "tanh": r"\tanh", "sigmoid": r"\sigma",
        "erf": r"\operatorname{erf}", "stop": r"\operatorname{SG}", "softmax": r"\operatorname{softmax}",
    }  # fmt: skip

    def write(self) -> tuple[str, int]:  # noqa: D102
        inner = self.of.text()
        if self.name in self.WRITTEN:
            return rf"{self.WRITTEN[self.name]}\left({inner}\right)", ATOM
        if self.name == "negative":
            return f"-{self.of.text(PRODUCT)}", SUM
        if self.name == "positive":
            return rf"\max\left(0,\, {inner}\right)", ATOM
        if self.name in {"norm", "square"}:
            bars = rf"\left\lVert {inner} \right\rVert"
            return (bars, ATOM) if self.name == "norm" else (bars + "^{2}", POWER)
        return {"sqrt": (rf"\sqrt{{{inner}}}", POWER), "abs": (rf"\left|{inner}\right|", ATOM)}[self.name]

    def value(self, at: Values) -> Any:  # noqa: D102
        x = self.of.value(at)
        known: dict[str, Callable[[Any], Any]] = {
            "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
            "erf": np.vectorize(erf, otypes=[float]),
            "stop": lambda x: x,
            "softmax": lambda x: np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True),
            "positive": lambda x: np.maximum(0, x),
            "norm": np.linalg.norm,
            "square": lambda x: x @ x,
        }
        return known.get(self.name, getattr(np, self.name, None))(x)  # type: ignore[misc]


@dataclass(frozen=True)
class Power(Term):
    """A power of a number."""

    base: Term
    exponent: Term

    def write(self) -> tuple[str, int]:  # noqa: D102
        return f"{self.base.text(ATOM)}^{{{self.exponent.text()}}}", POWER

    def value(self, at: Values) -> Any:  # noqa: D102
        return self.base.value(at) ** self.exponent.value(at)


@dataclass(frozen=True)
class Applied(Term):
    """A formula applied to arrays; one that takes a vector and is given a matrix is applied to every row.

    ``items`` are the formula's inputs, ``index`` picks rows of the result. With ``one_row`` a formula of matrices is applied to
    vectors, as matrices of one row, and written as one of vectors. ``sizes`` are what the formula's own are here.
    """

    formula_id: str
    output: str
    name: str
    arguments: tuple[Term, ...]
    items: tuple[Any, ...] = ()
    index: tuple[Any, ...] = ()
    output_mark: str = ""
    one_row: bool = False
    sizes: tuple[tuple[Any, Any], ...] = ()

    def write(self) -> tuple[str, int]:  # noqa: D102
        listed = r",\, ".join(one.text() for one in self.arguments if not isinstance(one, Absent))
        place = rf"_{{{', '.join(map(latex, self.index))}}}" if self.index and not self.one_row else ""
        return rf"{self.name}\left({listed}\right)" + self.output_mark + place, ATOM

    def value(self, at: Values) -> Any:  # noqa: D102
        given = tuple(one.value(at) for one in self.arguments)
        ranks = [len(item.shape) if isinstance(item, Tensor) else 0 for item in self.items]
        rows = [np.ndim(one) > rank for one, rank in zip(given, ranks, strict=True)]
        if not any(rows):
            found = at.apply(self.formula_id, self.output, given)
        else:
            count = next(len(one) for one, row in zip(given, rows, strict=True) if row)
            found = np.array(
                [
                    at.apply(
                        self.formula_id,
                        self.output,
                        tuple(one[i] if row else one for one, row in zip(given, rows, strict=True)),
                    )
                    for i in range(count)
                ]
            )
        return found[tuple(int(at.number(one)) for one in self.index)]


@dataclass(frozen=True)
class Absent(Term):
    """An optional argument that is not given."""

    def write(self) -> tuple[str, int]:  # noqa: D102
        return "", ATOM

    def value(self, at: Values) -> Any:  # noqa: D102
        return None


@dataclass(frozen=True)
class Repeated(Term):
    """A vector where a matrix is taken: the matrix of which it is every row. It is written as the vector."""

    row: Term
    count: sympy.Expr

    def write(self) -> tuple[str, int]:  # noqa: D102
        return self.row.write()

    def value(self, at: Values) -> Any:  # noqa: D102
        row = self.row.value(at)
        return np.broadcast_to(row, (int(at.number(self.count)), *np.shape(row)))


@dataclass(frozen=True)
class Where(Term):
    """The matrix or vector of a condition on its indices, ``(j ≤ i)``: 1 where it holds, else 0."""

    condition: Basic
    sizes: tuple[sympy.Expr, ...]

    def write(self) -> tuple[str, int]:  # noqa: D102
        letters = ", ".join(map(latex, self.axes))
        return rf"\left({latex(self.condition)}\right)_{{{letters}}}", ATOM

    def value(self, at: Values) -> Any:  # noqa: D102
        found = np.zeros([int(at.number(size)) for size in self.sizes], dtype=bool)
        for place in np.ndindex(*found.shape):
            found[place] = at.at(numbers=dict(zip(self.axes, place, strict=True))).holds(self.condition)
        return found


@dataclass(frozen=True)
class Cases(Term):
    """One number where a condition on numbers holds, else another."""

    condition: Basic
    then: Term
    otherwise: Term

    def write(self) -> tuple[str, int]:  # noqa: D102
        then, otherwise = self.then.text(), self.otherwise.text()
        return (
            rf"\begin{{cases}} {then} & \text{{if }} {latex(self.condition)} \\ {otherwise} & \text{{otherwise}} "
            r"\end{cases}",
            ATOM,
        )

    def value(self, at: Values) -> Any:  # noqa: D102
        return (self.then if at.holds(self.condition) else self.otherwise).value(at)


@dataclass(frozen=True)
class Blocks(Term):
    """Vectors or matrices side by side."""

    blocks: tuple[Term, ...]

    def write(self) -> tuple[str, int]:  # noqa: D102
        shown = r" \;\; ".join(one.text() for one in self.blocks)
        return rf"\left[\, {shown} \,\right]", ATOM

    def value(self, at: Values) -> Any:  # noqa: D102
        return np.concatenate([one.value(at) for one in self.blocks], axis=-1)


@dataclass(frozen=True)
class Run(Term):
    """All that a term is as one of its subscripts runs: side by side, or added where ``added``."""

    symbol: sympy.Symbol
    first: sympy.Expr
    last: sympy.Expr
    body: Term
    ends: tuple[Term, ...] = ()

    def write(self) -> tuple[str, int]:  # noqa: D102
        if not self.ends:
            reach = rf"\sum_{{{latex(self.symbol)}={latex(self.first)}}}^{{{latex(self.last)}}}"
            return f"{reach} {self.body.text(PRODUCT)}", ENTRYWISE
        shown = r" \;\cdots\; ".join(one.text() for one in self.ends)
        return rf"\left[\, {shown} \,\right]", ATOM

    def value(self, at: Values) -> Any:  # noqa: D102
        reach = range(int(at.number(self.first)), int(at.number(self.last)) + 1)
        found = [self.body.value(at.at(numbers={self.symbol: place})) for place in reach]
        return np.concatenate(found, axis=-1) if self.ends else sum(found)
