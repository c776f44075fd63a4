"""What belongs to data (a mask, lengths, a state) has no more leading dimensions than they: else results had another shape."""

import pytest
import torch

from impl import attention, recurrent, scores, transformer

b, n, m, d, h = 2, 3, 5, 4, 2
ONE, TWO = torch.ones(b, n, d), torch.ones(b, m, d)
W, HEADS, W_o, B = torch.ones(d, d), torch.ones(h, d, d), torch.ones(h * d, d), torch.ones(h, d)
IDS, LENGTHS = torch.ones(b, m, dtype=torch.int64), torch.full((1, b), m)
STATE, GATES = (
    torch.ones(1, b, d),
    (torch.ones(3 * d, d), torch.ones(3 * d, d), torch.ones(3 * d), torch.ones(3 * d)),
)
CONFIG = transformer.TransformerConfig(7, 7, d, h, 11, 1, 1)


def mask(*shape):
    """Everything may be attended to."""
    return torch.ones(*shape, dtype=torch.bool)


KEYS = mask(b, 1, 1, m)
"""As other libraries want it, an axis for heads in the middle."""
CALLS = {
    "softmax": lambda: attention.softmax(torch.ones(b, n, m), KEYS),
    "additive_weights": lambda: attention.additive_weights(
        ONE, TWO, torch.ones(7, 2 * d), torch.ones(7), KEYS
    ),
    "scaled_dot_product": lambda: attention.scaled_dot_product(ONE, TWO, TWO, KEYS),
    "in plain operations": lambda: attention.scaled_dot_product(ONE, TWO, TWO, KEYS, backend="math"),
    "a bias": lambda: attention.scaled_dot_product(ONE, TWO, TWO, bias=torch.ones(b, 1, n, m)),
    "attend": lambda: attention.attend(torch.ones(b, n, m), TWO, KEYS),
    "Attention": lambda: attention.Attention(scores.General(d, d))(ONE, TWO, TWO, KEYS),
    "self": lambda: attention.self(ONE, W, W, W, mask(b, 1, 1, n)),
    "cross": lambda: attention.cross(ONE, TWO, W, W, W, KEYS),
    "multi_head": lambda: attention.multi_head(ONE, TWO, HEADS, HEADS, HEADS, W_o, KEYS),
    "biased_multi_head": lambda: attention.biased_multi_head(
        ONE, TWO, HEADS, B, HEADS, B, HEADS, B, W_o, torch.ones(d), KEYS
    ),
    "MultiHeadAttention": lambda: attention.MultiHeadAttention(d, h)(ONE, TWO, KEYS),
    "a bias of heads": lambda: attention.MultiHeadAttention(d, h)(ONE, TWO, bias=torch.ones(1, b, h, n, m)),
    "hard": lambda: attention.hard(ONE, TWO, TWO, torch.Generator(), KEYS),
    "log_weight": lambda: attention.log_weight(ONE, TWO, torch.zeros(b, n, dtype=torch.int64), KEYS),
    "local": lambda: attention.local(ONE, TWO, TWO, torch.ones(7, d), torch.ones(7), 2.0, KEYS),
    "luong_step": lambda: attention.luong_step(
        ONE[:, 0], ONE[:, 0], TWO, W, W, torch.ones(d, 2 * d), W, mask(b, 1, m)
    ),
    "lengths": lambda: recurrent.rnn(TWO, torch.ones(d), W, W, W, lengths=LENGTHS),
    "torch's state": lambda: recurrent.rnn(TWO, STATE, W, W, W),
    "a state of gates": lambda: recurrent.gru(TWO, STATE, *GATES),
    "a stack's state": lambda: recurrent.stacked(TWO, torch.ones(1, b, 2, d), W, HEADS, W[None]),
    "rnn_cell": lambda: recurrent.rnn_cell(ONE[:, 0], STATE, W, W, W),
    "gru_cell": lambda: recurrent.gru_cell(ONE[:, 0], STATE, *GATES),
    "bilm_objective": lambda: recurrent.bilm_objective(IDS, TWO, TWO, lengths=LENGTHS),
    "BiLM": lambda: recurrent.BiLM(recurrent.BiLMConfig(7, d))(IDS, LENGTHS),
    "EncoderLayer": lambda: transformer.EncoderLayer(CONFIG)(ONE, mask(1, b, 1, n)),
    "Encoder": lambda: transformer.Encoder(CONFIG)(ONE, mask(1, b, n)),
    "Decoder": lambda: transformer.Decoder(CONFIG)(ONE, TWO, mask(1, b, n)),
    "memory": lambda: transformer.Decoder(CONFIG)(ONE, TWO, None, mask(1, b, m)),
    "a mask of sequences that are one": lambda: transformer.Encoder(CONFIG)(ONE[0], mask(b, n)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.usefixtures("unchecked")
def test_more_leading_dimensions_than_the_data_are_refused(call):
    """The line says which the data have."""
    with pytest.raises(ValueError, match=r"^[\w.]+: expected leading dimensions of .* the data's; got "):
        call()


def test_fewer_may_be_and_those_of_size_one():
    """They are shared; and data of one member may have several masks, where both have as many dimensions."""
    few, several = mask(n, m), mask(b, 1, m)
    assert attention.scaled_dot_product(ONE, TWO, TWO, few).shape == (b, n, d)
    assert attention.scaled_dot_product(ONE[:1], TWO[:1], TWO[:1], several).shape == (b, n, d)
    assert recurrent.rnn(TWO, torch.ones(d), W, W, W)[0].shape == (b, m, d)
