"""The calls of a graded example: each in its way, all held to the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import impl.attention
import impl.positional
from spec.language.differentiation.gradients import vjp
from spec.language.registry import find
from tests.mutants import fast_paths, variants
from verify.accuracy.calls import PLAIN, WAYS, Way, gradient_of, value_of, ways
from verify.checking import check
from verify.faults import Fault, Unsupported
from verify.inputs.examples import realistic
from verify.inputs.size_rules import EVERY_SIZE
from verify.inputs.sizes import make_sizing, one_long_sum, wide_sums
from verify.properties.judge import Judge
from verify.properties.slopes import expect_gradients, with_cotangents
from verify.subject.caller import Caller

ATTENTION = "attention.scaled_dot_product"
PATHS = [v for v in variants() if v.call.__module__ == fast_paths.__name__]
QUICK = [v for v in PATHS if v.formula_id in (ATTENTION, "normalization.layer_norm")]


def noting(seen: list[Any]) -> Any:
    """Attention that notes how it is called."""

    def noted(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        seen.append(
            Way(
                q.dim() > 2,
                mask is not None and bool(mask.all()),
                not q.is_contiguous(),
                q.requires_grad,
                torch.is_inference_mode_enabled(),
            )
        )
        return impl.attention.scaled_dot_product(q, k, v, mask)

    return noted


def test_an_example_is_called_in_each_way() -> None:
    """As it is said; what comes of each is close to what is expected of all."""
    formula = find(ATTENTION)
    seen: list[Way] = []
    judge, caller = Judge(formula), Caller(noting(seen), formula)
    example = realistic(formula, wide_sums(make_sizing(formula, EVERY_SIZE))[0], "float32", 0, False)
    ((exact, bound),) = [(e.value, e.bound) for e in judge.expect(example.inputs, "float32")]
    every = (PLAIN, *ways(judge, caller, example, "value"))
    assert every[1:] == WAYS["value"]
    for way in every:
        found = value_of(judge, caller, example, way)
        assert found is not None
        assert found.stands_for("z", exact)
        assert np.all(np.abs(found.got["z"] - exact) <= bound)
    assert tuple(seen) == every


@pytest.mark.parametrize(
    ("formula_id", "least"), [(ATTENTION, 67), ("transformer.encoder", 17), ("bert.encoder", 17)]
)
def test_some_batch_is_larger_than_a_fast_path_begins_at(formula_id: str, least: int) -> None:
    """Of a stack, no example of which is as cheap as of one layer's statements, too."""
    formula = find(formula_id)
    members = []

    def noted(*inputs: Any) -> Any:
        members.append(len(inputs[0]))
        raise NotImplementedError

    judge, caller = Judge(formula), Caller(noted, formula)
    for sizes in (
        *wide_sums(make_sizing(formula, EVERY_SIZE))[:1],
        *one_long_sum(make_sizing(formula, EVERY_SIZE), 1e8),
    ):
        with pytest.raises((Fault, Unsupported)):
            value_of(judge, caller, realistic(formula, sizes, "float32", 0, False), Way(batched=True))
    assert least in members


def test_gradients_of_a_batch_are_those_of_its_first_member() -> None:
    """The others have cotangents of 0."""
    formula = find("scores.general")
    judge = Judge(formula)
    caller = Caller(lambda q, k, W: q @ W @ k.mT, formula)
    example = realistic(formula, wide_sums(make_sizing(formula, EVERY_SIZE))[0], "float64", 0, False)
    example = with_cotangents(judge, example, 0)
    one, many = (gradient_of(judge, caller, example, way) for way in (PLAIN, Way(batched=True)))
    assert one is not None
    assert many is not None
    wrt = [str(item) for item in formula.inputs]
    bounds = expect_gradients(judge, example.inputs, example.cotangents, wrt, "float64")
    names = vjp(formula, wrt, judge.conventions).gradients
    assert len(one.got) == len(wrt)
    for name in wrt:  # each within the bound of the exact one
        apart = np.abs(many.got[names[name].name] - one.got[names[name].name])
        assert np.all(apart <= 2 * bounds[name].bound)


def test_ways_that_come_to_the_same_are_one() -> None:
    """Without a mask and without data there are fewer."""
    formula = find("positional.sinusoidal")
    judge, caller = Judge(formula), Caller(impl.positional.sinusoidal, formula)
    example = realistic(formula, wide_sums(make_sizing(formula, EVERY_SIZE))[0], "float32", 0, False)
    found = ways(judge, caller, example, "value")
    assert len(set(found)) == len(found) < len(WAYS["value"]) + 1
    assert not any(way.batched or way.masked or way.training for way in found)


@pytest.mark.parametrize("polarity", ["true_attends", "true_drops"])
def test_a_mask_that_permits_everything_does_so_in_either_polarity(polarity: str) -> None:
    """It is no other example: what the callable returns is what it returns without a mask."""
    formula = find(ATTENTION)
    judge = Judge(formula, {"polarity": polarity})

    def attention(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        drops = mask is not None and polarity == "true_drops"
        return impl.attention.scaled_dot_product(q, k, v, ~mask if drops else mask)

    caller = Caller(attention, formula)
    example = realistic(formula, wide_sums(make_sizing(formula, EVERY_SIZE))[0], "float32", 0, False)
    plain, masked = (value_of(judge, caller, example, way) for way in (PLAIN, Way(masked=True)))
    assert plain is not None
    assert masked is not None
    (expected,) = judge.expect(example.inputs, "float32")
    assert np.all(np.abs(masked.got["z"] - plain.got["z"]) <= 2 * expected.bound)


@pytest.mark.parametrize("variant", QUICK, ids=lambda v: v.name)
def test_a_path_of_its_own_that_loses_digits_is_named(variant: Any) -> None:
    """The variants; all others are those of ``attnspec mutants``."""
    found = check(variant.call, variant.formula_id, causes=False, until_falsified=True, **variant.options)
    assert found.verdict in (("conforms",) if variant.is_right else ("imprecise", "falsified"))
