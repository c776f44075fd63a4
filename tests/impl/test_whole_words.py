"""Whole words are hidden; how often, and what becomes of their pieces, is what verify asks of the law."""

import pytest
import torch

from impl.bert.data import whole_words as of_a_row
from impl.masking import whole_words

REPLACEMENTS = pytest.mark.parametrize("replacement", ["each_piece", "always_mask"])
V, MASK = 30_522, 103


def seeded(seed=0):
    """A generator of its own."""
    return torch.Generator().manual_seed(seed)


def batch(rows=31, n=257, words=V, dtype=torch.int64):
    """Random ids; a third continue a word, at the beginning of rows and behind special tokens as well; ends and padding stay."""
    ids = torch.randint(words, (rows, n), generator=seeded(20260)).to(dtype)
    place, lengths = torch.arange(n), torch.arange(rows)[:, None] * 8 % n
    special = (place == 0) | (place >= lengths)
    special[::2, 0] = False
    special[:, 17::19] = True
    return ids, ids.long() % 3 == 0, special


def numbers(continues, special):
    """The number of each token's word within its row, one by one."""
    found = torch.zeros(continues.shape, dtype=torch.int64)
    for r, (inside, fixed) in enumerate(zip(continues.tolist(), special.tolist(), strict=True)):
        number = 0
        for i in range(len(inside)):
            number += not (i and inside[i] and not fixed[i] and not fixed[i - 1])
            found[r, i] = number
    return found


@REPLACEMENTS
def test_words_are_selected_whole_and_nothing_else_changes(replacement):
    """A label is the original id or −100, for all pieces of a word alike; special tokens keep −100; inputs stay as they are."""
    ids, continues, special = batch()
    before = ids.clone(), continues.clone(), special.clone()
    corrupted, labels = whole_words(ids, continues, special, MASK, V, seeded(), replacement=replacement)
    selected, number = labels != -100, numbers(continues, special)
    assert torch.equal(labels[selected], ids[selected])
    assert torch.equal(corrupted[~selected], ids[~selected])
    assert not (selected & special).any()
    within = number[:, 1:] == number[:, :-1]
    assert torch.equal(selected[:, 1:][within], selected[:, :-1][within])
    assert selected[:, 1:][within].any()
    assert all(map(torch.equal, before, (ids, continues, special)))


def test_the_three_fates_all_occur_within_words():
    """Some neighbours in a selected word differ in what becomes of them."""
    ids, continues, special = batch()
    corrupted, labels = whole_words(ids, continues, special, MASK, V, seeded())
    selected = labels != -100
    masked, stayed = corrupted[selected] == MASK, corrupted[selected] == ids[selected]
    assert 0 < (~masked & ~stayed).sum() < masked.sum()
    assert 0 < stayed.sum() < masked.sum()
    number, hidden = numbers(continues, special), corrupted == MASK
    together = (number[:, 1:] == number[:, :-1]) & selected[:, 1:]
    assert (hidden[:, 1:] != hidden[:, :-1])[together].any()


def test_always_mask_leaves_nothing_but_the_mask():
    """Every selected token becomes it."""
    ids, continues, special = batch()
    corrupted, labels = whole_words(ids, continues, special, MASK, V, seeded(), replacement="always_mask")
    assert (corrupted[labels != -100] == MASK).all()


@REPLACEMENTS
def test_the_generator_alone_decides(replacement):
    """Equal seeds give equal results, others others; a second call draws afresh; the global generator is not touched."""
    inputs = (*batch(), MASK, V)

    def run(generator):
        return torch.stack(whole_words(*inputs, generator, replacement=replacement))

    used, state = seeded(1), torch.get_rng_state()
    first = run(used)
    assert torch.equal(first, run(seeded(1)))
    assert not torch.equal(first, run(seeded(2)))
    assert not torch.equal(first, run(used))
    assert torch.equal(torch.get_rng_state(), state)


@REPLACEMENTS
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8, torch.uint8, torch.uint16], ids=str)
def test_any_integer_dtype_is_kept(replacement, dtype):
    """The results equal those of int64 ids; labels of an unsigned dtype, which holds no −100, are int64."""
    ids, continues, special = batch(words=100)
    want = whole_words(ids, continues, special, 4, 100, seeded(), replacement=replacement)
    corrupted, labels = whole_words(
        ids.to(dtype), continues, special, 4, 100, seeded(), replacement=replacement
    )
    assert corrupted.dtype == dtype
    assert labels.dtype == (dtype if dtype.is_signed else torch.int64)
    assert torch.equal(corrupted.long(), want[0])
    assert torch.equal(labels.long(), want[1])


@REPLACEMENTS
@pytest.mark.parametrize("shape", [(0,), (13,), (5, 0), (0, 5), (1, 1), (2, 3, 5)], ids=str)
def test_any_leading_dimensions_and_sizes_of_zero(replacement, shape):
    """One row, no row, rows of no token, batches of batches."""
    no, yes = torch.zeros(shape, dtype=torch.bool), torch.ones(shape, dtype=torch.bool)
    corrupted, labels = whole_words(torch.full(shape, 7), yes, no, MASK, V, seeded(), replacement=replacement)
    assert corrupted.shape == labels.shape == shape


def test_a_row_is_no_part_of_the_one_before():
    """Rows that are one word each are selected one by one, though all their tokens continue a word."""
    ids = torch.full((1009, 5), 7)
    _, labels = whole_words(ids, ids > 0, ids < 0, MASK, V, seeded())
    selected = labels != -100
    assert torch.equal(selected, selected[:, :1].expand(-1, 5))
    assert 100 < selected[:, 0].sum() < 210  # 151 ± 11


def test_inputs_may_be_views():
    """Transposed ids and expanded masks give what their copies give."""
    ids, continues, special = batch()
    ids, continues, special = ids.mT.contiguous().mT, continues[5].expand_as(ids), special[3].expand_as(ids)
    got = whole_words(ids, continues, special, MASK, V, seeded())
    want = whole_words(*(x.contiguous() for x in (ids, continues, special)), MASK, V, seeded())
    assert all(map(torch.equal, got, want))


def test_rows_of_a_corpus_are_drawn_by_it():
    """``impl.bert.data.whole_words`` looks up which ids continue a word, and draws alike."""
    ids, continues, special = (x[3] for x in batch())
    got = of_a_row(ids, special, torch.arange(V) % 3 == 0, MASK, V, seeded(5))
    assert all(map(torch.equal, got, whole_words(ids, continues, special, MASK, V, seeded(5))))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("changes", "error", "line"),
    [
        ({"ids": torch.ones(5, 7)}, TypeError, "expected integer ids; got ids float32"),
        ({"continues": torch.zeros(5, 7)}, TypeError, "expected a boolean continues; got continues float32"),
        ({"special": torch.zeros(5, 7)}, TypeError, "expected a boolean special, True = never selected; got"),
        (
            {"continues": torch.zeros(5, 6).bool()},
            ValueError,
            "expected ids (... n), continues (... n), special (... n); got ids (5, 7), continues (5, 6), special (5, 7)",
        ),
        ({"mask_id": V}, ValueError, "0 <= mask_id < V; got V 30522, mask_id 30522"),
        (
            {"ids": torch.full((5, 7), V)},
            IndexError,
            "expected ids in 0..30521, below 30522; got ids[0, 0] =",
        ),
        ({"ids": torch.ones(5, 7).to(torch.int8)}, ValueError, "got int8, at most 127"),
        (
            {"replacement": "each"},
            ValueError,
            "replacement is 'each_piece' or 'always_mask'; got 'each'",
        ),
        ({"generator": None}, TypeError, "expected a torch.Generator as generator; got None"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(changes, error, line):
    """The line names the formula, what was expected, and what was given."""
    no = torch.zeros(5, 7, dtype=torch.bool)
    arguments = {
        "ids": torch.ones(5, 7, dtype=torch.int64),
        "continues": no,
        "special": no,
        "mask_id": MASK,
        "V": V,
        "generator": seeded(),
    }
    with pytest.raises(error) as caught:
        whole_words(**arguments | changes)
    assert str(caught.value).startswith("masking.whole_words: ")
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.gpu
@REPLACEMENTS
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_ids_on_a_device_stay_there(replacement):
    """Drawn by a generator of that device."""
    inputs = (x.cuda() for x in batch())
    corrupted, labels = whole_words(
        *inputs, MASK, V, torch.Generator("cuda").manual_seed(0), replacement=replacement
    )
    assert corrupted.is_cuda
    assert labels.is_cuda
