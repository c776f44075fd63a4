"""What a callable supports, where it does not support all: sizes such as ``d_v = d_k`` or ``d = even``, numbers, kinds of masks.

A rule says what a size is: another size, an expression of sizes (``h*d_k``), a number, one of some (``2|4``), one of a range
(``2..64``), or a multiple (``h*any``, ``even``, ``odd``). A number such as ε may be fixed. Examples are drawn so only, and the
verdict says so.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, Protocol

import numpy as np

from spec.language.arrays import Tensor
from spec.language.evaluation.dimensions import Size
from spec.language.formula import Formula
from spec.language.trees import free_symbols
from verify.faults import Unusable
from verify.inputs import mask_kinds

ANY = "any"
"""In a rule, any whole number of at least 1: ``2*any`` is an even size."""
LARGEST = 2**24
"""No size is larger: one vector of so many numbers takes 134 MB."""
ROOM = 64
"""By how much sizes are made larger at most, so that another, that is less than they are, is at least 1."""
WORDS = {"even": "2*any", "odd": "2*any - 1"}
"""Rules that have a name."""

_OPERATIONS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


@dataclass(frozen=True)
class SizeRule:
    """What one size is: one of ``options``, within ``bounds``, or the value of an expression of other sizes."""

    size: Size
    text: str
    options: tuple[int, ...] = ()
    expression: ast.expr | None = field(default=None, compare=False)  # that of the text
    bounds: tuple[int, int | None] | None = None

    def value(self, sizes: Mapping[Size, int]) -> int:
        """The size, given the others; where several are possible, one near what it is."""
        now = sizes[self.size]
        if self.options:
            return self.options[now % len(self.options)]
        if self.bounds is not None:
            low, high = self.bounds
            if now >= low and (high is None or now <= high):
                return now
            return low + (0 if high is None else now % (high - low + 1))
        assert self.expression is not None
        known = {s.name: v for s, v in sizes.items()}
        if ANY not in self._names_in_expression:
            return _evaluate(self.expression, known)
        found = _evaluate(self.expression, {**known, ANY: 1})
        for multiple in count(2):
            larger = _evaluate(self.expression, {**known, ANY: multiple})
            if not found < larger <= now:
                return found
            found = larger
        raise AssertionError

    def raise_others(self, sizes: Mapping[Size, int]) -> dict[Size, int]:
        """The other sizes, so much larger that this one, of which they say what it is, is at least 1."""
        others = {
            size: value for size, value in sizes.items() if size.name in self.names and size != self.size
        }
        for more in range(ROOM if self.expression is not None else 0):
            larger = {size: value + more for size, value in others.items()}
            if self.value({**sizes, **larger}) >= 1:
                return larger
        return {}

    def fits(self, sizes: Mapping[Size, int]) -> bool:
        """Whether the size is one that the rule allows."""
        if self.options:
            return sizes[self.size] in self.options
        return sizes[self.size] == self.value(sizes)

    @cached_property
    def _names_in_expression(self) -> frozenset[str]:
        inside = ast.walk(self.expression) if self.expression is not None else ()
        return frozenset(node.id for node in inside if isinstance(node, ast.Name))

    @cached_property
    def names(self) -> frozenset[str]:
        """The sizes it speaks of."""
        return self._names_in_expression - {ANY} | {self.size.name}

    def __str__(self) -> str:
        return f"{self.size} = {self.text}"


def _evaluate(node: ast.expr, sizes: Mapping[str, int]) -> int:
    if isinstance(node, ast.Name):
        return sizes[node.id]
    if isinstance(node, ast.BinOp):
        return _OPERATIONS[type(node.op)](_evaluate(node.left, sizes), _evaluate(node.right, sizes))
    assert isinstance(node, ast.Constant)
    return int(node.value)  # type: ignore[arg-type]


class Limits(Protocol):
    """How large entries are at most (:class:`verify.inputs.ranges.Ranges`)."""

    def bring_inside(self, example: Any) -> Any:
        """The example with its entries brought inside."""

    def holds(self, inputs: Mapping[str, Any]) -> bool:
        """Whether inputs are inside."""


@dataclass(frozen=True)
class Supported:
    """What a callable supports; everything by default.

    Attributes:
        rules: the sizes.
        fixed: numbers, and arrays of which every entry is one number, that are what they are.
        masks: the kind of masks (:mod:`verify.inputs.mask_kinds`).
        few: whether examples come in a few shapes only, for callables to which each new one is costly.
        within: how large entries are at most.
        given: the inputs that are given by words (:mod:`verify.inputs.given`), each as it is said.
    """

    rules: tuple[SizeRule, ...] = ()
    fixed: tuple[tuple[str, float], ...] = ()
    masks: str = mask_kinds.EVERY
    few: bool = False
    within: Limits | None = None
    given: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        formula: Formula,
        given: Any,
        fixed: Any = None,
        masks: str = mask_kinds.EVERY,
        few: bool = False,
    ) -> Supported:
        """Read a formula's size rules and fixed numbers, each by name.

        Raises:
            Unusable: a size or a number the formula does not have, a rule that is none, or a value it cannot have.
        """
        if given is None:
            given = {}
        if not isinstance(given, Mapping):
            raise Unusable(f"{formula.id}: sizes map names to rules, such as {{'d_v': 'd_k'}}; got {given!r}")
        known = {str(s): s for s in sizes_of_formula(formula)}
        rules = []
        for name, rule in given.items():
            if name not in known:
                raise Unusable(f"{formula.id} has no size {name!r}; it has: {', '.join(known)}")
            rules.append(_read_rule(formula, known, name, str(rule)))
        made = cls(
            tuple(sorted(rules, key=lambda r: r.expression is not None)),
            _read_fixed(formula, known, fixed),
            mask_kinds.check_kind(formula, masks),
            few,
        )
        trial = made.adjust_sizes(dict.fromkeys(known.values(), 6))
        if not made.fits(trial):
            raise Unusable(
                f"{formula.id}: no sizes were found at which {', '.join(map(str, made.rules))} all hold"
            )
        return made

    def adjust_sizes(self, sizes: Mapping[Size, int]) -> dict[Size, int]:
        """The nearest supported sizes: those that a rule determines are replaced, until all rules hold that can."""
        found = dict(sizes)
        known = {s.name for s in found}
        for _ in self.rules:  # a rule may speak of a size that a later one replaces
            for rule in self.rules:
                if rule.names <= known and not rule.fits(found):
                    found |= rule.raise_others(found)
                    found[rule.size] = rule.value(found)
        return found

    def fits(self, sizes: Mapping[Size, int]) -> bool:
        """Whether sizes are supported; a rule about sizes that are not among them is no obstacle."""
        known = {s.name for s in sizes}
        return all(v >= 1 for v in sizes.values()) and all(
            r.fits(sizes) for r in self.rules if r.names <= known
        )

    def takes(self, formula: Formula, inputs: Mapping[str, Any], rounded: Callable[[float], float]) -> bool:
        """Whether inputs have the fixed numbers, ``rounded`` to a type or not, and a mask of the supported kind."""
        for name, value in self.fixed:
            given = np.asarray(inputs[name])
            if not ((given == value) | (given == rounded(value))).all():
                return False
        masks = (inputs.get(t.name) for t in formula.tensors if t.role == "mask")
        return all(mask_kinds.fits(self.masks, mask) for mask in masks)

    @property
    def symbols(self) -> set[str]:
        """The names of the sizes that cannot be changed alone."""
        return set().union(*(rule.names for rule in self.rules))

    def __bool__(self) -> bool:
        return bool(self.rules or self.fixed) or self.masks != mask_kinds.EVERY

    def __str__(self) -> str:
        said = [*self.given, *map(str, self.rules), *(f"{name} = {value:g}" for name, value in self.fixed)]
        return ", ".join(said + ([mask_kinds.KINDS[self.masks]] if self.masks != mask_kinds.EVERY else []))


def line(rules: Mapping[str, str]) -> str:
    """Rules as they are typed on the command line."""
    told = (f"{name}={rule}".replace(" ", "") for name, rule in rules.items())
    return "--sizes " + " ".join(f"'{each}'" if set("*|") & set(each) else each for each in told)


EVERY_SIZE = Supported()
"""Everything."""


def _read_fixed(formula: Formula, sizes: Mapping[str, Size], given: Any) -> tuple[tuple[str, float], ...]:
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise Unusable(f"{formula.id}: fixed maps names to numbers, such as {{'eps': 1e-5}}; got {given!r}")
    offered = {
        t.name: t
        for t in formula.tensors
        if t.role in ("number", "parameter") and t.domain in (*_LEAST, "real", "integer")
    }
    found = {}
    for name, value in given.items():
        if name in sizes:
            raise Unusable(f"{formula.id}: {name} is a size; its rule is given as sizes, {name}={value}")
        if name not in offered:
            has = f"it has: {', '.join(offered)}" if offered else "it has none"
            raise Unusable(f"{formula.id} has no number or parameter {name!r} to be fixed; {has}")
        domain = offered[name].domain
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        least, beyond = _LEAST.get(domain, -math.inf), 1.0 if domain in ("share", "boolean") else math.inf
        too_small = number <= least if domain == "positive" else number < least
        whole = domain not in ("integer", "boolean") or number.is_integer()
        if not math.isfinite(number) or too_small or number > beyond or not whole:
            raise Unusable(f"{formula.id}: {name} is fixed at {value!r}; expected a {domain} number")
        found[name] = number + 0.0  # there is one 0: −0 would be equal to it, and another number
    return tuple(found.items())


_LEAST = {"positive": 0.0, "nonnegative": 0.0, "share": 0.0, "boolean": 0.0}
NUMBERS: Mapping[str, type[int] | type[bool]] = {"integer": int, "boolean": bool}
"""What a Python number is, by its domain, where it is no float."""


def _read_rule(formula: Formula, known: Mapping[str, Size], name: str, text: str) -> SizeRule:
    """Read a size's rule from its text: numbers, a range, or an expression of other sizes."""
    size, others = known[name], known.keys() - {name}
    rule = _read_options(size, text) or _read_range(size, text) or _read_expression(size, text, others)
    if rule is None:
        raise Unusable(
            f"{formula.id}: {name} = {text} is no rule for a size; expected sizes, whole numbers, + - * //, numbers 2|4, "
            "a range 2..64, a multiple h*any, or even, odd"
        )
    if max(rule.options, default=0) > LARGEST:
        raise Unusable(
            f"{formula.id}: {name} = {text} is too large for an example; expected at most {LARGEST:,}"
        )
    return rule


def _read_options(size: Size, text: str) -> SizeRule | None:
    """Read ``2`` or ``2|4``."""
    if not re.fullmatch(r"\s*\d+(\s*\|\s*\d+)*\s*", text):
        return None
    options = tuple(int(part) for part in text.split("|"))
    return SizeRule(size, " or ".join(map(str, options)), options) if min(options) >= 1 else None


def _read_range(size: Size, text: str) -> SizeRule | None:
    """Read ``2..64``, ``2..`` or ``..64``."""
    found = re.fullmatch(r"\s*(\d*)\s*\.\.\s*(\d*)\s*", text)
    if not found:
        return None
    low, high = int(found[1] or 1), int(found[2]) if found[2] else None
    if low < 1 or (high is not None and high < low):
        return None
    return SizeRule(size, f"{low}..{high or ''}", bounds=(low, high))


def _read_expression(size: Size, text: str, others: Set[str]) -> SizeRule | None:
    """Read ``h*d_k``, ``2*any`` or ``even``: arithmetic of the other sizes."""
    word = text.strip()
    try:
        tree = ast.parse(WORDS.get(word, word), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    # A number alone would have been an option.
    if isinstance(tree, ast.Constant) or not all(_is_arithmetic(node, others) for node in ast.walk(tree)):
        return None
    return SizeRule(size, word if word in WORDS else ast.unparse(tree), (), tree)


def _is_arithmetic(node: ast.AST, sizes: Set[str]) -> bool:
    """Whether a part of an expression may stand in a rule about these sizes."""
    match node:
        case ast.BinOp():
            return type(node.op) in _OPERATIONS
        case ast.Name():
            return node.id == ANY or node.id in sizes
        case ast.Constant():
            return type(node.value) is int and node.value >= 0
    return isinstance(node, ast.operator | ast.expr_context)


def sizes_of_formula(formula: Formula) -> tuple[Size, ...]:
    """The sizes to choose, in order of appearance in the inputs."""
    found: dict[Size, None] = {}
    for item in formula.inputs:
        if isinstance(item, Tensor):
            for size in (*item.shape, item.below):
                found.update(dict.fromkeys(sorted(free_symbols(size), key=str)))
        else:
            found[item] = None
    return tuple(found)


def pairs(given: Iterable[str], expected: str = "a size's rule such as d_v=d_k") -> dict[str, str]:
    """Rules from ``name=rule`` texts, as a command line has them.

    Raises:
        Unusable: a text without an equals sign, or two that say another thing of one name.
    """
    made: dict[str, str] = {}
    for text in given:
        name, equals, rule = text.partition("=")
        if not equals or not name or not rule:
            raise Unusable(f"expected {expected}; got {text!r}")
        name, rule = name.strip(), rule.strip()
        if made.setdefault(name, rule) != rule:
            raise Unusable(f"{name} is given twice: {name}={made[name]} and {name}={rule}; expected one")
    return made


__all__ = ["EVERY_SIZE", "SizeRule", "Supported", "line", "pairs", "sizes_of_formula"]
