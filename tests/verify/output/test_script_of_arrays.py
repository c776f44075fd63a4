"""Scripts of functions of other libraries' arrays, with their own gradients: they need that library, torch and the module."""

import importlib
from contextlib import ExitStack

import pytest

from tests.verify.playing import played, users
from verify import adapt, check
from verify.output.script import script

MODULE = '''
import numpy as np


def product(x, y):
    return np.asarray((x * y).sum(-1))


def half_of_it(g, x, y):
    """The gradient of y is half of what it should be."""
    g = np.asarray(g)[..., None]
    return g * y, 0.5 * g * x


def whole(g, x, y):
    g = np.asarray(g)[..., None]
    return g * y, g * x
'''

JAX = """
import jax
import jax.numpy as jnp


def wrong_value(x, y):
    return 1.01 * (x * y).sum(-1)


@jax.custom_vjp
def wrong_gradient(x, y):
    return (x * y).sum(-1)


wrong_gradient.defvjp(
    lambda x, y: ((x * y).sum(-1), (x, y)), lambda kept, g: (g[..., None] * kept[1], 0.5 * g[..., None] * kept[0])
)


def right(x, y):
    return (x * y).sum(-1)
"""


@pytest.fixture
def module(tmp_path):
    """A user's module of this text, imported."""
    with ExitStack() as stack:

        def written(text):
            stack.enter_context(users(tmp_path, own_arrays=text))
            return importlib.import_module("own_arrays")

        yield written


def test_a_backward_pass_of_numpy_fails_again(module, tmp_path):
    """Values are right, and the gradient of one input is not; with the right one the script exits with 0."""
    own = module(MODULE)
    report = check(
        adapt.numpy(own.product, vjp=own.half_of_it), "similarity.dot", max_examples=8, causes=False
    )
    assert {c.kind for c in report.falsified} == {"gradient"}
    text = script(report, target="own_arrays:unknown")
    assert "verify" not in text
    ended = played(tmp_path, [text, text.replace("half_of_it", "whole")])
    assert [code for code, _ in ended] == [1, 0], ended


@pytest.mark.parametrize(("name", "kinds"), [("wrong_value", {"value"}), ("wrong_gradient", {"gradient"})])
def test_a_function_of_jax_fails_again(module, tmp_path, name, kinds):
    """By value and by gradient, in JAX's own arithmetic."""
    pytest.importorskip("jax")
    own = module(JAX)
    report = check(adapt.jax(getattr(own, name)), "similarity.dot", max_examples=8, causes=False)
    assert kinds <= {c.kind for c in report.falsified}
    text = script(report, target="own_arrays:unknown")
    assert "verify" not in text
    ended = played(tmp_path, [text, text.replace(name, "right")])
    assert [code for code, _ in ended] == [1, 0], ended
