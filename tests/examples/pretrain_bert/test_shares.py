"""80/10/10 beside 100/0/0: the two runs differ in the shares alone, and all that is measured is written and read back."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from examples import recording
from examples.pretrain_bert import shares
from examples.pretrain_bert.processes import Processes
from examples.pretrain_bert.settings import Settings
from examples.pretrain_bert.text import Prepared, prepare
from examples.pretrain_bert.training import Run
from impl._labels import IGNORED

ALONE = Processes(0, 1, torch.device("cpu"))


@pytest.fixture(scope="module")
def text(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Prepared."""
    return prepare(settings, tmp_path_factory.mktemp("cache"))


def test_with_100_0_0_the_same_words_are_selected_and_all_are_hidden(
    settings: Settings, text: Prepared
) -> None:
    """Elsewhere the text is the same; with 80/10/10 some selected words are not [MASK]."""
    usual, masked = (
        Run(
            replace(settings, data=replace(settings.data, selection="bernoulli", all_masked=each)),
            text,
            ALONE,
        )
        for each in (False, True)
    )
    others = 0
    for _, first, second in zip(range(7), usual.batches, masked.batches, strict=False):
        selected = first.labels != IGNORED
        assert torch.equal(first.labels, second.labels)
        assert torch.equal(first.ids[~selected], second.ids[~selected])
        assert (second.ids[selected] == text.pieces.mask_id).all()
        others += int((first.ids[selected] != text.pieces.mask_id).sum())
    assert others > 0


def test_a_comparison_is_written_and_read_back(settings: Settings, text: Prepared, tmp_path: Path) -> None:
    """Both models are measured at the same words; losses are positive, shares of right answers are shares."""
    said = list[str]()
    result = shares.compare(settings, text, said.append)
    assert [each.shares for each in result.models] == list(shares.SHARES)
    assert len(said) == 2
    assert 0 < result.false < result.words
    for each in result.models:
        for answer in (
            each.hidden,
            each.false,
            each.plain,
            *each.right_hand.values(),
            *each.falsehood.values(),
        ):
            assert answer.loss > 0
            assert 0 <= answer.right <= 1
    recording.write(asdict(result), tmp_path / "record.json")
    assert shares.recorded(tmp_path / "record.json")[0] == result


def test_a_probe_finds_what_a_row_says_and_nothing_where_it_says_nothing() -> None:
    """Its answers are for rows that it did not learn from."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(700, 5, generator=draw)
    said, noise = (x[:, 2] > 0).long(), torch.randint(2, (700,), generator=draw)
    assert shares.probe(x[:500], said[:500], x[500:], said[500:], 2).right > 0.95
    assert shares.probe(x[:500], noise[:500], x[500:], noise[500:], 2).right < 0.65
