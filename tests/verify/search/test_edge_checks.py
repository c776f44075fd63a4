"""The edge of the contract: reported as properties, and judged where that was asked for."""

import math
import re

import pytest
import torch

import impl.attention
import impl.scores
from verify import Unusable, check
from verify.edges import EDGES, STRICT, split_conventions

pytestmark = pytest.mark.usefixtures("as_found", "ungraded")
FEW = {"max_examples": 12}


def leaking(q, k, v, mask=None):
    """Sound masked attention whose hidden values are multiplied by 0."""
    s = q @ k.mT / math.sqrt(q.shape[-1])
    return impl.attention.softmax(s, mask) @ v


def drawing(q, k):
    """Scores, after a draw that nobody needs: what building a module inside the call does."""
    torch.nn.Linear(2, 3)
    return impl.scores.dot(q, k)


def said(report):
    """The option of each property that has one."""
    return {each.name: each.option for each in report.properties if each.option}


def test_a_leak_of_nan_from_unread_slots_is_a_property():
    """Nothing chosen: it conforms, and the report says what leaks; isolated: it is falsified; ignored: nothing is asked."""
    report = check(leaking, "attention.scaled_dot_product", **FEW)
    assert report.verdict == "conforms", str(report)
    assert said(report)["unread"] == "ignored"
    assert "slots of v" in next(each.says for each in report.properties if each.name == "unread")
    assert "property: unread=ignored" in str(report)
    strict = check(leaking, "attention.scaled_dot_product", conventions={"unread": "isolated"}, **FEW)
    assert [c.name for c in strict.falsified] == ["robustness: NaN where nothing is read"]
    lenient = check(leaking, "attention.scaled_dot_product", conventions={"unread": "ignored"}, **FEW)
    assert lenient.verdict == "conforms"
    assert not any(c.name == "robustness: NaN where nothing is read" for c in lenient.checks)


def test_who_keeps_nan_out_is_said_to():
    """Ours are isolated, and the property says so."""
    report = check(impl.attention.scaled_dot_product, "attention.scaled_dot_product", **FEW)
    assert said(report)["unread"] == "isolated"


def test_draws_from_the_global_generator_are_a_property_unless_judged():
    """A function that needs no random numbers conforms where its values do."""
    report = check(drawing, "scores.dot", **FEW)
    assert report.verdict == "conforms", str(report)
    assert said(report)["generator"] == "used"
    strict = check(drawing, "scores.dot", conventions={"generator": "untouched"}, **FEW)
    assert [c.name for c in strict.falsified] == ["robustness: leaves global state alone"]


def test_draws_that_reach_the_values_are_judged_as_values():
    """Noise is no property."""
    report = check(lambda q, k: impl.scores.dot(q, k) + torch.randn(()), "scores.dot", **FEW)
    assert "value in float64" in {c.name for c in report.falsified}


def test_conventions_of_the_check_are_told_from_those_of_the_formula():
    """Each has its own options; one that there is none of is refused in one line."""
    assert split_conventions({"unread": "ignored", "eps": "inside"}) == (
        {"unread": "ignored"},
        {"eps": "inside"},
    )
    assert set(STRICT) == set(EDGES)
    with pytest.raises(Unusable, match="unread is one of isolated, ignored"):
        check(impl.scores.dot, "scores.dot", conventions={"unread": "sealed"})


def single(x, gamma, eps):
    """RMS norm in float32, whatever it is given."""
    row = x.float()
    return (row * torch.rsqrt(row.square().mean(-1, keepdim=True) + eps)).to(x.dtype) * gamma


def slightly_off(x, gamma, eps):
    """A mistake as small as float32's roundings, which changes smoothly."""
    return (1 + 1e-8) * gamma * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)


def test_arithmetic_in_float32_is_a_property_and_float32_is_judged():
    """Said in one line; a mistake of the same size is none of that; where it is judged it is falsified."""
    report = check(single, "normalization.rms_norm", max_examples=30)
    assert report.verdict == "conforms", str(report)
    assert said(report)["arithmetic"] == "float32"
    assert re.search(r"of ordinary data are good to [67] digits", str(report))  # all of them, rounded down
    assert {c.verdict for c in report.checks if c.name == "value in float32"} == {"conforms"}
    assert check(slightly_off, "normalization.rms_norm", max_examples=30).verdict == "falsified"
    strict = check(single, "normalization.rms_norm", conventions={"arithmetic": "given"}, max_examples=30)
    assert strict.verdict == "falsified"
    assert check(single, "normalization.rms_norm", dtypes=["float64"], max_examples=30).verdict == "falsified"


@pytest.mark.parametrize("exact", [False, True])
def test_a_constant_in_float32_is_arithmetic_in_float32(exact: bool):
    """1/√d_k as a number of float32 is a property, although its error is no rounding of a result; another number is a mistake."""

    def attend(q, k, v, mask=None):
        width = q.shape[-1]
        factor = 1 / math.sqrt(width) * (1 + 1e-8) if exact else torch.tensor(1 / math.sqrt(width)).item()
        return impl.attention.scaled_dot_product(q * (factor * math.sqrt(width)), k, v, mask)

    report = check(attend, "attention.scaled_dot_product", **FEW)
    assert report.verdict == ("falsified" if exact else "conforms"), str(report)
    assert said(report).get("arithmetic") == (None if exact else "float32")


def test_a_number_in_float32_is_arithmetic_in_float32():
    """So is the ε that is passed."""

    def norm(x, gamma, eps):
        return gamma * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + torch.tensor(eps).item())

    report = check(norm, "normalization.rms_norm", **FEW)
    assert (report.verdict, said(report)["arithmetic"]) == ("conforms", "float32"), str(report)
