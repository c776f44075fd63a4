"""One comparison: every case in turn. The candidate is called first, when nothing that is expected exists yet: neither a frame
nor memory that was freed holds it. What it does besides computing is watched, set right and named.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from verify.accuracy.grade import WORST
from verify.comparing import cases
from verify.comparing.causes import (
    CONDUCT,
    DIGITS,
    PLACE,
    SHAM,
    SIZES,
    STATE,
    Cause,
    describe_grade,
    explain_results,
    find_block,
    is_same,
)
from verify.comparing.judging import (
    Expectation,
    Expecting,
    Misfit,
    NotJudged,
    Results,
    differentiate,
    name_results,
    working_dtype,
)
from verify.comparing.report import CaseResult, Comparison
from verify.comparing.subjects import Pair, Problem, name_inputs, widen
from verify.comparing.watch import Watch, noting_seed, peeking
from verify.faults import Unusable, complaint
from verify.report import CONFORMS, FALSIFIED, IMPRECISE, INCONCLUSIVE
from verify.subject.containment import Containment, Overdue, Raised
from verify.subject.preserved import TensorSnapshot
from verify.subject.sandbox import GENERATORS, GlobalState

REFUSING = ("shape", "layout")
"""Kinds of which a candidate may support none: an error that it raises is reported, not judged."""


class Failed(Exception):  # noqa: N818 said in reports as it stands
    """The candidate did not return; the message tells why."""


class Comparer:
    """One comparison.

    Args:
        problem: the reference, loaded, and the candidate, which is not.
        report: what is found is written there.
        kinds: which cases are tried beside the inputs given.
        time_limit: seconds after which no further case is begun.
    """

    def __init__(
        self, problem: Problem, report: Comparison, kinds: Collection[str], time_limit: float | None
    ) -> None:
        self.problem, self.report, self.kinds, self.time_limit = problem, report, kinds, time_limit
        self.began = time.perf_counter()
        self.offences: list[str] = []
        self.causes: list[Cause] = []
        self.containment = Containment(report.device)

    # The candidate -------------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Load and build both, and draw the inputs.

        Raises:
            Unusable: something cannot be loaded; the reference cannot be built.
            Failed: the candidate cannot be built.
        """
        problem, seed = self.problem, self.report.seed
        problem.candidate = problem.reference
        try:
            reference = problem.build(seed).reference
            self.inputs = problem.draw(seed)
        except Exception as error:
            raise (
                error
                if isinstance(error, Unusable)
                else Unusable(f"{self.report.reference}: {complaint(error)}")
            ) from None
        self.report.dtype = working_dtype(self.inputs, reference)
        self.report.sigmas = self.report.sigmas or WORST[self.report.dtype]
        self.watch = Watch(problem.reference, problem.module)
        state = GlobalState(self.report.device)
        problem.load_candidate()
        try:
            self.pair = problem.build(seed)
        except Exception as error:
            raise Failed(f"building it raised {complaint(error)}") from None
        finally:
            self._note_state(state.restore(), " when it is loaded")
            self._note_replaced()
        self.names = name_inputs(reference, self.inputs)
        self.expecting = self._expect_from(self.pair)
        if self.pair.by_seed:
            self.report.notes.append(
                f"weights that the reference has under no such name rest on the seed: {', '.join(self.pair.by_seed[:4])}"
            )

    def _expect_from(self, pair: Pair) -> Expecting:
        report = self.report
        wide = widen(pair.reference, report.reference)
        tf32 = report.dtype == "float32" and report.device.startswith("cuda")
        tf32 = tf32 and torch.get_float32_matmul_precision() != "highest"
        return Expecting(
            pair.reference, wide, report.dtype, report.sigmas or WORST[report.dtype], report.seed, tf32
        )

    def _note_state(self, meddled: Sequence[str], when: str = "") -> None:
        for name in meddled:
            if name not in GENERATORS:
                self.offences.append(f"changes {name}{when}")
            elif not when:
                self._note("draws from " + name)

    def _note_replaced(self) -> None:
        self.offences += [f"replaces {name}" for name in self.watch.restore()]

    def _note(self, said: str) -> None:
        if said not in self.report.notes:
            self.report.notes.append(said)

    def call(self, candidate: Callable[..., Any], work: Callable[[], Any]) -> Any:
        """Let the candidate work; what it does besides is noted, and set right.

        Raises:
            Failed: it did not return.
        """

        def finish() -> Any:
            result = work()
            if self.report.device.startswith("cuda"):
                torch.cuda.synchronize(self.report.device)
            return result

        try:
            with peeking(self.problem.candidate_file) as seen:
                result, seeded = self.containment.run(self.report.candidate, lambda: noting_seed(finish))
        except Overdue as error:
            raise Failed(str(error)) from None
        except Raised as error:
            if isinstance(error.error, NotJudged):
                raise error.error from None
            raise Failed(f"raised {complaint(error.error)}") from None
        finally:
            self._note_state(self.containment.meddled)
            self._note_replaced()
        self.offences += [f"looks at what it was not given ({event})" for event in sorted(seen)]
        if seeded:
            self.offences.append("sets torch's global generator to a seed")
        return result

    # Cases ---------------------------------------------------------------------------------------------------------------

    @contextmanager
    def case(self, name: str, kind: str, inputs: Sequence[Any]) -> Iterator[CaseResult]:
        """A case: what ends it early becomes its verdict."""
        found, began = CaseResult(name, kind, shapes=cases.shapes_of(inputs)), time.perf_counter()
        try:
            yield found
        except NotJudged as why:
            found.verdict, found.message = INCONCLUSIVE, f"not judged: {why}"
        except Failed as why:
            refused = kind in REFUSING
            found.verdict, found.message = INCONCLUSIVE if refused else FALSIFIED, str(why)
            if refused:
                found.message = f"not supported: {why}"
        except Misfit as why:
            found.verdict, found.message, found.sigma = FALSIFIED, str(why), float("inf")
        found.seconds = time.perf_counter() - began
        self.report.cases.append(found)

    @property
    def over(self) -> bool:
        """Whether no further case is begun."""
        return self.time_limit is not None and time.perf_counter() - self.began > self.time_limit

    def run_plainly(self, candidate: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """What the candidate returns, without gradients."""

        def work() -> Any:
            with torch.no_grad():
                return candidate(*arguments)

        before = [TensorSnapshot(x) if isinstance(x, torch.Tensor) else None for x in arguments]
        returned = self.call(candidate, work)
        for name, snapshot in zip(self.names, before, strict=False):
            if snapshot is not None and snapshot.changed and name not in self.written:
                self.offences.append(f"writes to its input {name}")
        return returned

    def judge(self, found: CaseResult, got: Results, expected: Expectation, inputs: Sequence[Any]) -> None:
        """Grade results, and look for what explains them."""
        grade = self.expecting.grade(got, expected)
        found.sigma = grade.sigma
        if not grade.passed:
            if grade.sigma > (self.report.sigmas or 0):
                found.message = (
                    f"few entries, as next to a kink of the reference, are off: {describe_grade(grade)}"
                )
            return
        found.fits = self.expecting.fit(got, expected, grade.sigma)
        found.verdict, found.message = IMPRECISE if found.fits else FALSIFIED, describe_grade(grade)
        cause = explain_results(got, expected, grade, dict(zip(self.names, inputs, strict=False)))
        if cause is None and found.fits:
            cause = Cause(DIGITS, f"errors of {grade.sigma:.2g} σ, as if held in {found.fits}")
        if cause is not None and not (found.kind == "shape" and cause.kind == SHAM):
            self.causes.append(Cause(cause.kind, f"{cause.said} ({found.name})"))

    def compare_at(
        self,
        name: str,
        kind: str,
        inputs: Sequence[Any],
        expected: Expectation | None = None,
        pair: Pair | None = None,
    ) -> Expectation | None:
        """One case: the candidate is called, then the reference, unless what is expected is known."""
        pair, expecting = pair or self.pair, self.expecting if pair is None else self._expect_from(pair)
        with self.case(name, kind, inputs) as found:
            arguments = inputs if kind == "layout" else [_copy(x) for x in inputs]
            got = _kept(name_results(self.run_plainly(pair.candidate, arguments)))
            expected = expected or expecting.expect(inputs)
            self.judge(found, got, expected, inputs)
        return expected

    def compare_given(self) -> None:
        """The inputs given, others at the same addresses, and both once more.

        Raises:
            Unusable: the reference cannot be used at all.
        """
        self.written: set[str] = set()
        self._look_at_reference()
        other = self._draw_other()
        self.expected: list[Expectation | None] = [None, None]
        self.arguments = [_copy(x) for x in self.inputs]
        first = None
        with self.case("the inputs given", "given", self.inputs) as found:
            returned = self.run_plainly(self.pair.candidate, self.arguments)
            first = name_results(returned)
            held = _kept(first)
            self.expected[0] = expected = self.expecting.expect(self.inputs)
            self.judge(found, held, expected, self.inputs)
        self.other = other
        with self.case("other values at the same addresses", "given", other) as found:
            _overwrite(self.arguments, other)
            got = _kept(name_results(self.run_plainly(self.pair.candidate, self.arguments)))
            self.expected[1] = expected = self.expecting.expect(other)
            self.judge(found, got, expected, other)
            if first is not None:
                self._look_at_both(found, first, held, got)
        with self.case("memory that nobody has written to holds NaN", "given", self.inputs) as found:
            if self.expected[0] is None:
                raise NotJudged("nothing is expected of the inputs given")
            with _filled_memory():
                got = name_results(self.run_plainly(self.pair.candidate, [_copy(x) for x in self.inputs]))
            self.judge(found, got, self.expected[0], self.inputs)
            if found.verdict != CONFORMS and self.report.cases[0].verdict == CONFORMS:
                self.causes.append(Cause(STATE, "reads memory that was not initialised"))

    def _draw_other(self) -> list[Any]:
        """Other inputs of the same kind; given ones that are no draw get other real values."""
        drawn = self.problem.draw(self.report.seed + 1)
        alike = all(
            torch.equal(a, b) for a, b in zip(self.inputs, drawn, strict=True) if isinstance(a, torch.Tensor)
        )
        return cases.draw_regime(cases.REGIMES[0], drawn, self.report.seed) if alike else drawn

    def _look_at_both(self, found: CaseResult, first: Results, held: Results, got: Results) -> None:
        """Whether the second call has changed what the first returned, or returned the same."""
        a, b = self.expected
        assert b is not None
        lent = {x.untyped_storage().data_ptr() for x in self.arguments if isinstance(x, torch.Tensor)}
        own = {name: x for name, x in first.items() if x.untyped_storage().data_ptr() not in lent}
        if not is_same(own, {name: held[name] for name in own}):
            self.offences.append("keeps a buffer: what a call has returned is overwritten by the next")
        elif is_same(held, got):
            if found.verdict != CONFORMS:
                self.causes.append(Cause(STATE, "returns the same for other inputs at the same addresses"))
            elif a is not None and all(torch.equal(a.values[name], b.values[name]) for name in b.values):
                self._note("the reference returns the same for other inputs: a constant conforms to it")

    def _look_at_reference(self) -> None:
        """Whether the reference is a function of its inputs, and which of these it writes to.

        Raises:
            Unusable: it is none.
        """
        name, reference = self.report.reference, self.pair.reference
        results = []
        for seed in (1, 2, 1):
            arguments = [_copy(x) for x in self.inputs]
            torch.manual_seed(seed)
            try:
                with torch.no_grad():
                    results.append(_kept(name_results(reference(*arguments))))
            except Exception as error:
                raise Unusable(
                    f"{name}: expected a reference that can be called; it raised {complaint(error)}"
                ) from None
            self.written |= {
                one for one, x, y in zip(self.names, arguments, self.inputs, strict=True)
                if isinstance(x, torch.Tensor) and not torch.equal(x, y) and not bool(torch.isnan(x).any())
            }  # fmt: skip
        if not is_same(results[0], results[1]) and not any(
            bool(x.isnan().any()) for x in results[0].values()
        ):
            if is_same(results[0], results[2]):
                raise Unusable(
                    f"{name}: expected a reference without draws; its results differ from seed to seed"
                )
            if not self.report.device.startswith("cuda"):  # where sums may be in any order
                raise Unusable(f"{name}: expected a function of its inputs; equal inputs gave other results")

    def compare_gradients(self) -> None:
        """Gradients at the inputs given, if what the candidate returns carries any."""
        with self.case("gradients at the inputs given", "gradient", self.inputs) as found:
            names = self.names
            try:
                expected = self.expecting.expect(self.inputs, names)
            except NotJudged as why:
                raise NotJudged(f"of the reference, {why}") from None
            work = partial(differentiate, self.pair.candidate, self.inputs, names, self.report.seed)
            try:
                got = self.call(self.pair.candidate, work)
            except Failed as why:
                raise NotJudged(f"no gradients: {why}") from None
            self.judge(
                found, {name: x for name, x in got.items() if name in expected.values}, expected, self.inputs
            )

    def compare_members(self) -> None:
        """Whether NaN in one member of a batch stays where it stays in the reference."""
        spoilt = cases.spoil_entry(self.inputs)
        if spoilt is None:
            return
        with self.case("NaN in one entry", "regime", spoilt) as found:
            got = name_results(self.run_plainly(self.pair.candidate, [_copy(x) for x in spoilt]))
            with torch.no_grad():
                clean = name_results(self.pair.reference(*[_copy(x) for x in spoilt]))
            for name, x in got.items():
                if not x.is_floating_point() or name not in clean or clean[name].shape != x.shape:
                    continue
                spread = torch.isnan(x) & torch.isfinite(clean[name])
                finite = torch.isfinite(clean[name]).reshape(len(x) if x.ndim > 1 else 1, -1)
                if x.ndim > 1 and bool(spread.reshape(finite.shape)[finite.all(1)].any()):
                    found.verdict, found.message = (
                        FALSIFIED,
                        f"NaN in one member of a batch spreads to others in {name}",
                    )
                    self.causes.append(Cause(PLACE, found.message))
                elif bool(spread.any()):
                    self._note(
                        f"NaN in one input spreads to {int(spread.sum())} entries of {name} which the reference keeps finite"
                    )

    def compare_shapes(self) -> None:
        """Other sizes, one at a time, at which kernels that work in blocks have their ends."""
        named = self.problem.sizes
        most = max(cases.LARGEST, cases.count_entries(self.inputs))
        sizes: dict[Any, int] = named or cases.axis_sizes(self.inputs)
        verdicts: dict[Any, dict[int, str]] = {}
        for change in cases.other_sizes(sizes, self.report.seed):
            if self.over:
                return
            (name, size), *_ = change.sizes.items()
            try:
                pair = self.problem.build(self.report.seed, change.sizes) if named else self.pair
                inputs = (
                    self.problem.draw(self.report.seed, change.sizes)
                    if named
                    else cases.resize(self.inputs, change, 0)
                )
                with torch.no_grad():
                    pair.reference(*[_copy(x) for x in inputs])
            except Exception:  # not a size of the reference
                continue
            if cases.count_entries(inputs) > most:
                continue
            label = change.name if named else f"axes of {name} as {size}"
            self.compare_at(label, "shape", inputs, pair=pair)
            verdicts.setdefault(name, {})[size] = self.report.cases[-1].verdict
        for name, found in verdicts.items():
            found[sizes[name]] = self.report.cases[0].verdict
            if said := find_block(found, str(name) if named else f"axes of {name}"):
                self.causes.append(Cause(SIZES, said))

    def compare_after_calls(self) -> None:
        """The inputs given, then others at the same addresses, after so many calls as a timing loop makes."""
        candidate, arguments = self.pair.candidate, self.arguments

        def loop() -> None:
            with torch.no_grad():
                for _ in range(self.report.calls):
                    candidate(*arguments)

        with self.case(f"after {self.report.calls} calls", "calls", self.inputs) as found:
            _overwrite(arguments, self.inputs)
            self.call(candidate, loop)
            for inputs, expected in zip((self.inputs, self.other), self.expected, strict=True):
                _overwrite(arguments, inputs)
                got = _kept(name_results(self.run_plainly(candidate, arguments)))
                if expected is None:
                    raise NotJudged("nothing is expected of the inputs given")
                self.judge(found, got, expected, inputs)
                if found.verdict != CONFORMS:
                    if self.report.cases[0].verdict == CONFORMS:
                        self.causes.append(
                            Cause(STATE, f"right at first, and wrong after {self.report.calls} calls")
                        )
                    return

    def run(self) -> bool:
        """Make all cases, and write what is found; whether the candidate could be built at all."""
        try:
            self.prepare()
        except Failed as why:
            self.report.cases.append(CaseResult("building it", "given", FALSIFIED, message=str(why)))
        built = not self.report.cases
        if built:
            self._make_cases()
        if self.offences:
            told = "; ".join(dict.fromkeys(self.offences))
            self.report.cases.append(CaseResult("what it does besides", "conduct", FALSIFIED, message=told))
            self.causes.append(Cause(CONDUCT, told))
        if self.report.verdict == FALSIFIED and any(each.kind != DIGITS for each in self.causes):
            self.causes = [each for each in self.causes if each.kind != DIGITS]
        self.report.cause = min(self.causes, key=lambda each: each.kind).said if self.causes else ""
        self.report.seconds = time.perf_counter() - self.began
        return built

    def _make_cases(self) -> None:
        self.compare_given()
        steps: list[tuple[str, Callable[[], Any]]] = [
            (
                "regime",
                partial(
                    self.compare_at,
                    regime.name,
                    "regime",
                    cases.draw_regime(regime, self.inputs, self.report.seed),
                ),
            )
            for regime in cases.REGIMES
        ]
        steps += [("regime", self.compare_members), ("gradient", self.compare_gradients)]
        steps += [
            (
                "layout",
                partial(
                    self.compare_at,
                    layout.__name__.replace("_", " "),
                    "layout",
                    cases.lay_out(layout, self.inputs),
                    self.expected[0],
                ),
            )
            for layout in cases.LAYOUTS
        ]
        steps += [("shape", self.compare_shapes), ("calls", self.compare_after_calls)]
        for kind, step in steps:
            if self.over:
                self._note(f"not all cases were run: the time limit of {self.time_limit:g} s was over")
                return
            if kind in self.kinds:
                step()
        for name in sorted(self.expecting.unmodelled):
            self._note(f"σ counts one rounding for {name}: how it rounds is not modelled")


@contextmanager
def _filled_memory() -> Iterator[None]:
    """Let torch fill memory that it hands out with NaN; of integers with the largest."""
    before, warned = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warned)


def _copy(x: Any) -> Any:
    return x.clone() if isinstance(x, torch.Tensor) else x


def _kept(results: Results) -> Results:
    """Copies of results, which nobody else writes to."""
    return {name: x.clone() for name, x in results.items()}


def _overwrite(arguments: Sequence[Any], values: Sequence[Any]) -> None:
    """Put other values where tensors lie."""
    for x, value in zip(arguments, values, strict=True):
        if isinstance(x, torch.Tensor) and x.shape == value.shape:
            x.copy_(value)


__all__ = ["Comparer"]
