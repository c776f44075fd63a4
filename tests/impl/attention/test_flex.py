# On the CPU it is run as torch has it without a compiler. What differs from its own kernel on CUDA is not seen here.
"""FlexAttention for masks, the past, windows, groups and capped scores is what the statements say."""

import math

import pytest
import torch
from torch.nn.attention import flex_attention as torchs

from impl.attention import bigbird, causal, decoder_heads, flex, grouped_query, scaled_dot_product, window
from tests.impl.attention.inputs import HIDDEN_KEY, HIDDEN_QUERY, holed, qkv

g, r, n, m, d_k, d_v = 2, 3, 5, 11, 7, 3


@pytest.fixture
def uncompiled(monkeypatch):
    """torch's functions as they are, on any device, with gradients on the CPU, which torch refuses there."""
    kernels = torchs.flex_attention, torchs.create_block_mask
    monkeypatch.setattr(flex, "_kernels", lambda *_: kernels)
    monkeypatch.setattr(torchs, "_validate_device", lambda *_: None)
    monkeypatch.setattr(torchs, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


@pytest.fixture
def heads(normal):
    """Random queries, keys and values of two groups."""

    def draw(*lead, **options):
        return [normal(*lead, *shape, **options) for shape in ((g * r, n, d_k), (g, m, d_k), (g, m, d_v))]

    return draw


@pytest.mark.usefixtures("uncompiled")
def test_values_and_gradients_are_those_stated(heads, normal, stated, within):
    """Under a mask that leaves one query nothing: it gets 0."""
    mask, seed = holed(), normal(g * r, n, d_v, dtype=torch.float64)
    given = heads(dtype=torch.float64, grad=True)
    z = grouped_query(*given, mask, backend="flex")
    said = stated("attention.grouped_query", [*given, mask], seed)
    assert within([z, *torch.autograd.grad(z, given, seed)], said)
    assert not z[:, HIDDEN_QUERY].any()
    q, k, v = (x[0].detach().requires_grad_() for x in given)
    z = scaled_dot_product(q, k, v, mask, backend="flex")
    said = stated("attention.scaled_dot_product", [q, k, v, mask], seed[0])
    assert within([z, *torch.autograd.grad(z, (q, k, v), seed[0])], said)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(("queries", "keys"), [(5, 11), (11, 5), (5, 5), (0, 5), (5, 0)])
def test_the_past_and_windows_are_what_they_are_otherwise(queries, keys, normal):
    """Causal in both alignments, windows to one side and to both; with no keys within reach the result is 0."""
    q, k, v = qkv(normal, n=queries, m=keys, d_v=d_v, dtype=torch.float64)
    for alignment in ("lower_right", "upper_left"):
        want = causal(q, k, v, alignment=alignment, backend="math")
        torch.testing.assert_close(causal(q, k, v, alignment=alignment, backend="flex"), want)
    for sides in ("before", "both"):
        want = window(q, k, v, 2, sides=sides, backend="math")
        torch.testing.assert_close(window(q, k, v, 2, sides=sides, backend="flex"), want)


@pytest.mark.usefixtures("uncompiled")
def test_blocks_of_big_bird_are_what_they_are_otherwise(normal):
    """A window, global blocks and those of a table."""
    q, k, v = qkv(normal, n=21, m=21, d_v=d_v, dtype=torch.float64)
    table = torch.arange(7).unsqueeze(-1).mul(3).remainder(7)
    found = bigbird(q, k, v, table, 1, 1, backend="flex")
    torch.testing.assert_close(found, bigbird(q, k, v, table, 1, 1))


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("cap", [None, 1.5])
@pytest.mark.parametrize("w", [None, 3])
def test_windows_and_caps_of_decoders_join_a_mask(cap, w, heads):
    """A mask for all members of a batch, for each of some of its axes, for keys alone, or none."""
    given, generator = heads(2, 3, dtype=torch.float64), torch.Generator().manual_seed(3)
    for shape in (None, (n, m), (3, n, m), (2, 1, 1, m), (2, 3, n, 1), (1, 1)):
        mask = None if shape is None else torch.rand(shape, generator=generator) < 0.7
        found = decoder_heads(*given, cap=cap, w=w, mask=mask, backend="flex")
        torch.testing.assert_close(found, decoder_heads(*given, cap=cap, w=w, mask=mask))


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("masked", [True, False], ids=["mask", "window"])
def test_what_stands_in_a_hidden_slot_reaches_nothing(masked, heads):
    """NaN there gives the output and the gradients that 0 there gives."""
    given, mask = heads(), holed() if masked else None
    hidden = HIDDEN_KEY if masked else slice(0, m - n - 2)

    def results(fill):
        q, k, v = (x.clone() for x in given)
        k[:, hidden], v[:, hidden] = fill, fill
        if masked:
            q[:, HIDDEN_QUERY] = fill
        tensors = [x.requires_grad_() for x in (q, k, v)]
        z = decoder_heads(*tensors, w=2, mask=mask, backend="flex")
        return [z, *torch.autograd.grad(z.square().sum(), tensors)]

    assert all(torch.equal(got, want) for got, want in zip(results(math.nan), results(0.0), strict=True))


@pytest.mark.usefixtures("uncompiled")
def test_what_it_does_not_have_is_refused_in_one_line(heads, normal):
    """Sinks, a bias, dropout."""
    q, k, v = heads()
    for line, call in (
        (
            r"^attention.decoder_heads: backend='flex' has no sinks; use backend='auto'$",
            lambda: decoder_heads(q, k, v, normal(g * r), backend="flex"),
        ),
        ("neither bias nor dropout", lambda: scaled_dot_product(k, k, v, dropout=0.5, backend="flex")),
        ("neither bias", lambda: scaled_dot_product(k, k, v, bias=normal(m, m), backend="flex")),
        (
            "attention.causal: backend='flex' has no dropout",
            lambda: causal(k, k, v, dropout=0.5, backend="flex"),
        ),
    ):
        with pytest.raises(NotImplementedError, match=line):
            call()


def test_without_cuda_it_is_refused_in_one_line(heads):
    """Never another way of computing instead."""
    for call in (grouped_query, decoder_heads):
        with pytest.raises(NotImplementedError, match=r"for CUDA; got tensors on cpu: use backend='auto'$"):
            call(*heads(), backend="flex")
