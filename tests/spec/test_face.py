"""What spec offers by name: its examples hold, and finding one formula imports no other subject."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from collections.abc import Callable

import pytest

import spec


def test_the_examples_hold() -> None:
    """Every name has an example, and each gives what it says."""
    results = doctest.testmod(spec)
    assert results.attempted >= len(spec.__all__)
    assert results.failed == 0
    assert all(">>>" in (getattr(spec, name).__doc__ or "") for name in spec.__all__)


def test_finding_a_formula_imports_its_own_module_and_those_it_applies() -> None:
    """Layer normalization needs no attention, and nothing needs torch."""
    asked = (
        "import sys, spec; spec.find('normalization.layer_norm'); "
        "print(*(m for m in sys.modules if m.count('.') == 2 and m.startswith('spec.') and 'language' not in m)); "
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["spec.normalization.layer_norm", "False"]


LAYER_NORM = {"x": [1.0, 2.0, 4.0], "gamma": [1.0, 1.0, 1.0], "beta": [0.0, 0.0, 0.0], "eps": 1e-5}


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda: spec.vjp("normalization.layer_norm", LAYER_NORM, {"z": [1.0] * 3}), "has no output 'z'; it has: y"),
        (lambda: spec.evaluate("normalization.layer_norm", LAYER_NORM | {"eps": -1e-5}), "eps must be positive; -1e-05"),
        (lambda: spec.bound("normalization.layer_norm", LAYER_NORM | {"foo": 1}), "has no input 'foo'; it has: x, gamma"),
        (lambda: spec.evaluate("normalization.layer_norm", [1] * 5), "has 4 inputs (x, gamma, beta, eps); 5 were given"),
        (lambda: spec.enclose("attention.softmax", {"s": [[1j]]}), "s must hold real numbers; complex128 was given"),
        (lambda: spec.evaluate("attention.softmax", {"s": [[1.0]]}, "zero"), "conventions map names to options; got 'zero'"),
        (lambda: spec.evaluate("attention.softmax", 3), "inputs are given by name, or as a list in declared order; got 3"),
        (lambda: spec.evaluate("embedding.token", {"ids": [2], "E": [[1.0], [3.0]]}), "ids must hold numbers below 2"),
        (lambda: spec.expected_error("attention.softmax", {"s": [[1.0]]}, samples=0), "samples must be a whole number"),
        (lambda: spec.expected_gradient_error("attention.softmax", {"s": [[1.0]]}, {"b": [[1.0]]}), "has no output 'b'"),
    ],
)  # fmt: skip
def test_what_a_formula_cannot_be_asked_is_refused(ask: Callable[[], object], expected: str) -> None:
    """In one line that names what was wrong: passed over, it would be an answer to another question."""
    with pytest.raises(ValueError, match=re.escape(expected)):
        ask()


def test_what_is_not_there_is_named_with_what_is() -> None:
    """A misspelt ID gets the nearest, a misspelt theorem the formula's own."""
    with pytest.raises(
        LookupError, match=r"no formula has the ID 'attention\.sofmax'; did you mean attention\.softmax"
    ):
        spec.find("attention.sofmax")
    with pytest.raises(
        LookupError, match=r"normalization\.layer_norm has no theorem 'means'; it has: zero_mean"
    ):
        spec.prove("normalization.layer_norm", "means")
