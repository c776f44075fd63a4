"""The tokens of a batch without its padding, and attention over sequences of different lengths in one kernel."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.attention import varlen

from impl.bert import BertConfig, BertEncoder, model, unpadding
from impl.bert.unpadding import Tokens

LENGTHS = (3, 7, 1, 7, 0, 5)
N, H, WIDTH = 11, 2, 8


def mask() -> Tensor:
    """Real tokens in front, as many as each sequence has."""
    return torch.arange(N) < torch.tensor(LENGTHS)[:, None]


def one_by_one(
    q: Tensor, k: Tensor, v: Tensor, ends: Tensor, others: Tensor, longest: int, longest_other: int
) -> Tensor:
    """What torch documents of its kernel, sequence by sequence: tokens one behind the other (T h d), int32 ends."""
    assert ends is others
    assert ends.dtype == torch.int32
    assert ends[-1] == len(q)
    assert longest == longest_other == ends.diff().max()
    parts = [x.split(ends.diff().tolist()) for x in (q, k, v)]
    said = [
        F.scaled_dot_product_attention(*(x.transpose(0, 1) for x in part))
        for part in zip(*parts, strict=True)
    ]
    return torch.cat([z.transpose(0, 1) for z in said])


def test_one_kernel_says_what_blocks_of_one_length_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs and gradients are the same, with a row that has no token among them."""
    tokens = Tokens.of(len(LENGTHS), N, mask(), unpadded=True)
    x = torch.randn(
        sum(LENGTHS), 3 * H * WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    found = []
    for fits in (False, True):
        monkeypatch.setattr(unpadding, "one_kernel", lambda qkv, h, fits=fits: fits)
        monkeypatch.setattr(varlen, "varlen_attn", one_by_one if fits else None)
        qkv = x.clone().requires_grad_()
        z = tokens.attend(qkv, H)
        (z * torch.arange(z.numel()).view_as(z)).sum().backward()
        found.append((z.detach(), qkv.grad))
    for blocks, kernel in zip(*found, strict=True):
        torch.testing.assert_close(kernel, blocks)


def test_the_ends_are_those_of_the_sequences_in_their_order() -> None:
    """The shortest first; one without a token is left out."""
    tokens = Tokens.of(len(LENGTHS), N, mask(), unpadded=True)
    assert tokens.blocks == ((1, 1), (1, 3), (1, 5), (2, 7))
    assert tokens.ends is not None
    assert tokens.ends.tolist() == [0, 1, 4, 9, 16, 23]


def test_dropout_and_a_batch_of_one_length_go_over_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel knows no dropout, and has nothing to spare where all are alike."""
    monkeypatch.setattr(unpadding, "one_kernel", lambda qkv, h: True)
    monkeypatch.setattr(varlen, "varlen_attn", None)
    tokens = Tokens.of(len(LENGTHS), N, mask(), unpadded=True)
    tokens.attend(torch.randn(sum(LENGTHS), 3 * H * WIDTH), H, dropout=0.5)
    alike = Tokens.of(2, N, torch.arange(N).expand(2, N) < 4, unpadded=True)
    alike.attend(torch.randn(8, 3 * H * WIDTH), H)


def test_an_encoder_takes_padding_out_where_the_kernel_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a device: it is not asked to, and says of real tokens what it says with padding. Not where weights are dropped."""
    config = BertConfig(vocabulary=41, d_model=H * WIDTH, layers=2, heads=H, d_ff=13, max_length=N)
    encoder = BertEncoder(config, generator=torch.Generator().manual_seed(0), dtype=torch.float64).eval()
    ids, real = torch.arange(5 * N).view(5, N) % 41, mask()[[0, 1, 2, 3, 5]]
    expected = encoder(ids, mask=real, unpadded=False).last
    calls = []

    def kernel(*given: Tensor) -> Tensor:
        calls.append(given)
        return one_by_one(*given)

    monkeypatch.setattr(model, "readable", lambda _: False)
    for module in (model, unpadding):
        monkeypatch.setattr(module, "one_kernel", lambda qkv, h: True)
    monkeypatch.setattr(varlen, "varlen_attn", kernel)
    torch.testing.assert_close(encoder(ids, mask=real).last, expected)
    assert len(calls) == config.layers
    encoder.train()(ids, mask=real)
    assert len(calls) == config.layers


def test_nothing_on_a_cpu_goes_to_the_kernel() -> None:
    """It is one for accelerators."""
    assert not unpadding.one_kernel(torch.zeros(5, 3 * H * WIDTH, dtype=torch.bfloat16), H)


def test_torchs_kernel_takes_what_it_is_given() -> None:
    """Its shapes and types are worked out without a device."""
    with FakeTensorMode():
        qkv = torch.empty(23, 3 * H * WIDTH, dtype=torch.bfloat16, device="cuda")
        ends = torch.empty(6, dtype=torch.int32, device="cuda")
        z = unpadding.attend_ragged(qkv, H, ends, 7)
    assert (z.shape, z.dtype) == ((23, H * WIDTH), torch.bfloat16)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_kernel_says_on_a_device_what_blocks_say() -> None:
    """In bfloat16, within a few of its roundings: numbers of size 1, one weighted mean."""
    tokens = Tokens.of(len(LENGTHS), N, mask().cuda(), unpadded=True)
    qkv = torch.randn(sum(LENGTHS), 3 * H * WIDTH, device="cuda", dtype=torch.bfloat16)
    assert unpadding.one_kernel(qkv, H)
    blocks = Tokens(tokens.shape, tokens.blocks, tokens.places).attend(qkv, H)
    torch.testing.assert_close(
        tokens.attend(qkv, H), blocks, rtol=0, atol=8 * torch.finfo(torch.bfloat16).eps
    )
