"""Causes by altering the statement: if a callable returns what an altered statement says, the alteration is the cause.

There are three kinds: weights without effect, an input taken for something else, and a line written otherwise. All are held to
the same evidence, under the chosen conventions and then under others. Inputs are known by their roles and domains alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, permutations, product
from typing import Any

import numpy as np

from spec.language.arrays import DISCRETE, WHOLE, Tensor
from spec.language.evaluation.dimensions import whole
from verify.explain.conventions import combinations as other_conventions
from verify.explain.evidence import MOST, Evidence, Witness
from verify.explain.lines import (
    Alteration,
    alter_floors,
    alter_lines,
    fill_hidden_scores,
    split_by_view,
    usual,
    without_weights,
)
from verify.inputs.examples import Example
from verify.inputs.leads import find_added_numbers
from verify.properties.judge import Judge, Reals
from verify.properties.slopes import REAL
from verify.report import format_options

# Inputs taken for something else -----------------------------------------------------------------------------------------

MOST_LETTERS = 4
"""Of so many gates every order is tried."""

Change = Callable[[Example], Mapping[str, Any]]
"""What inputs are taken to be."""


@dataclass(frozen=True)
class InputAlteration:
    """One input taken for something else: a sentence, the inputs to which it applies, and what becomes of their values."""

    sentence: str
    applies: Callable[[Tensor], bool]
    altered: Callable[[Any], Any]


def _is_array(item: Tensor) -> bool:
    return item.role in ("data", "parameter") and item.domain in REAL


def _is_matrix(item: Tensor) -> bool:
    return _is_array(item) and len(item.shape) >= 2


def _is_data(item: Tensor) -> bool:
    return _is_array(item) and item.role == "data" and bool(item.shape)


def _is_row(item: Tensor) -> bool:
    return item.role == "data" and bool(item.shape)


def _is_scale(item: Tensor) -> bool:
    return item.role in ("number", "parameter") and item.domain in (*REAL, "share")


def _is_truth(item: Tensor) -> bool:
    return item.domain == "boolean"


def _transpose(value: Any) -> Any:
    return np.swapaxes(value, -1, -2)


def _constant(value: float) -> Callable[[Any], Any]:
    return lambda x: np.full_like(x, value)


def _earlier(mask: Any, ahead: int = 0) -> Any:
    """Which positions are not later than each, by so many."""
    rows, columns = np.indices(mask.shape[-2:])
    return np.broadcast_to(columns <= rows + ahead, mask.shape)


def _diagonal(mask: Any) -> Any:
    return np.eye(*mask.shape[-2:], dtype=np.bool_)


TRUTHS = (
    InputAlteration(
        "the polarity of {name} is inverted: True is taken for what False means", _is_truth, np.logical_not
    ),
    InputAlteration("{name} is read from its end", _is_truth, lambda x: x[..., ::-1]),
    InputAlteration(
        "of {name} the first row is read for all",
        _is_truth,
        lambda x: np.broadcast_to(x[..., :1, :], x.shape),
    ),
    InputAlteration(
        "of {name} the last row is read for all",
        _is_truth,
        lambda x: np.broadcast_to(x[..., -1:, :], x.shape),
    ),
    InputAlteration(
        "of {name} the first column is read for all",
        _is_truth,
        lambda x: np.broadcast_to(x[..., :1], x.shape),
    ),
    InputAlteration("axes swapped: {name} is read as its transpose", _is_truth, _transpose),
    InputAlteration(
        "axes swapped: {name} is reshaped where its axes have to be permuted",
        _is_truth,
        lambda x: _transpose(x).reshape(x.shape),
    ),
)
"""What a boolean input that is given is taken for."""

SEEN_TOO = (
    InputAlteration(
        "later positions are hidden, too, as if it were causal", _is_truth, lambda x: x & _earlier(x)
    ),
    InputAlteration(
        "later positions are hidden, too, as if it were causal and the last stood beside the last",
        _is_truth,
        lambda x: x & _earlier(x, x.shape[-1] - x.shape[-2]),
    ),
    InputAlteration("{name} is ignored, and later positions are hidden", _is_truth, _earlier),
    InputAlteration(
        "each position sees itself, though {name} hides it", _is_truth, lambda x: x | _diagonal(x)
    ),
    InputAlteration(
        "no position sees itself, though {name} permits it", _is_truth, lambda x: x & ~_diagonal(x)
    ),
)
"""What is hidden or seen besides what a mask says, even if none is given."""

ARRAYS = (
    InputAlteration("{name} is ignored: as if it were 0", _is_array, _constant(0.0)),
    InputAlteration("{name} is ignored: as if it were 1", _is_array, _constant(1.0)),
    InputAlteration(
        "the mean of {name} is subtracted first", _is_data, lambda x: x - x.mean(-1, keepdims=True)
    ),
    InputAlteration(
        "{name} is divided by its length first",
        _is_data,
        lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True),
    ),
    InputAlteration(
        "{name} is divided by its root mean square first",
        _is_data,
        lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True)),
    ),
    InputAlteration("negative entries of {name} are set to 0 first", _is_data, lambda x: np.maximum(x, 0)),
    InputAlteration("{name} is taken without its signs", _is_data, np.abs),
    InputAlteration("the sign of {name} is wrong", _is_data, np.negative),
    InputAlteration(
        "{name} is moved by one along its first axis, from the end to the beginning",
        _is_row,
        lambda x: np.roll(x, 1, 0),
    ),
    InputAlteration(
        "{name} is moved by one along its first axis, from the beginning to the end",
        _is_row,
        lambda x: np.roll(x, -1, 0),
    ),
    InputAlteration("1 is added to {name}", _is_scale, lambda x: x + 1),
    InputAlteration("1 is subtracted from {name}", _is_scale, lambda x: x - 1),
    InputAlteration("{name} is doubled", _is_scale, lambda x: 2 * x),
    InputAlteration("{name} is halved", _is_scale, lambda x: x / 2),
    InputAlteration("{name} is squared", _is_scale, lambda x: x * x),
    InputAlteration("the root of {name} is taken", _is_scale, lambda x: x**0.5),
    InputAlteration("the inverse of {name} is taken", _is_scale, lambda x: 1 / x),
    InputAlteration("the exponential of {name} is taken", _is_scale, np.exp),
    InputAlteration("axes swapped: {name} is read as its transpose", _is_matrix, _transpose),
)
"""What an array or a number is taken for."""


def alter_inputs(evidence: Evidence) -> Iterator[Alteration]:
    """Every alteration of inputs, the most usual first."""
    for rule in (_masks, _numbers, _families, _exchanges, _arrays):
        for sentence, change in rule(evidence):
            yield sentence, partial(_evaluate_changed, evidence, change)


def _evaluate_changed(evidence: Evidence, change: Change, example: Example) -> Sequence[Reals]:
    return evidence.evaluate_statement(example, change(example))


RESULTS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("the logarithm of {name} is returned", np.log),
    ("the exponential of {name} is returned", np.exp),
    ("the sign of {name} is wrong", np.negative),
    ("1 − {name} is returned", lambda y: 1 - y),
    ("{name} is doubled", lambda y: 2 * y),
    ("{name} is halved", lambda y: y / 2),
    ("{name} is squared", np.square),
    ("ReLU is applied to {name}", lambda y: np.maximum(y, 0)),
    ("tanh is applied to {name}", np.tanh),
    ("a sigmoid is applied to {name}", lambda y: 1 / (1 + np.exp(-y))),
    ("a softmax is taken of {name}", lambda y: np.exp(y) / np.exp(y).sum(-1, keepdims=True)),
    ("a logarithm of a softmax is taken of {name}", lambda y: y - np.log(np.exp(y).sum(-1, keepdims=True))),
    ("{name} is divided by its length", lambda y: y / np.linalg.norm(y, axis=-1, keepdims=True)),
    ("{name} is returned from its end along its first axis", lambda y: np.flip(y, 0)),
    ("{name} is returned from its end along its last axis", lambda y: np.flip(y, -1)),
    ("{name} is moved by one along its first axis", lambda y: np.roll(y, 1, 0)),
    ("{name} is moved by one along its first axis, to the beginning", lambda y: np.roll(y, -1, 0)),
)
"""What a result is made into."""


def alter_results(evidence: Evidence) -> Iterator[Alteration]:
    """Results that are made of nothing, one number everywhere or an input as it is; and one that something else is made of."""
    seen = (*evidence.ordinary, *evidence.fresh, *evidence.drawn) if evidence.failing else ()
    numbers = {float(x) for w in seen for part in w.got or () for x in np.unique(part)[:2]}
    if len(numbers) == 1:
        (number,) = numbers
        yield (
            f"the result is {number:g} everywhere, whatever the inputs are",
            lambda example: [np.full_like(part, number) for part in evidence.evaluate_statement(example)],
        )
    outputs = evidence.judge.flat.outputs
    for item in evidence.given if len(outputs) == 1 else ():
        if _is_data(item):
            said = f"the result is {item.name} as it is: nothing is computed"
            yield said, lambda example, name=item.name: [example.inputs[name]]  # type: ignore[misc]
    for place, output in enumerate(outputs):
        for said, made in RESULTS if output.domain not in DISCRETE else ():
            yield said.format(name=output.name), partial(_made_of, evidence, place, made)


def _made_of(evidence: Evidence, place: int, made: Callable[[Any], Any], example: Example) -> Sequence[Reals]:
    return [made(part) if k == place else part for k, part in enumerate(evidence.evaluate_statement(example))]


Changes = Iterator[tuple[str, Change]]


def _by(name: str, altered: Callable[[Any], Any]) -> Change:
    return lambda example: {name: altered(example.inputs[name])}


def _from(taken: Mapping[str, str]) -> Change:
    """Inputs that take the values of others."""
    return lambda example: {name: example.inputs[other] for name, other in taken.items()}


def _masks(evidence: Evidence) -> Changes:
    """A boolean input that is not read, or not as it stands."""
    for item in filter(_is_truth, evidence.given):
        is_mask = item.role == "mask"
        if is_mask and not evidence.caller.takes_mask:
            continue
        absent = bool(is_mask and evidence.judge.flat.absent)
        ignored = f"{item.name} is ignored: the result is that of a call without it"
        yield ignored, _by_truth(item, partial(np.full_like, fill_value=absent))
        for row in (*TRUTHS, *(SEEN_TOO if is_mask and len(item.shape) > 1 else ())):
            yield row.sentence.format(name=item.name), _by_truth(item, row.altered, row in SEEN_TOO)


def _by_truth(item: Tensor, altered: Callable[[Any], Any], always: bool = False) -> Change:
    """A boolean input that is read otherwise; one that is absent is so, too, where that is always done."""

    def change(example: Example) -> Mapping[str, Any]:
        given = example.inputs.get(item.name)
        if given is None and always:
            given = np.ones(tuple(whole(size, example.sizes) for size in item.shape), bool)
        return {item.name: None if given is None else np.asarray(altered(given), bool)}

    return change


def _numbers(evidence: Evidence) -> Changes:
    """A number that is not read, but fixed."""
    fixed = dict(evidence.caller.sizes.fixed)
    for item in evidence.formula.tensors:
        if item.role == "number" and item.domain not in WHOLE:
            for value in usual(evidence.judge.flat, item):
                gone = value == 0 and item.name in find_added_numbers(evidence.judge.flat)
                read = "not added, or is fixed at almost 0" if gone else f"not read: it is fixed at {value:g}"
                if item.name in fixed:
                    read = f"fixed at {value:g}, and not at {fixed[item.name]:g} as is declared"
                yield f"{item.name} is {read}", _by(item.name, lambda _, value=value: value)  # type: ignore[misc]


def _families(evidence: Evidence) -> Changes:
    """Parameters that belong together and are exchanged with others: those of one gate, told by one letter of their names."""
    shapes = {item.name: item.shape for item in evidence.given if _is_array(item)}
    found: dict[tuple[str, str], dict[str, str]] = {}
    for one, two in permutations(shapes, 2):
        differ = [(a, b) for a, b in zip(one, two, strict=False) if a != b]
        if len(one) == len(two) and len(differ) == 1 and shapes[one] == shapes[two]:
            found.setdefault(differ[0], {})[one] = two
    found = {pair: taken for pair, taken in found.items() if len(taken) > 1}
    for (a, b), taken in found.items():
        if a < b:
            yield f"the parameters of {a} and {b} are exchanged", _from({**taken, **found[b, a]})
    letters = sorted({letter for pair in found for letter in pair})
    for order in permutations(letters) if 2 < len(letters) <= MOST_LETTERS else ():
        mapped = [found.get(pair, {}) for pair in zip(letters, order, strict=True)]
        taken = {one: two for each in mapped for one, two in each.items()}
        yield (
            f"the parameters of {', '.join(letters)} are taken in the order {', '.join(order)}",
            _from(taken),
        )


def _exchanges(evidence: Evidence) -> Changes:
    """Two inputs of one shape taken for each other, or data taken in another order.

    Shapes may be equal at the sizes alone at which the callable is judged: at others it raises an error for that very reason.
    """
    arrays = [item for item in evidence.given if _is_array(item)]
    shapes = {
        item.name: [np.shape(w.example.inputs[item.name]) for w in evidence.ordinary] for item in arrays
    }
    if not evidence.ordinary:
        return
    for one, two in combinations(arrays, 2):
        if shapes[one.name] == shapes[two.name] and one.domain == two.domain:
            a, b = one.name, two.name
            yield f"{a} and {b} are exchanged", _from({a: b, b: a})
            for c, d in ((a, b), (b, a)):
                yield f"{c} is read where {d} belongs ({d} is ignored)", _from({d: c})
    data = [item.name for item in arrays if item.role == "data"]
    groups = dict.fromkeys(tuple(other for other in data if shapes[other] == shapes[name]) for name in data)
    for names in (group for group in groups if 2 < len(group) <= MOST_LETTERS):
        for order in permutations(names):
            taken = {b: a for a, b in zip(names, order, strict=True) if a != b}
            if len(taken) > 2:
                yield f"{', '.join(names)} are taken in the order {', '.join(order)}", _from(taken)


def _arrays(evidence: Evidence) -> Changes:
    """An array or a number that is left out, changed first, or read the wrong way round."""
    matrices = [t for t in evidence.given if t.role == "parameter" and _is_matrix(t)]
    groups = [
        matrices,
        *([t for t in matrices if t.shape == shape] for shape in {t.shape: 0 for t in matrices}),
    ]
    for names in dict.fromkeys(tuple(t.name for t in group) for group in groups if len(group) > 1):
        yield (
            f"axes swapped: {', '.join(names)} are read as their transposes, as nn.Linear keeps its weight",
            lambda example, names=names: {name: _transpose(example.inputs[name]) for name in names},  # type: ignore[misc]
        )
    for row in ARRAYS:
        for item in filter(row.applies, evidence.given):
            yield row.sentence.format(name=item.name), _by(item.name, row.altered)
    for item in (t for t in evidence.given if t.domain in WHOLE and t.role == "data" and t.below != 0):
        counted = f"{item.name} is ignored: 0, 1, 2 and so on are read in its place"
        yield counted, _by(item.name, lambda x: np.broadcast_to(np.arange(np.shape(x)[-1]), np.shape(x)))
        for step, said in ((1, "added to"), (-1, "subtracted from")):
            for kept in (np.clip, _around, _beyond):
                yield f"off by one: 1 is {said} {item.name}", partial(_counted_on, item, step, kept)
    for item in filter(_is_array, evidence.given):
        for axis, size in enumerate(item.shape):
            if not getattr(size, "is_Integer", False):
                yield (
                    f"{item.name} is read from the end along {size}",
                    _by(item.name, partial(np.flip, axis=axis)),
                )
        for first in range(len(item.shape) - 1):
            viewed = partial(split_by_view, first=first)
            yield (
                f"axes swapped: {item.name} is reshaped where its axes have to be permuted",
                _by(item.name, viewed),
            )


def _counted_on(item: Tensor, step: int, kept: Callable[..., Any], example: Example) -> Mapping[str, Any]:
    """Whole numbers one off; ``kept`` says what becomes of those beyond the last one."""
    return {item.name: kept(example.inputs[item.name] + step, 0, whole(item.below, example.sizes) - 1)}


def _around(x: Any, _: int, last: int) -> Any:
    return x % (last + 1)


def _beyond(x: Any, *_: int) -> Any:
    return x


# Which alteration explains what was returned -----------------------------------------------------------------------------

Kind = Callable[[Evidence], Iterable[Alteration]]
KINDS: tuple[Kind, ...] = (alter_results, without_weights, alter_inputs, alter_lines)
"""The kinds of alterations, in the order in which they are tried."""
MOST_NEARLY = 3
"""So many that only some conventions may be wrong beside are tried with others."""
DIGITS = 6
"""So many digits are said of a factor; factors are one where they agree to these: in float64 roundings are far smaller."""
SURELY = 0.9
"""The share of what fails that has to be explained where several explanations differ in few examples."""
POWERS = ((1, "{}"), (-1, "1/{}"), (0.5, "√{}"), (-0.5, "1/√{}"))
"""Powers of sizes that results may be multiplied by."""
TERMS = 6
"""So many examples are called again with other data, to see whether they are off by the same."""
SMALL, SMALLEST = 3, 34
"""So many examples are made small, in steps of half a power of ten, so many of them."""
FILLS = (*(-(10**power) for power in (4, 9, 6, 5, 3, 7, 8, 10, 12, 20)), -(2**15), -65504, -(10**30))
"""Numbers that hidden scores are set to in the field."""


def find_alteration(evidence: Evidence) -> str:
    """One thing in the statement taken or written otherwise; of what is sure but for that, beside other conventions."""
    nearly: list[tuple[Any, str]] = []
    for kind in KINDS if evidence.everywhere else ():
        for said, alike in _accounting(evidence, kind):
            if evidence.is_sure(alike):
                return said
            nearly.append((kind, said))
    for kind, said in nearly[:MOST_NEARLY]:
        if found := _beside_conventions(evidence, kind, said):
            return found
    return ""


def find_alteration_beside_conventions(evidence: Evidence) -> str:
    """Find one alteration of the statement under other conventions that explains all failures."""
    kinds = KINDS if evidence.everywhere else ()
    return next((said for kind in kinds if (said := _beside_conventions(evidence, kind))), "")


def _beside_conventions(evidence: Evidence, kind: Kind, only: str = "") -> str:
    """The first alteration of a kind that is sure under other conventions; ``only``: the one that is said so."""
    ours = evidence.judge
    for changes in other_conventions(evidence.formula, ours.conventions):
        if evidence.late:
            return ""
        with evidence.use_judge(Judge(evidence.formula, {**ours.conventions, **changes})):
            for said, alike in _accounting(evidence, kind, only):
                if evidence.is_sure(alike):
                    return f"{said}; and {format_options(changes)} (its convention)"
    return ""


def _accounting(evidence: Evidence, kind: Kind, only: str = "") -> Iterator[Alteration]:
    """The alterations of a kind that account for what the ordinary examples show."""
    if evidence.random and kind is not alter_inputs:
        return
    for said, alike in kind(evidence):
        if evidence.late:
            return
        if only in ("", said) and evidence.accounts(alike):
            yield said, alike


def outputs_exchanged(evidence: Evidence) -> str:
    """Find a permutation of the outputs that explains all failures."""
    outputs = evidence.judge.flat.outputs
    if not evidence.everywhere:
        return ""
    for order in list(permutations(range(len(outputs))))[1:24]:
        alike = partial(_reorder_outputs, evidence, order)
        if evidence.accounts(alike) and evidence.is_sure(alike):
            return f"the results are exchanged: returned in the order {', '.join(outputs[k].name for k in order)}"
    return ""


def _reorder_outputs(evidence: Evidence, order: Sequence[int], example: Example) -> list[Reals]:
    said = evidence.evaluate_statement(example)
    return [said[place] for place in order]


def find_factor(evidence: Evidence) -> str:
    """Results off by one factor, the same everywhere or a power of a size."""
    factors = [_factor(evidence, w) for w in evidence.failing] if evidence.everywhere else []
    if len(factors) < 3 or None in factors:
        return ""
    found = np.array(factors, float)
    one = f"the result is {found[0]:.{DIGITS}g} times what is stated, everywhere"
    ways: list[tuple[str, Callable[[Example], float]]] = [(one, lambda _: found[0])]
    ways = [] if abs(found[0] - 1) <= 10.0**-DIGITS else ways
    for size, (power, of) in product(evidence.failing[0].example.sizes, POWERS):
        said = f"the scale is wrong: the result is {of.format(size)} times what is stated"
        ways.append((said, lambda example, size=size, power=power: example.sizes[size] ** power))  # type: ignore[misc]
    for said, factor in ways:
        numbers = [factor(w.example) for w in evidence.failing]
        if np.allclose(found, numbers, rtol=10.0**-DIGITS, atol=0) and evidence.is_sure(
            partial(_times, evidence, factor)
        ):
            return said
    return ""


def _times(evidence: Evidence, factor: Callable[[Example], float], example: Example) -> Sequence[Reals]:
    return [factor(example) * part for part in evidence.evaluate_statement(example)]


def find_term(evidence: Evidence) -> str:
    """Results that are off by a term which none of the data changes, though numbers and sizes may: an entropy, a constant."""
    witnesses = (
        evidence.failing[:TERMS] if evidence.everywhere and evidence.data and not evidence.slight else []
    )
    for witness in witnesses:
        # In another order, too: where it stands may depend on that.
        changed = {name: 0.25 - witness.example.inputs[name] / 2 for name in evidence.data}
        other = evidence.call_at(witness.example.replace_inputs(**changed))
        if other.got is None or witness.got is None:
            return ""
        offs = [
            np.concatenate(
                [
                    np.ravel(got - said)
                    for got, said in zip(w.got or (), evidence.evaluate_statement(w.example), strict=True)
                ]
            )
            for w in (witness, other)
        ]
        if not np.allclose(offs[0], offs[1], rtol=10.0**-DIGITS, atol=evidence.close):
            return ""
    read = [str(item) for item in evidence.given if item.name not in evidence.data]
    beside = f" (of {', '.join(read)} and the sizes)" if read else ""
    verb = "does" if len(evidence.data) == 1 else "do"
    return (
        f"the result is off by a term{beside} that {' and '.join(evidence.data)} {verb} not change"
        if witnesses
        else ""
    )


def _factor(evidence: Evidence, witness: Witness) -> float | None:
    said = np.concatenate([np.ravel(x) for x in evidence.evaluate_statement(witness.example)])
    got = np.concatenate([np.ravel(x) for x in witness.got or ()]).astype(np.float64)
    told = np.isfinite(said) & (said != 0)
    if not told.any() or not np.isfinite(got[told]).all():
        return None
    with np.errstate(all="ignore"):
        factors = got[told] / said[told]
    return float(factors[0]) if np.ptp(factors) <= 10.0**-DIGITS * abs(factors[0]) else None


# What shows at extreme inputs --------------------------------------------------------------------------------------------


def _failing_drawn(evidence: Evidence) -> list[Witness]:
    """Examples of all regimes that fail in the type that tells most."""
    kind = evidence.kind
    return [w for w in evidence.drawn if w.fails and w.got is not None and w.example.dtype == kind]


def find_fill_value(evidence: Evidence) -> str:
    """A number that hidden scores are set to, which shows where others come near it."""
    if evidence.everywhere or evidence.random:
        return ""
    # Where the statement itself fits, any number does as well.
    failing = [w for w in _failing_drawn(evidence) if not evidence.fits_there(evidence.evaluate_statement, w)]
    right = []
    for value in FILLS if failing else ():
        alike = fill_hidden_scores(evidence.judge.flat, value)
        fits = sum(evidence.fits_there(alike, w) for w in failing) if alike is not None else 0
        right += [value] if fits > MOST * len(failing) else []
    if not right:
        return ""
    named = f" ({float(right[0]):g})" if len(right) == 1 else ""
    return f"hidden scores are set to a finite number{named}: right as long as the others stay far above it"


def find_floor(evidence: Evidence) -> str:
    """A divisor that is kept from 0 otherwise, which shows at rows near 0, and is right about more of them than none at all."""
    failing = _failing_drawn(evidence)
    if evidence.random or len(failing) < 2:
        return ""
    alterations = list(alter_floors(evidence))
    if (
        sum(not said for said, _ in alterations) != 1
    ):  # of several roots ε is fixed in one, or the data tell nothing
        return ""
    witnesses = [*failing, *_shrink_examples(evidence)]
    least, best = math.floor((1 - SURELY) * len(witnesses)) + 1, ""
    for said, alike in alterations:
        if evidence.late:
            break
        wrong = 0
        for witness in witnesses:
            wrong += not evidence.fits_there(alike, witness)
            if wrong >= least:  # no better than one before
                break
        else:
            least, best = wrong, said
    return best


def _shrink_examples(evidence: Evidence) -> list[Witness]:
    """Ordinary examples with all real data made small, by each power of ten and half of one: where a least value shows."""
    names, steps = evidence.data, [10.0 ** (-place / 2) for place in range(1, SMALLEST)]
    examples = [w.example for w in evidence.ordinary if names][:SMALL]
    moved = [
        e.replace_inputs(**{name: e.inputs[name] * step for name in names})
        for e in examples
        for step in steps
    ]
    return [w for w in evidence.call_each(moved) if w.got is not None]


__all__ = [
    "find_alteration",
    "find_alteration_beside_conventions",
    "find_fill_value",
    "find_floor",
    "find_term",
    "outputs_exchanged",
    "find_factor",
]
