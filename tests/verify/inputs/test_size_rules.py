"""Sizes that a callable supports: rules, and checks that keep to them and say so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import impl.attention
import impl.scores
from spec.language.registry import find
from verify import Unusable, check
from verify.inputs.size_rules import Supported, pairs

pytestmark = pytest.mark.usefixtures("ungraded")

ATTENTION = find("attention.scaled_dot_product")


def square(q, k, v, mask=None):
    """Attention for d_v = d_k only."""
    if v.shape[-1] != k.shape[-1]:
        raise ValueError("one width only")
    return impl.attention.scaled_dot_product(q, k, v, mask)


def test_rules_determine_sizes():
    """Numbers first, then expressions in order; what a rule does not speak of stays."""
    n, d_k, m, d_v = (s for s in _sizes())
    rules = Supported.of(ATTENTION, {"d_v": "2*d_k + 1", "d_k": "4 | 8", "m": 3})
    found = rules.adjust_sizes({n: 5, d_k: 3, m: 11, d_v: 2})
    assert found == {n: 5, d_k: 8, m: 3, d_v: 17}
    assert rules.fits(found)
    assert not rules.fits({**found, d_v: 16})
    assert not rules.fits({**found, d_k: 5, d_v: 11})
    assert rules.fits({n: 5})
    assert rules.symbols == {"d_v", "d_k", "m"}
    assert str(rules) == "d_k = 4 or 8, m = 3, d_v = 2 * d_k + 1"


def _sizes():
    from verify.inputs.size_rules import sizes_of_formula

    return sizes_of_formula(ATTENTION)


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ({"w": "d_k"}, "no size 'w'; it has: n, d_k, m, d_v"),
        ({"d_v": "width"}, "is no rule for a size"),
        ({"d_v": "d_v"}, "is no rule for a size"),
        ({"d_v": "d_k ** 2"}, "is no rule for a size"),
        ({"d_v": "__import__('os')"}, "is no rule for a size"),
        ({"d_v": "0"}, "is no rule for a size"),
        ({"d_v": "d_k +"}, "is no rule for a size"),
        ({"d_v": "d_k - 700"}, "no sizes were found"),
        ([("d_v", "d_k")], "sizes map names to rules"),
    ],
    ids=str,
)
def test_a_rule_that_is_none_is_refused(rules, says):
    """One line, before any call; nothing but sizes and whole numbers is evaluated."""
    with pytest.raises(Unusable, match=says):
        check(square, "attention.scaled_dot_product", sizes=rules)


def test_a_check_keeps_to_the_sizes_supported_and_says_so():
    """Every call has d_v = d_k, large sizes and theorems included; the report names the rule."""
    report = check(square, "attention.scaled_dot_product", sizes={"d_v": "d_k"}, max_examples=40)
    assert report.verdict == "conforms", str(report)
    assert report.sizes == "d_v = d_k"
    assert "where d_v = d_k" in str(report).splitlines()[0]
    assert sum(c.kind == "theorem" and c.verdict == "conforms" for c in report.checks) >= 3
    strict = check(square, "attention.scaled_dot_product", max_examples=10, conventions={"shapes": "every"})
    assert strict.verdict == "falsified"


def test_a_mistake_is_found_and_shrunk_within_the_sizes_supported():
    """A counterexample has supported sizes."""

    def wrong(q, k, v, mask=None):
        return square(q, k, v, mask) * 1.001

    report = check(wrong, "attention.scaled_dot_product", sizes={"d_v": "d_k"}, dtypes=["float64"])
    found = report.falsified[0].counterexample
    assert found.inputs["v"].shape[-1] == found.inputs["k"].shape[-1]


def test_the_command_line_takes_rules(tmp_path: Path):
    """--sizes name=rule; the last line says where it conforms."""
    (tmp_path / "mine.py").write_text(
        "import torch\ndef dot(q, k):\n    assert q.shape[-2] == k.shape[-2]\n    return q @ k.mT\n"
    )
    where = [
        sys.executable,
        "-m",
        "verify",
        "check",
        str(tmp_path / "mine.py") + ":dot",
        "--formula",
        "scores.dot",
    ]
    done = subprocess.run(
        [*where, "--max-examples", "10", "--sizes", "m=n"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "conforms where m = n" in done.stdout
    done = subprocess.run([*where, "--sizes", "m"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert pairs(["m = n"]) == {"m": "n"}


def test_what_is_asked_of_torch_is_the_same():
    """A rule changes which examples are drawn, not what is said of them."""
    report = check(
        lambda q, k: torch.matmul(q, k.mT),
        "scores.dot",
        sizes={"d_k": "2|4"},
        dtypes=["float64"],
        max_examples=20,
    )
    assert report.verdict == "conforms"
    assert report.sizes == "d_k = 2 or 4"


@pytest.mark.parametrize(
    ("rule", "given", "found"),
    [
        ("even", {2: 2, 3: 2, 7: 6, 1: 2}, "d_v = even"),
        ("odd", {2: 1, 7: 7, 1: 1}, "d_v = odd"),
        ("3*any", {1: 3, 7: 6, 11: 9}, "d_v = 3 * any"),
        ("2..5", {1: 3, 2: 2, 5: 5, 17: 3}, "d_v = 2..5"),
        ("..3", {1: 1, 3: 3, 5: 3}, "d_v = 1..3"),
        ("4..", {1: 4, 17: 17}, "d_v = 4.."),
    ],
)
def test_multiples_and_ranges(rule, given, found):
    """The nearest size that the rule allows, which stays where it is."""
    *_, d_v = _sizes()
    rules = Supported.of(ATTENTION, {"d_v": rule})
    assert str(rules) == found
    for size, settled in given.items():
        assert rules.adjust_sizes({d_v: size}) == {d_v: settled}
        assert rules.adjust_sizes({d_v: settled}) == {d_v: settled}
        assert rules.fits({d_v: settled})
        assert rules.fits({d_v: size}) == (size == settled)


def test_a_multiple_of_another_size():
    """``h*any``: the heads divide the width, whatever both are."""
    n, d_k, _, d_v = _sizes()
    rules = Supported.of(ATTENTION, {"d_v": "d_k*any"})
    assert rules.adjust_sizes({d_k: 3, d_v: 11, n: 2}) == {d_k: 3, d_v: 9, n: 2}
    assert rules.adjust_sizes({d_k: 7, d_v: 2}) == {d_k: 7, d_v: 7}


def test_a_size_that_is_less_than_another_is_at_least_one():
    """The other is made larger; where that is not to be had, there are no such sizes."""
    n, _, m, _ = _sizes()
    rules = Supported.of(ATTENTION, {"n": "m - 3"})
    assert rules.adjust_sizes({n: 5, m: 2}) == {n: 1, m: 4}
    assert rules.adjust_sizes({n: 5, m: 7}) == {n: 4, m: 7}
    with pytest.raises(Unusable, match=r"no sizes were found at which n = m - 300 all hold"):
        Supported.of(ATTENTION, {"n": "m - 300"})


@pytest.mark.parametrize("rule", ["5..2", "0..3", "even*2", "1..x"])
def test_other_ranges_are_none(rule):
    """One line says what a rule is."""
    with pytest.raises(Unusable, match="is no rule for a size"):
        Supported.of(ATTENTION, {"d_v": rule})


@pytest.mark.parametrize(
    ("fixed", "says"),
    [
        ({"epsilon": 1}, "no number or parameter 'epsilon'"),
        ({"eps": "tiny"}, "expected a positive number"),
        ({"eps": 0}, "expected a positive number"),
        ({"d": 4}, "d is a size"),
        ([1], "fixed maps names to numbers"),
    ],
)
def test_numbers_that_cannot_be_fixed_are_refused(fixed, says):
    """One line names the number and what was expected."""
    with pytest.raises(Unusable, match=says):
        Supported.of(find("normalization.layer_norm"), None, fixed)


def built_in(x, gamma, beta):
    """Layer normalisation with an ε of its own, which is no parameter."""
    return torch.nn.functional.layer_norm(x, gamma.shape, gamma, beta, 1e-3)


def test_a_fixed_number_may_be_left_out_of_the_arguments():
    """The function is called without it, and judged at this number alone."""
    with pytest.raises(Unusable, match="cannot be called so"):
        check(built_in, "normalization.layer_norm", max_examples=4)
    report = check(built_in, "normalization.layer_norm", max_examples=8, fixed={"eps": 1e-3})
    assert report.verdict == "conforms", str(report)
    report = check(built_in, "normalization.layer_norm", max_examples=8, fixed={"eps": 1e-4})
    assert report.verdict == "falsified"
