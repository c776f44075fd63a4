"""Functions of NumPy and of JAX, as they are."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch

import verify
from verify import adapt

ROOT = Path(__file__).parents[3]


def sample():
    """The file that the page shows."""
    found = importlib.util.spec_from_file_location("_arrays", ROOT / "docs" / "samples" / "my_arrays.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_a_function_of_arrays_and_its_backward_pass_conform():
    """What the page shows conforms, gradients included."""
    report = verify.check(sample().norm(), "normalization.layer_norm", max_examples=8)
    assert report.verdict == "conforms", str(report)
    assert {c.verdict for c in report.checks if c.kind == "gradient"} == {"conforms"}


def test_a_wrong_backward_pass_is_falsified():
    """A gradient that forgets the mean fails, and the values still conform."""
    module = sample()

    def wrong(grad, *given):
        inward, gamma, beta = module.backward(grad, *given)
        return inward + 1e-3, gamma, beta

    report = verify.check(
        adapt.numpy(module.layer_norm, vjp=wrong), "normalization.layer_norm", max_examples=8
    )
    assert {c.kind for c in report.falsified} >= {"gradient"}
    assert not [c for c in report.falsified if c.kind == "value"]


def test_without_a_backward_pass_gradients_are_not_judged():
    """The report says so, and the values are judged."""
    report = verify.check(adapt.numpy(sample().layer_norm), "normalization.layer_norm", max_examples=8)
    assert report.verdict == "conforms"
    assert {c.verdict for c in report.checks if c.kind == "gradient"} == {"inconclusive"}


def test_a_backward_pass_of_the_wrong_count_says_so():
    """One line that says how many gradients were expected."""
    bound = adapt.numpy(lambda x, y: (x * y).sum(-1), vjp=lambda g, x, y: g * y).for_formula("similarity.dot")
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    with pytest.raises(TypeError, match="gives 1 gradients; expected 2"):
        bound(x, x).backward()


def test_what_is_no_array_falls_by_its_type_and_carries_no_gradient():
    """It is returned as it is; where a gradient is wanted one line says what was expected."""
    x = torch.ones(3, dtype=torch.float64)
    bound = adapt.numpy(lambda x, y: None, vjp=lambda g, x, y: (y, x)).for_formula("similarity.dot")
    assert bound(x, x) is None
    with pytest.raises(TypeError, match="returns a NoneType; expected an array"):
        bound(x.requires_grad_(), x)


def test_numpy_has_no_bfloat16():
    """One line says so before the function is called."""
    bound = adapt.numpy(lambda x, y: pytest.fail("it was called")).for_formula("similarity.dot")
    x = torch.ones(3, dtype=torch.bfloat16)
    with pytest.raises(NotImplementedError, match="NumPy has no bfloat16"):
        bound(x, x)


def test_members_may_be_called_one_by_one():
    """A function of one vector each is called for each member of a batch."""

    def dot(x, y):
        assert x.ndim == 1
        return float(np.dot(x.astype(np.float64), y.astype(np.float64)))

    bound = adapt.numpy(dot, batch=0).for_formula("similarity.dot")
    x = torch.arange(30.0, dtype=torch.float64).reshape(2, 5, 3)
    assert torch.equal(bound(x, x), (x * x).sum(-1))


def test_a_function_of_jax_conforms_with_its_own_gradients():
    """Jitted, in float64 and float32, in a few shapes."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    @jax.jit
    def norm(x, gamma, beta, eps):
        mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return gamma * (x - mean) / jnp.sqrt(var + eps) + beta

    report = verify.check(adapt.jax(norm), "normalization.layer_norm", max_examples=8)
    assert report.verdict == "conforms", str(report)
    assert {c.verdict for c in report.checks if c.kind == "gradient"} == {"conforms"}


def test_types_of_64_bits_are_on_in_a_call_of_jax_alone():
    """Values and gradients are of float64, and JAX is left as it was."""
    jax = pytest.importorskip("jax")
    bound = adapt.jax(lambda x, y: (x * y).sum(-1)).for_formula("similarity.dot")
    x = torch.full((3,), 1 / 3, dtype=torch.float64, requires_grad=True)
    y = torch.full((3,), 1 / 7, dtype=torch.float64)
    result = bound(x, y)
    result.backward()
    assert result.dtype == torch.float64
    assert torch.equal(x.grad, y)
    assert not jax.config.jax_enable_x64


def test_a_function_that_jax_cannot_differentiate_has_values():
    """It is differentiated only where a gradient is wanted."""
    jax = pytest.importorskip("jax")

    def dot(x, y):
        return jax.pure_callback(lambda x, y: (x * y).sum(-1), jax.ShapeDtypeStruct((), x.dtype), x, y)

    bound = adapt.jax(dot).for_formula("similarity.dot")
    x = torch.arange(3, dtype=torch.float64)
    assert bound(x, x) == 5
    with pytest.raises(ValueError, match="callback"):
        bound(x.requires_grad_(), x)


def test_few_shapes_are_few():
    """The shapes that a callable sees are fewer by far, batches included."""
    seen = {}
    for few in (False, True):
        shapes = seen[few] = set()

        def dot(x, y, shapes=shapes):
            shapes.add(x.shape)
            return (x * y).sum(-1)

        assert verify.check(dot, "similarity.dot", max_examples=60, few_shapes=few).verdict == "conforms"
    assert len(seen[True]) * 2 < len(seen[False]), seen
