"""What a comparison found: a verdict for each case, and for all. It is a grade: nothing is proved, and no bound is derived."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from verify.report import CONFORMS, FALSIFIED, IMPRECISE, INCONCLUSIVE, Verdict, versions

SCHEMA_VERSION = 1
"""The version of JSON documents: it counts up where a key goes away or gets another meaning; new keys leave it as it is."""


@dataclass
class CaseResult:
    """One call of the candidate, or several, beside what the reference says.

    Attributes:
        name, kind: which inputs: ``given``, ``regime``, ``gradient``, ``layout``, ``shape``, ``calls`` or ``conduct``.
        verdict: of this case alone.
        sigma: the largest error, in σ of careful arithmetic; None where none was measured.
        message: what is wrong, or why nothing is said.
        fits: the coarser type whose arithmetic makes such errors.
        shapes: of the inputs.
        seconds: what it took, the expectation included.
    """

    name: str
    kind: str
    verdict: Verdict = CONFORMS
    sigma: float | None = None
    message: str = ""
    fits: str = ""
    shapes: list[list[int]] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class Comparison:
    """A candidate beside a reference.

    Attributes:
        reference, candidate: what they are called.
        dtype, device, seed, sigmas, calls: what was asked: the working type, σ that are allowed, calls before the last one.
        cause: what explains what is wrong, in a sentence; empty where nothing does.
        cases: all that was tried.
        notes: what is no matter of the verdict, and what was not run.
        formula: the statement to which the reference conforms, if that was asked.
        seconds: what the comparison took.
    """

    reference: str
    candidate: str
    dtype: str
    device: str
    seed: int
    sigmas: float | None
    calls: int
    cause: str = ""
    cases: list[CaseResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    formula: str = ""
    seconds: float = 0.0

    @property
    def verdict(self) -> Verdict:
        """Falsified if some case is; else imprecise if some case is; it conforms if the inputs given do."""
        found = {each.verdict for each in self.cases}
        for verdict in (FALSIFIED, IMPRECISE):
            if verdict in found:
                return verdict
        given = any(each.kind == "given" and each.verdict == CONFORMS for each in self.cases)
        return CONFORMS if given else INCONCLUSIVE

    @property
    def sigma(self) -> float:
        """The largest error of all cases that were judged."""
        return max((each.sigma for each in self.cases if each.sigma is not None), default=0.0)

    @property
    def headline(self) -> str:
        """The verdict and its cause, in a line."""
        judged = [each for each in self.cases if each.sigma is not None]
        if self.verdict == CONFORMS:
            return f"{self.candidate} conforms to {self.reference} in {len(judged)} cases: at most {self.sigma:.2g} σ"
        first = next((each for each in self.cases if each.verdict == self.verdict), None)
        said = f"{first.name}: {first.message}" if first else "nothing was judged"
        return f"{self.candidate} is {self.verdict}: {self.cause or said}"

    def to_dict(self) -> dict[str, Any]:
        """Everything, for a JSON document (``comparison.schema.json`` describes it)."""
        head = {
            "schema_version": SCHEMA_VERSION,
            "command": "compare",
            "verdict": self.verdict,
            "headline": self.headline,
        }
        told = {**head, **asdict(self), "sigma": self.sigma, "versions": versions()}
        for each in (told, *told["cases"]):
            each |= {
                name: str(x) for name, x in each.items() if isinstance(x, float) and not abs(x) < float("inf")
            }
        return told


__all__ = ["SCHEMA_VERSION", "CaseResult", "Comparison"]
