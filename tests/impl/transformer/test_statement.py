"""The module is the statement ``transformer.model``: whole, in a batch, and word by word with a cache.

A bound on all possible roundings of two layers is far above the error of any. What is allowed here is what the checker calls
precise: 32 standard deviations of the error of careful arithmetic (``attnspec check --accuracy 32``).
"""

import pytest
import torch

import impl.transformer
import spec
from impl.transformer import Transformer, TransformerConfig
from impl.transformer.adapters import to_model

V, h, n, m = 7, 2, 5, 3
MASK = torch.tensor([True, True, True, False, False])


@pytest.fixture
def case(randomized):
    """A model as the statement has it, a source with padding, a target; and the statement's inputs."""
    config = TransformerConfig(
        V,
        V,
        d_model=6,
        heads=h,
        d_ff=11,
        encoder_layers=2,
        decoder_layers=2,
        tied="all",
        attention_bias=False,
    )
    it: Transformer = randomized(Transformer(config))
    generator = torch.Generator().manual_seed(5)
    source, target = (torch.randint(V, (length,), generator=generator) for length in (n, m))

    def inputs(dtype):
        it.to(dtype)
        return {
            "s": source,
            "t": target,
            **to_model(it.state_dict(), h),
            "eps": config.eps,
            "mask": MASK,
        }

    return it, source, target, inputs


def of_statement(inputs, dtype):
    """The statement's probabilities, and how far careful arithmetic may be from them."""
    flat = [x for each in inputs.values() for x in (each if isinstance(each, tuple) else (each,))]
    arrays = [x.numpy() if isinstance(x, torch.Tensor) else x for x in flat]
    ((p, sigma),) = spec.expected_error("transformer.model", arrays, dtype=str(dtype).removeprefix("torch."))
    limit = 32 * torch.tensor(sigma)
    assert (limit < 1e-3).all()  # whatever exchanged words or places would change
    return torch.tensor(p), limit


DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32])


@DTYPES
def test_the_module_says_what_the_statement_says(dtype, case):
    """Probabilities of the word after each of the target's; in a batch with another pair, and as the function says them."""
    it, source, target, inputs = case
    p, limit = of_statement(inputs(dtype), dtype)
    alone = it(source, target, MASK)
    batch = it(
        torch.stack([source, source.flip(0)]),
        torch.stack([target, target.flip(0)]),
        torch.stack([MASK, ~MASK]),
    )
    for logits in (alone, batch[0]):
        assert ((logits.softmax(-1).double() - p).abs() <= limit).all()
    function = impl.transformer.model(**inputs(dtype))
    assert ((function.double() - p).abs() <= limit).all()


@DTYPES
def test_a_cache_says_what_the_statement_says(dtype, case):
    """Word by word: the same probabilities."""
    it, source, target, inputs = case
    p, limit = of_statement(inputs(dtype), dtype)
    cache = it.start(it.encode(source[None], MASK[None]), MASK[None], capacity=m)
    for place in range(m):
        said = it.decode_step(target[None, place : place + 1], cache).softmax(-1)[0]
        assert ((said.double() - p[place]).abs() <= limit[place]).all()
