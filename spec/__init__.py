"""Symbolic statements of attention, Transformers and BERT: one module for each formula, with its reasons and theorems.

What is asked of a formula most often, without a look into :mod:`spec.language`. A formula is given by its ID or as it is.

    >>> import spec
    >>> softmax = spec.find("attention.softmax")
    >>> spec.evaluate(softmax, {"s": [[14, 12]]})[0].round(2)
    array([[0.88, 0.12]])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:  # asked for first, imported then: a name of a formula should not cost the whole language
    import numpy as np
    import numpy.typing as npt
    import sympy

    from spec.language.formula import Formula
    from spec.language.proving.proof import Checked

    Reals: TypeAlias = npt.NDArray[np.float64]
    Inputs: TypeAlias = Mapping[str, Any] | Sequence[Any]
    Options: TypeAlias = Mapping[str, str] | None


def find(formula_id: str) -> Formula:
    """The formula with this ID; nothing is imported but its module and those of the formulas that it applies.

    Raises:
        UnknownFormula: naming the closest IDs.

        >>> find("attention.softmax").title
        'Softmax over the permitted keys'
    """
    from spec.language import registry

    return registry.find(formula_id)


def formulas() -> Mapping[str, Formula]:
    """Every formula by its ID, in reading order.

    >>> "normalization.layer_norm" in formulas()
    True
    """
    from spec.language import registry

    return registry.formulas()


def evaluate(formula: str | Formula, inputs: Inputs, conventions: Options = None) -> tuple[Reals, ...]:
    """The outputs in float64, from inputs by name or in declared order, in the declared shapes (no batch dimensions).

    Raises:
        ValueError: an input that does not fit, or an unknown convention.

        >>> float(evaluate("similarity.dot", {"x": [1.0, 2.0], "y": [3.0, 4.0]})[0])
        11.0
    """
    from spec.language.evaluation import evaluate as core

    found = _formula(formula)
    return core.evaluate(found, _check_inputs(found, inputs, conventions), conventions)


def enclose(
    formula: str | Formula, inputs: Inputs, conventions: Options = None, bits: int = 128
) -> tuple[npt.NDArray[Any], ...]:
    """The outputs as balls (``flint.arb``) computed with so many bits: each certainly holds the exact value.

    >>> enclose("similarity.dot", {"x": [1.0, 2.0], "y": [3.0, 4.0]})[0].item() == 11
    True
    """
    from spec.language.evaluation import evaluate as core

    found = _formula(formula)
    return core.enclose(found, _check_inputs(found, inputs, conventions), conventions, bits)


def bound(
    formula: str | Formula, inputs: Inputs, conventions: Options = None, dtype: str = "float32"
) -> tuple[tuple[Reals, Reals], ...]:
    """For each output its value, and how far a right implementation in ``dtype`` may be from it; infinite where unknown.

    >>> value, tolerance = bound("similarity.dot", {"x": [1.0, 2.0], "y": [3.0, 4.0]})[0]
    >>> bool(0 < tolerance < 1e-5)
    True
    """
    from spec.language.evaluation import evaluate as core

    found = _formula(formula)
    return core.bound(found, _check_inputs(found, inputs, conventions), conventions, dtype)


def expected_error(
    formula: str | Formula,
    inputs: Inputs,
    conventions: Options = None,
    dtype: str = "float32",
    samples: int = 32,
    seed: int = 0,
) -> tuple[tuple[Reals, Reals], ...]:
    """For each output its value, and the standard deviation of the error that careful arithmetic in ``dtype`` makes.

    >>> value, sigma = expected_error("similarity.dot", {"x": [1.0, 2.0], "y": [3.0, 0.1]})[0]
    >>> bool(0 < sigma < 1e-6)
    True
    """
    from spec.language.evaluation import expected

    found = _formula(formula)
    return expected.expected_error(
        found, _check_inputs(found, inputs, conventions), conventions, dtype, samples, seed
    )


def expected_gradient_error(
    formula: str | Formula,
    inputs: Inputs,
    seeds: Mapping[str, Any],
    conventions: Options = None,
    dtype: str = "float32",
    samples: int = 32,
    seed: int = 0,
) -> dict[str, tuple[Reals, Reals]]:
    """As :func:`expected_error`, for the gradients that :func:`vjp` gives.

    >>> value, sigma = expected_gradient_error("similarity.dot", {"x": [1.0, 2.0], "y": [3.0, 0.1]}, {"s": 0.3})["x"]
    >>> bool((sigma < 1e-6).all())
    True
    """
    from spec.language.evaluation import expected

    found = _formula(formula)
    given = _check_inputs(found, inputs, conventions)
    return expected.expected_gradient_error(
        found, given, _name_seeds(found, seeds), None, conventions, dtype, samples, seed
    )


def vjp(
    formula: str | Formula,
    inputs: Inputs,
    seeds: Mapping[str, Any],
    conventions: Options = None,
) -> dict[str, Reals]:
    """The gradient of a loss by the inputs, given the loss's gradient by the outputs (``seeds``, by output; else 0).

    Raises:
        ValueError: an input that does not fit, or an output that the formula does not have.

    >>> vjp("similarity.dot", {"x": [1.0, 2.0], "y": [3.0, 4.0]}, {"s": 1.0})["x"].tolist()
    [3.0, 4.0]
    """
    from spec.language.differentiation import gradients

    asked = _formula(formula)
    given = _check_inputs(asked, inputs, conventions)
    found = gradients.pull_back(asked, given, _name_seeds(asked, seeds), conventions=conventions)
    return {name: value for name, (value, _) in found.items()}


def prove(formula: str | Formula, theorem: str) -> Checked:
    """A theorem of a formula by its name, checked step by step; ``.assurance`` says how sure it is, ``.refusal`` why not.

    Raises:
        LookupError: the formula has no theorem of this name; it names those that it has.

        >>> str(prove("attention.softmax", "sums_to_one").assurance)
        'proved'
    """
    from spec.language.proving.proof import check

    found = _formula(formula)
    if theorem not in found.theorems:
        known = ", ".join(found.theorems) or "none"
        raise LookupError(f"{found.id} has no theorem {theorem!r}; it has: {known}")
    return check(found.theorems[theorem], found)


def to_sympy(formula: str | Formula, conventions: Options = None) -> dict[str, list[sympy.Eq]]:
    """The primitive lines as equations of plain SymPy, by the array that they define: to expand, differentiate and play with.

    >>> to_sympy("similarity.dot")["s"]
    [Eq(s, Sum(x[j]*y[j], (j, 0, d - 1)))]
    """
    from spec.language import plain

    return plain.to_sympy(_formula(formula), conventions)


def _check_inputs(formula: Formula, inputs: Inputs, conventions: Options) -> dict[str, Any]:
    from spec.language.evaluation.evaluate import check_inputs

    return check_inputs(formula, inputs, conventions)


def _name_seeds(formula: Formula, seeds: Mapping[str, Any]) -> dict[str, Any]:
    from spec.language.evaluation.evaluate import name_seeds

    return name_seeds(formula, seeds)


def _formula(formula: str | Formula) -> Formula:
    if isinstance(formula, str):
        return find(formula)
    if not hasattr(formula, "flat"):
        raise TypeError(
            f"a formula is given by its ID, such as 'attention.softmax', or as it is; got {formula!r}"
        )
    return formula


__all__ = [
    "bound",
    "enclose",
    "evaluate",
    "expected_error",
    "expected_gradient_error",
    "find",
    "formulas",
    "prove",
    "to_sympy",
    "vjp",
]
