from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from impl._labels import IGNORED
from impl.bert.data import Batch, Batches, Collator, Corpus, Corruption, Example, PairLaw, PairStream

from .conftest import MASK, SPECIAL, V

LAW = PairLaw(19, short=0.3)


def stream(corpus: Corpus, **given: Any) -> PairStream:
    """Seven rows to a batch, twice through the corpus."""
    return PairStream(
        corpus, LAW, Corruption(MASK, V), **{**SPECIAL, "batch": 7, "epochs": 2, "seed": 3, **given}
    )


def shown(found: Batch | Example) -> list[Any]:
    """All of it, comparable."""
    return [x.tolist() if isinstance(x, torch.Tensor) else x for x in found]


@pytest.fixture
def whole(corpus: Corpus) -> list[list[Any]]:
    """All batches, read by this process."""
    found = [shown(batch) for batch in Batches(stream(corpus), Collator())]
    assert len(found) > 5
    return found


# torch warns of more workers than there are processors.
@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_any_number_of_workers_gives_the_same_batches(
    workers: int, corpus: Corpus, whole: list[list[Any]]
) -> None:
    """In the same order, the last and shorter one too; with torch's plain DataLoader as well."""
    assert [shown(batch) for batch in Batches(stream(corpus), Collator(), workers)] == whole
    plain = DataLoader(stream(corpus), batch_size=7, num_workers=workers, collate_fn=Collator())
    assert [shown(batch) for batch in plain] == whole


@pytest.mark.parametrize(("before", "after"), [(0, 0), (0, 2), (2, 0), (2, 1)])
@pytest.mark.parametrize("stop", [1, 3, 5])
def test_a_stream_goes_on_from_where_another_was_left(
    before: int, after: int, stop: int, corpus: Corpus, whole: list[list[Any]]
) -> None:
    """Whatever was read ahead by workers, and with another number of them."""
    first = Batches(stream(corpus), Collator(), before)
    assert [shown(batch) for batch in islice(first, stop)] == whole[:stop]
    second = Batches(stream(corpus), Collator(), after)
    second.load_state_dict(first.state_dict())
    rest = [shown(batch) for batch in second]
    # Where a batch begins is said from where the second reader began.
    assert [batch[:-1] for batch in rest] == [batch[:-1] for batch in whole[stop:]]


def test_a_stream_is_left_after_any_example(corpus: Corpus) -> None:
    """And taken up there, twice over."""
    alone = {"batch": 1}
    all_of_it = [shown(each)[:-1] for each in stream(corpus, **alone)]
    for stop in range(0, len(all_of_it), 5):
        for batch in (1, 7):
            first = stream(corpus, batch=batch)
            read = [shown(each)[:-1] for each in islice(first, stop)]
            second = stream(corpus, batch=batch)
            second.load_state_dict(first.state_dict())
            read += [shown(each)[:-1] for each in islice(second, 2)]
            third = stream(corpus, batch=batch)
            third.load_state_dict(second.state_dict())
            assert read + [shown(each)[:-1] for each in third] == all_of_it


def test_a_stream_that_ended_begins_anew(corpus: Corpus, whole: list[list[Any]]) -> None:
    """Its second time is as its first, also after it was taken up in the middle."""
    batches = Batches(stream(corpus), Collator())
    first = Batches(stream(corpus), Collator())
    next(iter(first))
    batches.load_state_dict(first.state_dict())
    assert len(list(batches)) == len(whole) - 1
    assert [shown(batch) for batch in batches] == whole


@pytest.mark.parametrize("ranks", [2, 3])
def test_processes_share_each_batch(ranks: int, corpus: Corpus) -> None:
    """Their parts, one behind the other, are the batch of one process; all of them say the same of where they are."""
    whole = list(islice(iter(DataLoader(stream(corpus, batch=6), batch_size=6, collate_fn=list)), 4))
    parts, places = [], []
    for rank in range(ranks):
        mine = stream(corpus, batch=6, rank=rank, ranks=ranks)
        parts.append(list(islice(iter(DataLoader(mine, batch_size=6 // ranks, collate_fn=list)), 4)))
        places.append(mine.state_dict())
    assert places == [places[0]] * ranks
    for number, batch in enumerate(whole):
        together = [shown(each) for part in parts for each in part[number]]
        assert together == [shown(each) for each in batch]


def test_each_time_is_drawn_anew_unless_copies_are_fixed(corpus: Corpus) -> None:
    """Dynamic: no row comes twice. Fixed in two copies: the third time has the rows of the first, in another order."""

    def rows(times: int, **given: Any) -> list[list[str]]:
        found: list[list[str]] = [[] for _ in range(times)]
        at = stream(corpus, epochs=times, batch=1, **given)
        for example in at:
            found[example.begins.epoch].append(str(shown(example)[:-1]))
        return found

    one, two, three = rows(3, copies=2)
    assert (sorted(one) == sorted(three), one == three) == (True, False)
    assert sorted(one) != sorted(two)
    first, second = rows(2)
    assert len(set(first) & set(second)) < len(first) / 10
    assert rows(1, seed=5)[0] != first


def test_an_endless_stream_goes_past_the_end(corpus: Corpus) -> None:
    """The third time begins where two have ended."""
    count = len(list(stream(corpus, batch=1)))
    endless = [each.begins.epoch for each in islice(stream(corpus, epochs=None, batch=1), count + 1)]
    assert (endless[-2], endless[-1]) == (1, 2)


def test_rows_are_padded_and_hidden_there(corpus: Corpus) -> None:
    """To the longest, or on to a multiple; labels of the padding are ignored."""
    for batch in Batches(stream(corpus), Collator(pad_id=5, multiple=4)):
        assert batch.ids.shape == batch.segments.shape == batch.mask.shape == batch.labels.shape
        assert batch.ids.shape[1] % 4 == 0
        assert (batch.ids[~batch.mask] == 5).all()
        assert (batch.labels[~batch.mask] == IGNORED).all()
        assert batch.mask.sum(1).max() > batch.ids.shape[1] - 4
        assert (batch.mask.int().diff(dim=1) <= 0).all()
        assert (batch.ids[:, 0] == SPECIAL["cls"]).all()
        assert len(batch.follows) == len(batch.ids)


def test_nothing_is_drawn_from_torchs_own_generator(corpus: Corpus) -> None:
    """Nor does it matter what it holds."""
    for workers in (0, 2):
        before = torch.get_rng_state()
        next(iter(Batches(stream(corpus), Collator(), workers)))
        assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"batch": 7, "ranks": 2}, "a batch that ranks divide"),
        ({"batch": 0}, "a batch that ranks divide"),
        ({"rank": 1}, "rank in 0..0; got 1"),
        ({"copies": 0}, "copies >= 1"),
    ],
)
def test_a_stream_that_cannot_be_is_refused(corpus: Corpus, wrong: dict[str, int], line: str) -> None:
    """In one line."""
    with pytest.raises(ValueError, match=line):
        stream(corpus, **wrong)


def test_a_corpus_without_a_pair_is_refused(tmp_path: Any) -> None:
    """Rather than searched for ever."""
    lonely = Corpus.write(tmp_path / "lonely", [[[11]], [[12]]])
    with pytest.raises(ValueError, match="a document of two sentences"):
        next(iter(stream(lonely, epochs=None)))
