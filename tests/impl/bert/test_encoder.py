"""The encoder beside transformers' with the same parameters, and what its masks and positions do."""

from copy import deepcopy

import pytest
import torch

from impl.bert import BertEncoder

MODELS = {
    "bert": "BertModel",
    "roberta": "RobertaModel",
    "xlm-roberta": "XLMRobertaModel",
    "albert": "AlbertModel",
    "distilbert": "DistilBertModel",
}


@pytest.fixture
def encoder(randomized):
    """An encoder in float64 with random parameters."""
    return lambda config, **changes: randomized(BertEncoder(config, **changes)).double()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("unpadded", [True, False])
def test_every_layer_is_transformers(dtype, unpadded, member, encoder, theirs, ids, mask, segments, allowed):
    """Of every family, layer by layer at every real token, and the pooler."""
    ours = encoder(member).to(dtype)
    words, with_segments = ids(member), {} if member.segments < 2 else {"segments": segments}
    model = theirs(ours, MODELS[member.family])

    def wanted(dtype):
        given = {"token_type_ids": with_segments.get("segments")} if with_segments else {}
        with torch.no_grad():
            said = deepcopy(model).to(dtype)(words, mask.long(), **given, output_hidden_states=True)
        layers = torch.stack(said.hidden_states).double()
        if member.family == "albert":  # its first is what leads to the layers
            assert len(layers) == member.layers + 1
        return layers[:, mask], said.get("pooler_output", torch.zeros(())).double()

    got = ours(words, mask=mask, **with_segments, all_layers=True, unpadded=unpadded)
    layers, pooled = wanted(torch.float64)
    assert (got.layers[:, mask] - layers).abs().max() <= allowed(lambda dtype: wanted(dtype)[0], dtype)
    assert torch.equal(got.last, got.layers[-1])
    if ours.pooler is not None:
        assert (got.pooled - pooled).abs().max() <= allowed(lambda dtype: wanted(dtype)[1], dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_real_weights_say_what_they_say_in_transformers(dtype, minilm, allowed):
    """Layer by layer, on words of the vocabulary, with padding and two segments."""
    transformers = pytest.importorskip("transformers")
    model = transformers.BertModel.from_pretrained(minilm).eval()
    ours = BertEncoder.from_pretrained(minilm, dtype=dtype)
    generator = torch.Generator().manual_seed(3)
    words = torch.randint(999, 30_522, (3, 19), generator=generator)
    mask = torch.arange(19) < torch.tensor([[19], [5], [13]])
    segments = (torch.arange(19) >= 7).long().expand(3, 19)

    def wanted(dtype):
        with torch.no_grad():
            said = deepcopy(model).to(dtype)(words, mask.long(), segments, output_hidden_states=True)
        return torch.stack(said.hidden_states).double()[:, mask]

    with torch.no_grad():
        got = ours(words, segments, mask, all_layers=True).layers[:, mask]
    assert (got - wanted(torch.float64)).abs().amax((1, 2)).max() <= allowed(wanted, dtype)


def test_the_gradients_are_those_of_the_padded_run(member, encoder, ids, mask, normal):
    """Without padding in between, every parameter has the same gradient."""
    ours, words = encoder(member), ids(member)
    g = normal(*words.shape, member.d_model, dtype=torch.float64)

    def gradients(unpadded):
        ours.zero_grad()
        encoded = ours(words, mask=mask, unpadded=unpadded)
        ((encoded.last * g).sum() + (0 if encoded.pooled is None else encoded.pooled.sum())).backward()
        return [p.grad for p in ours.parameters()]

    for packed, padded in zip(gradients(True), gradients(False), strict=True):
        # Two orders of summation over some thousand terms: within 1e-16 · √1000 of the largest entry, a hundredfold kept free.
        torch.testing.assert_close(packed, padded, rtol=0, atol=float(padded.abs().max()) * 3e-13)


@pytest.mark.parametrize("unpadded", [True, False])
def test_padding_is_never_read_and_comes_out_as_0(unpadded, config, encoder, ids, mask, segments):
    """Any number may stand there, one beyond the tables included; and sequences do not see each other."""
    ours, words = encoder(config), ids(config)
    spoilt = words.masked_fill(~mask, 10**6)
    wrong = segments.masked_fill(~mask, -7)
    first = ours(words, segments, mask, unpadded=unpadded).last
    assert torch.equal(first, ours(spoilt, wrong, mask, unpadded=unpadded).last)
    assert not first[~mask].any()
    length = int(mask[2].sum())
    alone = ours(words[2, :length], segments[2, :length]).last
    # One sequence by itself is summed in another order: some hundred roundings of 1e-16 of entries of size 1.
    torch.testing.assert_close(alone, first[2, :length], rtol=0, atol=1e-12)


def test_a_sequence_of_padding_alone_is_0(config, encoder, ids, mask):
    """And nothing is NaN, whether it is taken out or not."""
    ours, words, mask = encoder(config), ids(config), mask.clone()
    mask[1] = False
    for unpadded in (True, False):
        encoded = ours(words, mask=mask, unpadded=unpadded)
        assert not encoded.last[1].any()
        assert encoded.last.isfinite().all()
        nothing = ours(words, mask=torch.zeros_like(mask), unpadded=unpadded)
        assert not nothing.last.any()


def test_positions_are_counted_from_the_offset(member, encoder, ids):
    """What is counted may also be given; the places of other rows give other vectors."""
    ours, words = encoder(member), ids(member)[0]
    places = torch.arange(len(words)) + member.offset
    assert torch.equal(ours(words).last, ours(words, positions=places).last)
    assert not torch.allclose(ours(words).last, ours(words, positions=places.flip(0)).last)


def test_padding_in_front_shifts_no_position_of_roberta_s(configs, encoder, ids, mask):
    """Its positions count real tokens; BERT's count places."""
    for config, shifted in ((configs["roberta"], False), (configs["bert"], True)):
        ours, words = encoder(config), ids(config)[2]
        length = int(mask[2].sum())
        behind, in_front = (
            ours(words, mask=mask[2]).last[:length],
            ours(words.roll(6), mask=mask[2].roll(6)).last[6:],
        )
        # In other places of a padded row: some hundred roundings of 1e-16 of entries of size 1.
        assert torch.allclose(behind, in_front, rtol=0, atol=1e-12) is not shifted


def test_weights_of_attention_are_transformers(config, encoder, theirs, ids, mask, segments, allowed):
    """Every head of every layer; what a real token gives to padding is 0."""
    ours, words = encoder(config), ids(config)
    model = theirs(ours, "BertModel")
    model.set_attn_implementation("eager")

    def wanted(dtype):
        with torch.no_grad():
            said = deepcopy(model).to(dtype)(words, mask.long(), segments, output_attentions=True)
        return torch.stack(said.attentions).double().transpose(2, 3)[:, mask]

    got = ours(words, segments, mask, weights=True)
    assert got.weights.shape == (config.layers, *words.shape[:1], config.heads, 17, 17)
    assert (got.weights.transpose(2, 3)[:, mask] - wanted(torch.float64)).abs().max() <= allowed(
        wanted, torch.float64
    )
    # Without weights the attention is fused, and summed in another order: as above.
    assert torch.allclose(got.last, ours(words, segments, mask).last, rtol=0, atol=1e-12)


def test_batches_may_have_any_leading_dimensions(config, encoder, ids, mask):
    """None, and two. Where a product is by another number of rows, some processors add in another order: some thousand roundings
    of 1e-16 each, which norms leave as they are, are far below 1e-10.
    """
    ours, words = encoder(config), ids(config)
    whole = ours(words[:4], mask=mask[:4], all_layers=True, weights=True)
    split = ours(
        words[:4].unflatten(0, (2, 2)), mask=mask[:4].unflatten(0, (2, 2)), all_layers=True, weights=True
    )
    for one, other in zip(whole, split, strict=True):
        assert (one.flatten() - other.flatten()).abs().max() < 1e-10
    assert split.layers.shape == (config.layers + 1, 2, 2, 17, config.d_model)


@pytest.mark.parametrize("unpadded", [False, True])
def test_a_batch_of_nothing_is_nothing(unpadded, config, encoder, ids, mask):
    """Of the last batch of a set that was filtered, say: all that is asked for is there, and empty."""
    none = encoder(config)(ids(config)[:0], mask=mask[:0], all_layers=True, unpadded=unpadded)
    assert none.last.shape == (0, 17, config.d_model)
    assert none.pooled.shape == (0, config.d_model)
    assert none.layers.shape == (config.layers + 1, 0, 17, config.d_model)
    assert encoder(config)(ids(config)[:0], weights=True).weights.shape == (
        config.layers,
        0,
        config.heads,
        17,
        17,
    )


def test_equal_seeds_draw_equal_weights(config):
    """As BERT's: cut at two standard deviations, norms at 1 and biases at 0."""
    one, other = (BertEncoder(config, generator=torch.Generator().manual_seed(5)) for _ in range(2))
    for (name, p), q in zip(one.named_parameters(), other.parameters(), strict=True):
        assert torch.equal(p, q)
        if p.dim() > 1:
            assert 0 < p.abs().max() <= 2 * config.std
        else:
            assert (p == float("norm" in name and "weight" in name)).all()


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused(config, configs, encoder, ids, mask):
    """In one line that says what was expected and what was given."""
    ours, words = encoder(config), ids(config)
    long = torch.zeros(29, dtype=torch.int64)
    distil, roberta = (encoder(configs[name]) for name in ("distilbert", "roberta"))
    for call, error, line in [
        (lambda: ours(words[:, :0]), ValueError, r"expected at least one token in a row; got ids \(5, 0\)"),
        (lambda: ours(long), ValueError, "expected at most 23 tokens; got 29"),
        (lambda: roberta(long[:24]), ValueError, "expected at most 23 tokens; got 24"),
        (lambda: ours(words, mask=mask[:3]), ValueError, r"expected ids, mask of one shape"),
        (lambda: ours(words, mask=mask.long()), TypeError, "expected a boolean mask"),
        (lambda: distil(words, words), ValueError, "expected no segments: distilbert has none"),
    ]:
        with pytest.raises(error, match=f"^bert.encoder: {line}"):
            call()
    for wrong, segments, where in [
        (
            words.masked_fill(words == words[2, 4], 41),
            None,
            r"ids in 0\.\.40, below 41; got ids\[[0-4], \d+\] = 41",
        ),
        (words, (words * 0).index_fill(1, torch.tensor([2]), 3), r"segments in .* got segments\[0, 2\] = 3"),
    ]:
        for unpadded in (True, False):
            with pytest.raises(IndexError, match=f"^bert.encoder: expected {where}"):
                ours(wrong, segments, mask, unpadded=unpadded)
