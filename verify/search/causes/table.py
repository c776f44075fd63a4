"""Causes of a falsification, probed directly: a table, in the order in which they are tried.

A probe looks at the evidence, perhaps calls once more, and answers with a sentence or with nothing. It knows inputs by their
roles and domains, never a formula by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from verify.faults import Unsupported
from verify.search.causes.behaviour import looks_ahead, random_result, unread_inputs
from verify.search.causes.constants import stopped
from verify.search.causes.explanations import (
    fill,
    floored,
    no_weights,
    other_inputs,
    other_lines,
    outputs_exchanged,
    scaled,
    under_others,
)
from verify.search.causes.extremes import (
    cancels,
    filled,
    in_a_narrower_type,
    in_float32,
    nowhere_finite,
    overflows,
    weighs_hidden,
)
from verify.search.causes.forms import (
    at_equal_sizes,
    returns_arrays,
    returns_several,
    some_sizes_only,
    transposed,
)
from verify.search.causes.roundabout import gradients_roundabout, values_roundabout
from verify.search.causes.settings import rounded_factors
from verify.search.evidence import Evidence


@dataclass(frozen=True)
class Cause:
    """A cause: its name, and what looks for it."""

    name: str
    probe: Callable[[Evidence], str]


FORMS: tuple[Cause, ...] = (
    Cause("output a tuple", returns_several),
    Cause("output no tensor", returns_arrays),
    Cause("output transposed", transposed),
    Cause("works at equal sizes", at_equal_sizes),
    Cause("some sizes only", some_sizes_only),
    Cause("random", random_result),
    Cause("results exchanged", outputs_exchanged),
    Cause("torch rounds factors", rounded_factors),
)
"""Causes that are looked for before other conventions: nothing else is told from results of another form."""


CAUSES: tuple[Cause, ...] = (
    Cause("not finite", nowhere_finite),
    Cause("one-pass variance", cancels),
    Cause("float32 inside", in_float32),
    Cause("overflow", overflows),
    Cause("a function in a roundabout way", values_roundabout),
    Cause("hidden entries weigh", weighs_hidden),
    Cause("a fill by name", fill),
    Cause("finite fill", filled),
    Cause("another floor", floored),
    Cause("weights without effect", no_weights),
    Cause("an input taken for another", other_inputs),
    Cause("a line written otherwise", other_lines),
    Cause("another factor", scaled),
    Cause("beside other conventions", under_others),
    Cause("an input ignored", unread_inputs),
    Cause("looks ahead", looks_ahead),
    Cause("a narrower type inside", in_a_narrower_type),
)
"""Causes that are looked for where no other conventions explain what fails."""


SLOPES: tuple[Cause, ...] = (
    Cause("a gradient that stops", stopped),
    Cause("a function in a roundabout way", gradients_roundabout),
)
"""Causes that are looked for where gradients fail and values do not."""


def cause(evidence: Evidence, table: Sequence[Cause]) -> str:
    """The first cause of a table that shows, in a sentence; empty if none does."""
    for each in table:
        try:
            said = each.probe(evidence)
        except Unsupported:
            continue
        if said:
            return said
    return ""


__all__ = ["CAUSES", "FORMS", "SLOPES", "Cause", "cause"]
