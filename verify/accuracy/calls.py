"""The calls of a graded example, and what is compared.

Kernels have paths of their own for batches, for masks, for training, for serving. An example is called in each of these ways,
and all are held to the same values and the same expected errors: a mask that permits everything changes nothing, members of a
batch know nothing of each other, and what is asked for later leaves no trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from spec.language.differentiation.gradients import vjp
from spec.language.evaluation.dimensions import whole
from spec.language.flatten import Flat
from verify.inputs.examples import Example
from verify.inputs.layouts import with_gaps
from verify.inputs.mask_kinds import fits
from verify.inputs.sizes import make_sizing
from verify.properties.gradients import backward
from verify.properties.judge import Judge
from verify.properties.scenarios import pass_once
from verify.properties.slopes import differentiable, gradient_question
from verify.subject.caller import Caller
from verify.subject.returned import values

MEMBERS, COST, COSTLY = (67, 17, 2), 5e6, 2.5e7
"""So many equal members has a batch; the most if they then cost no more than so much (:mod:`verify.inputs.sizes`), and where no
example of a statement is as cheap, as of layers one upon another, the next if they cost no more than that.
"""


@dataclass(frozen=True)
class Way:
    """A way of calling: as a batch, with a mask that permits everything, of inputs stored with gaps, with gradients to be asked
    for, in inference mode.
    """

    batched: bool = False
    masked: bool = False
    apart: bool = False
    training: bool = False
    serving: bool = False

    def __str__(self) -> str:
        said = (
            (self.batched, "in a batch"),
            (self.masked, "with a mask that permits everything"),
            (self.apart, "of inputs stored with gaps"),
            (self.training, "with inputs that require gradients"),
            (self.serving, "in inference mode"),
        )
        return ", ".join(words for holds, words in said if holds)


PLAIN = Way()
WAYS = {
    "value": (
        Way(batched=True, training=True),
        Way(batched=True, masked=True, serving=True),
        Way(masked=True, apart=True, training=True),
    ),
    "gradient": (Way(batched=True, masked=True), Way(apart=True)),
}
"""Beside the plain one, for values and for gradients, for which inputs require gradients always."""


@dataclass(frozen=True)
class Comparison:
    """One call of an example: what the callable returned, the expected values, and the way it was called.

    What comes of a batch has its members along the first axis, of all of which the lines say the same.
    """

    flat: Flat
    inputs: Mapping[str, Any]
    got: Mapping[str, Any]
    names: Mapping[str, str]
    way: Way = PLAIN

    def stands_for(self, name: str, expected: Any) -> bool:
        """Whether what came of an output has the shape of what is expected, or is that of all members of a batch."""
        return bool(self.got[name].shape == np.shape(expected)) or self._members(name, expected)

    def furthest(self, expected: Mapping[str, Any]) -> dict[str, Any]:
        """What came of these outputs; of the members of a batch for each the one furthest from what is expected."""
        found = {}
        for name, value in expected.items():
            got = self.got[name]
            if self._members(name, value):
                with np.errstate(all="ignore"):
                    off = np.abs(got - value).reshape(len(got), -1).max(axis=1, initial=0.0)
                got = got[int(np.argmax(np.where(np.isnan(off), np.inf, off)))]
            found[name] = got
        return found

    def _members(self, name: str, expected: Any) -> bool:
        got, shape = self.got[name].shape, np.shape(expected)
        return self.way.batched and got != shape and got[1:] == shape


def ways(judge: Judge, caller: Caller, example: Example, kind: str) -> tuple[Way, ...]:
    """The ways besides the plain one in which an example can be called; those that come to the same are one."""
    roles = {tensor.role for tensor in judge.formula.tensors}
    batched = "data" in roles and caller.leading != (0,) and not example.batch
    masked = caller.takes_mask and not _masks(judge, example).keys() - _make_open_masks(judge, example).keys()
    slopes = kind == "value" and bool(differentiable(judge))
    found = [
        replace(
            way,
            batched=way.batched and batched,
            masked=way.masked and masked,
            training=way.training and slopes,
        )
        for way in WAYS[kind]
    ]
    return tuple(dict.fromkeys(way for way in found if way != PLAIN))


def value_of(judge: Judge, caller: Caller, example: Example, way: Way = PLAIN) -> Comparison:
    """The values."""
    asked = _arrange_call(judge, example, way)
    arguments = pass_once(judge, asked, _arguments(caller, asked, way, way.training))
    with torch.inference_mode() if way.serving else nullcontext():
        results = caller.results(arguments, asked.sizes, asked.batch, asked.dtype)
        found = {
            t.name: values(_as_one(result) if way.batched and result.dim() > len(t.shape) else result)
            for t, result in zip(judge.flat.outputs, results, strict=True)
        }
    named = list(found)
    return Comparison(judge.flat, example.inputs, found, dict(zip(named, named, strict=True)), way)


def _as_one(results: torch.Tensor) -> torch.Tensor:
    """The members of a batch: one, where all came out equal."""
    one = results.detach()[0]
    return one if bool((results == one).all()) else results


def gradient_of(judge: Judge, caller: Caller, example: Example, way: Way = PLAIN) -> Comparison:
    """The gradients; those by inputs without a path to the outputs are 0, and so are all where the outputs carry none. In a batch
    only the first member has a share in them.

    Raises:
        Fault: the call or the backward pass fails.
    """
    asked = _arrange_call(judge, example, way)
    arguments = _arguments(caller, asked, way, True)
    outputs = caller.results(arguments, asked.sizes, asked.batch, asked.dtype)
    if any(out.requires_grad for out in outputs):
        found = backward(caller, asked, arguments, outputs)
    else:  # somebody has called it under no_grad at these sizes, say: at others there were some
        found = dict.fromkeys(differentiable(judge))
    data = {tensor.name for tensor in judge.formula.tensors if tensor.role == "data"}
    gradients = vjp(judge.formula, list(found), judge.conventions).gradients
    flat, inputs = gradient_question(judge, example.inputs, example.cotangents, list(found))
    got, names = {}, {}
    for name, tensor in gradients.items():
        shape = np.shape(asked.inputs[name])
        value = np.zeros(shape) if found[name] is None else values(found[name])
        got[tensor.name] = value[0] if way.batched and name in data else value
        names[tensor.name] = f"the gradient of {name}"
    return Comparison(flat, inputs, got, names, way)


def _masks(judge: Judge, example: Example) -> dict[str, Any]:
    return {t.name: example.inputs.get(t.name) for t in judge.formula.tensors if t.role == "mask"}


def _make_open_masks(judge: Judge, example: Example) -> dict[str, Any]:
    """For each mask that is absent one that permits everything, where the callable takes such masks."""
    permits = judge.conventions.get("polarity") != "true_drops"
    made = {}
    for tensor in judge.formula.tensors:
        if tensor.role == "mask" and example.inputs.get(tensor.name) is None:
            every = np.full(tuple(whole(size, example.sizes) for size in tensor.shape), permits)
            if fits(example.supported.masks, every):
                made[tensor.name] = every
    return made


def _arrange_call(judge: Judge, example: Example, way: Way) -> Example:
    """The example as it is called."""
    inputs, cotangents, batch = dict(example.inputs), dict(example.cotangents), example.batch
    if way.masked:
        inputs |= _make_open_masks(judge, example)
    if way.batched:
        own = {
            tensor.name: inputs[tensor.name]
            for tensor in judge.formula.tensors
            if tensor.role in ("data", "mask") and isinstance(inputs.get(tensor.name), np.ndarray)
        }
        drawn = make_sizing(judge.formula, example.supported)
        cost, (many, some, few) = drawn.cost(example.sizes), MEMBERS
        members = many if many * cost <= COST else some if drawn.costly and some * cost <= COSTLY else few
        batch = (members, *batch)
        stacked = {id(value): np.broadcast_to(value, (members, *value.shape)) for value in own.values()}
        inputs |= {name: stacked[id(value)] for name, value in own.items()}
        cotangents = {
            name: np.stack([value, *[np.zeros_like(value)] * (members - 1)])
            for name, value in cotangents.items()
        }
    return replace(example, inputs=inputs, cotangents=cotangents, batch=batch)


def _arguments(caller: Caller, example: Example, way: Way, grad: bool) -> list[Any]:
    made = caller.arguments(example.inputs, example.dtype, grad=grad, generator_seed=example.generator_seed)
    return [_apart(each) for each in made] if way.apart else made


def _apart(argument: Any) -> Any:
    """Return the same entries with gaps between them in memory; a leaf of autograd stays a leaf."""
    if not isinstance(argument, torch.Tensor):
        return argument
    made = with_gaps(argument.detach())
    return made.requires_grad_() if argument.requires_grad else made


__all__ = ["PLAIN", "WAYS", "Comparison", "Way", "gradient_of", "value_of", "ways"]
