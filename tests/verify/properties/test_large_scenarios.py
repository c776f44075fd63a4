"""Large sizes and large batches: what fails there alone, what is declined there, and how it is told."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F

import impl.attention
from spec.language.registry import find
from tests.mutants import large_sizes as variants
from verify import check, replay
from verify.inputs.examples import Space
from verify.inputs.sizes import MEMBERS, members
from verify.properties.judge import Judge
from verify.properties.large_scenarios import COMPARED_MEMBERS, choose_members, large_batch, large_examples
from verify.properties.scenarios import by_name
from verify.properties.values import judge_value
from verify.subject.caller import Caller
from verify.targets.ours import implementation

pytestmark = pytest.mark.usefixtures("ungraded")


def held(fn, formula_id, **options):
    """A report of few examples, without a search for causes."""
    return check(fn, formula_id, max_examples=20, causes=False, **options)


def names(report):
    """The checks that failed."""
    return [each.name for each in report.falsified]


def test_a_large_size_alone_shows_it():
    """Ids in 16 bits are right in every small table; the counterexample has the first id that is not."""
    report = held(variants.ids_in_16_bits, "embedding.token")
    assert names(report) == ["robustness: large sizes"]
    example = report.falsified[0].counterexample
    assert example.inputs["ids"].max() >= 2**15
    assert example.regime == "made small from large sizes: V = 32771"


def test_a_batch_is_made_as_small_as_it_fails():
    """65 members where the 65th is wrong; the index names that member, and a replay shows it."""
    report = held(variants.members_past_64_from_the_first, "normalization.layer_norm")
    assert names(report) == ["robustness: a large batch"]
    example = report.falsified[0].counterexample
    assert len(example.inputs["x"]) == 65
    assert example.index[0] == 64
    assert replay(report, variants.members_past_64_from_the_first).verdict == "falsified"


def test_gradients_of_a_large_batch_are_compared():
    """A member that gets no gradient is noticed, though its values are right."""
    report = held(variants.members_past_128_detached, "feedforward.relu")
    assert names(report) == ["robustness: a large batch"]


def limited(x, gamma, beta, eps):
    """A layer norm of at most 200 entries."""
    if x.shape[-1] > 200:
        raise ValueError("at most 200 entries")
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def test_a_limit_is_a_property():
    """What raises an error at a large size is not judged there, unless every shape is to be supported."""
    report = check(limited, "normalization.layer_norm", sizes={"d": "1..199"}, max_examples=20, causes=False)
    assert report.verdict == "conforms"

    def few_members(x, gamma, beta, eps):
        if x.dim() > 1 and len(x) > 100:
            raise ValueError("at most 100 members")
        return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)

    report = held(few_members, "normalization.layer_norm")
    assert report.verdict == "conforms"
    said = [p.says for p in report.properties if p.name == "shapes"]
    assert said == ["at a batch of 1031 it raised ValueError: at most 100 members: not judged there"]
    report = held(few_members, "normalization.layer_norm", conventions={"shapes": "every"})
    assert names(report) == ["robustness: a large batch"]


def test_what_is_wrong_anyway_is_not_told_again():
    """Where values of small sizes are wrong, large ones add nothing."""
    report = held(lambda q, k: 2 * (q * k).sum(-1), "similarity.dot")
    assert "robustness: large sizes" not in [each.name for each in report.checks]


@pytest.mark.parametrize("seed", range(10))
def test_what_decides_stands_in_the_last_block(seed):
    """A maximum that is found in the last 7 of 263 keys is drawn at every seed: a block that is not rescaled shows."""
    formula = find("attention.self")
    judge, caller = Judge(formula), Caller(variants.last_block_not_rescaled, formula)
    drawn = large_examples(judge, Space(formula), seed, ["float64"], [])
    assert any(judge_value(judge, caller, example).fails for example in drawn)


def test_members_past_each_power_of_two_are_looked_at():
    """And the last one of a smaller batch."""
    assert choose_members((MEMBERS[0],)) == [*COMPARED_MEMBERS, MEMBERS[0] - 1]
    assert choose_members((MEMBERS[-1],)) == [0, 32, 64, 75, 128, MEMBERS[-1] - 1]
    assert {2**power for power in range(5, 11)} <= set(COMPARED_MEMBERS)
    assert max(b - a for a, b in pairwise(COMPARED_MEMBERS)) <= 137
    assert choose_members((33,)) == [0, 32]
    assert choose_members((1,)) == [0]


@pytest.mark.parametrize("formula_id", ["feedforward.relu", "attention.multi_head"])
def test_a_row_that_is_dropped_behind_a_thousand_is_found(formula_id):
    """What has room for 2¹⁰ rows, and leaves the others as they were made."""
    right, rank = implementation(formula_id), len(find(formula_id).outputs[0].shape)

    def roomy(*inputs):
        z = right(*inputs)
        return torch.cat((z[:1024], torch.zeros_like(z[1024:]))) if z.dim() > rank else z

    assert names(held(roomy, formula_id)) == ["robustness: a large batch"]


def test_keys_that_are_dropped_behind_a_thousand_are_found():
    """What takes the first 1,500 keys is right for all that are fewer."""

    def few_keys(q, k, v, mask=None):
        seen = (k[..., :1500, :], v[..., :1500, :], None if mask is None else mask[..., :1500])
        return impl.attention.scaled_dot_product(q, *seen)

    assert "robustness: large sizes" in names(held(few_keys, "attention.scaled_dot_product"))


@pytest.mark.parametrize("size", ["keys", "queries", "members", "masked members"])
def test_a_gradient_that_is_wrong_past_a_thousand_is_found(size):
    """Of keys, of queries, and of members of a batch, with masks alone or without."""
    formula_id = "attention.scaled_dot_product"

    def off(x, axis):
        far = torch.arange(x.shape[axis]).unflatten(0, (-1, *[1] * (-axis - 1))) > 900
        return torch.where(far, x.detach() + 1.5 * (x - x.detach()), x)

    def wrong(q, k, v, mask=None):
        if size == "keys":
            k = off(k, -2)
        elif size == "queries":
            q = off(q, -2)
        elif q.dim() == 3 and (size == "members" or mask is not None):
            v = off(v, -3)
        return impl.attention.scaled_dot_product(q, k, v, mask)

    scene = "robustness: a large batch" if "members" in size else "robustness: large sizes"
    assert names(held(wrong, formula_id)) == [scene]


def test_rows_that_see_nothing_are_among_many_keys():
    """Beyond 64 keys the lowest number is put instead of hidden scores, so that such a row is a mean."""

    def filled(q, k, v, mask=None):
        if mask is None or k.shape[-2] <= 64:
            return impl.attention.scaled_dot_product(q, k, v, mask)
        s = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~mask, torch.finfo(q.dtype).min)
        return torch.softmax(s, -1) @ v

    assert names(held(filled, "attention.scaled_dot_product")) == ["robustness: large sizes"]


def test_members_of_which_nothing_is_said_leave_the_gradients_of_a_large_batch_alone():
    """Rows that see nothing are NaN; the gradient of a parameter, to which all members contribute, is that of all other rows."""

    def undefined(x, y, *inputs):
        z, mask = impl.attention.multi_head(x, y, *inputs), inputs[-1]
        return z if mask is None else torch.where(mask.any(-1, keepdim=True), z, torch.nan)

    report = held(undefined, "attention.multi_head", conventions={"fully_masked": "unspecified"})
    assert names(report) == []


def test_a_large_batch_of_large_inputs_is_smaller():
    """Where a thousand members would be long to make."""
    formula = find("attention.multi_head")
    sizes = Space(formula).sizing.keep_small({})
    assert members(formula, sizes) == MEMBERS[0]
    assert members(formula, dict.fromkeys(sizes, 31)) == MEMBERS[-1]


def test_a_large_batch_within_few_shapes_is_none():
    """A callable that is compiled for each shape is not given more of them."""
    formula = find("similarity.dot")
    judge, space = Judge(formula), Space(formula)
    space.supported = replace(space.supported, few=True)
    assert not list(large_batch(judge, space, 0, ["float64"], []))
    assert not list(large_examples(judge, space, 0, ["float64"], []))


@pytest.mark.parametrize("formula_id", ["recurrent.lstm", "attention.multi_head", "objectives.cross_entropy"])
def test_ours_conform_at_large_sizes(formula_id):
    """At every size, and in a batch, with gradients."""
    formula = find(formula_id)
    judge, both = Judge(formula), ["float64", "float32"]
    caller = Caller(implementation(formula_id), formula)
    for name in ("large sizes", "a large batch"):
        scenario = by_name(judge, name)
        examples = list(scenario.examples(judge, Space(formula), 3, both, both))
        assert examples
        assert any(each.cotangents for each in examples)
        outcomes = [scenario.play(judge, caller, each) for each in examples]
        assert not [each.message for each in outcomes if each.fails]
        assert all(each.effective for each in outcomes)


ROOM = 1024
"""For so many keys there is room."""


def without_room(q, k, v, mask=None):
    """Attention to the first keys, as many as there is room for."""
    m = min(k.shape[-2], ROOM)
    mask = None if mask is None else mask[..., :m]
    return impl.attention.scaled_dot_product(q, k[..., :m, :], v[..., :m, :], mask)


def last_mask_unread(q, k, v, mask=None):
    """A mask of which a block of so many keys alone is read."""
    if mask is not None and mask.shape[-1] > ROOM:
        mask = torch.cat((mask[..., :ROOM], torch.ones_like(mask[..., ROOM:])), -1)
    return impl.attention.scaled_dot_product(q, k, v, mask)


@pytest.mark.parametrize("wrong", [without_room, last_mask_unread])
def test_what_ends_at_a_thousand_is_found(wrong):
    """What is right up to 1,024 keys, whatever a mask says of them, is wrong beyond."""
    report = check(wrong, "attention.scaled_dot_product", max_examples=5, dtypes=("float32",))
    assert report.verdict == "falsified"
    bad = next(c for c in report.falsified if c.name == "robustness: large sizes")
    assert bad.counterexample.regime.endswith("large sizes: m = 4111")
