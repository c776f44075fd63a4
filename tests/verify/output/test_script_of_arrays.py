"""Scripts of functions of other libraries' arrays, with their own gradients: they need that library, torch and the module."""

import os
import subprocess
import sys

import pytest

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

BLOCKED = """
import sys
for name in ("verify", "spec", "impl"):
    sys.modules[name] = None
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A user's module of this text, imported."""

    def written(text):
        (tmp_path / "own_arrays.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "own_arrays", raising=False)
        return __import__("own_arrays")

    return written


def status(text, folder):
    """What a script says and exits with, where nothing of attnspec can be imported."""
    (folder / "sitecustomize.py").write_text(BLOCKED)
    (folder / "again.py").write_text(text)
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "again.py"], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode


def test_a_backward_pass_of_numpy_fails_again(module, tmp_path):
    """Values are right, and the gradient of one input is not; with the right one the script exits with 0."""
    own = module(MODULE)
    report = check(
        adapt.numpy(own.product, vjp=own.half_of_it), "similarity.dot", max_examples=8, causes=False
    )
    assert {c.kind for c in report.falsified} == {"gradient"}
    text = script(report, target="own_arrays:unknown")
    assert "verify" not in text
    assert status(text, tmp_path) == 1
    assert status(text.replace("half_of_it", "whole"), tmp_path) == 0


@pytest.mark.parametrize(("name", "kinds"), [("wrong_value", {"value"}), ("wrong_gradient", {"gradient"})])
def test_a_function_of_jax_fails_again(module, tmp_path, name, kinds):
    """By value and by gradient, in JAX's own arithmetic."""
    pytest.importorskip("jax")
    own = module(JAX)
    report = check(adapt.jax(getattr(own, name)), "similarity.dot", max_examples=8, causes=False)
    assert kinds <= {c.kind for c in report.falsified}
    text = script(report, target="own_arrays:unknown")
    assert "verify" not in text
    assert status(text, tmp_path) == 1
    assert status(text.replace(name, "right"), tmp_path) == 0
