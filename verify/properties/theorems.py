"""Theorems as properties: evaluated with the callable in the formula's place, and, to guard the theorem, with the oracle there.

Both sides of a claim are evaluated by the interpreter of statements; wherever the formula is applied, the callable is called with
the arguments of that place, rounded to the type under check. The tolerance is both sides' bounds at the inputs actually passed,
plus what the statement itself says the two sides differ by at those same inputs. So a theorem is never asked of rounded inputs
for which it does not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from spec.language.abbreviations import meant
from spec.language.arrays import Tensor
from spec.language.evaluation.binding import Bindings
from spec.language.evaluation.dimensions import Size, fraction_of, whole
from spec.language.evaluation.interpreter import Evaluator
from spec.language.evaluation.precision import FORMATS, Precision
from spec.language.evaluation.walk import Walk
from spec.language.flatten import Flat, chosen
from spec.language.formula import Formula
from spec.language.theorem import Claim, Theorem
from spec.language.trees import free_symbols
from verify.faults import Fault, Unsupported
from verify.inputs.examples import Example, rounded
from verify.inputs.ranges import Outside
from verify.oracle import Arithmetic, Question
from verify.properties.substitutions import CallableApplications, Kept, NotRunnable, Replay
from verify.properties.values import Judge, Outcome
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


def rehearse(judge: Judge, caller: Caller, theorem: Theorem, examples: Iterable[Example], kept: Kept) -> None:
    """Run the claims for their arguments alone, and ask the statement at all of these together; ``kept`` keeps the results.

    What goes wrong here goes wrong again where it is judged: faults are kept, too.
    """
    questions: dict[tuple[str, Flat], list[Any]] = {}
    for example in examples:
        for claim in theorem.claims:
            put_down: list[Question] = []
            calls = CallableApplications(judge, caller, example.dtype, example.generator_seed, kept, put_down)
            calls.about(claim, example)
            bindings = bound_inputs(judge.formula, theorem, example, judge.flat.absent)
            try:
                settled_claim = settled(claim, judge)
                evaluator = Evaluator(Walk(FORMATS["float64"]), bindings, None, calls)
                if not caller.hung and not vacuous(settled_claim, evaluator):
                    sides(settled_claim, evaluator)
            except (
                Fault,
                Outside,
                Unsupported,
                NotRunnable,
                ArithmeticError,
                LookupError,
                TypeError,
                ValueError,
            ):
                pass
            for flat, inputs in put_down:
                questions.setdefault((example.dtype, flat), []).append(inputs)
    for (dtype, flat), every in questions.items():
        arithmetic = Arithmetic(Precision.of(dtype, judge.conventions["intermediates"]))
        with suppress(ArithmeticError, LookupError, ValueError):
            judge.oracle.ask(flat, every, arithmetic, dtype)


def judge_theorem(
    judge: Judge, caller: Caller, theorem: Theorem, example: Example, kept: Kept | None = None
) -> Outcome:
    """Run every claim on the callable at an example; claims about lines that it does not return are left out.

    ``kept``: what the callable returned in a rehearsal.

    Raises:
        NotRunnable: a part of a claim that a callable has no place in, or no claim about what it returns.
    """
    outcome, asked = Outcome(), False
    for claim in theorem.claims:
        calls = CallableApplications(judge, caller, example.dtype, example.generator_seed, kept)
        calls.about(claim, example)
        found = _judge_claim(judge, calls, theorem, claim, example)
        if calls.asked:
            outcome, asked = outcome.worse(found), True
    if not asked:
        raise NotRunnable("about lines that a callable does not return")
    return outcome


def _judge_claim(
    judge: Judge, calls: CallableApplications, theorem: Theorem, claim: Claim, example: Example
) -> Outcome:
    caller = calls.caller
    bindings = bound_inputs(judge.formula, theorem, example, judge.flat.absent)
    arithmetic = Walk(FORMATS["float64"])
    try:
        claim = settled(claim, judge)
        evaluator = Evaluator(arithmetic, bindings, None, calls)
        if vacuous(claim, evaluator):
            calls.asked = True  # it would be, at other sizes
            return Outcome()
        left, right, where = sides(claim, evaluator)
        true_left, true_right, _ = sides(claim, Evaluator(arithmetic, bindings, None, Replay(calls.oracle)))
    except Outside:  # the claim is about inputs that are out of the range
        calls.asked = True
        return Outcome()
    except Fault as fault:
        return Outcome(ratio=np.inf, message=str(fault), violates=theorem.title)
    except (TypeError, KeyError, IndexError, NotImplementedError, StopIteration) as error:
        raise NotRunnable(f"{type(error).__name__}: {error}") from error
    with np.errstate(all="ignore"):
        gap, true_gap = left.floats() - right.floats(), true_left.floats() - true_right.floats()
        tolerance = left.bounds() + right.bounds()
        if claim.relation != "=":  # rounding may reach a bound that the statement stays below
            distance, extra = np.maximum(gap, 0.0), np.maximum(true_gap, 0.0)
        else:
            distance, extra = np.abs(gap), np.abs(true_gap)
        tolerance = np.where(np.isfinite(true_gap), tolerance + extra, np.inf)
        distance, tolerance, where = np.broadcast_arrays(distance, tolerance, where)
        ratio = np.where(distance == 0, 0.0, distance / tolerance)
        ratio = np.where(np.isnan(ratio), np.inf, ratio)
        ratio = np.where(np.isinf(tolerance) | ~where, 0.0, ratio)
    sound = np.isfinite(tolerance) & where
    outcome = Outcome(effective=bool(sound.any()), what=_said(claim), violates=f"{theorem.title}")
    if ratio.size:
        at = int(np.argmax(ratio))
        place = tuple(int(x) for x in np.unravel_index(at, ratio.shape))
        outcome.ratio, outcome.index = float(ratio.flat[at]), place
        outcome.got = float(np.broadcast_to(left.floats(), ratio.shape).flat[at])
        outcome.expected = float(np.broadcast_to(right.floats(), ratio.shape).flat[at])
        outcome.tolerance = float(tolerance.flat[at])
    if outcome.fails:
        symbols = ", ".join(f"{s}={k}" for (s, _), k in zip(claim.over, outcome.index or (), strict=False))
        sign = {"=": "=", "<=": "≤", "<": "<"}[claim.relation]
        outcome.message = (
            f"{judge.formula.id}: {caller.name}: not {claim.left} {sign} {claim.right}"
            f"{' at ' + symbols if symbols else ''}: {outcome.got:.9g} against {outcome.expected:.9g} "
            f"± {outcome.tolerance:.2g} in {example.dtype}"
        )
    return outcome


def settled(claim: Claim, judge: Judge) -> Claim:
    """The claim with every convention's choice made, and every letter of the statement as what it means."""
    return _settled(claim, judge.formula, tuple(judge.conventions.items()))


@lru_cache(maxsize=1024)
def _settled(claim: Claim, formula: Formula, conventions: tuple[tuple[str, str], ...]) -> Claim:
    """The same for every example: trees that stay the same objects are hashed once."""
    parts = (claim.left, claim.right, claim.where)
    left, right, where = (chosen(meant(part, formula), dict(conventions)) for part in parts)
    return Claim(left, right, claim.over, where, claim.relation)


@lru_cache(maxsize=1024)
def _said(claim: Claim) -> str:
    """What a claim is about, in words: written once."""
    return str(claim.left)


def vacuous(claim: Claim, evaluator: Evaluator) -> bool:
    """Whether an index of the claim has no value at these sizes, so that nothing is claimed."""
    return any(int(evaluator.index(size).item()) <= 0 for _, size in claim.over)


def sides(claim: Claim, evaluator: Evaluator) -> tuple[Any, Any, Any]:
    """Both sides of a claim over its indices, and where it is claimed."""
    spans = [(symbol, 0, size - 1) for symbol, size in claim.over]
    with np.errstate(all="ignore"), evaluator.within(spans, claim.where) as where:
        left, right = evaluator.value(claim.left), evaluator.value(claim.right)
    return left, right, np.array(True) if where is None else where.surely


# Drawing ------------------------------------------------------------------------------------------------------------------


def sizes_needed(formula: Formula, theorem: Theorem) -> list[Size]:
    """The sizes to draw for a theorem: those of the formula that it keeps, and its own."""
    found: dict[Size, None] = {}

    def note(expr: Any) -> None:
        for symbol in sorted(free_symbols(expr), key=str):
            if symbol.is_positive and symbol.is_integer:
                found.setdefault(symbol)

    for item in (*formula.inputs, *theorem.given):
        for size in (*item.shape, item.below) if isinstance(item, Tensor) else (item,):
            note(size)
    for claim in theorem.claims:
        for part in (claim.left, claim.right, claim.where, *(size for _, size in claim.over)):
            note(part)
    for size in theorem.sizes.values():
        note(size)
    return [s for s in found if s not in theorem.sizes]


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
        example.inputs[tensor.name] = given_value(tensor, shape, every, random, dtype)
    for tensor, fixed in theorem.at.items():
        shape = tuple(whole(size, every) for size in tensor.shape)
        example.inputs[tensor.name] = np.full(shape, float(fixed)) if shape else float(fixed)
    return example


def given_value(
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
    return np.asarray(rounded(drawn, dtype))


def bound_inputs(formula: Formula, theorem: Theorem, example: Example, absent: bool = True) -> Bindings:
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


def assumed(formula: Formula, theorem: Theorem, example: Example) -> bool:
    """Whether the theorem's assumptions hold at an example."""
    if not theorem.assuming:
        return True
    evaluator = Evaluator(Walk(), bound_inputs(formula, theorem, example))
    return all(bool(np.all(evaluator.condition(meant(c, formula)))) for c in theorem.assuming)
