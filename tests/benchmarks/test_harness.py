"""What the table of the benchmarks says of what was measured."""

import pytest
import torch

from benchmarks.__main__ import _default_path, _met
from benchmarks.harness import Timing, made_on, seeded


@pytest.mark.parametrize(("ratio", "met"), [(2.5, True), (1.96, True), (1.9, False), (1.13, False)])
def test_scattered_rounds_do_not_meet_a_ratio(ratio, met):
    """A ratio is as wanted up to 3 %, however far the rounds are apart: a busy machine makes nothing faster."""
    ours = Timing(median=1.0, low=0.5, high=3.0, rounds=9, calls=1)
    peer = Timing(median=ratio, low=ratio / 2, high=3 * ratio, rounds=9, calls=1)
    assert _met(peer, ours, 2.0) is met
    assert _met(peer, ours, None)


def test_inputs_are_made_where_and_as_they_are_wanted_and_nothing_is_afterwards():
    """The device that computes nothing stands for any other; its generators are the CPU's."""
    with made_on("meta", "bfloat16"):
        x = torch.ones(3)
    assert (x.device.type, x.dtype) == ("meta", torch.bfloat16)
    assert (torch.ones(3).device.type, torch.ones(3).dtype) == ("cpu", torch.float32)


def test_seeded_numbers_are_made_on_the_device_that_entries_are_made_on():
    """They are those of a generator with the seed."""
    with made_on("cpu", "float32"):
        drawn = torch.randn(5, generator=seeded(3))
    assert torch.equal(drawn, torch.randn(5, generator=torch.Generator().manual_seed(3)))


def test_figures_in_another_type_lie_in_a_file_of_their_own():
    """And those of another device under its name."""
    host = {"cpu": "One Processor", "gpu": "Some GPU"}
    names = {
        where: _default_path(host, where).name[11:]
        for where in (("cpu", "float32"), ("cuda", "float32"), ("cuda", "bfloat16"))
    }
    assert list(names.values()) == ["one-processor.json", "some-gpu.json", "some-gpu-bfloat16.json"]
