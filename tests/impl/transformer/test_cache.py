"""Decoding with a cache says what decoding without one says."""

from copy import deepcopy

import pytest
import torch

from impl.transformer.cache import SWEEP

m, n = 7, 11
SOURCE_MASK = torch.arange(m) < torch.tensor([4, m, 1])[:, None]
CHOICES = pytest.mark.parametrize(
    "changes", [{}, {"norm": "pre", "positions": "learned"}, {"tied": "output"}], ids=["post", "pre", "tied"]
)


@pytest.fixture
def case(model):
    """A model, sources and targets, and what it says without a cache, in any dtype."""

    def build(**changes):
        it, generator = model(**changes), torch.Generator().manual_seed(3)
        source = torch.randint(13, (3, m), generator=generator)
        target = torch.randint(17, (3, n), generator=generator)

        def uncached(dtype):
            return deepcopy(it).to(dtype)(source, target, SOURCE_MASK).double()

        return it, source, target, uncached

    return build


def started(it, source, **options):
    """A cache for the sources."""
    return it.start(it.encode(source, SOURCE_MASK), SOURCE_MASK, **options)


@CHOICES
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("widths", [[1] * n, [3, 1, 5, 2]], ids=["one by one", "some at a time"])
def test_a_step_says_what_the_whole_target_says(changes, dtype, widths, case, allowed):
    """At every length, however many words come at once."""
    it, source, target, uncached = case(**changes)
    want, limit = uncached(torch.float64), allowed(uncached, dtype)
    it = it.to(dtype)
    cache, at = started(it, source, capacity=n), 0
    for width in widths:
        logits = it.decode_step(target[:, at : at + width], cache)
        at += width
        assert (logits - want[:, at - 1]).abs().max() <= limit
    assert cache.lengths.tolist() == [n] * 3


@CHOICES
def test_prompts_of_different_lengths_share_a_batch(changes, case, allowed):
    """Each row goes on from its own last word, at its own position; what pads a prompt is never read."""
    it, source, target, uncached = case(**changes)
    want, limit = uncached(torch.float64), allowed(uncached, torch.float64)
    cache, rows = started(it, source), torch.arange(3)
    lengths = torch.tensor([2, 5, 3])
    prompt = target[:, :5].masked_fill(torch.arange(5) >= lengths[:, None], -1)
    logits = it.decode_step(prompt, cache, lengths)
    assert (logits - want[rows, lengths - 1]).abs().max() <= limit
    for _ in range(4):
        logits = it.decode_step(target[rows, lengths][:, None], cache)
        assert (logits - want[rows, lengths]).abs().max() <= limit
        lengths = lengths + 1
    # Several words at once, of different numbers again.
    more, counts = (
        torch.stack([target[rows, (lengths + i).clamp(max=n - 1)] for i in range(2)], 1),
        torch.tensor([2, 1, 2]),
    )
    logits = it.decode_step(more, cache, counts)
    assert (logits - want[rows, lengths + counts - 1]).abs().max() <= limit
    assert cache.lengths.tolist() == (lengths + counts).tolist()


@pytest.mark.parametrize("rows", [[2, 0, 1], [1, 1, 0], [0, 0, 2, 2, 1], [1]])
def test_a_reordered_cache_is_that_of_the_reordered_rows(rows, case, allowed):
    """Bit for bit, with the sources and their masks; more rows and fewer are taken."""
    it, source, target, _ = case()
    rows = torch.tensor(rows)
    cache = started(it, source)
    it.decode_step(target[:, :5], cache, torch.tensor([2, 5, 3]))
    cache.reorder(rows)
    other = it.start(it.encode(source, SOURCE_MASK)[rows], SOURCE_MASK[rows])
    it.decode_step(target[rows, :5], other, torch.tensor([2, 5, 3])[rows])
    more = target[: len(rows), 5:6] if len(rows) <= 3 else target[rows, 5:6]
    got, want = it.decode_step(more, cache), it.decode_step(more, other)
    assert (got - want).abs().max() <= allowed(
        lambda dtype: deepcopy(it).to(dtype)(source, target).double(), torch.float64
    )
    assert torch.equal(cache.lengths, other.lengths)


def test_what_is_begun_in_inference_mode_may_go_on_outside(case, allowed):
    """By turns: a cache of several beams, some of whose slots are freed on the way."""
    it, source, target, uncached = case()
    rows = torch.arange(3).repeat_interleave(2)
    want, limit = uncached(torch.float64)[rows], allowed(uncached, torch.float64)
    with torch.inference_mode():
        cache = started(it, source).reorder(rows)
    for at in range(SWEEP + 4):
        with torch.inference_mode(at % 3 == 0):
            logits = it.decode_step(target[rows][:, at % n][:, None], cache)
            cache.reorder(torch.arange(6) // 2 * 2)
        if at < n:
            assert (logits - want[:, at]).abs().max() <= limit


def test_no_rows_can_be_left(case):
    """When every row is given up the next step says nothing, and is no error."""
    it, source, target, _ = case()
    none = torch.empty(0, dtype=torch.int64)
    with torch.no_grad():
        cache = started(it, source)
        it.decode_word(target[:, 0], cache)
        for _ in range(2):
            cache = cache.reorder(none)
            assert it.decode_word(none, cache).shape == (0, 17)
            assert cache.lengths.shape == (0,)


def test_beams_share_the_slots_of_their_source(case, allowed):
    """Whatever beams win, and however many there are: each row's logits are those of its own text, read as a whole. As long as
    rows stay with their sources, nothing is moved.
    """
    it, source, target, uncached = case()
    limit, generator = allowed(uncached, torch.float64), torch.Generator().manual_seed(5)
    cache, lengths = started(it, source), [2, 5, 3]
    it.decode_step(target[:, :5], cache, torch.tensor(lengths))
    texts = [(i, target[i, :length].tolist()) for i, length in enumerate(lengths)]
    place = None
    for rows, counts in (
        ([0, 0, 1, 1, 2, 2], [1] * 6),
        ([1, 0, 3, 3, 4, 4], [1] * 6),
        ([0, 0, 3, 2, 5, 4], [2, 1, 2, 2, 1, 2]),
        ([1, 1, 2, 3, 4, 4], [1] * 6),
        ([0, 1, 0, 2, 2, 3, 5, 4, 4], [1] * 9),  # three beams of each source
        ([7, 0, 2, 2], [1] * 4),  # each row by itself
        ([3, 3, 0, 0, 1, 1, 2, 2], [1, 2] * 4),
    ):
        cache.reorder(torch.tensor(rows))
        now = cache.keys[0].data_ptr()
        assert len(rows) != 6 or place in (None, now)
        place = now
        words = torch.randint(17, (len(rows), max(counts)), generator=generator)
        texts = [
            (texts[row][0], texts[row][1] + more[:count].tolist())
            for row, more, count in zip(rows, words, counts, strict=True)
        ]
        logits = it.decode_step(words, cache, torch.tensor(counts))
        for (i, text), found in zip(texts, logits, strict=True):
            want = it(source[i : i + 1], torch.tensor([text]), SOURCE_MASK[i : i + 1])[0, -1]
            assert (found - want).abs().max() <= limit
        assert cache.lengths.tolist() == [len(text) for _, text in texts]


def test_slots_that_no_beam_sees_any_more_are_freed(case, allowed):
    """Of a text of more words than ``SWEEP`` each row still reads all that is its own, from fewer slots than there were words."""
    it, source, _, uncached = case()
    limit, generator = allowed(uncached, torch.float64), torch.Generator().manual_seed(7)
    words = it.config.max_length
    assert words > SWEEP + 1
    cache, texts = started(it, source), [[] for _ in range(3)]
    for step in range(words):
        new = torch.randint(17, (len(texts), 1), generator=generator)
        logits = it.decode_step(new, cache)
        texts = [[*text, *word] for text, word in zip(texts, new.tolist(), strict=True)]
        if step + 1 < words:
            beams = len(texts) // 3
            parents = torch.arange(3)[:, None] * beams + torch.randint(beams, (3, 2), generator=generator)
            cache.reorder(parents.flatten())
            texts = [list(texts[row]) for row in parents.flatten()]
    want = it(source.repeat_interleave(2, 0), torch.tensor(texts), SOURCE_MASK.repeat_interleave(2, 0))[:, -1]
    assert (logits - want).abs().max() <= limit
    assert cache.taken == words
    assert cache.mask(1).shape[-1] < 2 * words - SWEEP // 2


def test_a_cache_of_beams_has_all_its_room_again_after_a_reset(case):
    """Slots that the beams shared are free. Some processors add a matrix's last rows in another order: some hundred roundings of
    1e-16 each are far below 1e-10.
    """
    it, source, target, _ = case()
    cache = started(it, source, capacity=5)
    it.decode_step(target[:, :3], cache)
    cache.reorder(torch.tensor([0, 0, 1, 1, 2, 2])).reset()
    for at in range(5):
        logits = it.decode_step(target.repeat_interleave(2, 0)[:, at : at + 1], cache)
    assert (logits[::2] - logits[1::2]).abs().max() < 1e-10


def test_a_cache_that_was_reset_begins_anew(case):
    """With the same sources: bit for bit what a new one says."""
    it, source, target, _ = case()
    cache = started(it, source)
    first = it.decode_step(target[:, :3], cache)
    it.decode_step(target[:, 3:], cache)
    cache.reset()
    assert torch.equal(it.decode_step(target[:, :3], cache), first)
    assert cache.lengths.tolist() == [3, 3, 3]


def test_nothing_grows_while_decoding(case):
    """Keys and values keep the place that they were given."""
    it, source, target, _ = case()
    cache = started(it, source, capacity=n)
    before = [each.data_ptr() for each in (*cache.keys, *cache.values)]
    for at in range(n):
        it.decode_step(target[:, at : at + 1], cache)
        cache.reorder(torch.tensor([2, 0, 1]))
    assert [each.data_ptr() for each in (*cache.keys, *cache.values)] == before
    assert cache.keys[0].shape[2] == cache.capacity == n


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused_in_one_line(case):
    """No room, no words, lengths beyond the words."""
    it, source, target, _ = case()
    cache = started(it, source, capacity=5)
    it.decode_step(target[:, :3], cache)
    with pytest.raises(ValueError, match=r"room for it in 5 slots; got 3 new after 3$"):
        it.decode_step(target[:, :3], cache)
    with pytest.raises(ValueError, match=r"got 0 new after 3$"):
        it.decode_step(target[:, :0], cache)
    for lengths in ([0, 1, 1], [1, 3, 1], [1, 1]):
        with pytest.raises(ValueError, match=r"^transformer: expected lengths of 3 rows in 1..2; got \["):
            it.decode_step(target[:, :2], cache, torch.tensor(lengths))
    with pytest.raises(TypeError, match=r"^transformer: expected rows of dtype int64; got rows float32$"):
        cache.reorder(torch.tensor([0.0]))
    with pytest.raises(ValueError, match=r"^transformer: expected at most max_length 23 tokens; got 24$"):
        started(it, source, capacity=24)


@pytest.mark.usefixtures("unchecked")
def test_rows_that_are_not_those_of_the_cache_are_refused(case):
    """As they are picked, and as words are read; nothing is lost by it."""
    it, source, target, _ = case()
    cache = started(it, source)
    it.decode_step(target[:, :2], cache)
    for rows, error in (([0, 3], IndexError), ([-1], IndexError), ([[0]], ValueError)):
        with pytest.raises(error, match="transformer: expected rows"):
            cache.reorder(torch.tensor(rows))
    for ids in (target[:1, 2], target[:, 2:3], torch.cat((target, target))[:, 2]):
        with pytest.raises(ValueError, match="of the cache's r = 3 rows"):
            it.decode_word(ids, cache)
    with pytest.raises(TypeError, match=r"capacity; got 5\.0"):
        started(it, source, capacity=5.0)
    assert cache.lengths.tolist() == [2, 2, 2]
