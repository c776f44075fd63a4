"""What spec offers by name: its examples hold, and finding one formula imports no other subject."""

from __future__ import annotations

import doctest
import subprocess
import sys

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
