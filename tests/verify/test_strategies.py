"""Inputs of formulas as strategies, for a ``@given`` of one's own."""

import pytest
import torch
from hypothesis import HealthCheck, find, given, settings

import impl.attention
import verify
from verify import Unusable, strategies

QUICK = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@QUICK
@given(strategies.inputs("attention.scaled_dot_product", dtype="float32"))
def test_inputs_are_what_a_callable_takes(inputs):
    """A tuple in declared order, whose shapes fit; the mask is None or boolean."""
    q, k, v, mask = inputs
    assert {x.dtype for x in (q, k, v)} == {torch.float32}
    assert (q.shape[1], k.shape[0]) == (k.shape[1], v.shape[0])
    assert mask is None or (mask.dtype == torch.bool and mask.shape == (q.shape[0], k.shape[0]))
    impl.attention.scaled_dot_product(*inputs)


@QUICK
@given(strategies.inputs("attention.scaled_dot_product", sizes={"d_v": "d_k", "d_k": "even"}, masks=False))
def test_rules_for_sizes_hold_and_masks_may_be_left_out(inputs):
    """As check takes them."""
    _, k, v, mask = inputs
    assert k.shape[1] == v.shape[1]
    assert k.shape[1] % 2 == 0
    assert mask is None


@QUICK
@given(strategies.inputs("attention.softmax", ranges={"s": 3.0}))
def test_entries_stay_in_their_range(inputs):
    """As check takes them."""
    assert inputs[0].abs().max() <= 3.0


@QUICK
@given(strategies.inputs("normalization.layer_norm", members=3, fixed={"eps": 0.5}))
def test_several_members_have_equal_sizes_and_their_own_entries(members):
    """So that a statement is evaluated for all of them at once."""
    assert len(members) == 3
    assert len({x.shape for x, *_ in members}) == 1
    assert {eps for *_, eps in members} == {0.5}


@QUICK
@given(strategies.inputs("scores.dot", batch=(2,)))
def test_leading_dimensions_come_first(inputs):
    """Of data, as a callable is passed a batch."""
    assert [x.shape[0] for x in inputs] == [2, 2]


@pytest.mark.parametrize("stored", ["gaps", "transposed", "offset"])
def test_tensors_lie_in_memory_in_every_way(stored):
    """With gaps, transposed, and further on in their storage."""
    ways = {
        "gaps": lambda x: x.stride(-1) > 1 and x.shape[-1] > 1,
        "transposed": lambda x: x.mT.is_contiguous() and min(x.shape) > 1,
        "offset": lambda x: x.is_contiguous() and x.storage_offset() > 0,
    }
    find(
        strategies.inputs("scores.dot"),
        lambda inputs: ways[stored](inputs[0]),
        settings=settings(max_examples=2000, database=None),
    )


def test_a_failure_shrinks_to_plain_entries():
    """A missing scale shows at one query and one key of two small whole numbers each."""

    def wrong(inputs):
        q, k = inputs
        return not torch.allclose(q @ k.mT, q @ k.mT / k.shape[-1] ** 0.5)

    q, k = find(
        strategies.inputs("scores.scaled_dot"), wrong, settings=settings(max_examples=2000, database=None)
    )
    assert q.shape == k.shape == (1, 2)
    assert set(q.flatten().tolist()) | set(k.flatten().tolist()) == {0.0, 1.0}


@settings(max_examples=2, deadline=None)
@given(strategies.inputs("scores.dot"))
def test_check_can_be_called_inside_of_given(inputs):
    """One search within another."""
    report = verify.check(lambda q, k: q @ k.mT, "scores.dot", max_examples=5, dtypes=["float64"])
    assert report.verdict == "conforms"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"formula": "attention.softmaks"}, "attention.softmax"),
        ({"dtype": "float8"}, "float8"),
        ({"members": 0}, "members"),
        ({"sizes": {"q": 3}}, "no size 'q'"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(options, said):
    """When the strategy is made, not when it is drawn."""
    with pytest.raises(Unusable, match=said) as raised:
        strategies.inputs(**{"formula": "scores.dot", **options})
    assert "\n" not in str(raised.value)
