"""Vectors of many texts are those of each by itself."""

import pytest
import torch

from impl.bert import BertEncoder, Encoding, embed
from impl.bert.model import _groups

LENGTHS = [7, 2, 13, 7, 3, 17, 2, 11]


@pytest.fixture
def encodings():
    """Texts of several lengths, as pairs."""
    generator = torch.Generator().manual_seed(3)

    def text(n):
        ids = torch.randint(1, 41, (n,), generator=generator).tolist()
        return Encoding(ids, [int(i > 1) for i in range(n)], [""] * n, [(0, 0)] * n, [None] * n)

    return [text(n) for n in LENGTHS]


@pytest.mark.parametrize("tokens", [1, 19, 1000])
def test_vectors_come_in_the_order_of_the_texts(tokens, member, randomized, encodings):
    """However many are encoded together; nothing is kept for a gradient."""
    encoder = randomized(BertEncoder(member)).double()
    found = embed(encoder, encodings, tokens=tokens)
    assert [len(x) for x in found] == LENGTHS
    for x, each in zip(found, encodings, strict=True):
        segments = torch.tensor(each.segments) if member.segments > 1 else None
        alone = encoder(torch.tensor(each.ids), segments).last
        assert not x.requires_grad
        # One sequence by itself is summed in another order: some hundred roundings of 1e-16 of entries of size 1.
        torch.testing.assert_close(x, alone.detach(), rtol=0, atol=1e-12)
    assert embed(encoder, []) == []


def test_texts_of_one_length_are_together_up_to_a_number_of_tokens():
    """A text that is longer than that is alone."""
    groups = list(_groups(LENGTHS, 16))
    assert groups == [[1, 6, 4], [0, 3], [7], [2], [5]]
    assert all(len(g) == 1 or len(g) * max(LENGTHS[i] for i in g) <= 16 for g in groups)


def test_a_tokenizer_and_an_encoder_make_vectors_of_text(minilm):
    """“Bank” is nearer to itself in one sense than across both, in real weights."""
    from impl.bert import WordPiece

    tokenizer, encoder = WordPiece.from_pretrained(minilm), BertEncoder.from_pretrained(minilm)
    texts = [
        "We sat on the grassy bank of the river.",
        "They fished from the muddy bank of the stream.",
        "She paid the money into her account at the bank.",
    ]
    encodings = tokenizer.batch(texts).encodings
    river, stream, money = (
        x[each.tokens.index("bank")] for x, each in zip(embed(encoder, encodings), encodings, strict=True)
    )
    assert torch.cosine_similarity(river, stream, 0) > torch.cosine_similarity(river, money, 0) + 0.1
