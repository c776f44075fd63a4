"""What is made ready of a decoder's matrices, for one decoding."""

from threading import Thread

import pytest
import torch

from impl._products import KINDS, Product
from impl.decoding import greedy
from impl.transformer import Conditioned
from impl.transformer.matrices import EARLY, Matrices

ROWS = 5
m = 7


@pytest.fixture
def said():
    """What a model says greedily, and how likely that is."""

    def run(it, rows=ROWS):
        source = torch.arange(rows * m).view(rows, m) % 13
        return greedy(Conditioned(it, source), torch.ones(rows, 1, dtype=torch.int64), max_length=11)

    return run


def test_other_numbers_of_rows_have_products_of_their_own(model):
    """And nothing is measured or copied where they change from step to step."""
    it = model(torch.float32)
    kept = Matrices(it.decoder, it.W_o)
    for _ in range(EARLY + 1):
        ready = kept.products(ROWS)
    assert kept.products(ROWS) is ready
    once = kept.products(ROWS + 1)
    made = [{type(product) for layer in products for product in layer} for products in (once, ready)]
    assert made[0] == {Product}
    assert made[1] <= set(KINDS)


@pytest.mark.parametrize("name", ["weight", "bias"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_other_data_in_a_parameter_of_which_a_part_is_read_is_seen(name, dtype, model):
    """The queries of what attends to the memory are a part of one packed parameter."""
    it = model(dtype)
    kept = Matrices(it.decoder, it.W_o)
    assert kept.hold()
    part = getattr(it.decoder.layers[1].cross_attention.qkv, name)
    part.data = part.data * 2
    assert not kept.hold()


@pytest.mark.parametrize("linear", ["self_attention.qkv", "self_attention.out", "cross_attention.out"])
@pytest.mark.parametrize("network", ["feed_forward.expand", "feed_forward.contract"])
def test_other_data_in_a_bias_is_seen(linear, network, model):
    """Some kinds of products hold it in another shape, which would be of the data before."""
    for name in (linear, network):
        it = model(torch.float32)
        kept = Matrices(it.decoder, it.W_o)
        bias = it.decoder.layers[1].get_submodule(name).bias
        bias.data = bias.data + 2
        assert not kept.hold()


def test_an_optimizer_that_says_nothing_of_its_steps_is_followed(model, said):
    """Fused ones change parameters without a new version: what is decoded afterwards is decoded with the new ones."""
    it = model(torch.float32)
    said(it)
    for parameter in it.parameters():
        parameter.grad = parameter.detach().sign()
    torch.optim.AdamW(it.parameters(), lr=0.1, fused=True).step()
    found = said(it)
    other = model(torch.float32)
    other.load_state_dict(it.state_dict())
    assert torch.equal(found.tokens, said(other).tokens)
    assert torch.equal(found.log_probability, said(other).log_probability)


def test_two_threads_may_decode_with_one_model(model, said):
    """With different numbers of rows, of which one has copies made."""
    it = model(torch.float32)
    want, found = {rows: said(it, rows) for rows in (7, 16)}, []

    def work(rows):
        found.extend((rows, said(it, rows)) for _ in range(20))

    threads = [Thread(target=work, args=(rows,)) for rows in want]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 40
    assert all(torch.equal(each.tokens, want[rows].tokens) for rows, each in found)
