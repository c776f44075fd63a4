"""What a statement says of gradients: the vector–Jacobian product derived from it, with its bounds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from spec.language.differentiation.gradients import Derivative, obstacles, vjp
from spec.language.evaluation.binding import sizes_at
from spec.language.evaluation.dimensions import whole
from spec.language.evaluation.precision import Precision
from spec.language.expr import Undefined, lift
from spec.language.flatten import Flat
from spec.language.trees import substitute
from verify.inputs.examples import Example, members, round_to
from verify.oracle import Arithmetic, Question
from verify.properties.judge import Expected, Judge
from verify.slips.spots import rewrite_lines

REAL = ("real", "positive", "nonnegative")
JUDGED = ("float64", "float32")
"""Gradients are judged in these types; in 16-bit types the ratio is only reported."""


def differentiable(judge: Judge) -> list[str]:
    """The inputs with respect to which there is a gradient."""
    return [name for name in _real(judge) if name not in obstacles(judge.flat)]


def describe_undifferentiated(judge: Judge) -> str:
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


def expect_gradients(
    judge: Judge, inputs: Mapping[str, Any], cotangents: Mapping[str, Any], wrt: list[str], dtype: str
) -> dict[str, Expected]:
    """The derived gradients at a point, with their bounds."""
    return expect_gradients_at(judge, [(inputs, cotangents)], wrt, dtype)[0]


def expect_gradients_at(
    judge: Judge,
    points: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    wrt: list[str],
    dtype: str,
) -> list[dict[str, Expected]]:
    """The derived gradients at points (inputs, cotangents), with their bounds. Only here the language is asked for them."""
    gradient = vjp(judge.formula, wrt, judge.conventions)
    arithmetic = Arithmetic(Precision.of(dtype, judge.conventions["intermediates"]))
    asked = [gradient_question(judge, inputs, cotangents, wrt)[1] for inputs, cotangents in points]
    flat = _lines(judge, gradient) if judge.form is None else judge.form(_lines(judge, gradient))
    answers = judge.oracle.ask(flat, asked, arithmetic, dtype)
    return [  # what the walk cannot say (NaN beside an infinite bound) is not judged
        {
            name: Expected(name, value, np.where(np.isfinite(value), bound, np.inf))
            for name, (value, bound) in zip(gradient.gradients, answer, strict=True)
        }
        for answer in answers
    ]


def gradient_question(
    judge: Judge, inputs: Mapping[str, Any], cotangents: Mapping[str, Any], wrt: list[str]
) -> Question:
    """What the oracle is asked for a gradient: the lines of the derivative, and their inputs, cotangents among them."""
    gradient = vjp(judge.formula, wrt, judge.conventions)
    return _lines(judge, gradient), {
        **inputs,
        **gradient.fill_cotangents(cotangents, sizes_at(judge.flat, inputs)),
    }


def announce(judge: Judge, examples: Iterable[Example], more: bool = False) -> None:
    """Announce examples whose gradients will be asked for soon, so that those of equal sizes are evaluated together."""
    names = differentiable(judge)
    questions = []
    for example in of_what_is_said(judge, examples):
        for place in members(example.batch):
            single = example.single(judge.formula, place)
            seeds = {name: value[place] for name, value in example.cotangents.items()}
            questions.append((*gradient_question(judge, single, seeds, names), example.dtype))
    judge.oracle.announce(questions, more)


def with_cotangents(judge: Judge, example: Example, seed: int, scale: float = 1.0) -> Example:
    """The example with a random cotangent of this scale for every output."""
    random = np.random.default_rng([seed, 3])
    made = {}
    for tensor in judge.flat.outputs:
        shape = (*example.batch, *(whole(size, example.sizes) for size in tensor.shape))
        made[tensor.name] = round_to(scale * random.standard_normal(shape), example.dtype)
    return replace(example, cotangents=made)


def expect_batch_gradients(
    judge: Judge, example: Example, wrt: list[str], shared: Collection[str] = ()
) -> dict[str, Expected]:
    """The derived gradients of a batch: those of data member by member, those of parameters, and of data that all members
    ``shared``, summed over the members.

    An implementation may add all the terms of a parameter's gradient in one sum, as many times longer as there are members;
    what the members' own bounds charge to a term grows by that factor, and each member's share is one term more. Of inputs that
    have no gradient nothing is said, nor of the data of a member of which no output is asked for: they reach nothing else.
    """
    wrt = [name for name in wrt if name in differentiable(judge)]
    data = {tensor.name for tensor in judge.formula.tensors if tensor.role == "data"} - {*shared}
    if not example.batch:
        single = expect_gradients(judge, example.inputs, example.cotangents, wrt, example.dtype)
        silent = data if _asks_nothing(judge, example.cotangents) else ()
        return {
            name: replace(of, bound=np.full_like(of.bound, np.inf)) if name in silent else of
            for name, of in single.items()
        }
    points = [
        (
            example.single(judge.formula, place),
            {name: value[place] for name, value in example.cotangents.items()},
        )
        for place in members(example.batch)
    ]
    every = expect_gradients_at(judge, points, wrt, example.dtype)
    unit = Precision.of(example.dtype, judge.conventions["intermediates"]).operations.unit
    unasked = [_asks_nothing(judge, cotangents) for _, cotangents in points]
    found = {}
    for name in wrt:
        value = np.stack([part[name].value for part in every])
        bound = np.stack([part[name].bound for part in every])
        if name in data:
            bound[unasked] = np.inf
            shape = (*example.batch, *value.shape[1:])
            found[name] = Expected(name, value.reshape(shape), bound.reshape(shape))
            continue
        with np.errstate(all="ignore"):
            room = len(every) * (bound + unit * np.abs(value)).sum(0)
            found[name] = Expected(name, value.sum(0), np.where(np.isfinite(room), room, np.inf))
    return found


def _asks_nothing(judge: Judge, cotangents: Mapping[str, Any]) -> bool:
    """Whether all upstream gradients are 0, as they are where the statement says nothing of any output."""
    return judge.partial and not any(map(np.any, cotangents.values()))


def _lines(judge: Judge, gradient: Derivative) -> Flat:
    """The lines of a derivative with 0 for what the statement says nothing about, of which no cotangent asks anything."""
    return _said(gradient.flat) if judge.partial else gradient.flat


@lru_cache(maxsize=256)
def _said(flat: Flat) -> Flat:
    return rewrite_lines(flat, {line: substitute(line.right, {Undefined(): lift(0)}) for line in flat.lines})


def of_what_is_said(judge: Judge, examples: Iterable[Example]) -> list[Example]:
    """The examples with cotangents of 0 where the statement says nothing about an output in this type (NaN, and 0/0, included).

    A convention may leave a row unspecified. No loss asks for it, and every gradient is that of all other rows: a NaN that gets
    from there into one of these, by a factor of 0, is the callable's.
    """
    every = list(examples)
    if not judge.partial:
        return every
    singles = [example.single(judge.formula, place) for example in every for place in members(example.batch)]
    answers = iter(judge.expect_all(singles, every[0].dtype, rigorous=False) if every else ())
    made = []
    for example in every:
        parts = [next(answers) for _ in members(example.batch)]
        asked = {
            tensor.name: np.stack(
                [np.isfinite(part[place].bound) & ~np.isnan(part[place].value) for part in parts]
            )
            for place, tensor in enumerate(judge.flat.outputs)
        }
        cotangents = {
            name: value * asked[name].reshape(value.shape) for name, value in example.cotangents.items()
        }
        made.append(replace(example, cotangents=cotangents))
    return made


__all__ = [
    "JUDGED",
    "REAL",
    "announce",
    "differentiable",
    "expect_batch_gradients",
    "expect_gradients",
    "expect_gradients_at",
    "gradient_question",
    "of_what_is_said",
    "describe_undifferentiated",
    "with_cotangents",
]
