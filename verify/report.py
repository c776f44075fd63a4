"""What a check found: verdicts, the worst error against its bound, and the counterexample of what is falsified.

Four verdicts: ``conforms``, ``imprecise``, ``falsified``, ``inconclusive``. A report is falsified if any of its checks is, and
imprecise if its accuracy is far from that of careful arithmetic; it conforms if its value checks (or law checks) do; else nothing
conclusive was said.
"""

from __future__ import annotations

import base64
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum, StrEnum
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import numpy as np

from verify.edges import STRICT
from verify.report_text import alone, counterexample_lines, first, report_lines

Verdict = Literal["conforms", "imprecise", "falsified", "inconclusive"]
Kind = Literal["value", "gradient", "accuracy", "theorem", "robustness", "law"]

CONFORMS: Verdict = "conforms"
IMPRECISE: Verdict = "imprecise"
FALSIFIED: Verdict = "falsified"
INCONCLUSIVE: Verdict = "inconclusive"
SCHEMA_VERSION = 2
"""The version of JSON documents: it counts up where a key goes away or gets another meaning; new keys leave it as it is."""
REPORTED = "reported, not judged"
"""How the message of a check begins that says something and judges nothing."""


class Inconclusive(Enum):
    """Why a check is inconclusive."""

    NO_GRADIENT = "no gradient"
    UNSUPPORTED = "unsupported"
    VACUOUS = "vacuous"
    REPORTED = "reported"


CENTRAL = ("value", "law")
"""The kinds of check without which nothing conforms."""
SHARED, WRONG = "shared inputs", "gets wrong"
KEPT_RESULTS = "kept results"
"""Properties that the first line of what conforms tells, too: what is wrong of inputs that a batch shares, and results on which
later ones depend.
"""


@dataclass
class Counterexample:
    """Inputs on which a callable fails, and how.

    Attributes:
        inputs: arrays, Python numbers or None, by name, in declared order.
        dtype: the type in which real tensors were passed.
        conventions: the conventions under which it was judged.
        violates: the statement's line, or the theorem's sentence, that does not hold.
        what: what was compared: an output's name, or a gradient's.
        index: the worst entry.
        got: the entry found (None where the call itself failed).
        expected: the entry of the statement.
        tolerance: how far a right implementation may be from it.
        calls: what else it takes to make the same calls again: a scene's name, a procedure's case, the inputs of the call before.
        sizes: the sizes, by name.
        turn: which of the examples of its scene it is, where something is tried in turn.
        regime: how the inputs were drawn.
        generator_seed: the seed of the generator passed, if one was.
        call: the one plain call in which it shows, as ``function(x, gamma, mask=mask)``; empty where it takes more than that.
    """

    inputs: dict[str, Any]
    dtype: str
    conventions: dict[str, str] = field(default_factory=dict)
    violates: str = ""
    what: str = ""
    index: tuple[int, ...] | None = None
    got: float | None = None
    expected: float | None = None
    tolerance: float | None = None
    regime: str = ""
    generator_seed: int | None = None
    cotangents: dict[str, Any] | None = None
    calls: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    turn: int = 0
    call: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values, from which :meth:`from_dict` makes the same again, bit for bit."""
        return {name: encode(value) for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Counterexample:
        """The counterexample that a document holds; what it holds besides is left aside.

        Raises:
            KeyError, TypeError, ValueError: it holds none.
        """
        found = {each.name: decode(document[each.name]) for each in fields(cls) if each.name in document}
        if found.get("index") is not None:
            found["index"] = tuple(found["index"])
        for name in ("got", "expected", "tolerance"):
            if found.get(name) is not None:
                found[name] = float(found[name])
        return cls(**found)

    def lines(self) -> list[str]:
        """The counterexample as short lines of text."""
        return counterexample_lines(self)


@dataclass
class CheckResult:
    """The outcome of one check.

    Attributes:
        name: what was checked, unique within a report.
        kind: value, gradient, accuracy, theorem, robustness or law.
        verdict: conforms, imprecise, falsified or inconclusive.
        examples: how many examples were judged.
        worst_ratio: the largest error/bound seen (None where nothing was compared).
        effective: the share of examples in which some entry was at least ten times its bound.
        counterexample: of a falsified check.
        message: one line.
        dtype: the type checked, if the check belongs to one.
        ratios: the largest error/bound by regime.
        leads: whether what else failed may follow from this: it is told first, and replayed.
        raised: the error that a call raised, if that is what failed.
        reason: why it is inconclusive, where that matters to others.
    """

    name: str
    kind: Kind
    verdict: Verdict
    examples: int = 0
    worst_ratio: float | None = None
    effective: float | None = None
    counterexample: Counterexample | None = None
    message: str = ""
    dtype: str | None = None
    ratios: dict[str, float] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    leads: bool = False
    raised: str = ""
    reason: Inconclusive | None = None

    @property
    def reported(self) -> bool:
        """Whether it was looked at and not judged."""
        return self.reason is Inconclusive.REPORTED

    def unjudged(self) -> CheckResult:
        """Mark the finding as reported and not judged, and return the result."""
        self.verdict, self.message = INCONCLUSIVE, f"{REPORTED}: {self.message}"
        self.reason = Inconclusive.REPORTED
        return self

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values."""
        found = {name: jsonable(value) for name, value in vars(self).items() if name != "counterexample"}
        found["reason"] = None if self.reason is None else self.reason.value
        found["counterexample"] = None if self.counterexample is None else self.counterexample.to_dict()
        return found

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> CheckResult:
        """The check that a document holds; what it holds besides is left aside.

        Raises:
            KeyError, TypeError, ValueError: it holds none.
        """
        found = {each.name: document[each.name] for each in fields(cls) if each.name in document}
        example = document["counterexample"]
        found["counterexample"] = None if example is None else Counterexample.from_dict(example)
        return cls(**found)


@dataclass(frozen=True)
class Property:
    """What a callable does at the edge of its contract: reported, and no part of the verdict.

    Attributes:
        name: what it is about: a convention of the check (:mod:`verify.edges`), or another word.
        says: a sentence.
        option: the option of the convention that the callable follows; empty where there is none.
    """

    name: str
    says: str
    option: str = ""

    @property
    def notable(self) -> bool:
        """Whether it is not what ours do."""
        return self.option not in STRICT.values()

    def __str__(self) -> str:
        return f"{self.name}{f'={self.option}' if self.option else ''}: {self.says}"


@dataclass(frozen=True)
class Range:
    """Where a falsified callable conforms: within limits of its inputs.

    Attributes:
        limits: by name, as ``check(ranges=…)`` takes them.
        says: the limits in the statement's letters.
        beyond: what it does beyond them.
    """

    limits: dict[str, float]
    says: str
    beyond: str

    @property
    def option(self) -> str:
        """The option to paste."""
        return "--range " + " ".join(
            f"'{n}={v:g}'" if "(" in n else f"{n}={v:g}" for n, v in self.limits.items()
        )

    def __str__(self) -> str:
        return f"conforms where {self.says}; beyond: {self.beyond}"


class Reason(StrEnum):
    """The kind of an explanation; programs decide by it, and never by the sentence."""

    NONE = ""
    CONVENTIONS = "conventions"
    """It conforms under other conventions."""
    NEAREST = "nearest"
    """Some conventions are nearer than others, and it fails under them, too."""
    CAUSE = "cause"
    """It computes something else, which is named."""
    CHECK = "check"
    """What the most telling check saw is named: why it is so is not known."""
    SINGLE = "single"
    """It computes in float32 inside."""
    CALLS = "calls"
    """It fails behind other calls alone, or in the first of all."""
    UNSTEADY = "unsteady"
    """It is not the same from call to call: one call shows nothing."""
    SIZES = "sizes"
    """It fails at some sizes alone, or under some masks: no limit on entries makes it right there."""
    ENTRIES = "entries"
    """It fails at large entries alone, or in few regimes."""
    SCENES = "scenes"
    """Plain calls conform; only some scene of use fails."""


@dataclass
class Report:
    """What :func:`verify.check` found about one callable and one formula; ``sizes``: the rules under which they were drawn;
    ``first_violation``: seconds from the beginning of the check to the first violation, before it was made small;
    ``examples_until``: how many examples were judged until then, that one included (none where nothing is searched);
    ``properties``: what it does at the edge of its contract; ``edges``: the conventions of the check that were chosen there;
    ``found``: what of the conventions was found by trying, since ours do not hold; ``alike``: what nothing tells from it;
    ``within``: the range that was declared; ``range``: that in which a falsified callable conforms;
    ``not_run``: theorems, each with the reason; ``leading``: how many leading dimensions it takes, where not any number;
    ``settings``: the other arguments of the check, as JSON has them; ``unfinished``: how much was done where time ran out.
    """

    formula_id: str
    target: str
    conventions: dict[str, str]
    checks: list[CheckResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    hint: str = ""
    reason: Reason = Reason.NONE
    found: dict[str, str] = field(default_factory=dict)
    alike: list[dict[str, str]] = field(default_factory=list)
    seed: int = 0
    max_examples: int = 100
    device: str = "cpu"
    fingerprint: str = ""
    seconds: float = 0.0
    first_violation: float | None = None
    examples_until: int | None = None
    versions: dict[str, str] = field(default_factory=dict)
    importable: str = ""
    sizes: str = ""
    properties: list[Property] = field(default_factory=list)
    edges: dict[str, str] = field(default_factory=dict)
    within: str = ""
    not_run: dict[str, str] = field(default_factory=dict)
    leading: tuple[int, ...] = ()
    range: Range | None = None
    unfinished: str = ""
    settings: dict[str, Any] = field(default_factory=dict)

    def has(self, name: str, says: str, option: str = "") -> None:
        """Add a property, once."""
        found = Property(name, says, option)
        if found not in self.properties:
            self.properties.append(found)

    @property
    def verdict(self) -> Verdict:
        """The worst of falsified and imprecise; ``conforms`` if the value (or law) checks do and time was left for all, else
        ``inconclusive``.
        """
        for verdict in (FALSIFIED, IMPRECISE):
            if any(check.verdict == verdict for check in self.checks):
                return verdict
        central = any(check.verdict == CONFORMS and check.kind in CENTRAL for check in self.checks)
        return CONFORMS if central and not self.unfinished else INCONCLUSIVE

    @property
    def falsified(self) -> list[CheckResult]:
        """The checks that failed."""
        return [check for check in self.checks if check.verdict == FALSIFIED]

    @property
    def caught_by(self) -> list[str]:
        """The kinds of check that failed."""
        return list(dict.fromkeys(check.kind for check in self.falsified))

    @property
    def alone(self) -> str:
        """What alone shows that the callable is wrong, in a sentence: where checks of one kind failed, and of others did not."""
        kinds = self.caught_by
        others = {check.kind for check in self.checks if check.verdict == CONFORMS} - set(kinds)
        return alone(kinds[0], [check.name for check in self.falsified]) if len(kinds) == 1 and others else ""

    @property
    def grades(self) -> dict[str, tuple[float, float]]:
        """The accuracy in each type: the largest error in sigma, and the digits lost against careful arithmetic."""
        return {
            check.dtype: (check.details["sigma"], check.details["digits"])
            for check in self.checks
            if check.kind == "accuracy" and check.dtype is not None and "sigma" in check.details
        }

    @property
    def worst_ratio(self) -> float | None:
        """The largest error/bound over the value checks."""
        seen = [c.worst_ratio for c in self.checks if c.kind == "value" and c.worst_ratio is not None]
        return max(seen, default=None)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready values."""
        found = {name: jsonable(value) for name, value in vars(self).items() if name != "checks"}
        found["properties"] = [dict(vars(each)) for each in self.properties]
        found["range"] = None if self.range is None else dict(vars(self.range))
        found["caught_by"], found["alone"] = self.caught_by, self.alone
        return {"verdict": self.verdict, **found, "checks": [check.to_dict() for check in self.checks]}

    def counterexample(self) -> dict[str, Any]:
        """The failure that is told first, with all that it takes to replay it (:func:`verify.replay`), as JSON has it.

        Raises:
            ValueError: nothing is falsified.
        """
        if not self.falsified:
            raise ValueError(f"{self.formula_id}: nothing is falsified, so there is no counterexample")
        checks = [first(self.falsified).to_dict()]
        return {"schema_version": SCHEMA_VERSION, **self.to_dict(), "checks": checks}

    @property
    def headline(self) -> str:
        """The verdict in a sentence: under which conventions, where these were found, at which sizes and within which range; what
        explains it, and where it conforms.
        """
        under = either_said(self.found, self.alike)
        said = self.verdict + (f" under {under}" if under else "")
        said += f" where {self.sizes}" if self.sizes else ""
        said += f" within {self.within}" if self.within else ""
        if self._without_gradients:
            coarse = [
                str(check.dtype) for check in self.checks if check.kind == "gradient" and check.reported
            ]
            judged = f" ({', '.join(coarse)}: reported, not judged)" if coarse else ""
            said += f", without gradients{judged}"
        said += f": {self.hint}" if self.hint else ""
        wrong = [
            each.says
            for each in self.properties
            if each.name == KEPT_RESULTS or (each.name == SHARED and WRONG in each.says)
        ]
        said += f", but {wrong[0]}" if wrong and self.verdict == CONFORMS else ""
        said += f"; {self.unfinished}" if self.unfinished else ""
        return said if self.range is None else f"{said}; {self.range}"

    @property
    def _without_gradients(self) -> bool:
        """Whether it conforms, though of no gradient anything could be said."""
        asked = [check for check in self.checks if check.kind == "gradient"]
        none = all(check.verdict == INCONCLUSIVE for check in asked)
        return self.verdict == CONFORMS and bool(asked) and none and not self.unfinished

    def text(self, verbose: bool = False) -> str:
        """The report, first things first; ``verbose``: with every check and every counterexample."""
        return "\n".join(report_lines(self, verbose))

    def __str__(self) -> str:
        return self.text()

    def __rich__(self) -> Any:
        from rich.text import Text

        style = {CONFORMS: "green", IMPRECISE: "magenta", FALSIFIED: "red", INCONCLUSIVE: "yellow"}
        text = Text(str(self))
        for verdict, colour in style.items():
            text.highlight_words([verdict], colour)
        return text


def format_options(options: Mapping[str, str]) -> str:
    """Conventions as one names them: ``eps=outside, divisor=unbiased``."""
    return ", ".join(f"{name}={option}" for name, option in options.items())


WIDE = "every operation may round to the type of the inputs, and nothing is said of what overflows it"
"""What ``intermediates=storage`` comes to."""


def conventions_said(options: Mapping[str, str]) -> str:
    """Conventions as a sentence names them, with what is not judged under one that widens every bound."""
    return format_options(options) + (f" ({WIDE})" if options.get("intermediates") == "storage" else "")


def either_said(options: Mapping[str, str], alike: Sequence[Mapping[str, str]]) -> str:
    """Conventions, and those that nothing tells from them: ``fully_masked=mean or fully_masked=filled_1e9``."""
    return " or ".join(map(conventions_said, (options, *alike))) + (
        ", which nothing tells apart" if alike else ""
    )


def jsonable(value: Any) -> Any:
    """A value as JSON has it; numbers that are not finite become words."""
    if isinstance(value, Mapping):
        return {str(name): jsonable(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(part) for part in value]
    if isinstance(value, np.ndarray):
        return jsonable(value.tolist())
    if isinstance(value, np.generic):
        return jsonable(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


MOST_WRITTEN_OUT = 64
"""Entries up to which an array stands in a document as numbers, which can be read and edited; a larger one by its bytes."""


def encode(value: Any) -> Any:
    """A value as JSON has it, exactly: an array as an object of its type, its shape, and its entries or their bytes."""
    if isinstance(value, Mapping):
        return {str(name): encode(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [encode(part) for part in value]
    if not isinstance(value, np.ndarray):
        return jsonable(value)
    made = {"dtype": str(value.dtype), "shape": list(value.shape)}
    if value.size <= MOST_WRITTEN_OUT:
        return {**made, "values": jsonable(value.tolist())}
    little = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
    return {**made, "base64": base64.b64encode(little.tobytes()).decode()}


def decode(value: Any) -> Any:
    """The value that :func:`encode` has written; lists stay lists.

    Raises:
        KeyError, TypeError, ValueError: it has not written this.
    """
    if isinstance(value, list):
        return [decode(part) for part in value]
    if not isinstance(value, dict):
        return value
    if not {"dtype", "shape"} <= value.keys():
        return {name: decode(part) for name, part in value.items()}
    dtype = np.dtype(value["dtype"])
    if dtype.kind not in "biuf":
        raise ValueError(f"an array of {dtype}")
    if "base64" in value:
        raw = base64.b64decode(value["base64"], validate=True)
        return np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype).reshape(value["shape"])
    return np.array(value["values"], dtype).reshape(value["shape"])  # it reads "nan" and "inf", too


def versions() -> dict[str, str]:
    """The versions that a result depends on."""
    found = {"python": platform.python_version()}
    for name in ("torch", "numpy", "hypothesis", "sympy", "python-flint"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # running from a bundle without metadata
            found[name] = "unknown"
    return found
