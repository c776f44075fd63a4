"""At which sizes a callable fails is said in the first line, if it fails at some alone, by a rule that is true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from impl.attention import scaled_dot_product as attention
from impl.normalization import layer_norm as norm
from tests.verify.explain.explaining import scores, weights
from verify import check

pytestmark = pytest.mark.usefixtures("ungraded")

ATTENTION, NORM = "attention.scaled_dot_product", "normalization.layer_norm"


def some_keys(q, k, v, mask=None):
    """Keys behind the 21st are forgotten."""
    return attention(q, k[..., :21, :], v[..., :21, :], None if mask is None else mask[..., :21])


def along_queries(q, k, v, mask=None):
    """The softmax of square scores is taken along the wrong axis, if there are more than three and no mask."""
    if q.shape[-2] == k.shape[-2] > 3 and mask is None:
        return torch.softmax(scores(q, k), -2) @ v
    return attention(q, k, v, mask)


def in_blocks(q, k, v, mask=None):
    """A factor that whole blocks of 16 entries get alone."""
    return attention(q * (1.01 if q.shape[-1] % 16 == 0 else 1), k, v, mask)


def streamed(q, k, v, mask=None):
    """Softmax by blocks of 16 keys; the sums are not scaled anew where the last block, not full, has the largest score."""
    s = scores(q, k) if mask is None else scores(q, k).masked_fill(~mask, -torch.inf)
    right, full = weights(s, mask), s.shape[-1] // 16 * 16
    if not 0 < full < s.shape[-1]:
        return right @ v
    most, least = s[..., full:].amax(-1, keepdim=True), s[..., :full].amax(-1, keepdim=True)
    skewed = torch.cat((s[..., :full] + (most - least).clamp(min=0), s[..., full:]), -1)
    return torch.where(most > least, weights(skewed, mask), right) @ v


def wide_rows(x, gamma, beta, eps):
    """Another ε for rows of more than 37 entries."""
    return norm(x, gamma, beta, eps if x.shape[-1] <= 37 else 2 * eps)


def rows_of_one(x, gamma, beta, eps):
    """Rows of one entry are refused."""
    if x.shape[-1] == 1:
        raise ValueError("more than one value per row is wanted")
    return norm(x, gamma, beta, eps)


SOME_SIZES = [
    (some_keys, ATTENTION, "fails only where m ≥ 22"),
    (along_queries, ATTENTION, "fails only where n = m ≥ 4 and there is no mask"),
    (in_blocks, ATTENTION, "fails only where d_k is a multiple of 16"),
    (wide_rows, NORM, "fails only where d ≥ 38"),
    (
        rows_of_one,
        NORM,
        "fails only where d = 1: it raises ValueError: more than one value per row is wanted",
    ),
]


@pytest.mark.parametrize(("fn", "formula", "said"), SOME_SIZES, ids=[f.__name__ for f, *_ in SOME_SIZES])
def test_the_sizes_are_named(fn: Callable[..., Any], formula: str, said: str) -> None:
    """At which alone it fails, to the edge."""
    report = check(fn, formula, dtypes=["float64"])
    assert report.verdict == "falsified"
    assert report.hint == said


@pytest.mark.usefixtures("as_found")
def test_the_last_block_is_named_where_it_is_not_full() -> None:
    """Few rows tell that it is streamed wrongly, and a counterexample has the fewer, the more time there was to make it small."""
    hint = check(streamed, ATTENTION, dtypes=["float64"]).hint
    assert hint == "fails only where m > 16 is no multiple of 16: in the last block, which is not full"


def test_of_two_conditions_one_is_named() -> None:
    """It fails nowhere else; that it needs the other one, too, no rule says."""

    def two_conditions(q, k, v, mask=None):
        if q.shape[-1] == v.shape[-1] and q.shape[-2] == k.shape[-2] > 1:
            q = q.flip(-1)
        return attention(q, k, v, mask)

    assert check(two_conditions, ATTENTION).hint in {"fails only where d_k = d_v", "fails only where n = m"}


def test_a_size_that_has_nothing_to_do_with_it_is_not_named() -> None:
    """Whatever the sizes are, cosines are wrong."""
    report = check(lambda q, k, v, mask=None: attention(q, k, v, mask) * torch.cos(v.sum()), ATTENTION)
    assert report.verdict == "falsified"
    assert "only where" not in report.hint


def off(wrong: Callable[[int, int, int], bool]) -> Callable[..., Any]:
    """Attention whose results are off at some numbers n of queries, m of keys and d of their entries."""

    def fn(q, k, v, mask=None):
        z = attention(q, k, v, mask)
        return z + 0.5 * z.detach().abs() + 0.1 if wrong(q.shape[-2], k.shape[-2], q.shape[-1]) else z

    return fn


RULES: dict[str, tuple[Callable[[int, int, int], bool], str]] = {
    "even, not a multiple of what was met": (lambda n, m, d: m > 3 and m % 2 == 0, "m is even and ≥ 4"),
    "powers of two, not multiples of four": (
        lambda n, m, d: m > 3 and m & (m - 1) == 0,
        "m is a power of two and ≥ 4",
    ),
    "multiples, not equal ones alone": (lambda n, m, d: n > 1 and m % n == 0, "m is a multiple of n"),
    "multiples of one number or another": (lambda n, m, d: m % 4 == 0 or m % 6 == 0, ""),
    "equal or twice as many": (lambda n, m, d: m in {n, 2 * n}, ""),
    "as many as entries or twice as many": (lambda n, m, d: m in {d, 2 * d}, ""),
    "many, but for every third": (lambda n, m, d: m > 5 and m % 3 != 1, ""),
    "many keys or many queries": (lambda n, m, d: m > 16 or n > 16, ""),
    "many of both together": (lambda n, m, d: n * m >= 60, ""),
    "three or five": (lambda n, m, d: m in {3, 5}, ""),
}


@pytest.mark.parametrize(("wrong", "said"), RULES.values(), ids=RULES)
def test_a_rule_is_true_or_none_is_given(wrong: Callable[[int, int, int], bool], said: str) -> None:
    """A rule that the first few sizes obey is none."""
    report = check(off(wrong), ATTENTION, dtypes=["float64"])
    assert report.verdict == "falsified"
    assert report.hint == f"fails only where {said}" if said else "only where" not in report.hint


def test_a_mask_that_hides_what_is_wrong_is_no_condition() -> None:
    """With a mask that hides nothing it fails, too."""

    def doubled(q, k, v, mask=None):
        a = weights(scores(q, k), mask)
        if a.shape[-1] > 10:
            a = torch.cat([a[..., :10], 2 * a[..., 10:11], a[..., 11:]], -1)
        return a @ v

    assert check(doubled, ATTENTION, dtypes=["float64"]).hint == "fails only where m ≥ 11"


def test_what_is_raised_is_said_if_nothing_else_is_wrong() -> None:
    """Of what raises with a mask, and returns wrong values without one, it is not."""

    def both(q, k, v, mask=None):
        if k.shape[-2] > 8 and mask is not None:
            raise ValueError("the mask is too long")
        return attention(q, k, v, mask) * (1.5 if k.shape[-2] > 8 else 1)

    assert check(both, ATTENTION, dtypes=["float64"]).hint == "fails only where m ≥ 9"
