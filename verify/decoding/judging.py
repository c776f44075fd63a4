"""One case judged: against the reference, or by one requirement of a procedure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis.strategies import SearchStrategy

from spec.decoding.continuations import ROUNDING, Found, Logits, Problem
from spec.language.procedure import Procedure
from verify.decoding.case_result import REPEATS, VALUE, CaseResult
from verify.decoding.cases import LONG, OWN, SHARES, SMALL, Case, Sort, cases, models_of
from verify.decoding.contract import Alone, Decoder, logits_of
from verify.decoding.guard import Guard, twice
from verify.faults import Fault

SINGLE = 2.0**-16
"""As ``ROUNDING``, for a model that computes in float32: 256 times its roundoff; a network of two layers errs by some tens."""
NARROWED = 2.0**-20
"""The same where it is the decoder that computes log-probabilities in float32, of logits in float64: 16 times the roundoff."""

VARIED = ("max_length", "end", "width", "top", "alpha")
"""What a requirement may ask for in another way than the case says, beside its prompts and the cache."""
COMPARED = ("batch", "cache")
"""Requirements that compare two results, which may differ where a decision hangs on rounding."""


@dataclass(frozen=True)
class CaseJudge:
    """A procedure under its conventions, and the callable held to it."""

    procedure: Procedure
    conventions: Mapping[str, str]
    decoder: Decoder
    solved: dict[Any, Found] = field(default_factory=dict, compare=False, repr=False)
    read: dict[Any, Logits] = field(default_factory=dict, compare=False, repr=False)
    narrowed: bool = False
    dtype = "float64"

    @property
    def guard(self) -> Guard:
        """What surrounds the callable's calls."""
        return self.decoder.guard

    @property
    def takes(self) -> frozenset[str]:
        """The options that the callable takes."""
        return self.decoder.takes

    @property
    def notes(self) -> list[str]:
        """What the callable is not asked for."""
        return self.decoder.notes

    def cases(self, check: str) -> list[tuple[float, SearchStrategy[Case]]]:
        """The cases that a check draws, and which share of them is of which sorts."""
        shares: Sequence[tuple[float, tuple[Sort, ...]]] = (
            ((1.0, (SMALL,)),) if check == "wide_is_exact" else SHARES
        )
        kinds, fewest = kinds_for(self.decoder, check), 2 if check == "batch" else 1
        if OWN in kinds:  # nobody knows how many positions it has
            shares = [(share, sorts) for share, sorts in shares if LONG not in sorts]
        return [(share, cases(self.decoder.takes, kinds, sorts, fewest)) for share, sorts in shares]

    def case(self, data: Mapping[str, Any]) -> Case:
        """A case from its data."""
        return Case(**data)

    def describe(self, case: Case) -> dict[str, Any]:
        """Describe a case for a reader, as names and values."""
        return case.describe(self.decoder.beams)

    def problem(self, case: Case) -> Problem:
        """The case as a problem. Checks draw many cases alike: what a model has said it is not asked again."""
        model = models_of(self.decoder.fn, case)
        logits = self.read.setdefault((case.kind, case.vocabulary, case.seed), logits_of(model))
        return Problem(
            logits,
            case.vocabulary,
            case.prompts,
            case.max_length,
            case.end,
            case.width,
            case.top,
            case.alpha,
            self.conventions,
            tolerance_of(model, self.narrowed),
        )

    def judge(self, check: str, case: Case) -> CaseResult:
        """What a check finds in a case.

        Raises:
            Unsupported: the callable does not support this problem.
        """
        problem = self.problem(case)
        try:
            if check == VALUE:
                return self._value(case, problem)
            if check == REPEATS:
                return self._repeats(case, problem)
            if check in COMPARED and _close(problem, self.procedure.reference(problem)[1]):
                return CaseResult(idle=True)
            requirement = self.procedure.named[check]
            return CaseResult(requirement.broken(problem, lambda asked: self._solve_once(case, asked)))
        except Fault as fault:
            return CaseResult(str(fault), fault=True)

    def _solve_once(self, case: Case, problem: Problem) -> Found:
        """Call the decoder for a problem, once: whether it repeats itself is a check of its own."""
        asked = replace(case, prompts=problem.prompts, **{name: getattr(problem, name) for name in VARIED})
        key = asked, problem.cached
        if key not in self.solved:
            self.solved[key] = self.decoder.solve(case, problem)
        return self.solved[key]

    def _value(self, case: Case, problem: Problem) -> CaseResult:
        found = self._solve_once(case, problem)
        wanted, margin = self.procedure.reference(problem)
        return (
            CaseResult(idle=True)
            if _close(problem, margin)
            else compare_continuations(problem, found, wanted)
        )

    def _repeats(self, case: Case, problem: Problem) -> CaseResult:
        return CaseResult(compare_calls(problem, *twice(lambda: self.decoder.solve(case, problem))))


def tolerance_of(model: Any, narrowed: bool = False) -> float:
    """How far rounding may move what is said of a model, by the precision that it says it has; ``narrowed``: and by that of
    float32, in which the decoder works.
    """
    if getattr(model, "precision", "float64") != "float64":
        return SINGLE
    return NARROWED if narrowed else ROUNDING


def compare_continuations(problem: Problem, found: Found, wanted: Found) -> CaseResult:
    """Compare continuations with those that are wanted."""
    worst = 0.0
    for prompt, row, right in zip(problem.prompts, found, wanted, strict=True):
        begin = f"prompt {list(prompt)}"
        if not row:
            return CaseResult(f"{begin} gets nothing; expected {right[0]}")
        if not isinstance(found, Alone) and len(row) != len(right):
            return CaseResult(
                f"{begin} gets {len(row)} continuations; expected {len(right)}, from {right[0]} on"
            )
        for place, (one, other) in enumerate(zip(row, right, strict=False)):
            if one.tokens != other.tokens:
                return CaseResult(f"{begin}: number {place} is {one}; expected {other}")
            for name in ("log_probability", "score"):
                got, expected = getattr(one, name), getattr(other, name)
                if got is None or expected is None:
                    continue
                ratio = abs(got - expected) / (problem.tolerance * (1 + abs(expected)))
                worst = max(worst, ratio)
                if not ratio <= 1:
                    said = name.replace("_", "-")
                    return CaseResult(f"{begin}: {said} of number {place}, {one}; expected {other}", ratio)
    return CaseResult(ratio=worst)


def compare_calls(problem: Problem, first: Found, second: Found) -> str:
    """Describe in a line how the results of two equal calls differ; "" if they do not."""
    for prompt, one, other in zip(problem.prompts, first, second, strict=True):
        if one != other:
            told = [", ".join(map(str, row)) for row in (one, other)]
            return f"prompt {list(prompt)} gets {told[0]}; called again {told[1]}"
    return ""


def _close(problem: Problem, margin: float) -> bool:
    """Whether a decision of the reference is so close that rounding may turn it."""
    return bool(margin <= 2 * problem.tolerance * (1 + problem.max_length))


def kinds_for(decoder: Decoder, check: str) -> tuple[str, ...]:
    """The kinds of models that a check draws."""
    if hasattr(decoder.fn, "model"):
        return (OWN,)
    return {
        REPEATS: ("tied", "table", "attention"),
        VALUE: ("table", "attention", "near"),
    }.get(check, ("table", "attention"))


__all__ = [
    "COMPARED",
    "NARROWED",
    "REPEATS",
    "SINGLE",
    "VALUE",
    "CaseJudge",
    "CaseResult",
    "compare_continuations",
    "kinds_for",
    "compare_calls",
    "tolerance_of",
]
