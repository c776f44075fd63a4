"""What is asked of a check: every argument of :func:`verify.check`, looked at before the first call, with its default."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from spec.language.formula import Formula
from spec.language.own import address_of
from spec.language.procedure import Procedure
from spec.language.registry import procedure_ids, procedures
from verify.edges import split_auto, split_conventions
from verify.faults import Unusable
from verify.inputs.kinds import to_grade
from verify.report import CheckResult
from verify.subject.options import (
    choices,
    find_formula,
    positive,
    seconds,
    types,
    usable_device,
    whole_number,
)

Conventions = Mapping[str, str] | Literal["auto"] | None
Progress = Callable[[str, int, int], None]
SETTINGS = (
    "max_examples",
    "seed",
    "dtypes",
    "device",
    "sizes",
    "fixed",
    "few_shapes",
    "ranges",
    "accuracy",
    "grades",
    "compile",
)
"""The arguments of a check that a report keeps, beside the conventions, so that it can be made again."""
NONE = {"sizes": "no sizes to be limited", "fixed": "no numbers to be set", "ranges": "no ranges of inputs"}
"""What formulas have and procedures have not."""


class Rules(NamedTuple):
    """What a callable supports, where not everything, as it was given: it is read once the callable is known."""

    sizes: Mapping[str, str | int] | None = None
    fixed: Mapping[str, float | str] | None = None
    few_shapes: bool | None = None
    ranges: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Request:
    """What is asked of a callable.

    Attributes:
        stated: the formula, or the procedure, that it is held to.
        conventions: those of the statement that are named.
        edges: those of the check that are named (:mod:`verify.edges`).
        seeking: whether the others are sought.
        max_examples: examples for each value check.
        seed: determines every example.
        dtypes: the types that are named, if any.
        device: where the tensors are.
        rules: what the callable supports.
        accuracy: beyond how many sigma of careful arithmetic an error is a failure.
        grades: whether accuracy is graded.
        compile: whether ``torch.compile`` of the callable is held to the statement, too.
        time_limit: seconds for the whole.
        causes: whether what explains a falsification is looked for, or of which failed checks it is.
        until_falsified: whether to stop at the first violation, and to leave its example as it was found.
        progress: called with the check's name, its number, and how many there are.
        name: what to call the callable.
    """

    stated: Formula | Procedure
    conventions: Mapping[str, str] = field(default_factory=dict)
    edges: Mapping[str, str] = field(default_factory=dict)
    seeking: bool = False
    max_examples: int = 100
    seed: int = 0
    dtypes: tuple[str, ...] | None = None
    device: str = "cpu"
    rules: Rules = field(default_factory=Rules)
    accuracy: float | None = None
    grades: bool = True
    compile: bool = False
    time_limit: float | None = None
    causes: bool | Callable[[CheckResult], bool] = True
    until_falsified: bool = False
    progress: Progress | None = None
    name: str | None = None

    @classmethod
    def of(
        cls,
        formula_id: str | Formula | Procedure,
        *,
        conventions: Conventions = None,
        dtypes: Sequence[str] | None = None,
        rules: Rules,
        **options: Any,
    ) -> Request:
        """The request that these arguments of :func:`verify.check` make.

        Raises:
            Unusable: one of them cannot be used; one line.
        """
        named, seeking = split_auto(conventions)
        options["max_examples"] = whole_number("max_examples", options["max_examples"], 1)
        options["seed"] = whole_number("seed", options["seed"], 0)
        options["device"] = usable_device(options["device"])
        options["accuracy"] = positive("accuracy", options["accuracy"])
        options["time_limit"] = seconds(options["time_limit"])
        options["dtypes"] = None if dtypes is None else tuple(types(dtypes))
        if isinstance(formula_id, Procedure) or formula_id in procedure_ids():
            stated = formula_id if isinstance(formula_id, Procedure) else procedures()[str(formula_id)]
            refuse_rules(stated, rules._asdict())
            edges, chosen = split_conventions(named or {})
            return cls(stated, chosen, edges, seeking, rules=rules, **options)
        formula = find_formula(formula_id)
        edges, chosen = split_conventions(choices(formula, named))
        return cls(formula, chosen, edges, seeking, rules=rules, **options)

    @property
    def kinds(self) -> list[str]:
        """The types that are checked."""
        return types(self.dtypes)

    @property
    def graded(self) -> list[str]:
        """The types that are graded."""
        return to_grade(self.dtypes) if self.grades else []

    @property
    def settings(self) -> dict[str, Any]:
        """What a report keeps of it, beside the conventions, so that it can be made again."""
        every = {**vars(self), **self.rules._asdict()}
        named = {name: every[name] for name in SETTINGS}
        return {"formula": address_of(self.stated.id) or self.stated.id, **named}

    def under(self, changes: Mapping[str, str]) -> Request:
        """The same under other conventions, none of which is sought."""
        return replace(self, conventions={**self.conventions, **changes}, seeking=False)

    def briefly(self, time_limit: float | None) -> Request:
        """The same up to the first violation, without a search for causes."""
        return replace(self, causes=False, until_falsified=True, progress=None, time_limit=time_limit)

    def wants_cause(self, check: CheckResult) -> bool:
        """Whether what explains a failed check is looked for."""
        return self.causes(check) if callable(self.causes) else self.causes


def refuse_rules(procedure: Procedure, rules: Mapping[str, Any]) -> None:
    """Refuse what only formulas have.

    Raises:
        Unusable: something such was asked for; one line.
    """
    for name, said in NONE.items():
        if given := rules.get(name):
            raise Unusable(f"{procedure.id} is a procedure and has {said}; got {given!r}")


__all__ = ["SETTINGS", "Conventions", "Progress", "Request", "Rules", "refuse_rules"]
