"""``verify.compare``: a candidate beside any reference in PyTorch, graded in σ of the reference's own careful arithmetic."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from verify.comparing.comparer import Comparer
from verify.comparing.report import CaseResult, Comparison
from verify.comparing.statement import hold_to_statement
from verify.comparing.subjects import DEFAULTS, Problem, name_callable
from verify.faults import Unusable
from verify.inputs.dtypes import DTYPES
from verify.isolation import run_handed_over
from verify.limits import CALLS, CASE_KINDS
from verify.pool import Lost
from verify.report import FALSIFIED, INCONCLUSIVE


def compare(
    reference: Any,
    candidate: Any,
    *,
    inputs: Any = None,
    init_inputs: Any = None,
    seed: int = 0,
    sigmas: float | None = None,
    calls: int = CALLS,
    dtype: str | None = None,
    device: str = "cpu",
    kinds: Collection[str] = CASE_KINDS,
    time_limit: float | None = None,
    formula: str | None = None,
    isolate: bool = False,
) -> Comparison:
    """Grade a candidate beside a reference, for which there need be no statement.

    Expected is what the reference says in float64 with the same weights; an error counts in σ, the spread of the reference's own
    careful arithmetic in the working type at these inputs. Nothing is proved: the verdict is a grade.

    Args:
        reference: a function, a module, a module's class, or ``"file.py:Model"``.
        candidate: the same, called with the same inputs. It may be built with ``init_inputs``, and gets the reference's weights.
        inputs: a list of what both are called with, or a function that draws one; without it ``get_inputs`` of the file.
        init_inputs: what classes are built with; without it ``get_init_inputs`` of the file, if there is one.
        seed: determines weights, inputs, regimes and roundings.
        sigmas: σ that are allowed; without it as many as :data:`verify.accuracy.grade.WORST` says, 32 in float32.
        calls: calls before the last one, as a timing loop makes them.
        dtype: to which real inputs and weights are converted (``"float32"``, ``"float16"``, ``"bfloat16"``).
        device: where all is computed. What is written for CUDA here has not been run on such a device.
        kinds: which cases are tried beside the inputs given, of :data:`verify.limits.CASE_KINDS`.
        time_limit: seconds after which no further case is begun.
        formula: a statement that the reference is held to; if it conforms, the candidate is held to it, too.
        isolate: whether all is done in a process of its own, so that a candidate that crashes or hangs is a verdict.

    Raises:
        Unusable: something cannot be loaded; the reference draws, depends on earlier calls, or cannot be copied.
    """
    asked = dict(locals(), isolate=False)
    if unknown := [each for each in kinds if each not in CASE_KINDS]:
        raise Unusable(f"kinds: expected some of {', '.join(CASE_KINDS)}; got {unknown[0]!r}")
    if dtype is not None and dtype not in DTYPES:
        raise Unusable(f"dtype: expected one of {', '.join(DTYPES)}; got {dtype!r}")
    if calls < 0 or (sigmas is not None and not sigmas > 0):
        raise Unusable(f"expected calls of at least 0, and sigmas above 0; got {calls} and {sigmas}")
    if isolate:
        found = run_handed_over(partial(compare, **asked), name_callable(candidate, ""), asked)
        return lose(found, asked) if isinstance(found, Lost) else found
    problem = Problem(reference, candidate, inputs, init_inputs, DTYPES[dtype] if dtype else None, device)
    report = Comparison(problem.names[0], problem.names[1], "", device, seed, sigmas, calls)
    comparer = Comparer(problem, report, kinds, time_limit)
    if comparer.run() and formula is not None:
        hold_to_statement(report, comparer.pair, formula)
    return report


def lose(lost: Lost, asked: Mapping[str, Any]) -> Comparison:
    """What is said where the process has ended in which all was done: falsified, if a call of the candidate has ended it."""
    names = [name_callable(asked[role], name) for role, name in DEFAULTS.items()]
    options = {name: asked[name] for name in ("device", "seed", "sigmas", "calls")}
    found = Comparison(names[0], names[1], asked["dtype"] or "", **options)
    verdict = FALSIFIED if lost.by_call else INCONCLUSIVE
    found.cases.append(CaseResult("the process", "conduct", verdict, message=lost.how))
    return found


__all__ = ["compare", "lose"]
