"""The sizes that a callable supports, where it does not support all: rules such as ``d_v = d_k`` or ``h = 2|4``.

A rule says what a size is: another size, an expression of sizes (``h*d_k``), a number, one of some (``2|4``), one of a range
(``2..64``), or a multiple (``h*any``, ``even``, ``odd``). Examples are drawn at such sizes only, and the verdict says so.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any

from spec.language.arrays import Tensor
from spec.language.evaluation.dimensions import Size
from spec.language.formula import Formula
from spec.language.trees import free_symbols
from verify.faults import Unusable

if TYPE_CHECKING:
    from verify.inputs.ranges import Ranges

ANY = "any"
"""In a rule, any whole number of at least 1: ``2*any`` is an even size."""
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
    expression: ast.expr | None = None
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
        if ANY not in self._mentioned:
            return _evaluated(self.expression, known)
        found = _evaluated(self.expression, {**known, ANY: 1})
        for multiple in count(2):
            larger = _evaluated(self.expression, {**known, ANY: multiple})
            if not found < larger <= now:
                return found
            found = larger
        raise AssertionError

    def fits(self, sizes: Mapping[Size, int]) -> bool:
        """Whether the size is one that the rule allows."""
        if self.options:
            return sizes[self.size] in self.options
        return sizes[self.size] == self.value(sizes)

    @cached_property
    def _mentioned(self) -> frozenset[str]:
        inside = ast.walk(self.expression) if self.expression is not None else ()
        return frozenset(node.id for node in inside if isinstance(node, ast.Name))

    @cached_property
    def names(self) -> frozenset[str]:
        """The sizes it speaks of."""
        return self._mentioned - {ANY} | {self.size.name}

    def __str__(self) -> str:
        return f"{self.size} = {self.text}"


def _evaluated(node: ast.expr, sizes: Mapping[str, int]) -> int:
    if isinstance(node, ast.Name):
        return sizes[node.id]
    if isinstance(node, ast.BinOp):
        return _OPERATIONS[type(node.op)](_evaluated(node.left, sizes), _evaluated(node.right, sizes))
    assert isinstance(node, ast.Constant)
    return int(node.value)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Supported:
    """The rules of a callable; none by default, so that every size is supported. ``within``: how large entries are at most."""

    rules: tuple[SizeRule, ...] = ()
    within: Ranges | None = None

    @classmethod
    def of(cls, formula: Formula, given: Any) -> Supported:
        """The rules for a formula's sizes, given by name.

        Raises:
            Unusable: a size the formula does not have, or a rule that is none.
        """
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise Unusable(f"{formula.id}: sizes map names to rules, such as {{'d_v': 'd_k'}}; got {given!r}")
        known = {str(s): s for s in sizes_of_formula(formula)}
        rules = []
        for name, rule in given.items():
            if name not in known:
                raise Unusable(f"{formula.id} has no size {name!r}; it has: {', '.join(known)}")
            rules.append(_rule(formula, known, name, str(rule)))
        made = cls(tuple(sorted(rules, key=lambda r: r.expression is not None)))
        trial = made.settled(dict.fromkeys(known.values(), 6))
        if not made.fits(trial):
            raise Unusable(f"{formula.id}: no sizes were found at which {made} all hold")
        return made

    def settled(self, sizes: Mapping[Size, int]) -> dict[Size, int]:
        """The nearest supported sizes: those that a rule determines are replaced, until all rules hold that can."""
        found = dict(sizes)
        known = {s.name for s in found}
        for _ in self.rules:  # a rule may speak of a size that a later one replaces
            for rule in self.rules:
                if rule.names <= known and not rule.fits(found):
                    found[rule.size] = rule.value(found)
        return found

    def fits(self, sizes: Mapping[Size, int]) -> bool:
        """Whether sizes are supported; a rule about sizes that are not among them is no obstacle."""
        known = {str(s) for s in sizes}
        return all(v >= 1 for v in sizes.values()) and all(
            r.fits(sizes) for r in self.rules if r.names <= known
        )

    @property
    def symbols(self) -> set[str]:
        """The names of the sizes that cannot be changed alone."""
        return set().union(*(rule.names for rule in self.rules))

    def __bool__(self) -> bool:
        return bool(self.rules)

    def __str__(self) -> str:
        return ", ".join(map(str, self.rules))


def line(rules: Mapping[str, str]) -> str:
    """Rules as they are typed on the command line."""
    told = (f"{name}={rule}".replace(" ", "") for name, rule in rules.items())
    return "--sizes " + " ".join(f"'{each}'" if set("*|") & set(each) else each for each in told)


EVERY_SIZE = Supported()
"""No rules."""


def _rule(formula: Formula, known: Mapping[str, Size], name: str, text: str) -> SizeRule:
    if re.fullmatch(r"\s*\d+(\s*\|\s*\d+)*\s*", text):
        options = tuple(int(part) for part in text.split("|"))
        if min(options) >= 1:
            return SizeRule(known[name], " or ".join(map(str, options)), options)
    wrong = Unusable(
        f"{formula.id}: {name} = {text} is no rule for a size; expected sizes, whole numbers, + - * //, numbers 2|4, "
        "a range 2..64, a multiple h*any, or even, odd"
    )
    between = re.fullmatch(r"\s*(\d*)\s*\.\.\s*(\d*)\s*", text)
    if between:
        low, high = int(between[1] or 1), int(between[2]) if between[2] else None
        if low < 1 or (high is not None and high < low):
            raise wrong
        return SizeRule(known[name], f"{low}..{high or ''}", bounds=(low, high))
    word = text.strip()
    try:
        tree = ast.parse(WORDS.get(word, word), mode="eval").body
    except (SyntaxError, ValueError):
        raise wrong from None
    if isinstance(tree, ast.Constant):  # as a number it would have been an option
        raise wrong
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            continue
        if isinstance(node, ast.Name) and (node.id == ANY or (node.id in known and node.id != name)):
            continue
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value >= 0:
            continue
        if isinstance(node, ast.operator | ast.expr_context):
            continue
        raise wrong
    return SizeRule(known[name], word if word in WORDS else ast.unparse(tree), (), tree)


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


def pairs(given: Iterable[str]) -> dict[str, str]:
    """Rules from ``name=rule`` texts, as a command line has them.

    Raises:
        Unusable: a text without an equals sign.
    """
    made: dict[str, str] = {}
    for text in given:
        name, equals, rule = text.partition("=")
        if not equals or not name or not rule:
            raise Unusable(f"expected a size's rule such as d_v=d_k; got {text!r}")
        made[name.strip()] = rule.strip()
    return made


__all__ = ["EVERY_SIZE", "SizeRule", "Supported", "line", "pairs", "sizes_of_formula"]
