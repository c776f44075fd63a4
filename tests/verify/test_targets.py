"""Targets: each stands for a real callable, takes the declared inputs, and absent peers are listed."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from spec.language.registry import find, formulas
from verify.targets import PACKAGES, TARGETS, Target, chosen, peer_version

INPUTS = {
    "scores.dot": lambda: (torch.randn(2, 3, 5), torch.randn(2, 7, 5)),
    "scores.scaled_dot": lambda: (torch.randn(2, 3, 5), torch.randn(2, 7, 5)),
    "attention.softmax": lambda: (torch.randn(2, 3, 7), torch.ones(2, 3, 7, dtype=torch.bool)),
    "attention.scaled_dot_product": lambda: (
        torch.randn(2, 3, 5), torch.randn(2, 7, 5), torch.randn(2, 7, 11), torch.ones(2, 3, 7, dtype=torch.bool)
    ),
    "attention.causal": lambda: (torch.randn(2, 3, 5), torch.randn(2, 7, 5), torch.randn(2, 7, 11)),
    "positional.sinusoidal": lambda: (5, 7),
    "positional.learned": lambda: (torch.tensor([[0, 3], [2, 2]]), torch.randn(5, 7)),
    "normalization.layer_norm": lambda: (torch.randn(2, 7), torch.randn(7), torch.randn(7), 1e-5),
    "masking.mlm": lambda: (
        torch.arange(24).reshape(2, 12), torch.zeros(2, 12, dtype=torch.bool), 3, 24, torch.Generator().manual_seed(0)
    ),
}  # fmt: skip
SHAPES = {
    "scores.dot": (2, 3, 7),
    "scores.scaled_dot": (2, 3, 7),
    "attention.softmax": (2, 3, 7),
    "attention.scaled_dot_product": (2, 3, 11),
    "attention.causal": (2, 3, 11),
    "positional.sinusoidal": (5, 7),
    "positional.learned": (2, 2, 7),
    "normalization.layer_norm": (2, 7),
    "masking.mlm": (2, 12),
}


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.label)
def test_a_target_takes_the_declared_inputs(target: Target) -> None:
    """Every target that is installed can be called with its formula's inputs and returns the declared shape."""
    if not target.present:
        pytest.skip(f"{target.peer} is not installed")
    result = target.load()(*INPUTS[target.formula_id]())
    first = result[0] if isinstance(result, tuple) else result
    assert tuple(first.shape) == SHAPES[target.formula_id]


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.label)
def test_a_target_names_conventions_that_exist(target: Target) -> None:
    """The conventions of a target are conventions of its formula."""
    find(target.formula_id).choose(target.conventions)


def test_every_formula_has_our_implementation_as_a_target() -> None:
    """Each formula in the registry is implemented in impl and verified."""
    ours = {t.formula_id for t in TARGETS if t.peer == "impl"}
    assert ours >= set(formulas())


def test_labels_are_unique() -> None:
    """A label identifies a target: the list of known deviations stands on it."""
    assert len({t.label for t in TARGETS}) == len(TARGETS)


def test_choosing() -> None:
    """Targets are chosen by formula, by peer, by label or by name; unknown names choose nothing."""
    assert chosen() == list(TARGETS)
    assert {t.peer for t in chosen((), ["torch"])} == {"torch"}
    assert [t.name for t in chosen((), ["nn.LayerNorm"])] == ["nn.LayerNorm"]
    assert [t.name for t in chosen((), ["torch nn.layernorm"])] == ["nn.LayerNorm"]
    assert {t.formula_id for t in chosen(["masking.mlm"])} == {"masking.mlm"}
    assert chosen((), ["jax"]) == []


def test_a_peer_that_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Absence is told by find_spec, without importing the peer."""
    monkeypatch.setitem(PACKAGES, "transformers", "surely_not_installed_anywhere")
    assert peer_version("transformers") is None
    assert not next(t for t in TARGETS if t.peer == "transformers").present
    assert peer_version("torch")


def test_the_list_of_targets_imports_no_framework() -> None:
    """Importing the targets imports neither torch nor transformers nor sympy."""
    code = (
        "import sys, verify.targets as t; [x.present for x in t.TARGETS]; "
        "print([m for m in ('torch', 'transformers', 'sympy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
