"""Whatever is asked of a check is looked at before the first call, and refused in one line."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch

import impl.scores
from verify import Unusable, check
from verify.subject.options import seconds, types, usable_device, whole_number


def dot(q, k):
    """A right implementation."""
    return impl.scores.dot(q, k)


class Scores(torch.nn.Module):
    """A module."""

    def forward(self, q, k):
        """A right implementation."""
        return impl.scores.dot(q, k)


class Waiting(torch.nn.Module):
    """A module that returns coroutines."""

    async def forward(self, q, k):
        """A coroutine."""
        return impl.scores.dot(q, k)


async def waiting(q, k):
    """A coroutine."""
    return impl.scores.dot(q, k)


def yielding(q, k):
    """A generator."""
    yield impl.scores.dot(q, k)


async def both(q, k):
    """An asynchronous generator."""
    yield impl.scores.dot(q, k)


class Called:
    """An object whose call is a generator."""

    def __call__(self, q, k):
        """A generator."""
        yield impl.scores.dot(q, k)


@pytest.mark.parametrize(
    ("fn", "says"),
    [
        (3, "3 is not callable"),
        (None, "None is not callable"),
        (Scores, "Scores is a class; give an instance"),
        (waiting, "returns a coroutine"),
        (functools.partial(waiting), "returns a coroutine"),
        (Waiting(), "returns a coroutine"),
        (yielding, "returns a generator"),
        (both, "returns a generator"),
        (Called(), "returns a generator"),
    ],
    ids=lambda x: x if isinstance(x, str) else getattr(x, "__name__", type(x).__name__),
)
def test_what_returns_no_tensors_is_refused(fn, says):
    """No callable, a class, and functions whose call makes a coroutine or a generator: one line that names the formula."""
    with pytest.raises(Unusable, match=says) as caught:
        check(fn, "scores.dot")
    assert "scores.dot" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"formula_id": None}, "named by its ID"),
        ({"formula_id": 5}, "named by its ID"),
        ({"formula_id": "scores.dto"}, "did you mean"),
        ({"seed": -1}, "seed is a whole number of at least 0; got -1"),
        ({"seed": "1"}, "seed is a whole number of at least 0; got '1'"),
        ({"seed": None}, "seed is a whole number"),
        ({"seed": True}, "seed is a whole number"),
        ({"max_examples": 0}, "max_examples is a whole number of at least 1; got 0"),
        ({"max_examples": -3}, "at least 1; got -3"),
        ({"max_examples": 2.5}, r"at least 1; got 2\.5"),
        ({"max_examples": "10"}, "at least 1; got '10'"),
        ({"dtypes": "float32"}, "dtypes is a sequence of names"),
        ({"dtypes": []}, "dtypes is empty"),
        ({"dtypes": 7}, "dtypes is a sequence of names"),
        ({"dtypes": ["int64"]}, "'int64' is no type that can be checked"),
        ({"dtypes": [3]}, "3 is no type that can be checked"),
        ({"conventions": "eps=inside"}, "conventions map names to options"),
        ({"conventions": [("a", "b")]}, "conventions map names to options"),
        ({"conventions": {"intermediates": 1}}, "conventions map names to options"),
        ({"conventions": {"gates": "ifgo"}}, "no convention 'gates'"),
        ({"device": None}, "device is a name"),
        ({"device": 0}, "device is a name"),
        ({"device": "meta"}, "device 'meta' cannot be used"),
        ({"device": "quantum"}, "device 'quantum' cannot be used"),
        ({"device": "cuda:4711"}, "device 'cuda:4711' cannot be used"),
        ({"time_limit": -1}, "time_limit is a number of seconds"),
        ({"time_limit": float("nan")}, "time_limit is a number of seconds"),
        ({"time_limit": "1 s"}, "time_limit is a number of seconds"),
        ({"sizes": "n=m"}, "sizes map names to rules"),
        ({"sizes": {"w": 2}}, "no size 'w'; it has: n, d_k, m"),
    ],
    ids=str,
)
def test_an_argument_that_cannot_be_used_is_refused(given, says):
    """Each in one line that says what was expected and what was given; nothing is called."""
    asked = {"formula_id": "scores.dot", **given}

    def never(q, k):
        raise AssertionError("called")

    with pytest.raises(Unusable, match=says) as caught:
        check(never, **asked)
    assert "\n" not in str(caught.value)


def test_what_can_be_used_is_taken_as_it_is():
    """Integers of other kinds, torch's types, devices and repeated names."""
    assert whole_number("seed", np.int64(5), 0) == 5
    assert types([torch.float32, "float32", "bfloat16"]) == ["float32", "bfloat16"]
    assert types(None) == ["float64", "float32"]
    assert usable_device(torch.device("cpu")) == "cpu"
    assert seconds(float("inf")) is None
    assert check(Scores(), "scores.dot", max_examples=np.int64(4), seed=np.int64(3)).verdict == "conforms"
