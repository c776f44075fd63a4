from dataclasses import replace

import numpy as np
import pytest
import torch

from impl.embedding import token
from impl.seq2seq import DECODERS, Config, Seq2Seq
from spec.language.evaluation.evaluate import bound
from spec.language.registry import find

CONFIG = Config(source_vocabulary=11, target_vocabulary=5, begin=3, end=1, embedding=7, state=6, alignment=2)
LENGTHS = torch.tensor([13, 3, 1, 5])
SEED = {"none": 20275, "bahdanau": 20275, "luong": 20267}
"""Random models that say at least four different words, and end the rows of ``sources()`` at different steps."""
ATTENTION = pytest.mark.parametrize("attention", DECODERS)


def model(attention, dtype=torch.float64, **changes):
    """A model with random parameters; the decoder's are large, so that it says many things."""
    config = replace(CONFIG, attention=attention, **changes)
    built = Seq2Seq(config, generator=torch.Generator().manual_seed(SEED[attention])).to(dtype)
    with torch.no_grad():
        for parameter in built.decoder.parameters():
            parameter *= 3
    return built


def sources(high=CONFIG.source_vocabulary):
    """A batch of sources of different lengths."""
    return torch.randint(high, (len(LENGTHS), 13), generator=torch.Generator().manual_seed(3))


def previous(T=7):
    """Words for teacher forcing, the begin word first."""
    words = torch.randint(
        CONFIG.target_vocabulary, (len(LENGTHS), T), generator=torch.Generator().manual_seed(5)
    )
    words[:, 0] = CONFIG.begin
    return words


def within(got, wanted):
    """Whether results lie within the bound of a statement: pairs of value and bound."""
    return all(
        bool((np.abs(x.detach().numpy() - value) <= allowed).all())
        for x, (value, allowed) in zip(got, wanted, strict=True)
    )


@ATTENTION
def test_every_step_is_the_step_of_the_statement(attention):
    """From each state the next one, its alignment and its word are those of the formula, at the module's parameters; without
    attention they are those of Bahdanau's formula for a source of one annotation, the final states.
    """
    it = model(attention)
    decoder, words = it.decoder, previous()
    encoded = it.encoder(sources(), LENGTHS)
    y = token(words, decoder.E)
    states, _, alpha = decoder.advance(encoded, decoder.prepare(encoded), decoder.start(encoded), y)
    logits, _ = it(sources(), LENGTHS, words)
    before = torch.cat((decoder.start(encoded).unsqueeze(1), states[:, :-1]), 1)
    named = dict(decoder.named_parameters())
    if attention == "none":
        named |= {"W": torch.ones(2, 12).double(), "v": torch.ones(2).double()}
    formula = find("attention.luong_step" if attention == "luong" else "attention.bahdanau_step")
    parameters = [named[each.name] for each in formula.inputs[3:-1]]
    for row in range(len(LENGTHS)):
        h = encoded.final[row].unsqueeze(0) if attention == "none" else encoded.h[row]
        mask = torch.tensor([True]) if attention == "none" else encoded.mask[row]
        for t in range(words.shape[1]):
            data = (before[row, t], y[row, t], h, *parameters, mask)
            wanted = bound(formula, [x.detach().numpy() for x in data], dtype="float64")
            if attention == "none":
                assert within((states[row, t],), wanted[:1])
            elif attention == "bahdanau":
                assert within((states[row, t], alpha[row, t]), (wanted[0], wanted[2]))
            else:
                said = (states[row, t], logits[row, t].softmax(-1), alpha[row, t])
                assert within(said, (wanted[0], *wanted[2:]))


def test_a_source_in_a_batch_has_the_annotations_that_it_has_alone():
    """Both are those of the statement of the bidirectional LSTM; beyond a source's end they are 0."""
    encoder, formula = model("none").encoder, find("recurrent.lstm_bidirectional")
    h, mask, final = encoder(sources(), LENGTHS)
    zero = np.zeros((2, CONFIG.state // 2))
    weights = [x.detach().numpy() for x in (encoder.W_x, encoder.W_h, encoder.b)]
    for row, n in enumerate(LENGTHS.tolist()):
        ids = sources()[row, :n]
        alone = encoder(ids.unsqueeze(0), torch.tensor([n]))
        wanted = bound(
            formula, [token(ids, encoder.E).detach().numpy(), zero, zero, *weights], dtype="float64"
        )
        assert within((h[row, :n],), wanted)
        assert within((alone.h[0],), wanted)
        assert mask[row].sum() == n
        assert not h[row, n:].any()
        half = CONFIG.state // 2
        assert torch.equal(final[row], torch.cat((h[row, n - 1, :half], h[row, 0, half:])))


@ATTENTION
def test_what_stands_behind_a_source_is_never_read(attention):
    """Not even an id that no vocabulary holds: every result is bit for bit the same."""
    it = model(attention)
    spoilt = sources().masked_fill(torch.arange(13) >= LENGTHS[:, None], -1)
    for got, want in zip(it(spoilt, LENGTHS, previous()), it(sources(), LENGTHS, previous()), strict=True):
        assert got is want is None or torch.equal(got, want)
    assert torch.equal(it.greedy(spoilt, LENGTHS, 7)[0], it.greedy(sources(), LENGTHS, 7)[0])


@ATTENTION
def test_a_source_alone_is_decoded_as_in_a_batch(attention):
    """Greedy decoding says the same words; alone it stops at its own end."""
    it, longest = model(attention), 17
    together, alignments = it.greedy(sources(), LENGTHS, longest)
    for row, n in enumerate(LENGTHS.tolist()):
        alone, alpha = it.greedy(sources()[row : row + 1, :n], LENGTHS[row : row + 1], longest)
        assert torch.equal(alone[0], together[row, : alone.shape[1]])
        assert (together[row, alone.shape[1] :] == CONFIG.end).all()
        if attention != "none":
            assert alpha.shape == (1, alone.shape[1], n)
            assert not alignments[row, :, n:].any()


@ATTENTION
def test_greedy_decoding_takes_the_likeliest_word_under_teacher_forcing(attention):
    """The words it said, given back one step later, make each of them the likeliest; alignments belong to the same steps."""
    it = model(attention)
    words, alignments = it.greedy(sources(), LENGTHS, 17)
    assert len(words.unique()) > 3, "a model that repeats one word would show nothing"
    begin = torch.full((len(words), 1), CONFIG.begin)
    logits, alpha = it(sources(), LENGTHS, torch.cat((begin, words[:, :-1]), 1))
    running = torch.cat((torch.ones_like(begin).bool(), words[:, :-1] != CONFIG.end), 1)
    running = running.cumprod(1).bool()
    assert torch.equal(logits.argmax(-1)[running], words[running])
    if attention != "none":
        assert torch.equal(alignments > 0, (alpha > 0) & running.unsqueeze(-1))


@ATTENTION
def test_after_its_end_a_row_holds_only_the_end(attention):
    """Rows end at different steps; decoding stops when all have ended, or at the longest length."""
    it = model(attention)
    words, alignments = it.greedy(sources(), LENGTHS, 29)
    ends = [(row == CONFIG.end).nonzero()[0, 0].item() for row in words]
    assert len(set(ends)) > 1, "all rows end together: nothing was tested"
    for row, at in enumerate(ends):
        assert (words[row, at:] == CONFIG.end).all()
        if attention != "none":
            assert not alignments[row, at + 1 :].any()
            assert alignments[row, at].any()
    assert words.shape[1] == max(ends) + 1
    shorter, _ = it.greedy(sources(), LENGTHS, 2)
    assert torch.equal(shorter, words[:, :2])


@ATTENTION
def test_of_equally_likely_words_the_first_is_taken(attention):
    """Decoding is deterministic, ties included."""
    it = model(attention)
    with torch.no_grad():
        it.decoder.W_o.zero_()
    assert not it.greedy(sources(), LENGTHS, 3)[0].any()


@ATTENTION
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradient_reaches_every_parameter_and_no_word_that_is_only_padding(attention, dtype):
    """A word that stands behind the sources' ends only keeps a gradient of 0 in the encoder's table."""
    it, padding = model(attention, dtype), CONFIG.source_vocabulary - 1
    ids = sources(padding).masked_fill(torch.arange(13) >= LENGTHS[:, None], padding)
    logits, _ = it(ids, LENGTHS, previous())
    assert logits.dtype == dtype
    logits.square().sum().backward()
    for name, parameter in it.named_parameters():
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.any(), name
    assert not it.encoder.E.grad[padding].any()


@ATTENTION
def test_parameters_are_drawn_from_the_generator_alone(attention):
    """Equal seeds give equal models, whatever else was drawn; torch's own generator is left where it was."""
    config = replace(CONFIG, attention=attention)
    before = torch.get_rng_state()
    first, second, other = (
        Seq2Seq(config, generator=torch.Generator().manual_seed(seed)).state_dict() for seed in (2, 2, 3)
    )
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["decoder.W_s"], other["decoder.W_s"])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@ATTENTION
def test_a_gpu_decodes_the_same_words(attention):
    """Everything follows the device of the parameters and of the ids."""
    it = model(attention)
    words, _ = it.greedy(sources(), LENGTHS, 17)
    assert torch.equal(it.cuda().greedy(sources().cuda(), LENGTHS.cuda(), 17)[0].cpu(), words)


@pytest.mark.usefixtures("unchecked")
class TestRefusals:
    """One line each."""

    @pytest.mark.parametrize(
        ("changes", "line"),
        [
            ({"state": 5}, "an even state"),
            ({"embedding": 0}, "embedding >= 1"),
            ({"end": 5}, "expected end in 0..4; got end 5"),
            ({"begin": -1}, "expected begin in 0..4; got begin -1"),
            (
                {"attention": "dot"},
                "expected attention to be one of none, bahdanau, luong; got attention 'dot'",
            ),
        ],
    )
    def test_a_configuration_that_cannot_be(self, changes, line):
        """It is refused when it is made."""
        with pytest.raises(ValueError, match=line):
            replace(CONFIG, **changes)

    def test_sources_that_do_not_fit(self):
        """Shapes, lengths and words are checked at the boundary."""
        it = model("bahdanau")
        with pytest.raises(ValueError, match=r"expected source \(b m\), lengths \(b\); got source"):
            it.greedy(sources(), LENGTHS[:2], 3)
        with pytest.raises(ValueError, match=r"expected lengths in 1\.\.13"):
            it.greedy(sources(), LENGTHS + 1, 3)
        with pytest.raises(IndexError, match=r"expected ids in 0\.\.10"):
            it.greedy(sources() + 1, LENGTHS, 3)
        with pytest.raises(ValueError, match="expected max_length >= 1; got 0"):
            it.greedy(sources(), LENGTHS, 0)

    @pytest.mark.parametrize("attention", ["none", "bahdanau", "luong"])
    @pytest.mark.parametrize("shape", [(1, 2), (2,), (5, 2), (4, 0)])
    def test_targets_that_do_not_fit(self, attention, shape):
        """There is a row for each source: one row is not silently taken for all of them."""
        previous = torch.zeros(shape, dtype=torch.int64)
        with pytest.raises(
            ValueError, match=r"^seq2seq: expected previous \(b T\), T >= 1, .*; got previous \("
        ):
            model(attention)(sources(), LENGTHS, previous)
