"""What was made ready of a decoder's matrices stays with it, as long as they are the same."""

import gc
import weakref
from copy import deepcopy

import pytest
import torch
from torch import nn

from impl.transformer.matrices import EARLY, Matrices

ROWS = 5


def found(it):
    """What a decoding with this model begins with."""
    return Matrices.of(it.decoder, it.W_o)


def test_they_are_found_again(model):
    """By the next decoding, with the copies for so many rows; not by that of a copy of the model."""
    it = model(torch.float32)
    kept = found(it)
    for _ in range(EARLY + 1):
        products = kept.products(ROWS)
    assert found(it) is kept
    assert found(it).products(ROWS) is products
    assert found(deepcopy(it)) is not kept


def test_other_numbers_of_rows_have_products_of_their_own(model):
    """And nothing is copied where they change from step to step."""
    kept = found(model(torch.float32))
    for _ in range(EARLY + 1):
        ready = kept.products(ROWS)
    assert kept.products(ROWS) is ready
    once = kept.products(ROWS + 1)
    assert {type(product) for layer in once for product in layer}.isdisjoint(
        type(product) for layer in ready for product in layer
    )


@pytest.mark.parametrize("how", ["in place", "data", "parameter", "logits", "bias"])
def test_changed_parameters_are_not_those_that_were_kept(how, model):
    """Whatever changes them: what is found is made anew, and does not grow old itself."""
    it = model(torch.float32)
    kept, last = found(it), it.decoder.layers[1].feed_forward.contract
    for _ in range(EARLY + 1):
        kept.products(ROWS)
    with torch.no_grad():
        if how == "in place":
            last.weight.mul_(2)
        elif how == "data":
            last.weight.data = last.weight.data * 2
        elif how == "parameter":
            last.weight = nn.Parameter(last.weight.clone())
        elif how == "logits":
            it.W_o = nn.Parameter(it.W_o.clone())
        else:
            last.bias = nn.Parameter(last.bias * 2)
    again = found(it)
    assert again is not kept
    assert found(it) is again


def test_they_go_with_the_decoder(model):
    """Neither holds the other in memory."""
    it = model()
    kept, decoder = weakref.ref(found(it)), weakref.ref(it.decoder)
    assert kept() is not None
    del it
    gc.collect()
    assert decoder() is None
    assert kept() is None
