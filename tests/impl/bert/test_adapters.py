"""A module's weights, handed to the functions of the statements."""

from copy import deepcopy

import pytest
import torch

import impl.bert
from impl.bert import BertEncoder
from impl.bert.adapters import to_encoder, to_pooler


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_the_functions_say_what_the_module_says(family, configs, randomized, ids, mask, segments, allowed):
    """With padding and segments; the positions are those that the module counts."""
    config = configs[family]
    encoder, words = randomized(BertEncoder(config)).double(), ids(config)
    segments = segments.clamp(max=config.segments - 1)
    positions = torch.arange(words.shape[1]) + config.offset

    def said(dtype):
        ours = deepcopy(encoder).to(dtype)
        x = impl.bert.encoder(
            words, segments, positions.expand_as(words), **to_encoder(ours), eps=config.eps, mask=mask
        )
        return torch.cat([x[mask].flatten(), impl.bert.pooler(x, **to_pooler(ours)).flatten()]).double()

    found = encoder(words, segments, mask)
    got = torch.cat([found.last[mask].flatten(), found.pooled.flatten()])
    assert (got - said(torch.float64)).abs().max() <= allowed(said, torch.float64)


def test_what_the_statement_is_not_of_is_refused(configs):
    """No segments, narrower tables; a pooler that is not there."""
    for family in ("distilbert", "albert"):
        with pytest.raises(
            ValueError, match=r"^bert.encoder: expected segments, and tables as wide as layers; got"
        ):
            to_encoder(BertEncoder(configs[family]))
    with pytest.raises(ValueError, match=r"^bert.pooler: expected an encoder with a pooler$"):
        to_pooler(BertEncoder(configs["bert"], pooler=False))
