"""What a theorem has to be, to mean anything: refused when it is made and when it is checked, in one line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import sympy
from sympy.core.basic import Basic

from spec.language.arrays import Tensor
from spec.language.calls import Applied
from spec.language.elaboration import elaborate
from spec.language.expr import Choice, Node
from spec.language.lines import Definition
from spec.language.theorem import Claim, Induction, Proof, Theorem
from spec.language.trees import free_symbols, substitute, walk
from spec.language.wellformed import letters
from spec.language.wellformed.formulas import check_calls, check_choice, check_kinds, decides, sizes_of
from spec.language.wellformed.letters import (
    REAL,
    RELATIONS,
    IllFormed,
    Parts,
    is_condition,
    is_index,
    is_size,
)
from spec.language.wellformed.ranges import Scope, check_places

TRIED = (1, 2, 3)
"""Sizes at which what replaces a size is tried, besides being an integer of at least 1 by its form."""

METHODS = ("derivation", "witness", "enclosure")


def check_theorem(formula: Any, theorem: Theorem) -> None:
    """Refuse a theorem that means nothing, or something else than it says.

    Raises:
        IllFormed: naming formula, theorem, claim, and what does not belong.
    """
    _Stated(formula, theorem).check()


class _Stated:
    """A theorem about a formula, under examination."""

    def __init__(self, formula: Any, theorem: Theorem) -> None:
        self.formula, self.theorem = formula, theorem
        self.where = f"{formula.id}, {theorem.name}"
        lines = (*formula.definitions, *formula.abbreviations.values())
        self.inputs = {*formula.tensors, *formula.constants}
        self.declared = {*self.inputs, *theorem.given}
        self.tensors = {*self.declared, *(line.left.tensor for line in lines)}
        self.sizes: set[sympy.Symbol] = set()
        self.indices: set[sympy.Symbol] = set()

    def check(self) -> None:
        """Refuse what means nothing."""
        for tensor in self.theorem.given:
            letters.check_tensor(tensor, self.where)
        letters.check_once(self.tensors, f"{self.where}: choose another letter for what the theorem is given")
        try:
            self.formula.choose(self.theorem.conventions)
        except ValueError as error:
            raise IllFormed(f"{self.where}: {error}") from None
        self._sizes()
        self._check_fixed()
        for assumption in self.theorem.assuming:
            self._tree(assumption, f"{self.where}, an assumption", frozenset())
            if not is_condition(assumption):
                raise IllFormed(f"{self.where}: the assumption {assumption} is no condition")
        if not self.theorem.claims:
            raise IllFormed(f"{self.where}: nothing is claimed")
        for number, claim in enumerate(self.theorem.claims, 1):
            self._claim(claim, f"{self.where}, claim {number}", ())
        letters.check_once((*self.sizes, *({s.name: s for s in self.indices}.values())), self.where)

    def _sizes(self) -> None:
        """What replaces sizes is a size itself: an integer of at least 1, in sizes that are not replaced."""
        for size, value in self.theorem.sizes.items():
            if not is_size(size):
                raise IllFormed(f"{self.where}: {size} is replaced, but is no size")
            value = sympy.sympify(value)
            within = sorted(free_symbols(value), key=str)
            self.sizes |= {size, *within}
            if any(s in self.theorem.sizes or not is_size(s) for s in within):
                raise IllFormed(
                    f"{self.where}: {size} is replaced by {value}, which is not made of other sizes"
                )
            from_zero = {s: sympy.Symbol(s.name, integer=True, nonnegative=True) + 1 for s in within}
            least = sympy.expand(value.subs(from_zero, simultaneous=True))
            tried = (
                substitute(value, dict(zip(within, map(sympy.Integer, at), strict=True)))
                for at in product(TRIED, repeat=len(within))
            )
            if not (least.is_integer and least.is_positive and all(t.is_Integer and t > 0 for t in tried)):
                raise IllFormed(
                    f"{self.where}: {size} is replaced by {value}, which is not visibly an integer of at least 1"
                )

    def _check_fixed(self) -> None:
        """What is fixed is an input or constant of the formula, to a number of its domain, edge included."""
        for tensor, value in self.theorem.at.items():
            if tensor not in self.inputs:
                raise IllFormed(f"{self.where}: {tensor} is fixed, but is no input of {self.formula.id}")
            number = sympy.sympify(value)
            if tensor.domain not in REAL or not (number.is_number and number.is_real):
                raise IllFormed(
                    f"{self.where}: {tensor}, which is {tensor.domain}, cannot be fixed to {value}"
                )
            if (tensor.domain != "real" and number < 0) or (tensor.domain == "share" and number > 1):
                raise IllFormed(f"{self.where}: {tensor} is fixed to {value}, but is {tensor.domain}")

    # Claims ------------------------------------------------------------------------------------------------------------

    def _claim(self, claim: Claim, where: str, outer: tuple[sympy.Symbol, ...]) -> None:
        if claim.relation not in RELATIONS:
            raise IllFormed(f"{where}: a claim relates its sides by =, <= or <; {claim.relation!r} was given")
        own: list[sympy.Symbol] = []
        for symbol, size in claim.over:
            if not is_index(symbol):
                raise IllFormed(f"{where}: {symbol} is no index; a claim is made for all values of indices")
            if symbol in own:
                raise IllFormed(f"{where}: {symbol} stands for two indices")
            self._tree(size, where, frozenset((*outer, *own)))
            own.append(symbol)
        letters.check_once(own, where)
        around = (*outer, *own)
        self.indices |= set(own)
        for part in (claim.left, claim.right, claim.where):
            self._tree(part, where, frozenset(around))
        if not is_condition(claim.where):
            raise IllFormed(f"{where}: {claim.where} is no condition")
        self._proof(claim.proof, where, around)

    def _proof(self, proof: Proof, where: str, around: tuple[sympy.Symbol, ...]) -> None:
        if proof.method not in METHODS:
            raise IllFormed(f"{where}: {proof.method} is not a method of proof")
        for step in proof.steps:
            if step.relation not in RELATIONS:
                raise IllFormed(f"{where}: a step is by =, <= or <; {step.relation!r} was given")
        written = (*(s.to for s in proof.steps), *(s.gap for s in proof.steps), proof.gap)
        for tree in written:
            if tree is not None:
                self._tree(tree, where, frozenset(around))
        for sizes in proof.sizes:
            for size, value in sizes.items():
                if not is_size(size) or not sympy.sympify(value).is_Integer or value < 1:
                    raise IllFormed(f"{where}: {size} = {value} is no size")
        for cited in proof.cited:
            whole = Applied(cited.call.formula_id, cited.call.output, cited.call.arguments).whole()
            for tree in (whole, *(value for _, value in cited.given)):
                self._tree(tree, f"{where}, citing {cited}", frozenset(around))
        if proof.induction is not None:
            self._induction(proof.induction, where, around)

    def _induction(self, shown: Induction, where: str, around: tuple[sympy.Symbol, ...]) -> None:
        if not is_index(shown.over):
            raise IllFormed(f"{where}: {shown.over} is no index to show something by induction over")
        self.indices.add(shown.over)
        for end in (shown.first, shown.last):
            self._tree(end, where, frozenset(around))
        if not shown.claims:
            for part in (*shown.base, *shown.step):
                self._proof(part, where, around)
            return
        inside = (*around, shown.over)
        for claim in shown.claims:
            self._claim(claim, where, inside)
        for proofs in (shown.base, shown.step):
            if len(proofs) > len(shown.claims):
                raise IllFormed(f"{where}: an induction has more proofs than claims")
            for claim, part in zip(shown.claims, proofs, strict=False):
                self._proof(part, where, (*inside, *(s for s, _ in claim.over)))

    # Trees -------------------------------------------------------------------------------------------------------------

    def _tree(self, tree: Any, where: str, bound: frozenset[sympy.Symbol]) -> None:
        """A tree as it is written, and as it is read: over what is given and the formula's inputs alone."""
        Parts(where).check(tree, bound)
        self._letters(tree, where, self.tensors)
        meant = check_meaning(tree, self.formula, where, bound)
        if meant != tree:
            self._letters(meant, where, self.declared)

    def _letters(self, tree: Any, where: str, declared: set[Tensor]) -> None:
        for part in _outside_shapes(tree):
            if isinstance(part, Tensor) and part not in declared:
                named = [t for t in self.tensors if t.name == part.name]
                said = "is another tensor than the one of this name" if named else "is not declared"
                raise IllFormed(f"{where}: {part.name} of shape ({', '.join(map(str, part.shape))}) {said}")
            if isinstance(part, sympy.Symbol):
                letters.check_name(part.name, where)
                (self.sizes if is_size(part) else self.indices).add(part)


def _outside_shapes(tree: Any) -> Iterator[Any]:
    """Every part of a tree, the shapes of its tensors apart."""
    yield tree
    if not isinstance(tree, Tensor):
        for child in getattr(tree, "args", ()):
            yield from _outside_shapes(child)


def check_abbreviation(formula: Any, line: Definition) -> None:
    """Refuse an abbreviation that means nothing, or that has the name of something else.

    Raises:
        IllFormed: naming formula, abbreviation and symbol.
    """
    where = f"{formula.id}, abbreviation {line.left}"
    own = {*formula.tensors, *formula.constants}
    if line.name in {t.name for t in (*own, *(other.left.tensor for other in formula.definitions))}:
        raise IllFormed(f"{where}: {line.name} is an input or a line of the formula already")
    _check_left(line, where)
    letters.check_tensor(line.left.tensor, where)
    Parts(where).check(line.right, frozenset(line.spans))
    check_places(line.right, Scope(line.spans), where)
    for part in walk(check_meaning(line.right, formula, where, frozenset(line.spans))):
        if isinstance(part, Tensor) and part not in own and part.role != "given":
            raise IllFormed(f"{where}: nothing defines {part.name} of shape {part.shape}")


def _check_left(line: Definition, where: str) -> None:
    """Refuse a left side that does not say of every entry, once, what it is, or that says more of it than what it is."""
    tensor = line.left.tensor
    for letter, size in zip(line.left.index, tensor.shape, strict=True):
        if not is_index(letter) or list(line.left.index).count(letter) > 1:
            raise IllFormed(
                f"{where}: an abbreviation is said for every entry, by a letter of its own for each axis; "
                f"{letter} is none"
            )
        first, last = line.spans[letter]
        if first != 0 or sympy.expand(last + 1 - size) != 0:
            raise IllFormed(
                f"{where}: an abbreviation is said for every entry; {letter} runs from {first} to {last}, "
                f"and the axis has size {size}"
            )
    kinds = {
        "real": not decides(line.right),
        "boolean": is_condition(line.right),
        "integer": letters.is_whole(line.right),
    }
    if tensor.domain not in kinds:
        raise IllFormed(
            f"{where}: {line.name} is declared {tensor.domain}; an abbreviation is what it stands for, and is declared real, "
            "boolean or integer"
        )
    if not kinds[tensor.domain]:
        raise IllFormed(f"{where}: {line.name} is declared {tensor.domain}, and what it stands for is not")


def check_meaning(tree: Any, formula: Any, where: str, bound: frozenset[sympy.Symbol]) -> Any:
    """The tree as it is read; refused where letters in it stand for what does not belong there.

    Raises:
        IllFormed: naming the place, and the part that does not belong there.
    """
    meant = elaborate(tree, formula)
    if meant != tree:
        Parts(where).check(meant, bound)
    if isinstance(meant, Node):
        check_calls(meant, where)
        check_kinds(meant, where)
        for part in walk(meant):
            if isinstance(part, Choice):
                check_choice(formula, part, where)
    return meant


def check_claims(formula: Any, theorem: Theorem) -> None:
    """Refuse a claim or a step that reads outside a tensor, a witness of unknown names, and what is given for nothing.

    Raises:
        IllFormed: naming formula, theorem, claim and symbol.
    """
    where = f"{formula.id}, {theorem.name}"
    for number, claim in enumerate(theorem.claims, 1):
        scope = Scope({s: (sympy.S.Zero, size - 1) for s, size in claim.over}, (claim.where,), theorem.sizes)
        for tree in (claim.left, claim.right, *(step.to for step in claim.proof.steps)):
            check_places(tree, scope, f"{where}, claim {number}")
        if theorem.exists and claim.proof.method != "witness":
            raise IllFormed(f"{where}, claim {number}: that it exists is shown by a witness: by_witness(…)")
        _check_witness(formula, theorem, claim, f"{where}, claim {number}")
    read = {part for tree in _trees(theorem) for part in walk(elaborate(tree, formula))}
    for tensor in theorem.given:
        if tensor not in read:
            raise IllFormed(f"{where}: {tensor} is given, but no claim or assumption reads it")
    shapes = [size for part in read if isinstance(part, Tensor) for size in part.shape]
    known = _sizes(formula, theorem).union(*map(free_symbols, shapes))
    known |= {part for part in read if isinstance(part, sympy.Symbol)}
    for size in theorem.sizes:
        if size not in known:
            raise IllFormed(f"{where}: {size} is replaced, but is no size of the formula")


def _check_witness(formula: Any, theorem: Theorem, claim: Claim, where: str) -> None:
    sizes = {size.name for size in _sizes(formula, theorem)}
    names = {str(item) for item in (*formula.inputs, *theorem.given)} | sizes
    for name, value in claim.proof.point.items():
        if name not in names:
            raise IllFormed(
                f"{where}: the witness gives {name}, which is no input and no size of the theorem"
            )
        if name in sizes and not (isinstance(value, int) and value > 0):
            raise IllFormed(f"{where}: the witness gives the size {name} as {value!r}: a size is at least 1")


def _sizes(formula: Any, theorem: Theorem) -> set[sympy.Symbol]:
    tensors = (*theorem.given, *(line.left.tensor for line in formula.definitions))
    more = (*(size for t in tensors for size in (*t.shape, t.below)), *theorem.sizes.values())
    return sizes_of(formula).union(*map(free_symbols, more))


def _trees(theorem: Theorem) -> Iterator[Basic]:
    """Everything that the claims and assumptions say."""
    for claim in theorem.claims:
        yield from (claim.left, claim.right, claim.where, *(size for _, size in claim.over))
    yield from theorem.assuming
