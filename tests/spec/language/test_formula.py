"""Formulas: conventions, fingerprints, ranges, and the registry."""

from __future__ import annotations

import subprocess
import sys

import pytest

from spec.language import data, define, indices, sizes, tensor
from spec.language.formula import Formula
from spec.language.registry import UnknownFormula, find

n, m, d = sizes("n m d")
i, j, c = indices("i j c")
x, z = data("x", n, d), tensor("z", n, d)


def test_an_unknown_id_names_the_closest() -> None:
    """The user typed layernorm."""
    with pytest.raises(UnknownFormula, match=r"did you mean normalization\.layer_norm"):
        find("normalization.layernorm")


def test_unknown_conventions_and_options_are_named_with_what_is_known() -> None:
    """Both mistakes get one clear line."""
    formula = find("normalization.layer_norm")
    with pytest.raises(
        ValueError, match="has no convention 'epsilon'; it has: eps, divisor, gain, intermediates"
    ):
        formula.choose({"epsilon": "inside"})
    with pytest.raises(ValueError, match="convention eps is one of inside, outside; 'between' was given"):
        formula.choose({"eps": "between"})


def test_the_fingerprint_changes_with_the_statement() -> None:
    """Evidence recorded for another statement can be recognised as stale."""
    one = Formula("test.print", "", (x,), (define(z[i, c], x[i, c] * 2),), (z,))
    two = Formula("test.print", "", (x,), (define(z[i, c], x[i, c] * 3),), (z,))
    assert one.fingerprint != two.fingerprint == two.fingerprint


def test_a_range_for_an_index_that_the_left_side_lacks_is_refused() -> None:
    """A typo in a range does not go unnoticed."""
    with pytest.raises(ValueError, match="the range of j was given, but j is no index of the left side"):
        define(z[i, c], 0, (j, 0, 3))


def test_a_size_on_the_left_side_is_one_place_and_no_index() -> None:
    """B[n, i] = … defines the last row of n + 1, and not every row up to n."""
    (i,) = indices("i")
    line = define(tensor("B", n + 1, d)[n, i], data("h", d)[i])
    assert line.ranges == ((i, 0, d - 1),)


def test_the_registry_is_loaded_without_torch() -> None:
    """Listing formulas stays fast."""
    code = "import sys, spec.language.registry as r; r.formulas(); print('torch' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
