import pytest
import torch

from impl.masking import mlm

SELECTIONS = pytest.mark.parametrize("selection", ["bernoulli", "exact_count", "count_of_all"])
V, MASK = 30_522, 103


def seeded(seed=0):
    """A generator of its own."""
    return torch.Generator().manual_seed(seed)


def batch(rows=31, n=257, words=V, dtype=torch.int64):
    """Random ids with special tokens at both ends and padding of a different length in every row."""
    ids = torch.randint(words, (rows, n), generator=seeded(20260)).to(dtype)
    lengths = torch.arange(rows)[:, None] * 8 % n
    place = torch.arange(n)
    return ids, (place == 0) | (place >= lengths)


@SELECTIONS
def test_labels_stand_where_tokens_were_selected_and_nowhere_else(selection):
    """A label is the original id or −100; special tokens keep −100; unlabelled tokens are as they were."""
    ids, special = batch()
    before = ids.clone(), special.clone()
    corrupted, labels = mlm(ids, special, MASK, V, seeded(), selection=selection)
    selected = labels != -100
    assert torch.equal(labels[selected], ids[selected])
    assert torch.equal(corrupted[~selected], ids[~selected])
    assert not (selected & special).any()
    assert selected.any()
    assert ((corrupted >= 0) & (corrupted < V)).all()
    assert torch.equal(ids, before[0])
    assert torch.equal(special, before[1])


@SELECTIONS
def test_the_three_fates_all_occur(selection):
    """Of many selected tokens, some are masked, some become another word, some stay (their law is verified elsewhere)."""
    ids, special = batch()
    corrupted, labels = mlm(ids, special, MASK, V, seeded(), selection=selection)
    selected = labels != -100
    masked, stayed = corrupted[selected] == MASK, corrupted[selected] == ids[selected]
    assert 0 < (~masked & ~stayed).sum() < masked.sum()
    assert 0 < stayed.sum() < masked.sum()


@SELECTIONS
def test_equal_seeds_give_equal_results_and_other_seeds_others(selection):
    """Reproducible from the generator alone, whatever torch's global generator does."""
    ids, special = batch()

    def run(seed):
        torch.rand(seed + 1)
        return torch.stack(mlm(ids, special, MASK, V, seeded(seed), selection=selection))

    assert torch.equal(run(1), run(1))
    assert not torch.equal(run(1), run(2))


@SELECTIONS
def test_the_generator_advances(selection):
    """A second call with the same generator draws afresh; the global generator is not touched."""
    ids, special = batch()
    generator, state = seeded(), torch.get_rng_state()
    first, second = (mlm(ids, special, MASK, V, generator, selection=selection)[1] for _ in range(2))
    assert not torch.equal(first, second)
    assert torch.equal(torch.get_rng_state(), state)


@SELECTIONS
@pytest.mark.parametrize(
    "dtype",
    [
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
        torch.uint16,
        torch.uint32,
        torch.uint64,
    ],
    ids=str,
)
def test_any_integer_dtype_is_kept(selection, dtype):
    """The results equal those of int64 ids; labels of an unsigned dtype, which holds no −100, are int64."""
    ids, special = batch(words=100)
    want = mlm(ids, special, 4, 100, seeded(), selection=selection)
    corrupted, labels = mlm(ids.to(dtype), special, 4, 100, seeded(), selection=selection)
    assert corrupted.dtype == dtype
    assert labels.dtype == (dtype if dtype.is_signed else torch.int64)
    assert torch.equal(corrupted.long(), want[0])
    assert torch.equal(labels.long(), want[1])


@SELECTIONS
@pytest.mark.parametrize("shape", [(0,), (13,), (5, 0), (0, 5), (1, 1), (2, 3, 5)], ids=str)
def test_any_leading_dimensions_and_sizes_of_zero(selection, shape):
    """One row, no row, rows of no token, batches of batches."""
    corrupted, labels = mlm(
        torch.full(shape, 7), torch.zeros(shape, dtype=torch.bool), MASK, V, seeded(), selection=selection
    )
    assert corrupted.shape == labels.shape == shape


@SELECTIONS
def test_special_tokens_alone_are_never_selected(selection):
    """A batch of padding comes back as it was."""
    ids = torch.full((7, 5), 3)
    corrupted, labels = mlm(ids, torch.ones(7, 5, dtype=torch.bool), MASK, V, seeded(), selection=selection)
    assert torch.equal(corrupted, ids)
    assert (labels == -100).all()


@SELECTIONS
def test_inputs_may_be_views(selection):
    """Transposed ids and expanded masks give what their copies give."""
    ids, special = batch()
    ids, special = ids.mT.contiguous().mT, special[3].expand_as(ids)
    got = mlm(ids, special, MASK, V, seeded(), selection=selection)
    want = mlm(ids.contiguous(), special.contiguous(), MASK, V, seeded(), selection=selection)
    assert all(torch.equal(a, b) for a, b in zip(got, want, strict=True))


@pytest.mark.parametrize("n", range(1, 130))
def test_exact_count_selects_a_rounded_15_percent_of_every_row(n):
    """max(1, round(0.15 c)) of c ordinary tokens, halves to even: 1.5 gives 2, 4.5 gives 4; none of none."""
    special = torch.arange(n)[None] >= torch.arange(n + 1)[:, None]  # row c has c ordinary tokens
    _, labels = mlm(torch.full((n + 1, n), 7), special, MASK, V, seeded(n), selection="exact_count")
    fifteenths = [(c * 15 // 100, c * 15 % 100) for c in range(n + 1)]
    rounded = [whole + (rest > 50 or (rest == 50 and whole % 2)) for whole, rest in fifteenths]
    want = [min(c, max(1, k)) for c, k in enumerate(rounded)]
    assert (labels != -100).sum(-1).tolist() == want


def test_count_of_all_selects_15_percent_of_the_whole_row():
    """Special tokens count, and are not selected; where too few are left, all of these are."""
    n = 20
    special = torch.arange(n)[None] >= torch.arange(n + 1)[:, None]  # row c has c ordinary tokens
    _, labels = mlm(torch.full((n + 1, n), 7), special, MASK, V, seeded(n), selection="count_of_all")
    assert (labels != -100).sum(-1).tolist() == [min(c, 3) for c in range(n + 1)]
    assert (labels[special] == -100).all()


def test_exact_count_selects_every_place_equally_often():
    """Of 20 places three are selected; over all 1 140 triples equally likely ones, none is missing in 40 000 draws."""
    ids = torch.zeros(40_000, 20, dtype=torch.int64)
    _, labels = mlm(ids, ids > 0, MASK, V, seeded(), selection="exact_count")
    triples = (labels != -100).nonzero()[:, 1].view(-1, 3).unique(dim=0)
    assert len(triples) == 1140


def test_every_word_can_be_drawn():
    """Random words are uniform on 0..V−1: with V = 7 all of them appear, the mask's id among them."""
    ids = torch.full((31, 257), 6)
    corrupted, _ = mlm(ids, ids < 0, 2, 7, seeded())
    assert set(corrupted.unique().tolist()) == set(range(7))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("changes", "error", "line"),
    [
        ({"ids": torch.ones(5, 7)}, TypeError, "expected integer ids; got ids float32"),
        ({"ids": torch.ones(5, 7).bool()}, TypeError, "got ids bool"),
        (
            {"special": torch.zeros(5, 7)},
            TypeError,
            "expected a boolean special, True = never selected; got special float32",
        ),
        ({"special": torch.zeros(5, 6).bool()}, ValueError, "got ids (5, 7), special (5, 6)"),
        (
            {"V": 0},
            ValueError,
            "expected V >= 1, 0 <= mask_id < V; got V 0, mask_id 103",
        ),
        ({"mask_id": -1}, ValueError, "got V 30522, mask_id -1"),
        ({"mask_id": V}, ValueError, "0 <= mask_id < V; got V 30522, mask_id 30522"),
        (
            {"ids": torch.full((5, 7), V)},
            IndexError,
            "expected ids in 0..30521, below 30522; got ids[0, 0] =",
        ),
        ({"ids": torch.ones(5, 7).long() - 2}, IndexError, "below 30522; got ids[0, 0] = -1"),
        ({"ids": torch.ones(5, 7).to(torch.int8)}, ValueError, "got int8, at most 127"),
        (
            {"selection": "exact"},
            ValueError,
            "selection is 'bernoulli', 'exact_count' or 'count_of_all'; got",
        ),
        ({"generator": None}, TypeError, "expected a torch.Generator as generator; got None"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(changes, error, line):
    """The line names the formula, what was expected, and what was given."""
    arguments = {
        "ids": torch.ones(5, 7, dtype=torch.int64),
        "special": torch.zeros(5, 7, dtype=torch.bool),
        "mask_id": MASK,
        "V": V,
        "generator": seeded(),
    }
    with pytest.raises(error) as caught:
        mlm(**arguments | changes)
    assert str(caught.value).startswith("masking.mlm: ")
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.gpu
@SELECTIONS
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_ids_on_a_device_stay_there(selection):
    """Drawn by a generator of that device; a generator of another is refused."""
    ids, special = (x.cuda() for x in batch())
    corrupted, labels = mlm(
        ids, special, MASK, V, torch.Generator("cuda").manual_seed(0), selection=selection
    )
    assert corrupted.is_cuda
    assert labels.is_cuda
    with pytest.raises(ValueError, match="expected a generator on the ids' device"):
        mlm(ids, special, MASK, V, seeded(), selection=selection)


@pytest.mark.compiled
def test_compiled_code_may_call_it():
    """It breaks the graph, for Dynamo does not trace generators, and gives what it gives eagerly."""
    ids, special = batch()

    def step(ids, special):
        return mlm(ids + 0, special, MASK, V, seeded())

    want, got = step(ids, special), torch.compile(step, backend="aot_eager")(ids, special)
    assert all(torch.equal(a, b) for a, b in zip(got, want, strict=True))
