"""Searches over a Transformer with its cache find what they find without one."""

from dataclasses import replace

import pytest
import torch

from impl.decoding import Recomputed, beam, greedy
from impl.transformer import Conditioned, Transformer

m, END = 7, 1
SOURCE_MASK = torch.arange(m) < torch.tensor([4, m, 1])[:, None]
LENGTHS = torch.tensor([1, 3, 2])


@pytest.fixture
def case(config):
    """A model that says many words, three sources, and the beginnings of their targets."""
    generator = torch.Generator().manual_seed(3)
    # Unscaled words leave much to the places, so that what is said changes from place to place.
    it = Transformer(replace(config, scaled=False), generator=generator).double().eval()
    source = torch.randint(13, (3, m), generator=generator)
    return it, source, torch.randint(17, (3, 3), generator=generator)


def test_greedy_decoding_is_that_of_the_whole_targets(case):
    """Word for word, from prompts of different lengths."""
    it, source, prompts = case
    found = greedy(Conditioned(it, source, SOURCE_MASK), prompts, LENGTHS, max_length=11, end=END)
    want = greedy(
        Recomputed(lambda target: it(source, target, SOURCE_MASK)), prompts, LENGTHS, max_length=11, end=END
    )
    assert torch.equal(found.tokens, want.tokens)
    assert len(found.tokens.unique()) >= 3, "a model that repeats one word would show nothing"


def test_beam_search_is_that_of_each_source_alone(case):
    """The cache follows its beams, and with them their sources and masks."""
    it, source, prompts = case
    search = {"width": 5, "max_length": 7, "end": END}
    together = beam(Conditioned(it, source, SOURCE_MASK, capacity=11), prompts, LENGTHS, **search)
    for row in range(3):
        s, n = source[row, SOURCE_MASK[row]], LENGTHS[row]

        def logits(target, s=s):
            return it(s.expand(len(target), -1), target)

        alone = beam(Recomputed(logits), prompts[row : row + 1, :n], **search)
        T = alone.tokens.shape[-1]
        assert torch.equal(together.tokens[row, :, :T], alone.tokens[0])
        assert torch.equal(together.lengths[row], alone.lengths[0])
