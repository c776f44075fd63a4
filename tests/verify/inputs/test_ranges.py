"""Ranges: how large entries are at most."""

import numpy as np
import pytest

import impl.attention
import impl.scores
from spec.language.registry import find
from verify import Unusable, check
from verify.inputs.examples import Space
from verify.inputs.ranges import Ranges, list_limitable
from verify.inputs.size_rules import Supported

ATTENTION, NORM = find("attention.scaled_dot_product"), find("normalization.layer_norm")


def test_inputs_lines_and_offsets_can_be_limited():
    """Real inputs, real lines that are no outputs, and how far rows are from 0."""
    assert list_limitable(ATTENTION, ATTENTION.choose()) == [
        "q", "k", "v", "s", "a", "offset(q)", "offset(k)", "offset(v)",
    ]  # fmt: skip
    assert "eps" not in list_limitable(NORM, NORM.choose())


def test_counts_cannot_be_limited():
    """Ranks stay when logits are made smaller: a range of them would be a range of nothing."""
    capacity = find("routing.capacity")
    assert list_limitable(capacity, capacity.choose()) == ["s", "offset(s)"]


@pytest.mark.parametrize(
    ("formula", "limits"),
    [
        (ATTENTION, {"q": 5.0}),
        (ATTENTION, {"q": 5.0, "k": 0.5}),
        (ATTENTION, {"s": 40.0}),
        (NORM, {"offset(x)": 2.0}),
        (NORM, {"x": 3.0, "gamma": 1.0}),
    ],
    ids=str,
)
@pytest.mark.parametrize("batch", [(), (2,)])
def test_examples_are_brought_inside(formula, limits, batch):
    """In every regime, every member of a batch, in each type; and some stay as large as they may be."""
    within = Ranges.of(formula, limits, formula.choose())
    space = Space(formula, supported=Supported(within=within))
    largest = dict.fromkeys(limits, 0.0)
    for turn, recipe in enumerate(space.plan(40, 3)):
        example = space.example(recipe, ("float64", "float32", "bfloat16")[turn % 3], batch)
        for place in np.ndindex(*batch):
            single = example.single(formula, place)
            for name, limit in limits.items():
                size = within.measure(name, single)
                # constant rows whose entries lie within rounding of their mean have no spread to speak of
                spread = (
                    not name.startswith("offset") or np.ptp(single["x"]) > 1e-2 * np.abs(single["x"]).max()
                )
                assert size <= 1.1 * limit or not spread, (name, size, example.regime)
                if spread:
                    largest[name] = max(largest[name], size)
    assert all(largest[name] > 0.5 * limit for name, limit in limits.items()), largest


@pytest.mark.parametrize(
    ("ranges", "says"),
    [
        ({"z_2": 1.0}, "has no 'z_2' to be limited; it has: q, k, v, s, a, offset"),
        ({"q": 0}, "a positive number; got 0"),
        ({"q": "large"}, "a positive number; got 'large'"),
        ({"q": float("inf")}, "a positive number"),
        ([("q", 1)], "ranges map names to limits"),
    ],
    ids=str,
)
def test_a_range_that_is_none_is_refused(ranges, says):
    """One line, before any call."""
    with pytest.raises(Unusable, match=says):
        check(impl.attention.scaled_dot_product, "attention.scaled_dot_product", ranges=ranges)


def test_within_a_range_everything_is_judged_and_the_verdict_says_so():
    """A mistake within it is found; the headline names the range; theorems do not leave it."""

    def large_only(q, k):
        s = impl.scores.scaled_dot(q, k)
        return s * (1 + 1e-3 * (q.abs().amax() > 50))

    report = check(large_only, "scores.scaled_dot", ranges={"q": 40}, max_examples=40)
    assert report.verdict == "conforms", str(report)
    assert "conforms within |q| ≤ 40" in str(report).splitlines()[0]
    assert check(large_only, "scores.scaled_dot", ranges={"q": 80}, max_examples=40).verdict == "falsified"
