"""Robustness: the ways in which right formulas are called wrongly served. Each scenario is judged against the statement.

A scenario turns an example into one or more calls and compares every result with what the statement says there, within its bound;
nothing is compared bitwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import is_not
from typing import Any

import numpy as np
import torch

from verify.faults import Fault
from verify.inputs import mask_kinds
from verify.inputs.examples import Example, round_to
from verify.inputs.layouts import LAYOUTS, packed
from verify.inputs.sizes import ALIKE
from verify.properties import gradient_scenarios, shared_inputs
from verify.properties.boundaries import at_a_boundary, boundary_examples, limits
from verify.properties.gradient_scenarios import Scene
from verify.properties.judge import Judge
from verify.properties.large_scenarios import (
    Drawing,
    large_batch,
    large_examples,
    of_a_large_batch,
    one_large_size,
)
from verify.properties.leaks import UNREAD, nan_in_masked_slots
from verify.properties.slopes import REAL, differentiable
from verify.properties.values import explain, judge_call, judge_outputs, judge_value
from verify.search.outcome import Outcome, worst
from verify.subject.caller import Caller
from verify.subject.returned import values

WRITTEN_TO = "results written to"
"""A scenario that is a property."""
ALONE = 24
"""So many calls with one input in another layout an example makes at most, of all that there are."""
FEWEST = 4
"""So many examples a scenario has at least: in as many, each choice of inputs has had its turn to change."""


@dataclass(frozen=True)
class Scenario:
    """A scenario: its name, how it is played, the leading dimensions that its examples have in turn, what it needs, and the
    inputs that are called.

    One about ``gradients`` has cotangents in its examples, is played in regimes in which derivatives are judged, and only on
    callables whose gradients conform. One with ``examples`` of its own draws them itself, with cotangents in the types in which
    gradients conform; a plain call is what it is about. One that ``repeats`` consists of plain
    calls, at inputs never seen before: if one is wrong at their first sight, that is reported. One that is ``fresh`` has a
    few examples, of sizes never seen before. ``besides`` are examples that the statement alone is asked for, too. One with
    batches of ``as_many`` members as the example's own sizes has such for all examples but the first; one of ``ones`` has more
    examples, at which one size alone is 1, and is about plain calls, too. One of ``usual`` examples has unit normal data and
    random masks, of which most can be said, or none.
    """

    name: str
    play: Scene
    leads: tuple[tuple[int, ...], ...] = ((),)
    sizes: int | None = None
    mask: int | None = None
    calls: Callable[[Judge, Example], tuple[Example, ...]] = lambda judge, example: (example,)
    gradients: bool = False
    examples: Drawing | None = None
    repeats: bool = False
    fresh: bool = False
    besides: Callable[[Judge, Example], tuple[Example, ...]] = lambda judge, example: ()
    as_many: bool = False
    ones: bool = False
    usual: bool = False


def _both(judge: Judge, example: Example) -> tuple[Example, ...]:
    return example, others(judge, example)


def _make_arguments(caller: Caller, example: Example, grad: bool = False) -> list[Any]:
    return caller.arguments(example.inputs, example.dtype, grad=grad, generator_seed=example.generator_seed)


def one_call(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """One plain call."""
    return judge_value(judge, caller, example)


def non_contiguous(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """The same entries in every layout but the contiguous one: of all inputs at once, and of each by itself in turn."""
    passed, outcome = _make_arguments(caller, example), Outcome()
    every = [
        *(([layout(a) for a in passed], layout.__name__) for layout in LAYOUTS[1:]),
        (packed(passed), "packed"),
    ]
    ways: list[tuple[list[Any], str, str]] = []
    for stored, name in every:
        moved = [place for place, (new, old) in enumerate(zip(stored, passed, strict=True)) if new is not old]
        alone = [
            ([*passed[:at], stored[at], *passed[at + 1 :]], name, str(judge.formula.inputs[at]))
            for at in moved
        ]
        ways += alone if len(moved) > 1 else []
    share = max(2, -(-len(ways) // ALONE))
    together = [(stored, name, "all inputs") for stored, name in every if any(map(is_not, stored, passed))]
    for arguments, name, which in (*together, *ways[(example.turn + example.turn // 6) % share :: share]):
        outcome = outcome.worse(judge_call(judge, caller, example, arguments))
        if outcome.fails:
            outcome.message += f", where {which} lie otherwise in memory: {name.replace('_', ' ')}"
            break
    return outcome


def _expanded(judge: Judge, example: Example) -> Iterator[tuple[Example, dict[str, Any]]]:
    """The example where all data are one member, for the whole batch or for its last dimension; then one of them alone, in
    turn. With it those members as they are stored, with axes of size one.
    """
    kept = example.turn // 4 % max(1, len(example.batch))
    first = (slice(None),) * kept + (slice(1),) * (len(example.batch) - kept)
    names = [
        t.name
        for t in judge.formula.tensors
        if t.role in ("data", "mask") and isinstance(example.inputs.get(t.name), np.ndarray)
    ]
    for part in (names, [names[example.turn % len(names)]])[: len(names)]:
        one = {name: example.inputs[name][first] for name in part}
        yield (
            example.replace_inputs(
                **{k: np.array(np.broadcast_to(v, example.inputs[k].shape)) for k, v in one.items()}
            ),
            one,
        )


def expanded_batch(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """A batch in which all data, or one of them, are one member, expanded with stride 0."""
    outcomes = []
    for meant, one in _expanded(judge, example):
        passed = _make_arguments(caller, example.replace_inputs(**one))
        arguments = [
            a.expand(np.shape(meant.inputs[str(item)]))
            if str(item) in one and isinstance(a, torch.Tensor)
            else a
            for item, a in zip(judge.formula.inputs, passed, strict=False)
        ]
        outcomes.append(judge_call(judge, caller, meant, arguments))
    return worst(outcomes)


def others(judge: Judge, example: Example) -> Example:
    """Other values in the same shapes."""
    changed: dict[str, Any] = {}
    for tensor in judge.formula.tensors:
        value = example.inputs.get(tensor.name)
        if tensor.name in dict(example.supported.fixed):
            continue
        if tensor.role == "number" and isinstance(value, float):
            changed[tensor.name] = value / 2 if value else (1 / 8 if tensor.domain == "share" else value)
        if not isinstance(value, np.ndarray):
            continue
        if tensor.role == "mask":
            changed[tensor.name] = mask_kinds.restrict_mask(example.supported.masks, ~value, value.shape)
        elif tensor.domain in REAL:
            other = np.flip(value) * (0.5 if tensor.domain != "real" else -0.5)
            other = other + (0.25 if tensor.domain == "real" else 0.0)
            changed[tensor.name] = round_to(other, example.dtype)
        elif tensor.domain == "boolean":
            changed[tensor.name] = ~value
        else:
            changed[tensor.name] = np.flip(value).copy()
    moved, within = example.replace_inputs(**changed), example.supported.within
    return moved if within is None else within.bring_inside(moved)


def again_with_others(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Two calls with the same shapes and other values, both results looked at afterwards; then twice in the first's storage.

    The last two follow one another: what was kept of a tensor is out of date once the tensor was written to, as weights are by
    every step of an optimizer, and nothing else has taken its place in between.
    """
    first, second = others(judge, example), example
    kind = example.dtype if judge.real else None
    try:
        arguments = _make_arguments(caller, first)
        before = caller.results(arguments, first.sizes, first.batch, kind)
        after = caller.results(_make_arguments(caller, second), second.sizes, second.batch, kind)
        seen = _copy_results(before), _copy_results(after)
        reused = []
        for case in (second, first):
            for place, (old, new) in enumerate(zip(arguments, _make_arguments(caller, case), strict=True)):
                if isinstance(old, torch.Tensor):
                    old.copy_(new)
                elif isinstance(old, torch.Generator):
                    old.manual_seed(case.generator_seed or 0)
                else:
                    arguments[place] = new
            reused.append(_copy_results(caller.results(arguments, case.sizes, case.batch, kind)))
    except Fault as fault:
        return Outcome.of_fault(fault, judge.formula.title)
    returned = kind or str(before[0].dtype).removeprefix("torch.")
    results = (first, seen[0]), (second, seen[1]), (second, reused[0]), (first, reused[1])
    outcomes = [judge_outputs(judge, replace(case, dtype=returned), found) for case, found in results]
    return explain(judge, caller, worst(outcomes), example)


def _copy_results(results: Sequence[torch.Tensor]) -> list[np.ndarray[Any, Any]]:
    """What results are now. Copied: one may be a view of an input, which is written to later."""
    return [values(x, copy=True) for x in results]


def some_changed(judge: Judge, example: Example) -> tuple[Example, ...]:
    """The example, and the same with other values for some inputs only: all numbers; all parameters, all data, or one of them.

    Which arrays, goes in turn from example to example. They are changed to other values, and to such as
    have the same sum, the same sizes, or the same beginning, and may be taken for what they were.
    """
    other = others(judge, example)
    given = {t.name: t for t in judge.formula.tensors if isinstance(example.inputs.get(t.name), np.ndarray)}
    numbers = [t.name for t in judge.formula.tensors if isinstance(example.inputs.get(t.name), float)]
    parameters = [name for name, t in given.items() if t.role == "parameter"]
    groups = [parameters, [name for name in given if name not in parameters]]
    parts = [group for group in groups if 1 < len(group) < len(given)] + [[name] for name in given]
    cases = [example.replace_inputs(**{name: other.inputs[name] for name in numbers})] if numbers else []
    many = max(2, -(-len(parts) // FEWEST))
    first = (many * example.turn + example.turn // FEWEST) % max(1, len(parts))
    for place, part in enumerate((parts[first:] + parts[:first])[:many]):
        like = MISTAKEN[(example.turn + place) % len(MISTAKEN)]
        real = [name for name in part if given[name].domain in REAL]
        cases.append(example.replace_inputs(**{name: other.inputs[name] for name in part}))
        cases += (
            [example.replace_inputs(**{n: like(example.inputs[n], other.inputs[n]) for n in real})]
            if real
            else []
        )
    return example, *cases


def _reversed(value: Any, other: Any) -> Any:
    """The same entries in another order: sums and sizes of all stay."""
    return np.flip(value).copy()


def _other_signs(value: Any, other: Any) -> Any:
    """Every second entry with the other sign, where there are both: the sizes of all stay."""
    signs = np.where(np.arange(value.size).reshape(value.shape) % 2, -1.0, 1.0)
    return value * signs if (value < 0).any() else _reversed(value, other)


def _another_end(value: Any, other: Any) -> Any:
    """Another last entry: what stands before it stays."""
    made = value.copy()
    made.flat[-1:] = other.flat[-1:]
    return made


MISTAKEN = (_another_end, _reversed, _other_signs)
"""Changes of an array that leave what may be taken for all of it."""


def some_change(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Some inputs change, mostly at the same address, while all others are the very same tensors.

    Whatever is kept from call to call (a projected memory, a packed weight) is out of date if it depends on an input that its key
    leaves out. The new values are in a new tensor without a history, in the storage that the old one gave up, or, one
    time in three, in a storage of their own.
    """
    plain, *cases = some_changed(judge, example)
    kept, outcomes = _make_arguments(caller, plain), []
    for number, case in enumerate(cases):
        outcomes.append(judge_call(judge, caller, plain, kept))
        arguments, renewed = list(kept), []
        for place, (item, new) in enumerate(
            zip(judge.formula.inputs, _make_arguments(caller, case), strict=False)
        ):
            if case.inputs.get(str(item)) is plain.inputs.get(str(item)):
                continue
            arguments[place] = new
            if isinstance(new, torch.Tensor) and (number + example.turn // 2) % 3:
                renewed.append((kept[place], kept[place].clone()))
                arguments[place] = kept[place].data.copy_(new).data
        outcomes.append(judge_call(judge, caller, case, arguments))
        for old, before in renewed:
            old.data.copy_(before)
    return worst(outcomes)


def one_tensor_for_several(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """One tensor passed for several inputs, as self-attention passes its sequence."""
    case = example.share_values(judge.formula)
    if all(case.inputs[name] is value for name, value in example.inputs.items()):
        return Outcome(idle=True)
    return judge_call(judge, caller, case, pass_once(judge, case, _make_arguments(caller, case)))


def pass_once(judge: Judge, example: Example, arguments: Sequence[Any]) -> list[Any]:
    """The arguments, the same tensor for inputs that are the same array."""
    made: dict[int, Any] = {}
    found = []
    for item, passed in zip(judge.formula.inputs, arguments, strict=False):
        value = example.inputs.get(str(item))
        once = isinstance(value, np.ndarray) and value.shape
        found.append(made.setdefault(id(value), passed) if once else passed)
    return found


def twice(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Two calls with the same inputs."""
    return worst([judge_value(judge, caller, example) for _ in range(2)])


def results_written_to(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Two calls with the same inputs; in between the first result is written to, as ``table += x`` does: whether anything that
    the callable keeps lies there.
    """
    kind = example.dtype if judge.real else None
    try:
        first = caller.results(_make_arguments(caller, example), example.sizes, example.batch, kind)
    except Fault as fault:
        return Outcome.of_fault(fault, judge.formula.title)
    with caller.overwrite_results(first) as changed:
        return judge_value(judge, caller, example) if changed else Outcome(idle=True)


def with_grad_on_and_off(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Inputs that require a gradient; then a call without grad mode."""
    outcome = judge_call(judge, caller, example, _make_arguments(caller, example, grad=True))
    with torch.no_grad():
        return worst([outcome, judge_value(judge, caller, example)])


def in_inference_mode(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """A call in inference mode, then one whose gradients may be asked for: what the first keeps, autograd cannot use."""
    arguments = _make_arguments(caller, example)  # made outside, as weights are
    with torch.inference_mode():
        served = judge_call(judge, caller, example, arguments)
    return worst([served, judge_call(judge, caller, example, _make_arguments(caller, example, grad=True))])


def same_generator_same_result(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Two calls with generators in the same state give the same results; ids keep their type, batches their shape."""
    try:
        first, second = (
            caller.results(_make_arguments(caller, example), example.sizes, example.batch, None)
            for _ in range(2)
        )
    except Fault as fault:
        return Outcome.of_fault(fault, judge.formula.title)
    ids = next(
        (
            v
            for v in _make_arguments(caller, example)
            if isinstance(v, torch.Tensor) and v.dtype == torch.int64
        ),
        None,
    )
    for tensor, a, b in zip(caller.returns, first, second, strict=True):
        if ids is not None and tensor.domain == "integer" and a.dtype != ids.dtype:
            said = f"{judge.formula.id}: {caller.name}: output {tensor.name} has dtype {a.dtype}; expected {ids.dtype}"
            return Outcome(ratio=math.inf, message=said, violates="ids keep their type")
        if not torch.equal(a, b):
            said = f"{judge.formula.id}: {caller.name}: {tensor.name} differs between two calls with the same seed"
            return Outcome(
                ratio=math.inf, message=said, violates="results depend on the inputs and the generator only"
            )
    return Outcome(effective=True)


def drawn_otherwise_stored(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """For laws: inputs in every layout; shapes and types of the results are held, values are not compared."""
    try:
        for layout in LAYOUTS[1:]:
            passed = [layout(a) for a in _make_arguments(caller, example)]
            caller.results(passed, example.sizes, example.batch, None)
    except Fault as fault:
        return Outcome.of_fault(fault, judge.formula.title)
    return Outcome(effective=True)


VALUES: tuple[Scenario, ...] = (
    Scenario("a batch equals its members", one_call, ((5,),), as_many=True),
    Scenario("two leading dimensions", one_call, ((2, 3), (2, 2))),  # equal ones may be mixed up
    Scenario("three leading dimensions", one_call, ((2, 1, 2),), fresh=True),
    Scenario("a batch of one", one_call, ((1,),)),
    Scenario("sizes of one", one_call, sizes=6, ones=True),
    Scenario("non-contiguous inputs", non_contiguous, ((), (2, 3), (2,)), usual=True),
    Scenario(
        "expanded inputs",
        expanded_batch,
        ((3,), (2, 2)),
        usual=True,
        besides=lambda judge, example: tuple(meant for meant, _ in _expanded(judge, example)),
    ),
    Scenario("same shapes, other values", again_with_others, ((), (2,), ()), calls=_both),
    Scenario(
        "some inputs change, the others stay", some_change, ((), (2,), ()), calls=some_changed, usual=True
    ),
    Scenario("same inputs twice", twice, repeats=True),
    Scenario(
        "one tensor for several inputs",
        one_tensor_for_several,
        sizes=ALIKE,
        besides=lambda judge, example: (example.share_values(judge.formula),),
    ),
    Scenario("with and without gradients", with_grad_on_and_off),
    Scenario(UNREAD, nan_in_masked_slots, mask=3),
    Scenario("gradients of a batch", gradient_scenarios.one_backward, ((3,), (2, 3)), gradients=True),
    Scenario("gradients of one input at a time", gradient_scenarios.one_at_a_time, gradients=True),
    Scenario(
        "gradients from cotangents stored otherwise",
        gradient_scenarios.stored_otherwise,
        ((), (2,)),
        gradients=True,
        besides=lambda judge, example: (gradient_scenarios.with_ones(example),),
    ),
    Scenario(
        "gradients after another call",
        gradient_scenarios.with_a_call_between(others),
        calls=_both,
        gradients=True,
    ),
    Scenario(shared_inputs.VALUES, shared_inputs.values_of_shared, ((3,),), mask=1),
    Scenario(
        shared_inputs.GRADIENTS, shared_inputs.gradients_of_shared, ((3,), (2, 3)), mask=1, gradients=True
    ),
    Scenario("large sizes", one_large_size, examples=large_examples),
    Scenario("a large batch", of_a_large_batch, examples=large_batch),
    Scenario("at a boundary", at_a_boundary, examples=boundary_examples),
    Scenario("in inference mode", in_inference_mode, fresh=True),
    Scenario(WRITTEN_TO, results_written_to, repeats=True, fresh=True),
)

LAWS: tuple[Scenario, ...] = (
    Scenario("same seed, same result", same_generator_same_result, ((3,),)),
    Scenario("no leading dimension", same_generator_same_result),
    Scenario("two leading dimensions", same_generator_same_result, ((2, 3),)),
    Scenario("non-contiguous inputs", drawn_otherwise_stored, ((3,), (), (2, 3))),
)


def applicable(judge: Judge) -> tuple[Scenario, ...]:
    """The scenarios that mean something for a formula."""
    if judge.formula.law is not None:
        return LAWS
    data = any(t.role == "data" for t in judge.formula.tensors)
    some = any(t.shape for t in judge.formula.tensors)
    needs_data = {
        "a batch equals its members",
        "two leading dimensions",
        "three leading dimensions",
        "a batch of one",
        "expanded inputs",
    }
    needs_data |= {shared_inputs.VALUES, shared_inputs.GRADIENTS}
    needs_data |= {"gradients of a batch", "one tensor for several inputs", "a large batch"}
    needs_tensor = {"non-contiguous inputs", "same shapes, other values", "with and without gradients"}
    needs_tensor |= {"some inputs change, the others stay", "in inference mode"}
    return tuple(
        s
        for s in VALUES
        if (data or s.name not in needs_data)
        and (s.name != "at a boundary" or limits(judge))
        and (some or s.name not in needs_tensor)
        and (judge.real or s.name not in ("with and without gradients", "in inference mode"))
        and (not s.gradients or (judge.real and differentiable(judge)))
    )


def by_name(judge: Judge, name: str) -> Scenario:
    """The scenario with this name."""
    return next(s for s in applicable(judge) if s.name == name)


__all__ = ["WRITTEN_TO", "Scenario", "applicable", "by_name", "pass_once"]
