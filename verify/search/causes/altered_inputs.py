"""What a callable would return if it took one of its inputs for something else: explanations, from the declarations alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import combinations, permutations
from typing import Any

import numpy as np

from spec.language.arrays import WHOLE, Tensor
from spec.language.evaluation.dimensions import is_size, whole
from verify.inputs.examples import Example
from verify.inputs.regimes import EPSILONS
from verify.search.evidence import Alike, Evidence

USUAL = (0.0, *sorted(EPSILONS), 1e-7, 1e-10, 2.0**-23, 1.1920929e-07, 2.0**-52, 1e-4, 1e-2, 1e-1)
"""Values at which numbers called ε are fixed in the field."""
ROUND = (1.0, 2.0, 0.5, 0.0, 10.0, 100.0, 1000.0, 10000.0)
"""Values at which other numbers are."""
MOST_LETTERS = 4
"""Of so many gates every order is tried."""

Explanation = tuple[str, Alike]
"""A sentence, and what it says is returned."""
Change = Callable[[Example], Mapping[str, Any]]
"""What inputs are taken to be."""


def altered_inputs(evidence: Evidence) -> Iterator[Explanation]:
    """Every explanation by one input that is taken for something else."""
    for rule in RULES:
        yield from rule(evidence)


def _at(evidence: Evidence, change: Change) -> Alike:
    return lambda example: evidence.stated(example, change(example))


def _masks(evidence: Evidence) -> Iterator[Explanation]:
    """A mask that is not read, or not as it stands: any boolean input."""
    for item in evidence.formula.tensors:
        if item.domain != "boolean" or (item.role == "mask" and not evidence.caller.takes_mask):
            continue
        absent = item.role == "mask" and evidence.judge.flat.absent
        ignored = _truth(item, partial(np.full_like, fill_value=absent))
        yield f"{item.name} is ignored: the result is that of a call without it", _at(evidence, ignored)
        for said, change in TRUTHS:
            yield said.format(name=item.name), _at(evidence, _truth(item, change))
        if item.role == "mask" and len(item.shape) > 1:
            for said, change in SEEN_TOO:
                yield said.format(name=item.name), _at(evidence, _truth(item, change, always=True))


def _truth(item: Tensor, change: Callable[[Any], Any], always: bool = False) -> Change:
    """A boolean input that is read otherwise; one that is absent is so, too, where that is always done."""

    def changed(example: Example) -> Mapping[str, Any]:
        given = example.inputs.get(item.name)
        if given is None and always:
            given = np.ones(tuple(whole(size, example.sizes) for size in item.shape), bool)
        return {item.name: None if given is None else np.asarray(change(given), bool)}

    return changed


def _numbers(evidence: Evidence) -> Iterator[Explanation]:
    """A number that is not read, but fixed: any input that is a Python number."""
    for item in evidence.formula.tensors:
        if item.role != "number" or item.domain in WHOLE:
            continue
        for value in usual(item):
            gone = value == 0 and item.name == "eps"
            said = "added, or is fixed at almost 0" if gone else f"read: it is fixed at {value:g}"
            yield f"{item.name} is not {said}", _at(evidence, _constant(item.name, value))


def usual(item: Tensor) -> tuple[float, ...]:
    """Values at which a number is fixed in the field."""
    return USUAL if item.name == "eps" else ROUND


def _constant(name: str, value: float) -> Change:
    return lambda example: {name: value}


def _full(name: str, value: float) -> Change:
    return lambda example: {name: np.full_like(example.inputs[name], value)}


def _from(taken: Mapping[str, str]) -> Change:
    """Inputs that take the values of others."""
    return lambda example: {name: example.inputs[other] for name, other in taken.items()}


def _by(name: str, change: Callable[[Any], Any]) -> Change:
    return lambda example: {name: change(example.inputs[name])}


def _exchanged(evidence: Evidence) -> Iterator[Explanation]:
    """Two inputs of one shape that are taken for each other, or data that are taken in another order; of one shape perhaps at
    the sizes alone at which the callable is judged, since at others it raises an error for that very reason.
    """
    if not evidence.ordinary:
        return
    shapes = {item.name: _shapes(evidence, item) for item in _arrays(evidence)}
    for one, two in combinations(_arrays(evidence), 2):
        if shapes[one.name] == shapes[two.name] and one.domain == two.domain:
            a, b = one.name, two.name
            yield f"{a} and {b} are exchanged", _at(evidence, _from({a: b, b: a}))
            for c, d in ((a, b), (b, a)):
                yield f"{c} is read where {d} belongs ({d} is ignored)", _at(evidence, _from({d: c}))
    data = [item.name for item in _arrays(evidence) if item.role == "data" and shapes[item.name]]
    groups = ([other for other in data if shapes[other] == shapes[name]] for name in data)
    for names in dict.fromkeys(tuple(group) for group in groups if 2 < len(group) <= MOST_LETTERS):
        for order in permutations(names):
            moved = {name: taken for name, taken in zip(names, order, strict=True) if name != taken}
            if len(moved) > 2:
                yield (
                    f"{', '.join(names)} are taken in the order {', '.join(order)}",
                    _at(evidence, _from({taken: name for name, taken in moved.items()})),
                )


def _shapes(evidence: Evidence, item: Tensor) -> list[tuple[int, ...]]:
    """The shapes of an input at the ordinary examples."""
    return [np.shape(witness.example.inputs[item.name]) for witness in evidence.ordinary]


def _families(evidence: Evidence) -> Iterator[Explanation]:
    """Parameters that belong together and are exchanged with others: those of one gate, whose names tell it by one letter."""
    names = {item.name: item.shape for item in _arrays(evidence)}
    found: dict[tuple[str, str], dict[str, str]] = {}
    for one, two in permutations(names, 2):
        differ = [(a, b) for a, b in zip(one, two, strict=False) if a != b]
        if len(one) == len(two) and len(differ) == 1 and names[one] == names[two]:
            found.setdefault(differ[0], {})[one] = two
    for (a, b), taken in found.items():
        if a < b and len(taken) > 1:
            back = found[b, a]
            yield f"the parameters of {a} and {b} are exchanged", _at(evidence, _from({**taken, **back}))
    letters = sorted({letter for pair, taken in found.items() if len(taken) > 1 for letter in pair})
    if 2 < len(letters) <= MOST_LETTERS:
        for order in permutations(letters):
            mapped = [found.get(pair, {}) for pair in zip(letters, order, strict=True)]
            yield (
                f"the parameters of {', '.join(letters)} are taken in the order {', '.join(order)}",
                _at(evidence, _from({one: two for taken in mapped for one, two in taken.items()})),
            )


def _prepared(evidence: Evidence) -> Iterator[Explanation]:
    """Data that something is done to first, which the statement does not do."""
    for item in _arrays(evidence):
        if item.role == "data" and item.shape:
            for said, change in PREPARED:
                yield said.format(name=item.name), _at(evidence, _by(item.name, change))
    for item in evidence.formula.tensors:
        if item.role in ("number", "parameter") and item.domain in (
            "real",
            "positive",
            "nonnegative",
            "share",
        ):
            for said, change in SCALED:
                yield said.format(name=item.name), _at(evidence, _by(item.name, change))


def _left_out(evidence: Evidence) -> Iterator[Explanation]:
    """An input that does not enter at all: as if it were 0, or 1."""
    for item in _arrays(evidence):
        for value in (0.0, 1.0):
            yield f"{item.name} is ignored: as if it were {value:g}", _at(evidence, _full(item.name, value))


def _turned(evidence: Evidence) -> Iterator[Explanation]:
    """An input that is read the wrong way round: square ones transposed, others along an axis from its end; or all weights as
    their transposes, which is how layers of PyTorch keep them.
    """
    weights = [item.name for item in _arrays(evidence) if item.role == "parameter" and len(item.shape) >= 2]
    if len(weights) > 1:
        yield (
            f"axes swapped: {', '.join(weights)} are read as their transposes, as nn.Linear keeps its weight",
            _at(
                evidence,
                lambda example: {name: np.swapaxes(example.inputs[name], -1, -2) for name in weights},
            ),
        )
    for item in _arrays(evidence):
        name, shape = item.name, item.shape
        if len(shape) >= 2:  # where its sizes are equal: elsewhere it does not fit
            yield (
                f"axes swapped: {name} is read as its transpose",
                _at(evidence, _by(name, lambda value: np.swapaxes(value, -1, -2))),
            )
        for axis, size in enumerate(shape):
            if is_size(size):
                yield (
                    f"{name} is read from the end along {size}",
                    _at(evidence, _by(name, partial(np.flip, axis=axis))),
                )


def _relaid(evidence: Evidence) -> Iterator[Explanation]:
    """An input whose axes are exchanged by a reshape, which leaves every entry where it was, in the place of a transpose."""
    for item in _arrays(evidence):
        for axes in _orders(len(item.shape)):
            viewed = _by(item.name, partial(_viewed, axes=axes))
            yield (
                f"axes swapped: {item.name} is reshaped where its axes have to be permuted",
                _at(evidence, viewed),
            )


def _viewed(value: Any, axes: tuple[int, ...]) -> Any:
    return value.transpose(axes).reshape(value.shape)


def _orders(count: int) -> Iterator[tuple[int, ...]]:
    """Two neighbouring axes exchanged, for each pair."""
    for place in range(count - 1):
        order = list(range(count))
        order[place], order[place + 1] = order[place + 1], order[place]
        yield tuple(order)


TRUTHS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("the polarity of {name} is inverted: True is taken for what False means", np.logical_not),
    ("{name} is read from its end", lambda x: x[..., ::-1]),
    ("of {name} the first row is read for all", lambda x: np.broadcast_to(x[..., :1, :], x.shape)),
    ("of {name} the last row is read for all", lambda x: np.broadcast_to(x[..., -1:, :], x.shape)),
    ("of {name} the first column is read for all", lambda x: np.broadcast_to(x[..., :1], x.shape)),
    ("axes swapped: {name} is read as its transpose", lambda x: np.swapaxes(x, -1, -2)),
    (
        "axes swapped: {name} is reshaped where its axes have to be permuted",
        lambda x: np.swapaxes(x, -1, -2).reshape(x.shape),
    ),
)
"""What a boolean input is taken for."""


def _earlier(mask: Any, ahead: int = 0) -> Any:
    """Which positions are not later than each, by so many."""
    rows, columns = np.indices(mask.shape[-2:])
    return np.broadcast_to(columns <= rows + ahead, mask.shape)


SEEN_TOO: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    (
        "later positions are hidden, too, as if it were causal",
        lambda x: x & _earlier(x),
    ),
    (
        "later positions are hidden, too, as if it were causal and the last stood beside the last",
        lambda x: x & _earlier(x, x.shape[-1] - x.shape[-2]),
    ),
    ("{name} is ignored, and later positions are hidden", _earlier),
    (
        "each position sees itself, though {name} hides it",
        lambda x: x | np.eye(*x.shape[-2:], dtype=np.bool_),
    ),
    (
        "no position sees itself, though {name} permits it",
        lambda x: x & ~np.eye(*x.shape[-2:], dtype=np.bool_),
    ),
)
"""What is hidden or seen besides what a mask says."""

PREPARED: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("the mean of {name} is subtracted first", lambda x: x - x.mean(-1, keepdims=True)),
    ("{name} is divided by its length first", lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True)),
    (
        "{name} is divided by its root mean square first",
        lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True)),
    ),
    ("negative entries of {name} are set to 0 first", lambda x: np.maximum(x, 0)),
    ("{name} is taken without its signs", np.abs),
    ("the sign of {name} is wrong", np.negative),
    (
        "{name} is moved by one along its first axis, from the end to the beginning",
        lambda x: np.roll(x, 1, 0),
    ),
    (
        "{name} is moved by one along its first axis, from the beginning to the end",
        lambda x: np.roll(x, -1, 0),
    ),
)
"""What is done to data unasked."""

SCALED: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("1 is added to {name}", lambda x: x + 1),
    ("1 is subtracted from {name}", lambda x: x - 1),
    ("{name} is doubled", lambda x: 2 * x),
    ("{name} is halved", lambda x: x / 2),
    ("{name} is squared", lambda x: x * x),
    ("the root of {name} is taken", lambda x: x**0.5),
    ("the inverse of {name} is taken", lambda x: 1 / x),
    ("the exponential of {name} is taken", np.exp),
)
"""What is done to numbers and parameters unasked."""


def _arrays(evidence: Evidence) -> list[Tensor]:
    return [
        t
        for t in evidence.formula.tensors
        if t.role in ("data", "parameter") and t.domain in ("real", "positive", "nonnegative")
    ]


RULES: tuple[Callable[[Evidence], Iterator[Explanation]], ...] = (
    _masks,
    _numbers,
    _families,
    _exchanged,
    _left_out,
    _prepared,
    _turned,
    _relaid,
)
"""The kinds of explanations, the most usual first."""

__all__ = ["Explanation", "altered_inputs", "usual"]
