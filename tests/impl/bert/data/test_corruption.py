from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Generator

from impl._labels import IGNORED
from impl.bert.data import Corruption, whole_words
from impl.masking.words import mlm

MASK, V = 4, 10_007
SPECIAL = 3
CONTINUES = torch.arange(V) % 3 == 0
"""Ids that continue a word; [SEP] looks like one, and is none."""


def row(n: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids with special tokens among them, where those are, and the number of each token's word."""
    ids = torch.randint(11, V, (n,), generator=Generator().manual_seed(seed))
    ids[::17] = SPECIAL
    special = ids == SPECIAL
    word, count = [], -1
    for i in range(n):
        begins = bool(special[i]) or i == 0 or bool(special[i - 1]) or not bool(CONTINUES[ids[i]])
        count += begins
        word.append(count)
    return ids, special, torch.tensor(word)


@pytest.mark.parametrize("selection", ["bernoulli", "exact_count", "count_of_all"])
def test_words_are_hidden_whole_and_special_tokens_never(selection: Any) -> None:
    """All pieces of a word are selected, or none. Labels are what stood there, and nothing else changes."""
    selected_any = 0
    for seed in range(19):
        ids, special, word = row(101, seed)
        corrupted, labels = whole_words(
            ids, special, CONTINUES, MASK, V, Generator().manual_seed(seed), selection=selection
        )
        selected = labels != IGNORED
        assert not (selected & special).any()
        assert torch.equal(labels[selected], ids[selected])
        assert torch.equal(corrupted[~selected], ids[~selected])
        for number in word.unique().tolist():
            assert selected[word == number].unique().numel() == 1
        selected_any += int(selected.sum())
    assert selected_any > 0


def test_each_piece_is_masked_replaced_or_kept_by_itself() -> None:
    """80, 10 and 10 of a hundred, and 15 % of the words, each within five sigma."""
    ids, special, word = row(200_003)
    corrupted, labels = whole_words(ids, special, CONTINUES, MASK, V, Generator().manual_seed(1))
    selected = labels != IGNORED
    words, ordinary = word[selected].unique().numel(), word[~special].unique().numel()
    assert abs(words / ordinary - 0.15) < 5 * math.sqrt(0.15 * 0.85 / ordinary)
    n = int(selected.sum())
    masked, kept = corrupted[selected] == MASK, corrupted[selected] == ids[selected]
    # A random id is the old one, or the mask's, in one of V cases.
    for share, expected in ((masked, 0.8), (kept, 0.1), (~masked & ~kept, 0.1)):
        assert (
            abs(share.double().mean().item() - expected)
            < 5 * math.sqrt(expected * (1 - expected) / n) + 1 / V
        )
    longer = [number for number in word[selected].unique().tolist()[:4001] if (word == number).sum() > 1]
    mixed = [number for number in longer if masked[word[selected] == number].unique().numel() == 2]
    assert mixed


@pytest.mark.parametrize("selection", ["exact_count", "count_of_all"])
def test_a_counted_selection_takes_no_more_tokens_than_mlm_does(selection: Any) -> None:
    """And as many where every word is of one piece."""
    one_piece = torch.zeros(V, dtype=torch.bool)
    for n in (1, 2, 7, 19, 67, 151):
        ids, special, _ = row(n)
        generator = Generator().manual_seed(n)
        count = (mlm(ids, special, MASK, V, generator, selection=selection)[1] != IGNORED).sum()
        for continues in (CONTINUES, one_piece):
            _, labels = whole_words(ids, special, continues, MASK, V, generator, selection=selection)
            found = (labels != IGNORED).sum()
            assert found <= count
        assert found == count


def test_without_words_it_is_mlm() -> None:
    """The same draws; with words, the other."""
    ids, special, _ = row(67)
    seed = 5
    expected = mlm(ids, special, MASK, V, Generator().manual_seed(seed), selection="exact_count")
    found = Corruption(MASK, V, "exact_count")(ids, special, Generator().manual_seed(seed))
    assert all(map(torch.equal, found, expected))
    expected = whole_words(ids, special, CONTINUES, MASK, V, Generator().manual_seed(seed))
    found = Corruption(MASK, V, continues=CONTINUES)(ids, special, Generator().manual_seed(seed))
    assert all(map(torch.equal, found, expected))


def test_an_empty_row_and_one_of_special_tokens_stay() -> None:
    """Nothing is there to hide."""
    for ids in (torch.tensor([], dtype=torch.int64), torch.tensor([2, 3, 3])):
        special = torch.ones_like(ids, dtype=torch.bool)
        for selection in ("bernoulli", "exact_count"):
            corrupted, labels = whole_words(
                ids,
                special,
                CONTINUES,
                MASK,
                V,
                Generator(),
                selection=selection,  # type: ignore[arg-type]
            )
            assert torch.equal(corrupted, ids)
            assert (labels == IGNORED).all()
