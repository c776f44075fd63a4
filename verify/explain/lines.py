"""What a callable would return if one thing in the statement were written otherwise: an explanation for each.

A change to one line is evaluated by itself, and its result put into the run of all others, which is compiled once. Nothing of
this is a reference: an explanation only has to be right about what was returned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain, combinations
from typing import Any

import numpy as np

from spec.language.arrays import DISCRETE, WHOLE, Tensor
from spec.language.evaluation.binding import bind
from spec.language.evaluation.evaluate import evaluate, run
from spec.language.evaluation.numbers import Num
from spec.language.evaluation.running_error import RunningError
from spec.language.expr import Ref, lift
from spec.language.flatten import Flat
from spec.language.lines import Definition
from spec.language.trees import refs, substitute
from verify.explain.evidence import Alike, Evidence
from verify.inputs.examples import Example
from verify.inputs.leads import find_added_numbers
from verify.inputs.regimes import EPSILONS
from verify.properties.judge import Reals, tensor_role
from verify.slips.activations import SIMILAR, exchange_functions
from verify.slips.floors import floors, remove_floor
from verify.slips.mask_numbers import MASKS, fill, remove_masks
from verify.slips.rewriting import RULES
from verify.slips.spots import Spot, Written, rewrite_lines, spots
from verify.slips.sums import drop_weights

Alteration = tuple[str, Alike]
"""A sentence about what is altered in a statement, and what the statement so altered says is returned."""
USUAL = (0.0, *sorted(EPSILONS), 1e-7, 1e-10, 2.0**-23, 1.1920929e-07, 2.0**-52, 1e-4, 1e-2, 1e-1)
"""Values at which numbers called ε are fixed in the field."""
ROUND = (1.0, 2.0, 0.5, 0.0, 10.0, 100.0, 1000.0, 10000.0)
"""Values at which other numbers are."""

MOST_PARTS = 400
"""Parts of lines that are looked at: a whole model has thousands, and none of them would be found in time."""


@dataclass
class Runs:
    """The run of a statement at examples, kept, so that one line can be replaced in it."""

    flat: Flat
    frames: dict[int, tuple[Example, Any]] = field(default_factory=dict)

    def frame(self, example: Example) -> Any:
        """Every tensor at an example."""
        found = self.frames.get(id(example))
        if found is None:
            made = run(self.flat, RunningError(), bind(self.flat, example.inputs)).tensors
            found = self.frames[id(example)] = (example, made)
        return found[1]

    def outputs(self, example: Example, changes: Mapping[str, Callable[[Any], Any]]) -> list[Reals]:
        """The outputs where the tensors of some lines are changed as soon as they are there."""

        def finish(name: str, value: Any, part: bool) -> Any:
            return changes[name](value) if name in changes and not part else value

        done = run(self.flat, RunningError(), bind(self.flat, example.inputs), finish=finish)
        return [done.tensors[t.name].floats() for t in self.flat.outputs]

    @cached_property
    def alone(self) -> set[str]:
        """The tensors defined by one line, outside of recurrences, whose values are numbers."""
        names = [line.name for line in self.flat.lines]
        return {
            line.name
            for group in self.flat.groups
            if group.step is None
            for line in group.lines
            if names.count(line.name) == 1 and not line.accumulate and line.left.tensor.domain not in DISCRETE
        }

    def replace_line(self, line: Definition, right: Any) -> Alike:
        """The outputs where a line has another right side."""
        new = replace(line, right=right)
        names = {part.tensor.name for part in refs(right)}
        defined = {each.name: each.left.tensor for each in self.flat.lines}
        read = [defined[name] for name in names if name in defined]
        if line.name in self.alone and all(t.domain not in DISCRETE or t.domain == "boolean" for t in read):
            return self._splice_line(new, [t for t in read if t.domain != "boolean"])
        return partial(_outputs, rewrite_lines(self.flat, {line: right}))

    def _splice_line(self, line: Definition, read: list[Tensor]) -> Alike:
        truths = tuple(each for each in self.flat.lines if each.left.tensor.domain == "boolean")
        small = replace(
            self.flat,
            inputs=(*self.flat.inputs, *read),
            lines=(*truths, line),
            outputs=(line.left.tensor,),
        )

        def alike(example: Example) -> list[Reals]:
            frame = self.frame(example)
            inputs = {**example.inputs, **{t.name: frame[t.name].floats() for t in read}}
            done = run(small, RunningError(), bind(small, inputs)).tensors[line.name]
            return self.outputs(example, {line.name: lambda value: done})

        return alike


def usual(flat: Flat, item: Tensor) -> tuple[float, ...]:
    """Values at which a number is fixed in the field."""
    return USUAL if item.name in find_added_numbers(flat) else ROUND


def _outputs(flat: Flat, example: Example) -> list[Reals]:
    return list(evaluate(flat, example.inputs))


def alter_lines(evidence: Evidence) -> Iterator[Alteration]:
    """Every explanation by one thing that is written otherwise: masks as numbers, reshaped heads, then rule by rule."""
    flat = evidence.judge.flat
    runs = Runs(flat)
    yield from chain(
        _throughout(flat), _reshape_axes(runs), _numbers(runs, evidence.given), by_rules(runs, RULES)
    )


def without_weights(evidence: Evidence) -> Iterator[Alteration]:
    """Every explanation by weights that have no effect on what is read."""
    yield from by_rules(Runs(evidence.judge.flat), (drop_weights,))


def alter_floors(evidence: Evidence) -> Iterator[Alteration]:
    """A divisor without its ε, then every explanation by another way in which it is kept from 0."""
    runs = Runs(evidence.judge.flat)
    yield from by_rules(runs, (_remove_floor,))
    yield from by_rules(runs, (floors,))


def _remove_floor(spot: Spot) -> Written:
    plain = remove_floor(spot)
    if plain is not None:
        yield "", plain


def by_rules(runs: Runs, rules: Sequence[Callable[[Spot], Written]]) -> Iterator[Alteration]:
    """Every explanation by one part of a line, rule by rule; then by the same part of all lines that are written alike."""
    flat = runs.flat
    parts = [(spot, place) for line in flat.lines for place, spot in enumerate(spots(flat, line))][
        :MOST_PARTS
    ]
    for rule in rules:
        together: dict[Hashable, dict[Definition, tuple[str, Callable[[], Any]]]] = {}
        for spot, place in parts:
            for turn, (said, new) in enumerate(rule(spot)):
                sentence = rename_tensors(flat, said).replace("{line}", name_line(flat, spot.line))
                made = partial(spot.rebuilt, new)
                # The same is likely to be wrong in all lines of a tensor, and in all that are written alike.
                for key in ((spot.line.name, sentence), (_written(spot.line), place, turn)):
                    together.setdefault(key, {}).setdefault(spot.line, (sentence, made))
                if new != spot.part:  # what is the same here may be another thing in a line beside it
                    yield sentence, _lazily(partial(runs.replace_line, spot.line), made)
        for lines in (each for each in together.values() if len(each) > 1):
            first, *others = dict.fromkeys(sentence for sentence, _ in lines.values())
            likewise = dict.fromkeys(name_line(flat, line) for line in list(lines)[1:])
            said = f"{first}; and likewise in {', '.join(likewise)}" if others else first
            rights = {line: made for line, (_, made) in lines.items()}
            yield said, _lazily(partial(_rewritten, flat, rights))


def _written(line: Definition) -> str:
    """How a line is written, whatever its letters."""
    return re.sub(r"[^\W\d][\w']*(?![\w'(])", "·", str(line.right))


def _rewritten(flat: Flat, rights: Mapping[Definition, Callable[[], Any]]) -> Alike:
    return partial(_outputs, rewrite_lines(flat, {line: made() for line, made in rights.items()}))


def _lazily(make: Callable[..., Alike], *parts: Callable[[], Any]) -> Alike:
    """What is made as soon as it is asked."""
    made: list[Alike] = []

    def alike(example: Example) -> Any:
        if not made:
            made.append(make(*(part() for part in parts)))
        return made[0](example)

    return alike


def name_tensor(flat: Flat, name: str) -> str:
    """A tensor as the formula calls it whose line it is; the lines of formulas within others are numbered to tell them apart."""
    return flat.origin.get(name, ("", name))[1]


def name_line(flat: Flat, line: Definition) -> str:
    """A line's tensor as its formula calls it; where that is another one, with that formula, and what the tensor is in it."""
    formula_id, name = flat.origin.get(line.name, (flat.formula_id, line.name))
    if formula_id == flat.formula_id:
        return name
    role = tensor_role(formula_id, name)
    return f"{name} (of {formula_id}{f': {role}' if role else ''})"


def rename_tensors(flat: Flat, said: str) -> str:
    """A sentence with the tensors in it as their formulas call them; with these, where two would be called the same, or as one of
    the formula itself is.
    """
    lines = {line.name for line in flat.lines}
    names = {word for word in re.findall(r"\w+", said) if word in lines}
    calls = [name_tensor(flat, name) for name in names]
    own = {
        name for name in lines if flat.origin.get(name, (flat.formula_id, name)) == (flat.formula_id, name)
    }

    def call(found: re.Match[str]) -> str:
        name = found.group()
        formula_id, known = flat.origin.get(name, (flat.formula_id, name))
        unclear = name in names and (calls.count(known) > 1 or known in own)
        return f"{known} (of {formula_id})" if unclear and formula_id != flat.formula_id else known

    return re.sub(r"\b\w+_\d+\b", call, said)


def _change_every_line(flat: Flat, change: Callable[[Any], Any]) -> Alike | None:
    """The outputs where every line is changed; nothing where none is."""
    lines = tuple(replace(line, right=change(line.right)) for line in flat.lines)
    return None if lines == flat.lines else partial(_outputs, replace(flat, lines=lines))


def fill_hidden_scores(flat: Flat, value: int) -> Alike | None:
    """The outputs where hidden scores are a number; nothing where nothing is hidden."""
    return _change_every_line(flat, partial(remove_masks, enter=fill(value)))


def _throughout(flat: Flat) -> Iterator[Alteration]:
    """A mask that enters as a number, or two functions exchanged for each other, everywhere."""
    changes = [(said, partial(remove_masks, enter=enter)) for said, enter in MASKS]
    for one, two in (pair for kind in SIMILAR for pair in combinations(kind, 2)):
        changes.append((f"{one} and {two} are exchanged", partial(exchange_functions, one=one, two=two)))
    for said, change in changes:
        alike = _change_every_line(flat, change)
        if alike is not None:
            yield said, alike


def _numbers(runs: Runs, given: Sequence[Tensor]) -> Iterator[Alteration]:
    """A number that several lines read, fixed in one of them: ε in one of a layer's normalizations."""
    flat = runs.flat
    for item in given:
        if item.role != "number" or item.domain in WHOLE:
            continue
        reading = [line for line in flat.lines if any(part.tensor == item for part in refs(line.right))]
        for line in reading if len(reading) > 1 else ():
            own = [part.tensor.name for part in refs(line.right) if part.tensor.role == "parameter"]
            beside = f", the line with {' and '.join(dict.fromkeys(own))}" if own else ""
            for value in usual(flat, item):
                said = f"{item.name} is not read in {name_line(flat, line)}{beside}: it is fixed at {value:g}"
                fixed = lift(Fraction(value))
                yield (
                    said,
                    _lazily(
                        partial(runs.replace_line, line), partial(substitute, line.right, {Ref(item): fixed})
                    ),
                )


def _reshape_axes(runs: Runs) -> Iterator[Alteration]:
    """Tensors whose axes are exchanged by a reshape, before or after: heads split or merged without a permutation."""
    flat, given = runs.flat, {str(item) for item in runs.flat.inputs}
    deep = [line for line in flat.lines if line.name in runs.alone and len(line.left.tensor.shape) >= 3]
    split = [line for line in deep if all(part.tensor.name in given for part in refs(line.right))]
    sets: list[tuple[list[Definition], list[Definition]]] = [(split, [])] if len(split) > 1 else []
    sets += [([line], []) for line in deep] + [([], [line]) for line in deep]
    sets += [(split, [line]) for line in deep if len(split) > 1 and line not in split]
    for before, after in sets:
        axes = max(len(line.left.tensor.shape) for line in (*before, *after))
        for first in range(axes - 1):
            changes = {line.name: partial(_view, axes, first, split_by_view) for line in before}
            changes |= {line.name: partial(_view, axes, first, _merged_by_view) for line in after}
            yield _describe_reshape(flat, before, after), partial(runs.outputs, changes=changes)


def _describe_reshape(flat: Flat, before: list[Definition], after: list[Definition]) -> str:
    *most, last = dict.fromkeys(name_tensor(flat, line.name) for line in (*before, *after))
    what = f"{', '.join(most)} and {last} are" if most else f"{last} is"
    how = " and ".join(word for word, lines in (("split", before), ("merged", after)) if lines)
    return (
        f"axes swapped: {what} reshaped where axes have to be permuted: {how} by a view without the transpose, heads mix "
        "positions, so that each sees others (a decoder: the future)"
    )


def _view(axes: int, first: int, change: Callable[[Any, int], Any], value: Any) -> Any:
    plain = value.floats()
    return Num(change(plain, first)) if plain.ndim == axes else value


def split_by_view(value: Any, first: int) -> Any:
    """Two neighbouring axes exchanged by a reshape, which leaves every entry where it was."""
    return np.swapaxes(value, first, first + 1).reshape(value.shape)


def _merged_by_view(value: Any, first: int) -> Any:
    turned = np.swapaxes(value, first, first + 1).shape
    return np.swapaxes(value.reshape(turned), first, first + 1)


__all__ = [
    "Alteration",
    "Runs",
    "alter_lines",
    "fill_hidden_scores",
    "name_line",
    "alter_floors",
    "split_by_view",
    "usual",
    "without_weights",
]
