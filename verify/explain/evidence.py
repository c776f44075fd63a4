"""Evidence about a callable that was falsified: what it returned at many inputs, each of them called once.

Every explanation is held to the same evidence: it is found by the ordinary examples, of which a majority decides, and believed if
no fresh example contradicts it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any

import numpy as np
import torch
from sympy.core.basic import Basic

from spec.language.arrays import Tensor
from spec.language.binders import Expectation
from spec.language.evaluation.precision import FORMATS
from spec.language.lines import collect_dependencies
from spec.language.trees import refs, walk
from verify.faults import Fault, Unsupported
from verify.inputs.examples import Example, members
from verify.oracle import PLAIN
from verify.properties.judge import Judge, Reals
from verify.properties.setting import Setting
from verify.properties.slopes import REAL
from verify.properties.values import compare
from verify.search.outcome import Outcome, worst
from verify.subject.returned import check_results, values
from verify.subject.wording import describe

DRAWN, ORDINARY, FEW, MANY = 100, 24, 8, 40
"""Examples of every regime, and of unit normal data only; so many of a statement that is costly to evaluate,
or more, where its values alone can tell."""
FEW_SIZES = 3
"""So few sizes are told from one another only if some of them are drawn larger."""
SEED = 20
"""What is drawn here does not depend on the seed of the check: neither does the explanation."""
MOST = 0.75
"""The share of the failing examples that an explanation has to account for."""
SPOILT = 0.1
"""The share of the others that may not fit it."""
CLOSE = {name: math.sqrt(storage.unit) for name, storage in FORMATS.items()}
"""How near to what an explanation says results are, beside the largest entry: in half of the digits of their type. Roundings take
fewer, of whatever was computed instead (the statement bounds none but its own); by chance a few entries agree, and not all."""
FRESH, OF_A_BATCH, MEMBERS = 24, 4, 3
"""Fresh examples, of which every fourth is a batch, of so many members."""
SECONDS = 5.0
"""Processor time of this thread for what needs an evaluation of altered statements; others have no share in it."""

UNEVALUABLE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What an altered statement may raise: not everything that can be written has a value."""

Alike = Callable[[Example], "Sequence[Reals] | None"]
"""What an explanation says is returned at an example; None where it says nothing."""


@dataclass
class Witness:
    """A callable's result at one example: the arrays of its outputs, or what was wrong with ``raw``."""

    example: Example
    got: list[Reals] | None
    outcome: Outcome
    raw: Any = None
    said: str = ""
    kind: str = ""

    @property
    def fails(self) -> bool:
        """Whether the statement is violated there."""
        return self.outcome.fails


class Evidence:
    """What a callable did, and whether an explanation accounts for it; ``many``: examples even of a statement that is costly."""

    def __init__(self, setting: Setting, kinds: Sequence[str], many: bool = False) -> None:
        self.setting, self.judge, self.caller, self.many = setting, setting.judge, setting.caller, many
        self.formula = setting.judge.formula
        self.kinds = list(kinds)
        self.began = time.thread_time()
        space = setting.space()
        self.costly = space.sizing.costly

    def restart_time(self) -> None:
        """Reset the time budget."""
        self.began = time.thread_time()

    @property
    def late(self) -> bool:
        """Whether no more time is to be spent, or another call would not return."""
        return time.thread_time() - self.began > SECONDS or self.caller.hung or self.setting.clock.over

    # What was seen -------------------------------------------------------------------------------------------------------

    @cached_property
    def kind(self) -> str:
        """The type in which results tell most: the widest that the callable supports."""
        recipe = next(iter(self.setting.space().plan(1, SEED)))
        for kind in self.kinds:
            try:
                self.call_at(self.setting.space().example(recipe, kind))
            except Unsupported:
                continue
            return kind
        return self.kinds[0]

    @cached_property
    def drawn(self) -> list[Witness]:
        """Examples of all regimes, masks and numbers, in each type in its turn."""
        space, kinds = self.setting.space(), self.kinds
        plan = enumerate(
            space.plan(FEW if self.costly and not self.many else MANY if self.costly else DRAWN, SEED)
        )
        return self.call_each([space.example(recipe, kinds[turn % len(kinds)]) for turn, recipe in plan])

    @cached_property
    def ordinary(self) -> list[Witness]:
        """Examples of unit normal data, at sizes of which none is 1 and few are equal."""
        space, found = self.setting.space(), []
        kinds = (0, 1, 2, 4) if len(space.symbols) <= FEW_SIZES else (0, 1, 2)
        for turn, recipe in enumerate(space.plan(FEW if self.costly else ORDINARY, SEED + 1)):
            sizes = kinds[turn % len(kinds)]
            found.append(space.example(recipe._replace(regime=0, other=0, sizes=sizes), self.kind))
        return self.call_each(found)

    @cached_property
    def alike(self) -> list[Witness]:
        """Examples of unit normal data at sizes that are all equal: what fits nowhere else may fit there."""
        space = self.setting.space()
        recipes = [
            r._replace(regime=0, other=0, sizes=5, variant=v) for v, r in enumerate(space.plan(FEW, SEED + 2))
        ]
        examples = [space.example(recipe, self.kind) for recipe in recipes]
        return self.call_each([each for each in examples if min(each.sizes.values(), default=1) > 1])

    @cached_property
    def fresh(self) -> list[Witness]:
        """Examples by which nothing was found: of all moderate regimes and kinds of sizes, large ones too; members of batches."""
        space = self.setting.space(moderate=True)
        plan = enumerate(space.plan(FEW if self.costly else FRESH, SEED + 3, large=not self.costly))
        singles = [space.example(recipe, self.kind) for turn, recipe in plan if turn % OF_A_BATCH]
        return [*self.call_each(singles), *chain.from_iterable(every for _, every in self.batches)]

    @property
    def failing_afresh(self) -> list[Witness]:
        """The fresh examples that fail with a result of the right shape."""
        return [w for w in self.fresh if w.fails and w.got is not None]

    @cached_property
    def batches(self) -> list[tuple[Example, list[Witness]]]:
        """Fresh batches, each with its members."""
        if not any(t.role == "data" for t in self.formula.tensors):
            return []
        space, kind = self.setting.space(moderate=True), self.kind
        plan = islice(space.plan(FEW if self.costly else FRESH, SEED + 3), 0, None, OF_A_BATCH)
        turned = (recipe._replace(mask=turn) for turn, recipe in enumerate(plan, 1))
        batches = (space.example(recipe, kind, (MEMBERS,)) for recipe in turned)
        return [(example, self.members(example)) for example in batches]

    def members(self, example: Example) -> list[Witness]:
        """What the members of a batch got, as if each were an example of its own; nothing where the call failed."""
        try:
            whole = self.call_at(example)
        except Unsupported:
            return []
        found = []
        for place in members(example.batch) if whole.got is not None else ():
            alone = replace(example, inputs=example.single(self.formula, place), batch=())
            member = Witness(alone, [part[place] for part in whole.got or ()], Outcome(), kind=whole.kind)
            member.outcome = self.under(self.judge, member)
            found.append(member)
        return found

    @cached_property
    def failing(self) -> list[Witness]:
        """The ordinary examples that fail with a result of the right shape, plain ones first."""
        return sorted((w for w in self.ordinary if w.fails and w.got is not None), key=self._corner)

    def unmasked(self, witness: Witness) -> bool:
        """Whether it was called without a mask."""
        masks = (t.name for t in self.formula.tensors if t.role == "mask")
        return all(witness.example.inputs.get(name) is None for name in masks)

    def _corner(self, witness: Witness) -> bool:
        """Whether a mask hides all from some row: a corner in which conventions differ."""
        masks = (witness.example.inputs.get(t.name) for t in self.formula.tensors if t.role == "mask")
        return any(mask is not None and not mask.any(-1).all() for mask in masks)

    @cached_property
    def everywhere(self) -> bool:
        """Whether most of the ordinary examples fail: the fault is no matter of extremes."""
        return len(self.failing) > len(self.ordinary) / 4

    def call_each(self, examples: Sequence[Example]) -> list[Witness]:
        """Call the callable at each example, in order.

        Raises:
            Unsupported: no time is left for all of them, so that nothing is to be told from some.
        """
        self.judge.announce(examples)
        found = []
        for example in examples:
            if self.caller.hung or self.setting.clock.over:
                raise Unsupported("no time is left")
            try:
                found.append(self.call_at(example))
            except Unsupported:
                continue
        return found

    def call_at(self, example: Example, changes: Mapping[str, Any] | None = None) -> Witness:
        """Call at one example, with some inputs changed."""
        given = {**example.inputs, **(changes or {})}
        arguments = self.caller.arguments(given, example.dtype, generator_seed=example.generator_seed)
        raw = None
        try:
            raw = self.caller(*arguments)
            result = self.fits(raw, example, describe(self.formula, arguments))
        except Fault as fault:
            failed = Outcome(ratio=float("inf"), message=str(fault))
            return Witness(example, None, failed, raw, str(fault))
        kind = example.dtype if self.judge.real else str(result[0].dtype).removeprefix("torch.")
        witness = Witness(example, [values(part) for part in result], Outcome(), raw, kind=kind)
        witness.outcome = self.under(self.judge, witness)
        return witness

    def fits(self, raw: Any, example: Example, shapes: str = "") -> list[torch.Tensor]:
        """A result held to what the formula declares."""
        dtype = example.dtype if self.judge.real else None
        begin = f"{self.formula.id}: {self.caller.name}"
        return check_results(
            raw,
            self.caller.returns,
            example.sizes,
            example.batch,
            dtype,
            self.caller.expected_device,
            begin,
            shapes,
        )

    @contextmanager
    def use_judge(self, judge: Judge) -> Iterator[None]:
        """Use another judge within the block."""
        ours, self.judge = self.judge, judge
        try:
            yield
        finally:
            self.judge = ours

    def error(self, witness: Witness) -> float:
        """The largest error of a result beside the largest entry that is stated."""
        found = 0.0
        with np.errstate(all="ignore"):
            for said, got in zip(self.evaluate_statement(witness.example), witness.got or (), strict=True):
                scale = float(np.abs(said).max(initial=0.0)) or 1.0
                off = np.nan_to_num(np.abs(got - said), nan=np.inf)
                found = max(found, float(off.max(initial=0.0)) / scale)
        return found

    def under(self, judge: Judge, witness: Witness) -> Outcome:
        """Judge the results of one example under a judge."""
        rigorous = None if judge is self.judge else False
        expected = judge.expect_batch(witness.example, rigorous, witness.kind)
        return worst([compare(e, g) for e, g in zip(expected, witness.got or (), strict=True)])

    # What explains it ----------------------------------------------------------------------------------------------------

    @cached_property
    def close(self) -> float:
        """How near results are to what explains them: as the type promises, or as coarse as they show themselves to be."""
        if self.kind == "float64" and self.failing and all(narrow(w, np.float32) for w in self.failing):
            return CLOSE["float32"]
        return CLOSE[self.kind]

    def near(self, got: Sequence[Reals], said: Sequence[Reals]) -> bool:
        """Whether results are what an explanation says, where it says anything."""
        return near(got, said, self.close)

    def accounts(self, alike: Alike) -> bool:
        """Whether an explanation accounts for most of what fails and spoils little of what does not.

        The plainest of them have to fit before all are looked at.
        """
        failing = self.failing
        if len(failing) < 2 or self.slight:
            return False
        if not all(self.fits_there(alike, witness) for witness in failing[:2]):
            return False
        plain = [w for w in failing if not self._corner(w)]
        failing = (
            plain if len(plain) > 3 else failing
        )  # what a row gets that sees nothing is told by fresh ones
        others = [w for w in self.ordinary if not w.fails and w.got is not None]
        return self._share(alike, failing) >= MOST and self._share(alike, others) >= 1 - SPOILT

    def is_sure(self, alike: Alike) -> bool:
        """Whether no fresh example contradicts an explanation, and no ordinary one."""
        return not any(self._contradicts(alike, witness) for witness in (*self.fresh, *self.ordinary))

    def _contradicts(self, alike: Alike, witness: Witness) -> bool:
        """Whether an explanation says something else of an example, or nothing of what fails there.

        Where roundings may be as large as what is told apart, nothing is.
        """
        got, said = witness.got, predict_at(alike, witness.example)
        if got is None or said is None:
            return False
        if self.near(got, said):
            return witness.fails and any(
                map(self._overlooks, said, got, self.evaluate_statement(witness.example))
            )
        bounds = self.judge.expect(witness.example.inputs, witness.kind, False)
        with np.errstate(all="ignore"):
            return all(
                (each.bound <= self.close * _largest(value, result)).all()
                for each, value, result in zip(bounds, said, got, strict=True)
            )

    def _overlooks(self, said: Any, got: Any, stated: Any) -> bool:
        """Whether something is wrong where an explanation comes to no number."""
        left = ~np.isfinite(said) & np.isfinite(got) & np.isfinite(stated)
        scale = float(np.abs(stated[left]).max(initial=0.0))
        return bool((np.abs(got - stated)[left] > self.close * scale).any())

    @cached_property
    def slight(self) -> bool:
        """Whether so little is off that the statement itself accounts for it as well as anything near it."""
        judge = self.setting.judge
        said = [judge.oracle.ask(judge.flat, [w.example.inputs], PLAIN, w.kind)[0] for w in self.failing[:2]]
        return all(
            w.got is not None and self.near(w.got, [value for value, _ in answer])
            for w, answer in zip(self.failing, said, strict=False)
        )

    def fits_there(self, alike: Alike, witness: Witness) -> bool:
        """Whether an explanation is right about one example."""
        said = predict_at(alike, witness.example)
        return said is not None and witness.got is not None and self.near(witness.got, said)

    def _share(self, alike: Alike, witnesses: Sequence[Witness]) -> float:
        if not witnesses:
            return 1.0
        return sum(self.fits_there(alike, witness) for witness in witnesses) / len(witnesses)

    def evaluate_statement(self, example: Example, changes: Mapping[str, Any] | None = None) -> list[Reals]:
        """What the statement says at an example with some inputs changed, in plain float64."""
        asked = {**example.inputs, **(changes or {})}
        return _values(self.judge, asked, example.dtype)

    def said(self, judge: Judge, witness: Witness) -> list[Reals]:
        """What the statement says at a witness under a judge, in plain float64."""
        return _values(judge, witness.example.inputs, witness.kind)

    @property
    def given(self) -> list[Tensor]:
        """The inputs that are passed as they are drawn: of what the user has fixed nobody is accused."""
        fixed = dict(self.caller.sizes.fixed)
        return [t for t in self.formula.tensors if t.name not in fixed]

    @cached_property
    def data(self) -> list[str]:
        """The data that are real numbers of either sign."""
        return [t.name for t in self.formula.tensors if t.role == "data" and t.domain == "real"]

    def parts(self, of: Callable[[Basic], bool]) -> list[Basic]:
        """The parts of the statement's lines of which something holds."""
        return [part for line in self.judge.flat.lines for part in walk(line.right) if of(part)]

    def inputs_of(self, parts: Iterable[Basic]) -> set[str]:
        """The real inputs that parts of the statement are made from."""
        names = {ref.tensor.name for part in parts for ref in refs(part)}
        read = collect_dependencies(self.judge.flat.lines, names)
        return {t.name for t in self.formula.tensors if t.domain in REAL and t.name in read}

    def size(self, example: Example) -> float:
        """The largest entry of the real data of an example, without its sign."""
        names = [t.name for t in self.formula.tensors if t.role == "data" and t.domain in REAL]
        return max((float(np.abs(example.inputs[n]).max(initial=0.0)) for n in names), default=0.0)

    @cached_property
    def random(self) -> bool:
        """Whether the statement has an expectation, so that it cannot be altered and evaluated as it stands."""
        return bool(self.parts(lambda part: isinstance(part, Expectation)))


def _values(judge: Judge, inputs: Mapping[str, Any], kind: str) -> list[Reals]:
    (answer,) = judge.oracle.ask(judge.flat, [inputs], PLAIN, kind)
    return [value for value, _ in answer]


def predict_at(alike: Alike, example: Example) -> Sequence[Reals] | None:
    """Evaluate an explanation at an example; None where it cannot be evaluated."""
    try:
        with np.errstate(all="ignore"):
            return alike(example)
    except UNEVALUABLE:
        return None


def same(one: Sequence[Reals], two: Sequence[Reals]) -> bool:
    """Whether results are equal, bit for bit, NaN and all."""
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, two, strict=True))


def near(got: Sequence[Reals], said: Sequence[Reals], close: float) -> bool:
    """Whether results are so close, beside the largest entry of each, where anything is said."""
    return all(_near(a, b, close) for a, b in zip(got, said, strict=True))


def narrow(witness: Witness, kind: Any) -> bool:
    """Whether every entry of a result is a number of a narrower type: then it was computed in that type."""
    with np.errstate(all="ignore"):
        return witness.got is not None and all(
            np.array_equal(part, part.astype(kind).astype(part.dtype), equal_nan=True) for part in witness.got
        )


def _largest(said: Any, got: Any) -> float:
    """The largest entry of either where something is said; next to nothing where nothing is."""
    told = np.isfinite(said) & np.isfinite(got)
    return float(np.maximum(np.abs(said), np.abs(got)).max(initial=1e-300, where=told))


def _near(got: Any, said: Any, close: float) -> bool:
    got, said = np.asarray(got, np.float64), np.asarray(said, np.float64)
    if got.shape != said.shape:
        return False
    told = np.isfinite(said)
    if not told.any():
        return not said.size
    scale = float(np.abs(said[told]).max())
    with np.errstate(all="ignore"):
        return bool((np.abs(got[told] - said[told]) <= close * scale).all())


__all__ = ["MOST", "SPOILT", "Alike", "Evidence", "Witness", "narrow", "near", "predict_at"]
