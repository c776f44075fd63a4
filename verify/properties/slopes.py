"""What a statement says of gradients: the vector–Jacobian product derived from it, with its bounds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spec.language.differentiation.gradients import obstacles, vjp
from spec.language.evaluation.binding import sizes_at
from spec.language.evaluation.dimensions import whole
from spec.language.evaluation.precision import Precision
from verify.inputs.examples import Example, members, rounded
from verify.oracle import Arithmetic, Question
from verify.properties.judge import Expected, Judge

REAL = ("real", "positive", "nonnegative")
JUDGED = ("float64", "float32")
"""Gradients are judged in these types; in 16-bit types the ratio is only reported."""


def differentiable(judge: Judge) -> list[str]:
    """The inputs with respect to which there is a gradient."""
    return [name for name in _real(judge) if name not in obstacles(judge.flat)]


def undifferentiated(judge: Judge) -> str:
    """Which inputs have none, for what they pass through in the statement; empty if all have one."""
    through: dict[str, list[str]] = {}
    for name in _real(judge):
        if name in obstacles(judge.flat):
            through.setdefault(obstacles(judge.flat)[name], []).append(name)
    return "; ".join(
        f"no gradient of {', '.join(names)}: {said} is not differentiated" for said, names in through.items()
    )


def _real(judge: Judge) -> list[str]:
    return [t.name for t in judge.formula.tensors if t.domain in REAL and t.role in ("data", "parameter")]


def expected_gradients(
    judge: Judge, inputs: Mapping[str, Any], cotangents: Mapping[str, Any], wrt: list[str], dtype: str
) -> dict[str, Expected]:
    """The derived gradients at a point, with their bounds."""
    return expected_gradients_at(judge, [(inputs, cotangents)], wrt, dtype)[0]


def expected_gradients_at(
    judge: Judge,
    points: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    wrt: list[str],
    dtype: str,
) -> list[dict[str, Expected]]:
    """The derived gradients at points (inputs, cotangents), with their bounds. Only here the language is asked for them."""
    gradient = vjp(judge.formula, wrt, judge.conventions)
    arithmetic = Arithmetic(Precision.of(dtype, judge.conventions["intermediates"]))
    asked = [gradient_question(judge, inputs, cotangents, wrt)[1] for inputs, cotangents in points]
    flat = gradient.flat if judge.form is None else judge.form(gradient.flat)
    answers = judge.oracle.ask(flat, asked, arithmetic, dtype)
    result = []
    for (inputs, _), answer in zip(points, answers, strict=True):
        # What the walk cannot say (NaN beside an infinite bound) is not judged. An entry about which the statement says nothing
        # may be NaN, and backward it reaches whatever that entry was made from, even through factors of 0.
        unsaid = judge.silent(inputs, dtype)
        result.append(
            {
                name: Expected(name, value, np.where(np.isfinite(value) & (not unsaid), bound, np.inf))
                for name, (value, bound) in zip(gradient.gradients, answer, strict=True)
            }
        )
    return result


def gradient_question(
    judge: Judge, inputs: Mapping[str, Any], cotangents: Mapping[str, Any], wrt: list[str]
) -> Question:
    """What the oracle is asked for a gradient: the lines of the derivative, and their inputs, cotangents among them."""
    gradient = vjp(judge.formula, wrt, judge.conventions)
    return gradient.flat, {**inputs, **gradient.seeded(cotangents, sizes_at(judge.flat, inputs))}


def announce(judge: Judge, examples: Iterable[Example], more: bool = False) -> None:
    """Announce examples whose gradients will be asked for soon, so that those of equal sizes are evaluated together."""
    names = differentiable(judge)
    questions = []
    for example in examples:
        for place in members(example.batch):
            single = example.single(judge.formula, place)
            seeds = {name: value[place] for name, value in example.cotangents.items()}
            questions.append((*gradient_question(judge, single, seeds, names), example.dtype))
            if judge.partial:
                questions.append((judge.flat, single, example.dtype))
    judge.oracle.ahead(questions, more)


def with_cotangents(judge: Judge, example: Example, seed: int, scale: float = 1.0) -> Example:
    """The example with a random cotangent of this scale for every output."""
    random = np.random.default_rng([seed, 3])
    made = {}
    for tensor in judge.flat.outputs:
        shape = (*example.batch, *(whole(size, example.sizes) for size in tensor.shape))
        made[tensor.name] = rounded(scale * random.standard_normal(shape), example.dtype)
    return replace(example, cotangents=made)


def expected_batch(
    judge: Judge, example: Example, wrt: list[str], shared: Collection[str] = ()
) -> dict[str, Expected]:
    """The derived gradients of a batch: those of data member by member, those of parameters, and of data that all members
    ``shared``, summed over the members.

    An implementation may add all the terms of a parameter's gradient in one sum, as many times longer as there are members;
    what the members' own bounds charge to a term grows by that factor, and each member's share is one term more. Of inputs that
    have no gradient nothing is said.
    """
    wrt = [name for name in wrt if name in differentiable(judge)]
    if not example.batch:
        return expected_gradients(judge, example.inputs, example.cotangents, wrt, example.dtype)
    points = [
        (
            example.single(judge.formula, place),
            {name: value[place] for name, value in example.cotangents.items()},
        )
        for place in members(example.batch)
    ]
    every = expected_gradients_at(judge, points, wrt, example.dtype)
    unit = Precision.of(example.dtype, judge.conventions["intermediates"]).operations.unit
    data = {tensor.name for tensor in judge.formula.tensors if tensor.role == "data"} - {*shared}
    found = {}
    for name in wrt:
        value = np.stack([part[name].value for part in every])
        bound = np.stack([part[name].bound for part in every])
        if name in data:
            shape = (*example.batch, *value.shape[1:])
            found[name] = Expected(name, value.reshape(shape), bound.reshape(shape))
            continue
        with np.errstate(all="ignore"):
            room = len(every) * (bound + unit * np.abs(value)).sum(0)
            found[name] = Expected(name, value.sum(0), np.where(np.isfinite(room), room, np.inf))
    return found


def unsaid(judge: Judge, example: Example) -> bool:
    """Whether the statement says nothing about some entry of some member."""
    return judge.partial and any(
        judge.silent(example.single(judge.formula, place), example.dtype) for place in members(example.batch)
    )


__all__ = [
    "JUDGED",
    "REAL",
    "announce",
    "differentiable",
    "expected_batch",
    "expected_gradients",
    "expected_gradients_at",
    "gradient_question",
    "undifferentiated",
    "unsaid",
    "with_cotangents",
]
