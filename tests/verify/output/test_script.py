"""Scripts that reproduce a falsification on their own."""

import importlib
import runpy
from pathlib import Path

import pytest
import torch

from tests.verify.scripts import run_alone, users
from verify import check, script
from verify.output.script import PLACEHOLDER, literal

pytestmark = pytest.mark.usefixtures("ungraded")

MODULE = """
import torch
import torch.nn.functional as F

def outside(x, gamma, beta, eps):
    return gamma * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0).sqrt() + eps) + beta

def detached(x, gamma, beta, eps):
    mu, var = x.mean(-1, keepdim=True).detach(), x.var(-1, keepdim=True, correction=0).detach()
    return gamma * (x - mu) / (var + eps).sqrt() + beta

def first_only(x, gamma, beta, eps):
    out = F.layer_norm(x, x.shape[-1:], gamma, beta, eps)
    return out if out.ndim == 1 else out[(0,) * (out.ndim - 1)].expand(out.shape)

class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gamma):
        ctx.save_for_backward(x, gamma)
        return x * gamma

    @staticmethod
    def backward(ctx, g):
        x, gamma = ctx.saved_tensors
        return g * gamma, (g * x).reshape(-1, x.shape[-1]).mean(0)

def averaged(x, gamma, beta, eps):
    return Times.apply(F.layer_norm(x, x.shape[-1:], eps=eps), gamma) + beta

def damaging(x, gamma, beta, eps):
    out = F.layer_norm(x, x.shape[-1:], gamma, beta, eps)
    with torch.no_grad():
        x.add_(1)
    return out

def raising(x, gamma, beta, eps):
    if x.shape[-1] > 3:
        raise ValueError("too wide")
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)

def shapeless(x, gamma, beta, eps):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps).sum()

def in_batches(x, gamma, beta, eps):
    _members, d = x.shape
    return 2 * F.layer_norm(x, (d,), gamma, beta, eps)

def right(x, gamma, beta, eps):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)
"""


@pytest.fixture
def module(tmp_path):
    """A user's module in a folder of its own."""
    with users(tmp_path, mymodule_for_reproduce=MODULE):
        yield importlib.import_module("mymodule_for_reproduce")


def exit_code(text, folder):
    """The exit code of a script run in this process."""
    path = Path(folder) / "again.py"
    path.write_text(text)
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(path), run_name="__main__")
    return left.value.code


@pytest.mark.parametrize("name", ["outside", "detached", "first_only"])
def test_the_script_fails_again_and_passes_when_mended(module, tmp_path, name):
    """Values and gradients: the script shows it, and exits 0 for a right function."""
    report = check(getattr(module, name), "normalization.layer_norm", max_examples=40, causes=False)
    text = script(report)
    assert f"from mymodule_for_reproduce import {name}" in text
    assert text.count("\n") <= 40
    assert exit_code(text, tmp_path) == 1
    mended = text.replace(f"import {name}", "import right").replace(f"function = {name}", "function = right")
    assert exit_code(mended, tmp_path) == 0


def test_the_script_needs_torch_and_the_module_alone(module, tmp_path):
    """It runs where attnspec cannot be imported."""
    report = check(module.outside, "normalization.layer_norm", max_examples=10, causes=False)
    code, said = run_alone(tmp_path, script(report))
    assert code == 1
    assert "expected" in said


@pytest.mark.parametrize("name", ["averaged", "damaging", "raising", "shapeless"])
def test_what_one_plain_call_does_not_show_has_no_script(module, name):
    """A scene of use, damage, an exception, a shape: these are replayed."""
    report = check(
        getattr(module, name),
        "normalization.layer_norm",
        max_examples=20,
        conventions={"shapes": "every"},
        causes=False,
    )
    assert report.falsified
    with pytest.raises(ValueError, match="attnspec replay"):
        script(report)


def test_leading_dimensions_that_are_not_taken_have_no_script(module):
    """Where the callable is called with others than those of the example."""
    report = check(module.in_batches, "normalization.layer_norm", max_examples=10, causes=False)
    assert report.leading == (1,)
    with pytest.raises(ValueError, match="no script"):
        script(report)


def test_a_function_nobody_can_import_gets_a_placeholder():
    """A lambda: the script says where to put the function."""
    report = check(lambda q, k: 2 * q @ k.mT, "scores.dot", max_examples=10, causes=False)
    assert report.importable == ""
    assert PLACEHOLDER.split(":")[0] in script(report)
    assert "from other import f" in script(report, target="other:f")


def test_nothing_falsified_is_nothing_to_reproduce():
    """No counterexample: a clear error."""
    with pytest.raises(ValueError, match="no script"):
        script(check(lambda q, k: q @ k.mT, "scores.dot", max_examples=5))


def test_literals_are_exact():
    """Tensors are written bit for bit, special values and empty ones included."""
    for value in (
        torch.tensor([[0.1, float("nan")], [float("-inf"), -0.0]]),
        torch.zeros(0, 3),
        torch.tensor(7),
    ):
        array = value.double().numpy() if value.is_floating_point() else value.numpy()
        made = eval(literal(array, "float32"), {"torch": torch})
        assert made.dtype == value.dtype
        assert made.shape == value.shape
        assert torch.equal(made.nan_to_num(9), value.nan_to_num(9))
    assert literal(None, "float32") == "None"
    assert literal(1e-5, "float32") == "1e-05"
