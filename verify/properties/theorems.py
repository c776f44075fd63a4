"""Theorems as properties: evaluated with the callable in the formula's place, and, to guard the theorem, with the oracle there.

Both sides of a claim are compiled as statements are, and evaluated at many examples at once; wherever the formula is applied,
the callable is called with the arguments of that place, rounded to the type under check. The tolerance is both sides' bounds at
the inputs actually passed, plus what the statement itself says the two sides differ by at those same inputs. So a theorem is
never asked of rounded inputs for which it does not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from spec.language.arrays import Tensor
from spec.language.elaboration import elaborate
from spec.language.evaluation.batching import EXAMPLE, EXAMPLES, of_examples
from spec.language.evaluation.binding import Bindings
from spec.language.evaluation.dimensions import Size, fraction_of, whole
from spec.language.evaluation.evaluator import Evaluator
from spec.language.evaluation.precision import FORMATS
from spec.language.evaluation.running_error import RunningError
from spec.language.flatten import apply_conventions
from spec.language.formula import Formula
from spec.language.theorem import Claim, Theorem
from spec.language.trees import free_symbols
from verify.faults import Fault, Unsupported
from verify.inputs.examples import Example, round_to
from verify.inputs.ranges import Outside
from verify.properties.judge import Judge
from verify.properties.substitutions import VERSION, CallableApplications, CallCache
from verify.search.outcome import Outcome
from verify.search.property import NotRunnable
from verify.subject.caller import Caller


def runnable(theorem: Theorem, judge: Judge) -> str:
    """Why a theorem cannot be run on a callable; empty if it can."""
    if not theorem.runs:
        return "not a property of a callable"
    if theorem.exists:
        return "existential"
    for name, option in theorem.conventions.items():
        if judge.conventions.get(name, option) != option:
            return f"stated under {name}={option}"
    return ""


def judge_theorem(judge: Judge, caller: Caller, theorem: Theorem, example: Example) -> Outcome:
    """Run every claim on the callable at an example; claims about lines that it does not return are left out.

    Raises:
        NotRunnable: a part of a claim that a callable has no place in, or no claim about what it returns.
    """
    (outcome,) = _judge_examples(judge, caller, theorem, [example], CallCache())
    return outcome


def judge_all(
    judge: Judge, caller: Caller, theorem: Theorem, examples: Sequence[Example], kept: CallCache
) -> Iterator[Outcome]:
    """As :func:`judge_theorem`, at each of these examples in their order; those of equal sizes are evaluated together.

    ``kept``: what the callable has returned.
    """
    groups: dict[Any, list[int]] = {}
    for place, example in enumerate(examples):
        groups.setdefault(tuple(example.sizes.items()), []).append(place)
    found: dict[int, Outcome] = {}
    for place, example in enumerate(examples):
        group = groups.pop(tuple(example.sizes.items()), [])
        if len(group) > 1 and not caller.hung:
            with suppress(*EVALUATION_ERRORS):  # one of them must not speak for the others
                together = _judge_examples(judge, caller, theorem, [examples[k] for k in group], kept, True)
                found |= zip(group, together, strict=True)
        yield found[place] if place in found else _judge_examples(judge, caller, theorem, [example], kept)[0]


EVALUATION_ERRORS = (
    Fault,
    Outside,
    Unsupported,
    NotRunnable,
    ArithmeticError,
    LookupError,
    TypeError,
    ValueError,
)
"""What may go wrong at one example, and is met again where it is judged alone."""


def _judge_examples(
    judge: Judge,
    caller: Caller,
    theorem: Theorem,
    examples: Sequence[Example],
    kept: CallCache,
    together: bool = False,
) -> list[Outcome]:
    """The outcomes at examples of equal sizes; what goes wrong is raised if they are judged ``together``."""
    outcomes, asked = [Outcome() for _ in examples], False
    bindings, given = bind_examples(judge, theorem, examples)
    for number, claim in enumerate(theorem.claims):
        calls = CallableApplications(judge, caller, examples, given, kept)
        try:
            found = _judge_claim(judge, calls, theorem, resolve_claim(claim, judge), bindings)
        except Outside:  # the claim is about inputs that are out of the range
            if together:
                raise
            asked = True
            continue
        except Fault as fault:
            if together:
                raise
            found = [Outcome.of_fault(fault, theorem.title)]
        except (TypeError, KeyError, IndexError, NotImplementedError, StopIteration) as error:
            raise NotRunnable(f"{type(error).__name__}: {error}") from error
        if calls.asked:
            for one in found:
                one.claim = number
            outcomes = [one.worse(other) for one, other in zip(outcomes, found, strict=True)]
            asked = True
    if not asked:
        raise NotRunnable("about lines that a callable does not return")
    return outcomes


def _judge_claim(
    judge: Judge, calls: CallableApplications, theorem: Theorem, claim: Claim, bindings: Bindings
) -> list[Outcome]:
    evaluator = Evaluator(RunningError(FORMATS["float64"]), bindings, calls)
    both = None if vacuous(claim, evaluator) else sides(about_examples(claim, judge.formula), evaluator)
    if both is None:
        calls.asked = True  # it would be, at other sizes
        return [Outcome() for _ in calls.examples]
    left, right, where = both
    with np.errstate(all="ignore"):
        gaps = left.floats() - right.floats()
        tolerance = left.bounds() + right.bounds()
        gaps, tolerance, where = np.broadcast_arrays(gaps, tolerance, where)
        (gap, true_gap), tolerance, where = (
            np.broadcast_to(part, (2, len(calls.examples), *part.shape[2:]))
            for part in (gaps, tolerance, where)
        )
        tolerance, where = tolerance[0], where[0]
        if claim.relation != "=":  # rounding may reach a bound that the statement stays below
            distance, extra = np.maximum(gap, 0.0), np.maximum(true_gap, 0.0)
        else:
            distance, extra = np.abs(gap), np.abs(true_gap)
        tolerance = np.where(np.isfinite(true_gap), tolerance + extra, np.inf)
        ratio = np.where(distance == 0, 0.0, distance / tolerance)
        ratio = np.where(np.isnan(ratio), np.inf, ratio)
        ratio = np.where(np.isinf(tolerance) | ~where, 0.0, ratio)
    sound = np.isfinite(tolerance) & where
    got, expected = (np.broadcast_to(side.floats(), gaps.shape)[0] for side in (left, right))
    outcomes = []
    for place, example in enumerate(calls.examples):
        outcome = Outcome(
            effective=bool(sound[place].any()), what=_describe_claim(claim), violates=theorem.title
        )
        if ratio[place].size:
            at = int(np.argmax(ratio[place]))
            outcome.index = tuple(int(x) for x in np.unravel_index(at, ratio[place].shape))
            outcome.ratio, outcome.tolerance = (
                float(part[place][outcome.index]) for part in (ratio, tolerance)
            )
            outcome.got, outcome.expected = (float(part[place][outcome.index]) for part in (got, expected))
        if outcome.fails:
            outcome.message = _message(judge, calls.caller, claim, outcome, example.dtype)
        outcomes.append(outcome)
    return outcomes


def _message(judge: Judge, caller: Caller, claim: Claim, outcome: Outcome, dtype: str) -> str:
    symbols = ", ".join(f"{s}={k}" for (s, _), k in zip(claim.over, outcome.index or (), strict=False))
    sign = {"=": "=", "<=": "≤", "<": "<"}[claim.relation]
    return (
        f"{judge.formula.id}: {caller.name}: not {claim.left} {sign} {claim.right}"
        f"{' at ' + symbols if symbols else ''}: {outcome.got:.9g} against {outcome.expected:.9g} "
        f"± {outcome.tolerance:.2g} in {dtype}"
    )


def resolve_claim(claim: Claim, judge: Judge) -> Claim:
    """The claim with every convention's choice made, and every letter of the statement as what it means."""
    return _resolve_claim(claim, judge.formula, tuple(judge.conventions.items()))


@lru_cache(maxsize=1024)
def _resolve_claim(claim: Claim, formula: Formula, conventions: tuple[tuple[str, str], ...]) -> Claim:
    """The same for every example: trees that stay the same objects are hashed once."""
    parts = (claim.left, claim.right, claim.where)
    left, right, where = (apply_conventions(elaborate(part, formula), dict(conventions)) for part in parts)
    return Claim(left, right, claim.over, where, claim.relation)


@lru_cache(maxsize=1024)
def _describe_claim(claim: Claim) -> str:
    """Describe what a claim is about, once for each claim."""
    return str(claim.left)


def vacuous(claim: Claim, evaluator: Evaluator) -> bool:
    """Whether an index of the claim has no value at these sizes, so that nothing is claimed."""
    return any(int(evaluator.index(size).item()) <= 0 for _, size in claim.over)


def sides(claim: Claim, evaluator: Evaluator) -> tuple[Any, Any, Any] | None:
    """Both sides of a claim in both versions, for each example and over its indices; and where it is claimed.

    None where nothing is claimed.
    """
    spans = (
        (VERSION, 0, 1),
        (EXAMPLE, 0, EXAMPLES - 1),
        *((symbol, 0, size - 1) for symbol, size in claim.over),
    )
    found = evaluator.values((claim.left, claim.right), spans, claim.where)
    if found is None:
        return None
    left, right = found.values
    return left, right, np.ones((1,) * len(spans), bool) if found.where is None else found.where.surely


@lru_cache(maxsize=1024)
def about_examples(claim: Claim, formula: Formula) -> Claim:
    """A claim about each of the examples."""
    kept = frozenset(tensor.name for tensor in formula.constants)
    left, right, where = (of_examples(part, kept) for part in (claim.left, claim.right, claim.where))
    return Claim(left, right, claim.over, where, claim.relation)


# Drawing ------------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def sizes_of_inputs(formula: Formula) -> tuple[Size, ...]:
    """The sizes of a formula's inputs, in order of appearance."""
    return tuple(_sizes_in(_list_declared_sizes(formula.inputs)))


def sizes_needed(formula: Formula, theorem: Theorem) -> list[Size]:
    """The sizes to draw for a theorem: those of the formula that it keeps, and its own."""
    claimed = (
        part for c in theorem.claims for part in (c.left, c.right, c.where, *(size for _, size in c.over))
    )
    found = _sizes_in(
        (*_list_declared_sizes((*formula.inputs, *theorem.given)), *claimed, *theorem.sizes.values())
    )
    return [s for s in found if s not in theorem.sizes]


def _list_declared_sizes(items: Iterable[Tensor | Size]) -> Iterator[Any]:
    for item in items:
        yield from (*item.shape, item.below) if isinstance(item, Tensor) else (item,)


def _sizes_in(parts: Iterable[Any]) -> list[Size]:
    """The sizes that occur in these, in order of appearance."""
    every = (symbol for part in parts for symbol in sorted(free_symbols(part), key=str))
    return list(dict.fromkeys(s for s in every if s.is_positive and s.is_integer))


def draw_theorem(
    formula: Formula, theorem: Theorem, make: Any, recipe: Any, sizes: Mapping[Size, int], dtype: str
) -> Example:
    """An example for a theorem: the formula's inputs at these sizes, and what the theorem quantifies over besides."""
    every = dict(sizes)
    for symbol, expr in theorem.sizes.items():
        every[symbol] = whole(expr, sizes)
    example: Example = make(recipe, dtype, sizes=every)
    random = np.random.default_rng([recipe.seed, 5])
    for tensor in theorem.given:
        shape = tuple(whole(size, every) for size in tensor.shape)
        example.inputs[tensor.name] = draw_given(tensor, shape, every, random, dtype)
    for tensor, fixed in theorem.at.items():
        shape = tuple(whole(size, every) for size in tensor.shape)
        example.inputs[tensor.name] = np.full(shape, float(fixed)) if shape else float(fixed)
    return example


def draw_given(
    tensor: Tensor, shape: tuple[int, ...], sizes: Mapping[Size, int], random: np.random.Generator, dtype: str
) -> Any:
    """A value for a tensor that a theorem quantifies over."""
    if tensor.domain == "permutation":
        return random.permutation(shape[0])
    if tensor.domain in ("integer", "label"):
        below = whole(tensor.below, sizes) if tensor.below != 0 else 6
        return random.integers(0, max(below, 1), shape)
    if tensor.domain == "boolean":
        return random.random(shape) < 0.6
    drawn = random.standard_normal(shape) * 10.0 ** int(random.integers(-1, 2))
    if tensor.domain != "real":
        drawn = np.abs(drawn) + 2.0**-10
    return np.asarray(round_to(drawn, dtype))


def bind_inputs(formula: Formula, theorem: Theorem, example: Example, absent: bool = True) -> Bindings:
    """The inputs and what the theorem quantifies over, bound for evaluation.

    ``absent`` is what a mask that is not given stands for: claims may rearrange it, so where that is False it is written out.
    """
    bindings = Bindings(sizes=dict(example.sizes))
    for item in (*formula.inputs, *theorem.given):
        if isinstance(item, Tensor):
            value = example.inputs.get(item.name)
            if value is None and item.role != "mask":
                continue
            if value is None and not absent:
                value = np.zeros([whole(size, example.sizes) for size in item.shape], bool)
            bindings.tensor(formula.id, item, value)
    for tensor, constant in formula.constants.items():
        bindings.rationals[tensor.name] = fraction_of(constant).as_integer_ratio()
    return bindings


def bind_examples(
    judge: Judge, theorem: Theorem, examples: Sequence[Example]
) -> tuple[Bindings, dict[str, list[Any]]]:
    """Examples of equal sizes bound for evaluation, with an axis in front for them; and what each gives, by name."""
    formula, absent = judge.formula, judge.flat.absent
    first, given = bind_inputs(formula, theorem, examples[0], absent), dict[str, list[Any]]()
    sizes = {**first.sizes, EXAMPLES: len(examples)}
    found = Bindings(sizes=sizes, rationals=first.rationals, positive=first.positive)
    for kind in ("reals", "integers", "booleans"):
        for name, one in getattr(first, kind).items():
            others = (example.inputs.get(name) for example in examples[1:])
            unmasked = None if absent or one is None else np.zeros_like(one)
            given[name] = [one, *(unmasked if other is None else np.asarray(other) for other in others)]
            getattr(found, kind)[name] = _stack_arrays(given[name])
    return found, given


def _stack_arrays(arrays: Sequence[Any]) -> Any:
    """Arrays of equal shapes as one; a mask that is absent from some is True there."""
    present = [array for array in arrays if array is not None]
    if not present:
        return None
    return np.stack([np.ones_like(present[0]) if array is None else array for array in arrays])


def meets_assumptions(formula: Formula, theorem: Theorem, example: Example) -> bool:
    """Whether the theorem's assumptions hold at an example."""
    if not theorem.assuming:
        return True
    evaluator = Evaluator(RunningError(), bind_inputs(formula, theorem, example))
    return all(bool(np.all(evaluator.condition(elaborate(c, formula)))) for c in theorem.assuming)
