"""The example of windows and segments, in sizes that take no time: what each way reads, where they agree, and what is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import Tensor

from examples import segments
from examples.segments import Settings

TINY = Settings(
    seed=7,
    contexts=(4, 10),
    width=8,
    heads=2,
    segment=5,
    segments=3,
    batch=3,
    steps=20,
    stretches=2,
    predicted=7,
)


@pytest.fixture(scope="module")
def text() -> Tensor:
    """Bytes at random."""
    return torch.randint(256, (61,), generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def xl(text: Tensor) -> segments.TransformerXL:
    """A model in float64 whose weights are large enough that every byte it attends to counts."""
    xl = segments.train(TINY, text).double()
    torch.nn.init.normal_(xl.E, std=0.5, generator=torch.Generator().manual_seed(2))
    return xl


def reached(read: Callable[[Tensor], Tensor], text: Tensor, place: int) -> list[int]:
    """How far back stand the bytes that change what is ``read`` at a place: each is exchanged for another."""
    found, back = read(text), []
    for at in range(place, -1, -1):
        other = text.clone()
        other[at] = (other[at] + 1) % 256
        if read(other) != found:
            back.append(place - at)
    return back


def test_both_ways_agree_where_window_and_memory_hold_all_that_was_read(xl, text):
    """At the first bytes of a text, of which the memory has forgotten none."""
    segments.compare_covered(xl, text, 10)  # it raises where they are not close


def test_segments_that_forget_are_found_not_to_agree(xl, text, monkeypatch):
    """So that the comparison means something."""
    model = segments.transformer_xl.model
    monkeypatch.setattr(
        segments.transformer_xl, "model", lambda *given, rows: model(*given, rows=max(rows - 1, 0))
    )
    with pytest.raises(AssertionError, match="not close"):
        segments.compare_covered(xl, text, 10)


def test_a_window_reads_its_bytes_and_no_others(xl, text):
    """As many as the context has, up to the byte before the one that is predicted."""
    read = lambda text: segments.by_windows(xl, text, torch.tensor([44]), 6)  # noqa: E731
    assert reached(read, text, 44) == list(range(6))


def test_segments_reach_farther_than_a_window_of_as_many_bytes(xl, text):
    """By a memory for each layer: of two layers that remember three, the last of a segment of three reads eight more."""
    read = lambda text: segments.by_segments(xl, text[:-1], text[1:], 3)[0][44]  # noqa: E731
    assert reached(read, text, 44) == list(range(9))


def test_a_batch_of_training_goes_on_where_the_one_before_it_ended(text):
    """Within a piece; each byte is to predict the next."""
    batches = list(segments.segments_of(text, replace(TINY, steps=7)))
    assert [begins for *_, begins in batches] == [True, False, False] * 2 + [True]
    for (ids, targets, _), (later, _, begins) in pairwise(batches):
        assert torch.equal(ids[:, 1:], targets[:, :-1])
        assert begins or torch.equal(targets[:, -1], later[:, 0])


def test_a_run_is_printed_written_drawn_and_read_back(tmp_path: Path, capsys, monkeypatch):
    """By the command, of the contexts that were asked for."""
    monkeypatch.setattr(segments, "Settings", lambda **given: replace(TINY, **given))
    segments.main(
        [f"--record={tmp_path / 'a.json'}", f"--draw={tmp_path / 'a.svg'}", "--longest=10", "--steps=20"]
    )
    monkeypatch.undo()
    result, made = segments.recorded(tmp_path / "a.json")
    assert made["threads"] == 1
    assert result.settings == TINY
    assert [each.context for each in result.measured] == [4, 10]
    for each in result.measured:
        assert each.ratio > 0
        assert 0 < each.windows_bits < 12
        assert 0 < each.segments_bits < 12
    assert segments.summary(result) in capsys.readouterr().out
    assert "the paper, on a GPU" in (tmp_path / "a.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--steps", "3"], "expected steps >= 20; got 3"),
        (["--longest", "7"], "expected longest >= 8; got 7"),
        (["--record", "."], "--record: expected a file; . is a folder"),
        (["--draw", "7.txt"], "--draw: expected a name that ends in "),
    ],
)
def test_what_cannot_be_run_is_refused_before_the_work(given, said, tmp_path, monkeypatch, capsys):
    """In one line."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(segments, "run", lambda *_: pytest.fail("it was trained"))
    with pytest.raises(SystemExit):
        segments.main(given)
    assert said in capsys.readouterr().err
