"""One comparison: every case in turn. The candidate is called first, when nothing that is expected exists yet: neither a frame
nor memory that was freed holds it. What it does besides computing is watched, set right and named.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

from verify.accuracy.grade import WORST
from verify.comparing import cases
from verify.comparing.causes import Cause, Kind, Trial, explain, find_block
from verify.comparing.judging import (
    Call,
    Expectation,
    Expecting,
    Inputs,
    Misfit,
    NotJudged,
    Results,
    copied,
    differentiate,
    is_same,
    name_results,
    working_dtype,
)
from verify.comparing.report import CaseResult, Comparison
from verify.comparing.subjects import Pair, Problem, name_inputs
from verify.comparing.watch import Watch, peeking
from verify.faults import Unusable, complaint
from verify.report import CONFORMS, FALSIFIED, IMPRECISE, INCONCLUSIVE
from verify.subject.containment import Containment, Overdue, Raised
from verify.subject.preserved import TensorSnapshot
from verify.subject.returned import identical
from verify.subject.sandbox import GENERATORS, GlobalState, use_seed

REFUSING = ("shape", "layout")
"""Kinds of which a candidate may support none: an error that it raises is reported, not judged."""
ODD = 3
"""Results of a timing loop that are kept to be judged, of those that are not as the first."""


class Failed(Exception):  # noqa: N818 said in reports as it stands
    """The candidate did not return; the message tells why."""


class Comparer:
    """One comparison of a loaded reference with a candidate, which is not loaded yet; what is found goes into the report."""

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
        problem, report = self.problem, self.report
        try:
            reference = problem.make(problem.reference, report.seed)
            self.inputs = problem.draw(report.seed)
        except Unusable:
            raise
        except Exception as error:
            told = "expected a model and inputs that can be made with what get_init_inputs() and get_inputs() give"
            raise Unusable(f"{report.reference}: {told}; got {complaint(error)}") from None
        report.dtype = working_dtype(self.inputs, reference)
        report.sigmas = report.sigmas or WORST[report.dtype]
        self.watch = Watch(problem.reference, problem.module)
        state = GlobalState(report.device)
        problem.load_candidate()
        try:
            self.pair = problem.build(report.seed)
        except Exception as error:
            raise Failed(f"building it raised {complaint(error)}") from None
        finally:
            self._note_state(state.restore(), " when it is loaded")
        self.names = name_inputs(reference, self.inputs)
        self.expecting, self.written = Expecting(self.pair.reference, report), set[str]()
        if self.pair.by_seed:
            told = ", ".join(self.pair.by_seed[:4])
            self._note(f"weights that the reference has under no such name rest on the seed: {told}")

    def _note_state(self, meddled: Sequence[str], when: str = "") -> None:
        for name in meddled:
            if name not in GENERATORS:
                self.offences.append(f"changes {name}{when}")
            elif not when:
                self._note("draws from " + name)
        self.offences += [f"replaces {name}" for name in self.watch.restore()]

    def _note(self, said: str) -> None:
        if said not in self.report.notes:
            self.report.notes.append(said)

    def call(self, work: Callable[[], Any]) -> Any:
        """Let the candidate work; what it does besides is noted, and set right.

        Raises:
            Failed: it did not return.
        """
        before = torch.initial_seed()

        def finish() -> Any:
            result = work()
            if self.report.device.startswith("cuda"):
                torch.cuda.synchronize(self.report.device)
            return result, torch.initial_seed() != before

        try:
            with peeking(self.problem.candidate_file) as seen:
                result, seeded = self.containment.run(self.report.candidate, finish)
        except Overdue as error:
            raise Failed(str(error)) from None
        except Raised as error:
            if isinstance(error.error, NotJudged):
                raise error.error from None
            raise Failed(f"raised {complaint(error.error)}") from None
        finally:
            self._note_state(self.containment.meddled)
        self.offences += [f"looks at what it was not given ({event})" for event in sorted(seen)]
        if seeded:
            self.offences.append("sets torch's global generator to a seed")
        return result

    def run_plainly(self, candidate: Call, arguments: Inputs) -> Results:
        """What the candidate returns, without gradients."""

        def work() -> Any:
            with torch.no_grad():
                return candidate(*arguments)

        before = [TensorSnapshot(x) if isinstance(x, torch.Tensor) else None for x in arguments]
        returned = self.call(work)
        for name, snapshot in zip(self.names, before, strict=False):
            if snapshot is not None and snapshot.changed and name not in self.written:
                self.offences.append(f"writes to its input {name}")
        return name_results(returned)

    # One case ------------------------------------------------------------------------------------------------------------

    @contextmanager
    def case(self, name: str, kind: str, inputs: Inputs) -> Iterator[CaseResult]:
        """A case: what ends it early becomes its verdict."""
        found, began = CaseResult(name, kind, shapes=cases.shapes_of(inputs)), time.perf_counter()
        try:
            yield found
        except NotJudged as why:
            found.verdict, found.message = INCONCLUSIVE, f"not judged: {why}"
        except Failed as why:
            refused = kind in REFUSING or self._reference_raises(inputs)
            found.verdict = INCONCLUSIVE if refused else FALSIFIED
            found.message = f"not supported: {why}" if refused else str(why)
        except Misfit as why:
            found.verdict, found.message, found.sigma = FALSIFIED, str(why), float("inf")
        found.seconds = time.perf_counter() - began
        self.report.cases.append(found)

    def _reference_raises(self, inputs: Inputs) -> bool:
        try:
            self.expecting.own_at(inputs)
        except NotJudged:
            return True
        return False

    def wants(self, kind: str) -> bool:
        """Whether another case of a kind is begun."""
        over = self.time_limit is not None and time.perf_counter() - self.began > self.time_limit
        if over:
            self._note(f"not all cases were run: the time limit of {self.time_limit:g} s was over")
        return kind in self.kinds and not over

    def compare_at(
        self,
        name: str,
        kind: str,
        inputs: Inputs,
        expected: Expectation | None = None,
        pair: Pair | None = None,
    ) -> None:
        """One case of its own: new arguments, unless it is their layout that counts."""
        with self.case(name, kind, inputs) as found:
            self.attempt(found, inputs if kind == "layout" else copied(inputs), inputs, expected, pair)

    def attempt(
        self,
        found: CaseResult,
        arguments: Inputs,
        inputs: Inputs,
        expected: Expectation | None = None,
        pair: Pair | None = None,
    ) -> tuple[Results, Results, Expectation]:
        """Call the candidate, then the reference, unless what is expected is known, and judge.

        Returns:
            What the candidate has returned, where it lies, and as it was; and what was expected.
        """
        expecting = self.expecting if pair is None else Expecting(pair.reference, self.report)
        candidate = (pair or self.pair).candidate
        returned = self.run_plainly(candidate, arguments)
        got = copied(returned)
        expected = expected or expecting.expect(inputs)

        def again(values: Inputs) -> Results:
            with use_seed(self.report.seed + 1, self.report.device):
                found: Results = copied(self.run_plainly(candidate, put(arguments, values)))
            return found

        values = copied(inputs) if arguments is inputs else inputs  # since it is called again where these lie
        self.judge(found, Trial(self.names, values, got, expected, expecting, again))
        return returned, got, expected

    def judge(self, found: CaseResult, trial: Trial) -> None:
        """Grade results; of the first that are falsified, and the first that are imprecise, look for what explains them."""
        expecting = trial.expecting
        grade = expecting.grade(trial.got, trial.expected)
        found.sigma = grade.sigma
        if not grade.passed:
            if grade.sigma > expecting.limit:
                found.message = f"few entries, as next to a kink of the reference, are off: {grade.said}"
            return
        found.fits = expecting.fit(trial.got, trial.expected, grade.sigma)
        found.verdict, found.message = IMPRECISE if found.fits else FALSIFIED, grade.said
        if any(each.verdict == found.verdict for each in self.report.cases):
            return
        cause = None
        if found.fits:
            cause = Cause(Kind.DIGITS, f"errors of {grade.sigma:.2g} σ, as if held in {found.fits}")
        else:
            with suppress(Failed, NotJudged, Misfit):
                cause = explain(trial, grade)
        if cause is not None:
            kind = Kind.PLACE if cause.kind == Kind.SHAM and found.kind != "given" else cause.kind
            self.causes.append(Cause(kind, f"{cause.said} ({found.name})"))

    # Cases ---------------------------------------------------------------------------------------------------------------

    def compare_given(self) -> None:
        """The inputs given, others at the same addresses, the first where memory that is handed out holds NaN, and in other
        layouts, and both again after many calls. What is expected of them is held no longer than that.

        Raises:
            Unusable: the reference cannot be used at all.
        """
        self._look_at_reference()
        other, arguments = self._draw_other(), copied(self.inputs)
        expected: list[Expectation | None] = [None, None]
        first: list[Results] = []
        with self.case("the inputs given", "given", self.inputs) as found:
            *first, expected[0] = self.attempt(found, arguments, self.inputs)
        with self.case("other values at the same addresses", "given", other) as found:
            arguments = put(arguments, other)
            _, got, expected[1] = self.attempt(found, arguments, other)
            if first:
                self._look_at_both(found, arguments, first[0], first[1], got)
        name = "memory that nobody has written to holds NaN"
        with self.case(name, "given", self.inputs) as found, _filled_memory():
            _, got, wanted = self.attempt(found, copied(self.inputs), self.inputs, expected[0])
            if first and any(
                bool((x.isnan() & first[1][name].isfinite() & wanted.where(name)).any())
                for name, x in got.items()
            ):
                self.causes.insert(0, Cause(Kind.STATE, "reads memory that was not initialised"))
        for layout in cases.LAYOUTS:
            if self.wants("layout"):
                name, inputs = layout.__name__.replace("_", " "), tree_map(layout, self.inputs)
                self.compare_at(name, "layout", inputs, expected[0])
        if self.wants("calls"):
            self.compare_after_calls(arguments, other, expected)

    def _draw_other(self) -> list[Any]:
        """Other inputs of the same kind; given ones that are no draw get other real values."""
        drawn = self.problem.draw(self.report.seed + 1)
        pairs = zip(tree_leaves(self.inputs), tree_leaves(drawn), strict=False)
        alike = all(identical(a, b) for a, b in pairs if isinstance(a, torch.Tensor))
        return cases.draw_regime(cases.REGIMES[0], drawn, self.report.seed) if alike else drawn

    def _look_at_both(
        self, found: CaseResult, arguments: Inputs, first: Results, held: Results, got: Results
    ) -> None:
        """Whether the second call has changed what the first returned, or returned the same."""
        lent = {x.untyped_storage().data_ptr() for x in tree_leaves(arguments) if isinstance(x, torch.Tensor)}
        own = {name: x for name, x in first.items() if x.untyped_storage().data_ptr() not in lent}
        if not is_same(own, {name: held[name] for name in own}):
            self.offences.append("keeps a buffer: what a call has returned is overwritten by the next")
        elif is_same(held, got) and found.verdict != CONFORMS:
            self.causes.append(Cause(Kind.STATE, "returns the same for other inputs at the same addresses"))
        elif is_same(held, got):
            self._note("results are the same for other inputs: a constant conforms to the reference")

    def _look_at_reference(self) -> None:
        """Whether the reference is a function of its inputs, and which of these it writes to.

        Raises:
            Unusable: it is none.
        """
        name, results = self.report.reference, []
        for seed in (1, 2, 1):
            arguments = copied(self.inputs)
            try:
                with torch.no_grad(), use_seed(seed, self.report.device):
                    results.append(copied(name_results(self.pair.reference(*arguments))))
            except Misfit as why:
                raise Unusable(f"{name}: expected a reference that returns tensors; its {why}") from None
            except (Exception, SystemExit) as error:
                told = f"with the inputs given; it raised {complaint(error)}"
                raise Unusable(f"{name}: expected a reference that can be called {told}") from None
            self.written |= {
                one for one, x, y in zip(self.names, arguments, self.inputs, strict=True)
                if isinstance(x, torch.Tensor) and not identical(x, y)
            }  # fmt: skip
        if not results[0]:
            raise Unusable(f"{name}: expected a reference that returns tensors; it returns none")
        drawn = is_same(results[0], results[2]) or not self.report.device.startswith("cuda")
        if drawn and not is_same(results[0], results[1]):  # on CUDA sums may be in any order
            told = "expected a function of its inputs, without draws; equal inputs gave other results"
            raise Unusable(f"{name}: {told}")

    def compare_gradients(self) -> None:
        """Gradients at the inputs given, if what is returned carries any."""
        with self.case("gradients at the inputs given", "gradient", self.inputs) as found:
            try:
                got = self.call(
                    lambda: differentiate(
                        self.pair.candidate, copied(self.inputs), self.names, self.report.seed
                    )
                )
            except (Failed, NotJudged) as why:
                self.expecting.own_at(self.inputs, self.names)  # of which nothing need be said if it has none
                self._note(f"the candidate's gradients were not compared: {why}")
                raise NotJudged(f"no gradients: {why}") from None
            expected = self.expecting.expect(self.inputs, self.names)
            self.judge(found, Trial(self.names, self.inputs, got, expected, self.expecting))

    def compare_members(self) -> None:
        """Whether NaN in one member of a batch stays where it stays in the reference."""
        spoilt = cases.spoil_entry(self.inputs)
        if spoilt is None:
            return
        with self.case("NaN in one entry", "regime", spoilt) as found:
            got = self.run_plainly(self.pair.candidate, copied(spoilt))
            clean = self.expecting.own_at(spoilt)
            for name, x in got.items():
                if x.is_floating_point() and x.ndim > 1 and name in clean and clean[name].shape == x.shape:
                    whole = clean[name].isfinite().flatten(1).all(1)
                    if bool(x[whole].isnan().any()):
                        found.verdict = FALSIFIED
                        found.message = f"NaN in one member of a batch spreads to others in {name}"
                        self.causes.append(Cause(Kind.PLACE, found.message))

    def compare_shapes(self) -> None:
        """Other sizes, one at a time, at which kernels that work in blocks have their ends."""
        named, seed = self.problem.sizes, self.report.seed
        most = max(cases.LARGEST, sum(map(math.prod, cases.shapes_of(self.inputs))))
        sizes: dict[Any, int] = named or cases.axis_sizes(self.inputs)
        verdicts: dict[Any, dict[int, str]] = {}
        for name, size in cases.other_sizes(sizes, seed):
            if not self.wants("shape"):
                return
            try:
                pair = self.problem.build(seed, {name: size}) if named else self.pair
                inputs = (
                    self.problem.draw(seed, {name: size}) if named else cases.resize(self.inputs, name, size)
                )
                with torch.no_grad():  # at other values: what is expected does not lie in memory yet
                    pair.reference(*copied(cases.draw_regime(cases.REGIMES[0], inputs, seed)))
            except Exception:  # not a size of the reference
                continue
            if sum(map(math.prod, cases.shapes_of(inputs))) > most:
                continue
            label = f"{name} = {size}" if named else f"axes of {name} as {size}"
            self.compare_at(label, "shape", inputs, pair=pair)
            verdicts.setdefault(name, {})[size] = self.report.cases[-1].verdict
        for name, found in verdicts.items():
            found[sizes[name]] = self.report.cases[0].verdict
            if said := find_block(found, str(name) if named else f"axes of {name}"):
                self.causes.append(Cause(Kind.SIZES, said))

    def compare_after_calls(
        self, arguments: Inputs, other: Inputs, expected: Sequence[Expectation | None]
    ) -> None:
        """The inputs given, then others at the same addresses, after so many calls as a timing loop makes; in it, results that
        are not as the first.
        """
        candidate, calls, odd = self.pair.candidate, self.report.calls, list[Results]()

        def loop() -> None:
            first = None
            with torch.no_grad():
                for _ in range(calls):
                    got = name_results(candidate(*arguments))
                    first = first or copied(got)
                    if len(odd) < ODD and not self.written and not is_same(first, got):
                        odd.append(copied(got))

        with self.case(f"after {calls} calls", "calls", self.inputs) as found:
            arguments = put(arguments, self.inputs)
            self.call(loop)
            for got in odd:
                if found.verdict == CONFORMS and expected[0] is not None:
                    self.judge(found, Trial(self.names, self.inputs, got, expected[0], self.expecting))
            for inputs, wanted in zip((self.inputs, other), expected, strict=True):
                if found.verdict == CONFORMS:
                    arguments = put(arguments, inputs)
                    self.attempt(found, arguments, inputs, wanted)
            if found.verdict != CONFORMS and self.report.cases[0].verdict == CONFORMS:
                said = f"right at first, and wrong within or after {calls} calls"
                self.causes.append(Cause(Kind.STATE, said))

    # All -----------------------------------------------------------------------------------------------------------------

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
            self.causes.append(Cause(Kind.CONDUCT, told))
        if self.report.verdict == FALSIFIED:
            self.causes = [each for each in self.causes if each.kind != Kind.DIGITS]
        self.report.cause = min(self.causes, key=lambda each: each.kind).said if self.causes else ""
        self.report.seconds = time.perf_counter() - self.began
        return built

    def _make_cases(self) -> None:
        self.compare_given()
        for regime in cases.REGIMES:
            if self.wants("regime"):
                inputs = cases.draw_regime(regime, self.inputs, self.report.seed)
                self.compare_at(regime.name, "regime", inputs)
        if self.wants("regime"):
            self.compare_members()
        if self.wants("gradient"):
            self.compare_gradients()
        if self.wants("shape"):
            self.compare_shapes()
        for name in sorted(self.expecting.unmodelled):
            self._note(f"σ counts one rounding for {name}: how it rounds is not modelled")


@contextmanager
def _filled_memory() -> Iterator[None]:
    """Let torch fill memory that it hands out with NaN; of integers with the largest."""
    before = torch.get_deterministic_debug_mode()
    torch.set_deterministic_debug_mode("warn")
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(before)


def put(arguments: Inputs, values: Inputs) -> list[Any]:
    """The values as arguments: tensors where those lie that are there already, if shapes and types are the same."""
    old, (new, shape) = tree_leaves(arguments), tree_flatten(list(values))
    for place, (x, value) in enumerate(zip(old, new, strict=False)):
        if isinstance(x, torch.Tensor) and isinstance(value, torch.Tensor):
            fits = x.shape == value.shape and x.dtype == value.dtype
            new[place] = (x if x is value else x.copy_(value)) if fits else value.clone()
    return tree_unflatten(new, shape)  # type: ignore[no-any-return]


__all__ = ["Comparer"]
