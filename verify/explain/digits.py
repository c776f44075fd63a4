"""Where digits are lost: a narrower type inside, exponentials that overflow, what is written in a roundabout way."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np
import sympy
import torch
from sympy.core.basic import Basic
from sympy.core.symbol import Str

from spec.language.binders import SumOf
from spec.language.evaluation.precision import FORMATS
from spec.language.expr import TRUE, Func, Literal, Minus, Over, Plus, Power, Times
from spec.language.flatten import Flat
from spec.language.trees import free_symbols, transform
from verify.explain.evidence import MOST, Evidence, Witness, narrow, same
from verify.faults import Fault
from verify.inputs.examples import Example
from verify.properties.gradients import compare_gradients, pull_back
from verify.properties.judge import Expected, Judge, Reals
from verify.properties.slopes import (
    REAL,
    differentiable,
    expect_batch_gradients,
    of_what_is_said,
    with_cotangents,
)
from verify.properties.values import compare
from verify.search.outcome import Outcome, worst
from verify.subject.sandbox import PRECISIONS

TRIED = 8
"""Failing examples that are called again with other values."""


# A narrower type inside --------------------------------------------------------------------------------------------------

UNITS = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""Types narrower than float64, and how far each rounds."""
AVERAGED = 1 / 8
"""A share of bfloat16's unit: so little is off where entries that are rounded to it are averaged, and as much where float16 is
used throughout."""
SHIFT = 2.0**-28
"""How far inputs are moved: less than float32 tells apart, and far more than float64 rounds."""
STEADY = 0.25
"""A result that is off by at most this share of a movement follows it. One computed in float32 stays where it is, or jumps."""
NOTHING = 2.0**-40
"""What is stated to move by a smaller share of itself does not depend on what was moved."""


def in_float32(evidence: Evidence) -> str:
    """Results in float64 that are numbers of float32, and right in that type."""
    failing = _in_float64(evidence)
    if failing and all(narrow(w, np.float32) for w in failing) and _most_right(evidence, failing, "float32"):
        return _inside("float32")
    return ""


def in_a_narrower_type(evidence: Evidence) -> str:
    """Results that are right in a narrower type alone, and as far off as its rounding."""
    failing = _in_float64(evidence)
    small = float(np.median([evidence.error(w) for w in failing])) if failing else 0.0
    if not evidence.everywhere or not 0 < small < math.inf:
        return ""
    # An error may lie between two types, and be too large for the narrower of roundings.
    nearest = sorted(UNITS, key=lambda kind: abs(math.log(small / UNITS[kind])))
    kinds = (kind for kind in nearest if UNITS[kind] / 64 < small < UNITS[kind] * 64)
    kind = next((kind for kind in kinds if _most_right(evidence, failing, kind)), "")
    stated = sum(_moves_as_stated(evidence, w) for w in evidence.failing) if kind else 0
    several = 4 * stated >= len(evidence.failing)
    # Not few of them: of rows of two entries, normalised, even float32 loses nothing.
    if not kind or 4 * stated >= 3 * len(evidence.failing):
        return ""
    if several and all(_moves_twice_as_far(evidence, w) for w in evidence.failing):
        return ""
    if kind != "float32" and AVERAGED * UNITS["bfloat16"] < small < UNITS["bfloat16"] / 2:
        return "float16 or bfloat16 inside: right to one's digits, whatever the type of the inputs"
    return _inside(kind)


def _inside(kind: str) -> str:
    return f"{kind} inside: computed in {kind} whatever the type of the inputs (right to {kind}'s digits)"


def _in_float64(evidence: Evidence) -> list[Witness]:
    seen = (*evidence.ordinary, *evidence.drawn)
    return [w for w in seen if w.fails and w.got is not None and w.example.dtype == "float64"]


def _moves_as_stated(evidence: Evidence, witness: Witness) -> bool:
    """Whether results move as they are stated to where inputs move by less than a narrower type tells apart."""
    found = _move_inputs(evidence, witness, _real(evidence, witness), 1)
    steps = [(_apart(now - was, then - said), _apart(then, said)) for said, then, was, now in found]
    return any(step > 0 for _, step in steps) and all(off <= STEADY * step for off, step in steps)


def _moves_twice_as_far(evidence: Evidence, witness: Witness) -> bool:
    """Whether results move twice as far where an input does: what is wrong may do so, too; what is rounded stays, or jumps once.

    Each input is moved by itself: others would hide one that is held in a narrower type.
    """
    for name in _real(evidence, witness):
        once, twice = (_move_inputs(evidence, witness, [name], times) for times in (1, 2))
        if once and all(_apart(then, said) <= NOTHING * _apart(said, 0 * said) for said, then, *_ in once):
            continue  # nothing depends on it
        steps = [
            (_apart(one, was), _apart(two - one, one - was))
            for (_, _, was, one), (*_, two) in zip(once, twice, strict=False)
        ]
        if not any(step > 0 for step, _ in steps) or any(off > STEADY * step for step, off in steps):
            return False
    return True


def _real(evidence: Evidence, witness: Witness) -> list[str]:
    given = witness.example.inputs
    names = (t.name for t in evidence.formula.tensors if t.domain in REAL)
    return [name for name in names if isinstance(given.get(name), np.ndarray)]


def _move_inputs(
    evidence: Evidence, witness: Witness, names: Sequence[str], times: int
) -> list[tuple[Any, Any, Any, Any]]:
    """Return the statement's values before and after some inputs move, and the callable's; empty where a call fails."""
    random, given = np.random.default_rng(0), witness.example.inputs
    away = {name: times * SHIFT * random.uniform(-1, 1, np.shape(given[name])) for name in names}
    moved = witness.example.replace_inputs(**{name: given[name] * (1 + by) for name, by in away.items()})
    got = evidence.call_at(moved).got
    if got is None or witness.got is None:
        return []
    said, then = evidence.evaluate_statement(witness.example), evidence.evaluate_statement(moved)
    return list(zip(said, then, witness.got, got, strict=True))


def _apart(one: Any, two: Any) -> float:
    return float(np.abs(one - two).max(initial=0.0))


def _most_right(evidence: Evidence, witnesses: Sequence[Witness], kind: str) -> bool:
    told = [right for w in witnesses if (right := _right_in(evidence, w, kind)) is not None]
    return bool(told) and sum(told) > MOST * len(told)


def _right_in(evidence: Evidence, witness: Witness, kind: str) -> bool | None:
    """Whether a result is within a few bounds of a type; None where these say nothing, being as large as what is compared."""
    judge = evidence.judge
    expected = judge.expect(witness.example.inputs, kind, rigorous=False)
    with np.errstate(all="ignore"):
        fine = [
            bool((np.abs(g - e.value) <= 8 * e.bound + 1e-300).all() or not np.isfinite(e.bound).any())
            for e, g in zip(expected, witness.got or (), strict=True)
        ]
        if any((8 * e.bound < np.abs(e.value)).any() for e in expected):
            return all(fine)
    return None if all(fine) else False


# Large entries, and entries far from 0 -----------------------------------------------------------------------------------

ROUNDINGS = 16
"""So many roundings of the largest entry are few."""


def nowhere_finite(evidence: Evidence) -> str:
    """NaN or infinity at ordinary inputs."""
    broken = all(not np.isfinite(part).any() for w in evidence.failing for part in w.got or ())
    if evidence.everywhere and evidence.failing and broken:
        return "no entry of the result is a finite number, at ordinary inputs"
    return ""


def _fails(witnesses: Sequence[Witness]) -> float:
    return sum(w.fails for w in witnesses) / len(witnesses) if witnesses else 0.0


def overflows(evidence: Evidence) -> str:
    """NaN or infinity at large entries alone, and only where those are large that reach an exponential of the statement."""
    exponents = _find_exponents(evidence)
    failing = [w for w in evidence.drawn if w.fails and w.got is not None]
    if not exponents or evidence.everywhere or sum(_breaks(evidence, w) for w in failing) < 2:
        return ""
    examples = [w.example for w in failing[:TRIED]]
    others = set(evidence.data) - exponents
    if _fails(evidence.call_each([_shrink(e, exponents) for e in examples])) or (
        others and not _fails(evidence.call_each([_shrink(e, others) for e in examples]))
    ):
        return ""
    # No exponential overflows where no entry of a row is above 0; a logarithm of what vanishes is infinite there, too.
    low = [e.replace_inputs(**{n: _lower_rows(e.inputs[n]) for n in evidence.data}) for e in examples]
    if _functions(evidence, "log") and evidence.data and _fails(evidence.call_each(low)) > MOST:
        # Of a row of two, ln(1 + e^z) is infinite, too: results alone do not tell which of the two it is.
        return (
            "a logarithm is taken of a share that vanishes, or of an exponential that overflows: infinity where entries lie far "
            "apart (log_softmax, logsumexp and softplus keep it finite)"
        )
    return (
        "an exponential overflows: NaN or infinity where entries are large (subtract the largest before exp)"
    )


def _breaks(evidence: Evidence, witness: Witness) -> bool:
    """Whether a result is NaN or infinity where the statement is a number; where it says nothing, either is right."""
    stated = evidence.evaluate_statement(witness.example)
    return any(
        (np.isfinite(s) & ~np.isfinite(g)).any() for s, g in zip(stated, witness.got or (), strict=True)
    )


def _find_exponents(evidence: Evidence) -> set[str]:
    """The real inputs that arguments of the statement's exponentials are made from."""
    return evidence.inputs_of(_functions(evidence, "exp", "sigmoid", "tanh"))


def _shrink(example: Example, names: Iterable[str]) -> Example:
    """An example with some inputs scaled down until no entry is beyond 1."""
    given = ((name, example.inputs[name]) for name in names)
    return example.replace_inputs(
        **{name: x / max(1.0, float(np.abs(x).max(initial=0.0))) for name, x in given}
    )


def in_small_entries(evidence: Evidence) -> str:
    """Results that are right to the rounding of the largest entries, where the statement grants each its own."""
    failing = [w for w in (*evidence.ordinary, *evidence.drawn) if w.fails]
    if len(failing) < FEWEST or not all(_is_right_beside_largest(evidence, w) for w in failing):
        return ""
    return (
        "digits are lost in small entries: right to the rounding of the largest number among inputs and results, not to that of "
        "each entry"
    )


def _is_right_beside_largest(evidence: Evidence, witness: Witness) -> bool:
    """Whether a result is off by few roundings of the largest entry of it and of what stands in no exponent."""
    if witness.got is None:
        return False
    stated, given = evidence.evaluate_statement(witness.example), witness.example.inputs
    beside = [*stated, *(given[name] for name in set(evidence.data) - _find_exponents(evidence))]
    largest = max(float(np.abs(part).max(initial=0.0, where=np.isfinite(part))) for part in beside)
    unit = FORMATS[witness.kind].unit
    return all(
        bool((np.abs(g - s) <= ROUNDINGS * unit * largest)[np.isfinite(s)].all())
        for s, g in zip(stated, witness.got, strict=True)
    )


def _lower_rows(entries: Reals) -> Reals:
    """Each row less its largest entry; a number by itself is a row."""
    rows = np.atleast_1d(entries)
    lowered: Reals = (rows - rows.max(-1, keepdims=True, initial=-math.inf)).reshape(np.shape(entries))
    return lowered


def _functions(evidence: Evidence, *names: str) -> list[Basic]:
    """Where the statement takes one of these functions of something."""
    return evidence.parts(lambda part: isinstance(part, Func) and part.name in names)


def weighs_hidden(evidence: Evidence) -> str:
    """Failures that end where hidden entries are as small as those that are seen: what is subtracted is the largest of all."""
    masks = [t for t in evidence.formula.tensors if t.role == "mask"]
    if len(masks) != 1 or evidence.everywhere:
        return ""
    (mask,) = masks
    alike = [t.name for t in evidence.formula.tensors if t.role == "data" and t.shape == mask.shape]
    failing = [w for w in evidence.drawn if w.fails and w.got is not None]
    masked = [w for w in failing if w.example.inputs.get(mask.name) is not None][:TRIED]
    if len(alike) != 1 or not masked:
        return ""
    (name,) = alike
    tamed = []
    for each in (w.example for w in masked):
        hides, entries = each.inputs[mask.name], each.inputs[name]
        lower = (each.replace_inputs(**{name: _lower_hidden(entries, seen)}) for seen in (hides, ~hides))
        # Whichever way round the mask is, what is hidden changes nothing.
        stated = evidence.evaluate_statement(each)
        tamed += [case for case in lower if same(evidence.evaluate_statement(case), stated)][:1]
    if len(tamed) < len(masked) or _fails(evidence.call_each(tamed)):
        return ""
    return (
        f"hidden entries of {name} have weight: right where they are no larger than those that are seen (is the largest of all "
        "subtracted, or a finite number added to those that are hidden?)"
    )


def _lower_hidden(entries: Reals, seen: Any) -> Reals:
    """Hidden entries no larger than the least that is seen in their row."""
    least = np.where(seen, entries, np.inf).min(-1, keepdims=True)
    return np.where(seen, entries, np.where(np.isfinite(least), least, 0.0))


# Products of rounded factors ---------------------------------------------------------------------------------------------

BACKENDS = {"cuda": ("cuda.", "cudnn."), "cpu": ("mkldnn.",)}
"""By the kind of device, what of ``torch.backends`` multiplies."""
ROUNDED = {"tf32": "TF32", "bf16": "bfloat16"}
"""Precisions that round, and what factors are rounded to."""
EXACT = "ieee"


def find_rounded_factors(evidence: Evidence) -> str:
    """Values that are right once torch is told to round no factors."""
    failing = [w for w in evidence.drawn if w.fails and w.got is not None and w.kind == "float32"][:TRIED]
    backends = BACKENDS.get(evidence.caller.device.partition(":")[0], ())
    for name in (each for each in PRECISIONS if each.startswith(backends)):
        set_to = attrgetter(name)(torch.backends).fp32_precision
        if not failing or set_to not in ROUNDED:
            continue
        with _exactly(name):
            right = [w for w in failing if not evidence.call_at(w.example).fails]
        if len(right) > MOST * len(failing):
            return (
                f"products in float32 are of factors rounded to {ROUNDED[set_to]}, as torch is set to: conforms there with "
                f'torch.backends.{name}.fp32_precision = "{EXACT}"'
            )
    return ""


@contextmanager
def _exactly(name: str) -> Iterator[None]:
    place = attrgetter(name)(torch.backends)
    before = place.fp32_precision
    place.fp32_precision = EXACT
    try:
        yield
    finally:
        place.fp32_precision = before


# Ways of writing that lose digits ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Roundabout:
    """Another way of writing some part of a statement, equal on paper, that loses digits.

    ``rewritten`` gives what stands for a part, and None where the part stays. The statement is written in that way, and its bound
    is derived anew. If all results are within it, and the float64 arithmetic of the statement so written fails at most of the
    same examples, that way explains them.
    """

    says: str
    rewritten: Callable[[Basic], Basic | None]

    def __call__(self, flat: Flat) -> Flat:
        """Lines with every such part written so."""
        return _rewrite_lines(self, flat)


@lru_cache(maxsize=64)
def _rewrite_lines(way: Roundabout, flat: Flat) -> Flat:
    lines = tuple(replace(line, right=transform(line.right, way.rewritten)) for line in flat.lines)
    return flat if lines == flat.lines else replace(flat, lines=lines)


ONE, TWO = Literal(sympy.Integer(1)), Literal(sympy.Integer(2))


def _sigmoid(part: Basic) -> Basic | None:
    if not (isinstance(part, Func) and part.name == "sigmoid"):
        return None
    return Over(Plus(ONE, Func(Str("tanh"), Over(part.args[1], TWO))), TWO)


def _tanh(part: Basic) -> Basic | None:
    if not (isinstance(part, Func) and part.name == "tanh"):
        return None
    return Minus(Times(TWO, Func(Str("sigmoid"), Times(TWO, part.args[1]))), ONE)


def _variance(part: Basic) -> Basic | None:
    """Σ x² − n·μ² for Σ (x − μ)², where μ is the same throughout the sum."""
    if not (isinstance(part, SumOf) and isinstance(part.body, Power) and part.body.args[1] == TWO):
        return None
    difference = part.body.args[0]
    if (
        not isinstance(difference, Minus)
        or part.var in free_symbols(difference.args[1])
        or part.where != TRUE
    ):
        return None
    entry, mean = difference.args
    count = Literal(part.last - part.first + 1)
    return Minus(part.func(Power(entry, TWO), *part.args[1:]), Times(count, Power(mean, TWO)))


ROUNDABOUT = (
    Roundabout(
        "one-pass variance: digits are lost where the entries lie far from 0 (the mean of squares minus the square of "
        "the mean cancels, and may become negative, whose root is NaN): subtract the mean first",
        _variance,
    ),
    Roundabout(
        "σ(u) is computed as a difference of numbers near 1, such as (1 + tanh(u/2))/2: its relative digits are lost where u is "
        "far below 0",
        _sigmoid,
    ),
    Roundabout(
        "tanh(u) is computed as a difference of numbers near 1, such as 2σ(2u) − 1: relative digits are lost where u is near 0",
        _tanh,
    ),
)
"""Such ways that are in use."""
FEWEST, LOSING, ALIKE = 2, 0.75, 0.9
"""How many examples have to fail; at which share of them the other way has to; and how many of those where it does have to be
among them, as a share."""
GRADIENTS = 60
"""Examples at which gradients are looked at."""
NEARBY, STEPS = 3, tuple(10.0 ** (-step / 2) for step in range(1, 9))
"""Of so many that fail, those of the smallest data, others are made, with smaller data yet: digits are lost little by little, and
not at once as beyond a limit."""
KIND = "float64"
"""The type in which the other way can be imitated: statements are evaluated in it."""


@dataclass(frozen=True)
class Observation:
    """A callable's result at an example: whether it is a violation, the statement's value, and a judge's verdict."""

    example: Example
    fails: bool
    stated: Sequence[Expected]
    under: Callable[[Judge], tuple[Sequence[Expected], Outcome]]


def values_roundabout(evidence: Evidence) -> str:
    """Values that are those of another way, to its digits."""
    drawn = (each.example for each in evidence.drawn if each.fails and each.got is not None)
    return _explain_by_rewriting(evidence, (each for each in drawn if each.dtype == KIND), _value)


def gradients_roundabout(evidence: Evidence) -> str:
    """Gradients that are those of another way, to its digits."""
    if KIND not in evidence.kinds or not differentiable(evidence.judge):
        return ""
    space = evidence.setting.space(moderate=True)
    drawn = (
        with_cotangents(evidence.judge, space.example(recipe, KIND), recipe.seed)
        for recipe in space.plan(GRADIENTS, evidence.setting.seed)
    )
    return _explain_by_rewriting(evidence, drawn, _gradient)


def _explain_by_rewriting(
    evidence: Evidence, drawn: Iterable[Example], look: Callable[[Evidence, Example], Observation | None]
) -> str:
    others = [(way, evidence.judge.rewrite(way)) for way in ROUNDABOUT]
    others = [(way, other) for way, other in others if other.flat is not evidence.judge.flat]
    if not others:
        return ""
    failing = [each for each in _look_at_examples(evidence, drawn, look) if each.fails]
    nearest = sorted(failing, key=lambda each: evidence.size(each.example))[:NEARBY]
    smaller = (_smaller(evidence, each.example, step) for each in nearest for step in STEPS)
    seen = [*failing, *_look_at_examples(evidence, smaller, look)]
    if sum(each.fails for each in seen) >= FEWEST and not evidence.late:
        for way, other in others:
            if _fits(other, seen):
                return way.says
    return ""


def _look_at_examples(
    evidence: Evidence, examples: Iterable[Example], look: Callable[[Evidence, Example], Observation | None]
) -> Iterator[Observation]:
    for example in examples:
        if evidence.late:
            return
        seen = look(evidence, example)
        if seen is not None:
            yield seen


def _smaller(evidence: Evidence, example: Example, step: float) -> Example:
    """The example with all real data made smaller."""
    return example.replace_inputs(**{name: example.inputs[name] * step for name in evidence.data})


def _fits(other: Judge, every: Sequence[Observation]) -> bool:
    """Whether all that was seen is within the other way's bound, and most of what fails is where that way loses digits."""
    failing, losing, both = 0, 0, 0
    for seen in every:
        said, outcome = seen.under(other)
        if outcome.fails:
            return False
        lost = any(compare(mine, each.value).fails for mine, each in zip(seen.stated, said, strict=True))
        failing, losing, both = failing + seen.fails, losing + lost, both + (lost and seen.fails)
    return both >= LOSING * failing and both >= ALIKE * losing


def _value(evidence: Evidence, example: Example) -> Observation | None:
    witness = evidence.call_at(example)
    if witness.got is None:
        return None
    got = witness.got

    def under(other: Judge) -> tuple[Sequence[Expected], Outcome]:
        said = other.expect(example.inputs, KIND, rigorous=False)
        return said, worst([compare(e, g) for e, g in zip(said, got, strict=True)])

    return Observation(example, witness.fails, evidence.judge.expect(example.inputs, KIND), under)


def _gradient(evidence: Evidence, example: Example) -> Observation | None:
    judge, caller = evidence.judge, evidence.caller
    (example,) = of_what_is_said(judge, [example])
    arguments = caller.arguments(example.inputs, KIND, grad=True, generator_seed=example.generator_seed)
    try:
        found = pull_back(caller, example, arguments)
    except Fault:
        return None

    def under(by: Judge) -> tuple[Sequence[Expected], Outcome]:
        said = expect_batch_gradients(by, example, list(found))
        return list(said.values()), compare_gradients(by, caller, example, found, said)

    stated, outcome = under(judge)
    return Observation(example, outcome.fails, stated, under)


__all__ = [
    "gradients_roundabout",
    "in_a_narrower_type",
    "in_float32",
    "in_small_entries",
    "nowhere_finite",
    "overflows",
    "find_rounded_factors",
    "values_roundabout",
    "weighs_hidden",
]
