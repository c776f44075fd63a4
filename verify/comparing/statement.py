"""One call of the user's held to a statement, at the user's shapes: ``verify.assert_conforms`` inside any test."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from spec.language.evaluation.dimensions import is_size
from spec.language.formula import Formula
from spec.language.registry import UnknownFormula, statement
from verify.checking import check
from verify.comparing.report import CaseResult, Comparison
from verify.comparing.subjects import Pair
from verify.faults import Unusable, complaint
from verify.inputs.dtypes import NAMES
from verify.inputs.examples import Example
from verify.properties.judge import Judge
from verify.properties.values import compare
from verify.report import CONFORMS, FALSIFIED, IMPRECISE
from verify.search.outcome import worst
from verify.subject.returned import values
from verify.subject.wording import show_value

EXAMPLES = 30
"""Examples of each check against a statement."""


def assert_conforms(
    output: Any, formula_id: str, *inputs: Any, conventions: Mapping[str, str] | None = None
) -> None:
    """Hold what a call has returned to a statement: to its value, within the rigorous bound for the type of the output.

    Args:
        output: the tensor that was returned, or a tuple where the statement has several outputs.
        formula_id: the statement, as ``"attention.softmax"``.
        inputs: what the call was given, in the statement's order; data and a mask may have leading dimensions, and broadcast
            along these. What is left out at the end is an optional mask.
        conventions: those that are not ours.

    Raises:
        AssertionError: the output is beyond the bound; the message tells where.
        Unusable: there is no such formula, inputs or outputs do not fit it, or nothing can be compared: of all entries the
            statement says nothing, or their bounds are infinite.
    """
    if not isinstance(formula_id, str):
        raise Unusable(f"expected a formula's ID, such as 'attention.softmax'; got {show_value(formula_id)}")
    try:
        formula = statement(formula_id)
    except UnknownFormula as error:
        raise Unusable(str(error)) from None
    if not isinstance(formula, Formula) or formula.law is not None:
        raise Unusable(
            f"{formula_id}: expected a formula whose result is determined; got a procedure or a law"
        )
    outputs = output if isinstance(output, tuple | list) else (output,)
    if len(outputs) != len(formula.outputs):
        raise Unusable(f"{formula_id}: expected {len(formula.outputs)} outputs; got {len(outputs)}")
    returned = [_read(formula_id, want.name, got) for want, got in zip(formula.outputs, outputs, strict=True)]
    dtype = NAMES.get(outputs[0].dtype)
    if dtype is None:
        raise Unusable(
            f"{formula_id}: expected an output in one of {', '.join(NAMES.values())}; got {outputs[0].dtype}"
        )
    try:
        expected = Judge(formula, conventions).expect_batch(_make_example(formula, inputs, dtype))
    except ValueError as error:
        raise Unusable(str(error)) from None
    for want, got in zip(expected, returned, strict=True):
        if got.shape != want.value.shape:
            raise AssertionError(
                f"{formula_id}: {want.name} has shape {got.shape}; expected {want.value.shape}"
            )
    if any(want.value.size for want in expected) and not any(
        np.isfinite(want.bound).any() for want in expected
    ):
        raise Unusable(
            f"{formula_id}: at these inputs the statement says nothing of any entry; are they finite?"
        )
    outcome = worst([compare(want, got) for want, got in zip(expected, returned, strict=True)])
    if outcome.fails:
        at = f"[{', '.join(map(str, outcome.index))}]" if outcome.index else ""
        raise AssertionError(
            f"{formula_id}: {outcome.what}{at} is {outcome.got:.9g}; expected {outcome.expected:.9g} ± {outcome.tolerance:.2g} "
            f"({outcome.ratio:.3g} times the bound) in {dtype}"
        )


def hold_to_statement(report: Comparison, pair: Pair, formula_id: str) -> None:
    """Check the reference against a statement, and the candidate too if the reference conforms; what is found joins the report.

    Raises:
        Unusable: there is no such formula, or the reference cannot be called as it is.
    """
    options: dict[str, Any] = {"seed": report.seed, "device": report.device, "max_examples": EXAMPLES}
    options |= {"dtypes": (report.dtype,), "grades": False, "causes": False}
    stated = check(pair.reference, formula_id, conventions="auto", until_falsified=True, **options)
    if stated.verdict not in (CONFORMS, IMPRECISE):
        report.formula = f"{report.reference} does not conform to {formula_id}: {stated.headline}"
        return
    report.formula = f"{report.reference} conforms to {formula_id}"
    began = time.perf_counter()
    held = check(pair.candidate, formula_id, conventions=stated.conventions, **options)
    case = CaseResult(f"the statement {formula_id}", "statement", held.verdict, message=held.headline)
    case.seconds = time.perf_counter() - began
    report.cases.append(case)
    if held.verdict == FALSIFIED and not report.cause:
        report.cause = held.headline


def _read(formula_id: str, name: str, given: Any) -> np.ndarray[Any, Any]:
    """The values of a tensor.

    Raises:
        Unusable: it is none, or has none.
    """
    if not isinstance(given, torch.Tensor):
        called = "; what is called is checked by verify.check" if callable(given) else ""
        raise Unusable(f"{formula_id}: expected a tensor as {name}; got {show_value(given)}{called}")
    try:
        return values(given)
    except Exception as error:
        why = "nested" if given.is_nested else f"on {given.device}: {complaint(error)}"
        raise Unusable(
            f"{formula_id}: expected a tensor that holds values as {name}; got one that is {why}"
        ) from None


def _make_example(formula: Formula, inputs: Any, dtype: str) -> Example:
    """The inputs as an example: leading dimensions apart, and alike for all that have some."""
    declared = formula.inputs
    optional = sum(not is_size(item) and item.role == "mask" for item in declared)
    if not len(declared) - optional <= len(inputs) <= len(declared):
        names = ", ".join(map(str, declared))
        raise Unusable(f"{formula.id}: expected {names}; got {len(inputs)} inputs")
    found = dict(zip(map(str, declared), inputs, strict=False))
    leading = {}
    for item in declared:
        value = found.setdefault(str(item), None)
        if value is None and not is_size(item) and item.role == "mask":
            continue
        if not isinstance(value, torch.Tensor) and np.asarray(value).dtype.kind not in "biuf":
            raise Unusable(f"{formula.id}: expected a tensor or numbers as {item}; got {show_value(value)}")
        if isinstance(value, torch.Tensor):
            found[str(item)] = value = _read(formula.id, str(item), value)
            if value.dtype.kind == "c":
                raise Unusable(f"{formula.id}: expected real numbers as {item}; got complex ones")
            if item.role in ("data", "mask"):
                leading[str(item)] = value.ndim - len(item.shape)
    if any(count < 0 for count in leading.values()):
        short = next(name for name, count in leading.items() if count < 0)
        raise Unusable(f"{formula.id}: {short} has too few axes: {found[short].ndim}")
    shapes = [found[name].shape[:count] for name, count in leading.items()]
    try:
        batch = np.broadcast_shapes(*shapes)
    except ValueError:
        said = ", ".join(f"{name} {found[name].shape}" for name in leading)
        raise Unusable(f"{formula.id}: expected leading dimensions that broadcast; got {said}") from None
    for name, count in leading.items():
        shape = found[name].shape
        aligned = found[name].reshape(*(1,) * (len(batch) - count), *shape)
        found[name] = np.broadcast_to(aligned, (*batch, *shape[count:]))
    return Example(found, dtype, {}, batch=batch)


__all__ = ["assert_conforms", "hold_to_statement"]
