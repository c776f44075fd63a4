"""What all checks of one report share."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from spec.language.evaluation.dimensions import Size
from verify.inputs.examples import Example, realistic
from verify.properties.substitutions import Kept
from verify.search.drawing import Drawing
from verify.subject.caller import Caller
from verify.subject.timing import least_seconds


@dataclass
class Setting(Drawing):
    """What all checks of one report share, beside what their examples are drawn for.

    Attributes:
        shrinking: the seconds left for making counterexamples small.
        violated: when the first violation of all was seen.
        scenes: examples of the scenarios that are to come.
        drawn: inputs at which theorems were played.
        kept: what the callable returned to theorems.
        paces: the seconds that a call takes, by type and sizes.
        edges: the conventions of the check that were chosen (:mod:`verify.edges`).
        named: the formula's conventions that stay where others are sought.
        found: the latest violation, before it was made small.
        small: whether counterexamples are made small.
    """

    caller: Caller
    shrinking: float = 4.0
    violated: float | None = None
    scenes: dict[str, list[Example]] = field(default_factory=dict)
    drawn: dict[Any, Example] = field(default_factory=dict)
    kept: Kept = field(default_factory=Kept)
    paces: dict[Any, float] = field(default_factory=dict)
    edges: Mapping[str, str] = field(default_factory=dict)
    named: Collection[str] = ()
    found: Example | None = None
    small: bool = True

    def pace(self, dtype: str, sizes: Mapping[Size, int]) -> float:
        """The seconds that a call at these sizes takes; found out once."""
        caller, key = self.caller, (dtype, *sizes.items())
        if key not in self.paces:
            trial = realistic(self.judge.formula, sizes, dtype, self.seed, False, caller.sizes)
            arguments = caller.arguments(trial.inputs, dtype, generator_seed=trial.generator_seed)
            self.paces[key] = least_seconds(partial(caller, *arguments))
        return self.paces[key]


__all__ = ["Setting"]
