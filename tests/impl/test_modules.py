"""What a user of torch does with any module of ours: places it, copies it, stores it, maps it, exports it."""

import copy
import pickle
from dataclasses import replace

import pytest
import torch
from torch import nn

from impl import attention, bert, recurrent, scores, seq2seq, transformer, vision

BERT = bert.BertConfig(vocabulary=11, d_model=14, layers=3, heads=2, d_ff=5, max_length=7, dropout=0.0)
CONFIG = transformer.TransformerConfig(11, 13, 14, 2, 5, 2, 3, dropout=0.0)
LEARNED = replace(CONFIG, positions="learned", norm="pre", tied="output")
PAIRS = seq2seq.Config(
    source_vocabulary=5, target_vocabulary=7, begin=0, end=1, embedding=3, state=6, alignment=2
)

MADE = {
    "MultiHeadAttention": lambda **how: attention.MultiHeadAttention(14, 2, **how),
    "MultiHeadAttention to y": lambda **how: attention.MultiHeadAttention(14, 2, d_y=3, **how),
    "LinformerAttention": lambda **how: attention.LinformerAttention(14, 2, 11, 3, **how),
    "General": lambda **how: scores.General(3, 5, **how),
    "Additive": lambda **how: scores.Additive(3, 5, 7, **how),
    "Location": lambda **how: scores.Location(3, 5, **how),
    "BiLM": lambda **how: recurrent.BiLM(recurrent.BiLMConfig(11, 5), **how),
    "ElmoMix": lambda **how: recurrent.ElmoMix(3, **how),
    **{
        kind: lambda kind=kind, **how: seq2seq.Seq2Seq(replace(PAIRS, attention=kind), **how)
        for kind in ("none", "bahdanau", "luong")
    },
    "Transformer": lambda **how: transformer.Transformer(CONFIG, **how),
    "Transformer of learned positions": lambda **how: transformer.Transformer(LEARNED, **how),
    "Encoder": lambda **how: transformer.Encoder(LEARNED, **how),
    "DecoderLayer": lambda **how: transformer.DecoderLayer(CONFIG, **how),
    "ViT": lambda **how: vision.ViT(vision.ViTConfig(6, 3, 2, 14, 3, 2, 5, 7), **how),
    "BertEncoder": lambda **how: bert.BertEncoder(BERT, **how),
    "BertLayer": lambda **how: bert.BertLayer(BERT, **how),
    "BertPooler": lambda **how: bert.BertPooler(BERT, **how),
    "BertForMaskedLM": lambda **how: bert.BertForMaskedLM(bert.BertEncoder(BERT), **how),
    "BertForTokenClassification": lambda **how: bert.BertForTokenClassification(
        bert.BertEncoder(BERT), 3, **how
    ),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_parameters_are_made_where_and_as_they_are_asked_for(make):
    """On a device, in a dtype; else as torch does by default."""
    for how in ({}, {"device": "meta"}, {"dtype": torch.bfloat16}, {"device": "cpu", "dtype": torch.float64}):
        for x in make(**how).parameters():
            assert x.device.type == how.get("device", "cpu")
            assert x.dtype == how.get("dtype", torch.float32)


def test_a_head_follows_its_encoder():
    """Unless it is asked for elsewhere: then both go."""
    encoder = bert.BertEncoder(BERT, dtype=torch.float64)
    assert bert.BertForQuestionAnswering(encoder).span.weight.dtype == torch.float64
    bert.BertForSequenceClassification(encoder, 3, dtype=torch.float32)
    assert encoder.embeddings.E.dtype == torch.float32


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_copy_and_what_was_pickled_have_the_same_parameters(make):
    """And a state that is loaded into another."""
    module = make()
    other = make()
    other.load_state_dict(module.state_dict())
    for same in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), other):
        for x, y in zip(module.parameters(), same.parameters(), strict=True):
            assert torch.equal(x, y)


CALLED = {
    "BertEncoder": lambda module, ids, mask: module(ids, mask=mask).last,
    "Transformer": lambda module, ids, mask: module(ids, ids, mask, mask),
    "BiLM": lambda module, ids, mask: module.states(ids, mask.sum(-1)),
    "MultiHeadAttention": lambda module, ids, mask: module(
        nn.functional.one_hot(ids, 14).to(module.out.weight.dtype), mask=mask.unsqueeze(-2)
    ),
}
"""What a module makes of ids and a mask over them."""
IDS, MASK = (
    torch.tensor([[1, 7, 0, 3, 9], [2, 2, 8, 5, 1], [6, 4, 1, 0, 0]]),
    torch.arange(5) < torch.tensor([[2], [5], [3]]),
)


@pytest.mark.parametrize("name", CALLED)
def test_vmap_follows_a_mask(name, allowed):
    """Over texts and their masks it gives what the batch gives."""
    module, call = MADE[name]().eval(), CALLED[name]
    limit = allowed(lambda dtype: call(copy.deepcopy(module).to(dtype), IDS, MASK), torch.float32)
    got = torch.vmap(lambda ids, mask: call(module, ids, mask))(IDS, MASK)
    assert (got - call(module, IDS, MASK)).abs().max() <= limit


def test_vmap_over_unpadding_that_is_asked_for_is_refused_in_one_line():
    """How many tokens there are decides what is computed."""
    encoder = MADE["BertEncoder"]()
    with pytest.raises(RuntimeError, match=r"^bert.BertEncoder: vmap cannot follow it: it looks at values$"):
        torch.vmap(lambda ids, mask: encoder(ids, mask=mask, unpadded=True).last)(IDS, MASK)


@pytest.mark.parametrize("name", ["BertEncoder", "Transformer", "MultiHeadAttention"])
def test_a_second_derivative_is_refused_in_one_line_that_says_what_has_one(name):
    """A first one whose graph is kept is not refused; with torch's plain kernel there is a second one."""
    module, call = MADE[name]().eval(), CALLED[name]
    x = next(x for name, x in module.named_parameters() if name.endswith("qkv.weight"))

    def first():
        return torch.autograd.grad(call(module, IDS, MASK).pow(2).sum(), x, create_graph=True)[0]

    line = "^attention: torch's fused kernel has no second derivative; use backend='math' or .*sdpa_kernel$"
    with pytest.raises(NotImplementedError, match=line):
        first().pow(2).sum().backward()
    with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
        first().pow(2).sum().backward()
    assert x.grad.isfinite().all()


@pytest.mark.compiled
@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "padded"])
def test_bert_is_exported_with_a_batch_of_any_size(mask):
    """A program for three texts takes six."""
    encoder, b = MADE["BertEncoder"]().eval(), torch.export.Dim("b", min=1, max=64)
    shapes = {"ids": {0: b}, "segments": None, "mask": None if mask is None else {0: b}}
    program = torch.export.export(encoder, (IDS, None, mask), dynamic_shapes=shapes).module()
    six, mask = torch.cat((IDS, IDS)), None if mask is None else torch.cat((mask, mask))
    last = program(six, None, mask).last
    torch.testing.assert_close(last[:3], last[3:])  # members of a batch may be multiplied by other kernels
    assert last.shape == (6, 5, 14)
