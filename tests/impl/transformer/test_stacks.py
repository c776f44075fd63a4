"""What a token of a stack depends on, and what it does not."""

import math

import pytest
import torch

from impl.transformer import Decoder, Encoder

m, n = 7, 5
LENGTHS = torch.tensor([m, 4])
MASK = torch.arange(m) < LENGTHS[:, None]
TARGET = torch.arange(n) < torch.tensor([3, n])[:, None]

NORMS = pytest.mark.parametrize("norm", ["post", "pre"])


@pytest.fixture
def stack(randomized, config):
    """A stack with random parameters."""
    return lambda kind, **changes: randomized(kind(config.__class__(**{**vars(config), **changes})))


@NORMS
def test_no_token_sees_one_that_comes_later(norm, stack, config, normal):
    """The gradient of what the decoder says of token i is exactly 0 at every token behind it, and not at those up to it."""
    decoder = stack(Decoder, norm=norm)
    x, memory = normal(n, config.d_model, grad=True), normal(m, config.d_model)
    y = decoder(x, memory)
    for i in range(n):
        (g,) = torch.autograd.grad(y[i].square().sum(), x, retain_graph=True)
        assert not g[i + 1 :].any()
        assert g[: i + 1].any(-1).all()


@NORMS
def test_every_token_of_a_source_sees_all_of_it(norm, stack, config, normal):
    """And every token of a target all of the memory."""
    encoder, decoder = stack(Encoder, norm=norm), stack(Decoder, norm=norm)
    x, y = normal(m, config.d_model, grad=True), normal(n, config.d_model)
    memory = encoder(x)
    for i in range(m):
        (g,) = torch.autograd.grad(memory[i].square().sum(), x, retain_graph=True)
        assert g.any(-1).all()
    memory = memory.detach().requires_grad_()
    for said in decoder(y, memory):
        (g,) = torch.autograd.grad(said.square().sum(), memory, retain_graph=True)
        assert g.any(-1).all()


@NORMS
@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e30])
def test_what_stands_in_padding_reaches_nothing(norm, bad, stack, config, normal):
    """Real tokens and all gradients are, bit for bit, what they are with 0 there; at the padding the gradient is 0."""
    encoder, decoder = stack(Encoder, norm=norm), stack(Decoder, norm=norm)
    source, target = normal(2, m, config.d_model), normal(2, n, config.d_model)
    parameters = [*encoder.parameters(), *decoder.parameters()]

    def results(fill):
        x = source.masked_fill(~MASK[..., None], fill).requires_grad_()
        y = target.masked_fill(~TARGET[..., None], fill).requires_grad_()
        memory = encoder(x, MASK)
        # What the encoder says of padding is spoilt too.
        said = decoder(y, memory.masked_fill(~MASK[..., None], fill), TARGET, MASK)
        gradients = torch.autograd.grad(said[TARGET].square().sum(), [x, y, *parameters])
        assert not gradients[0][~MASK].any()
        assert not gradients[1][~TARGET].any()
        return [memory[MASK], said[TARGET], *gradients]

    assert all(torch.equal(got, want) for got, want in zip(results(bad), results(0.0), strict=True))


@NORMS
def test_a_source_of_no_tokens_is_finite(norm, stack, config, normal):
    """Its target attends to nothing: 0, and never NaN."""
    encoder, decoder = stack(Encoder, norm=norm), stack(Decoder, norm=norm)
    none = torch.zeros(m, dtype=torch.bool)
    said = decoder(normal(n, config.d_model), encoder(normal(m, config.d_model), none), None, none)
    assert said.isfinite().all()
    said.square().sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in decoder.parameters())
