import random

import pytest
import torch

from impl.transformer import Transformer, TransformerConfig
from impl.transformer.counts import parameter_count


def counted(config):
    """The parameters of the model itself, built without memory."""
    with torch.device("meta"):
        return sum(p.numel() for p in Transformer(config).parameters())


def drawn(seed):
    """A configuration whose choices are all random."""
    choose = random.Random(seed)
    heads, tied = choose.choice([1, 2, 3, 5]), choose.choice(["none", "output", "all"])
    words = choose.randint(1, 50)
    return TransformerConfig(
        source_vocabulary=words,
        target_vocabulary=words if tied == "all" else choose.randint(1, 50),
        d_model=heads * choose.randint(1, 7),
        heads=heads,
        d_ff=choose.randint(1, 50),
        encoder_layers=choose.randint(1, 3),
        decoder_layers=choose.randint(1, 3),
        norm=choose.choice(["post", "pre"]),
        final_norm=choose.choice([None, True, False]),
        attention_bias=choose.choice([True, False]),
        positions=choose.choice(["sinusoidal", "learned"]),
        max_length=choose.randint(1, 50),
        tied=tied,
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_count_is_that_of_the_model(seed):
    """For any sizes and choices."""
    assert parameter_count(drawn(seed)) == counted(drawn(seed))


@pytest.mark.parametrize(
    ("config", "count"),
    [
        (TransformerConfig.base(attention_bias=False), 63_045_632),
        (TransformerConfig.big(attention_bias=False), 214_171_648),
    ],
)
def test_the_paper_s_models_have_the_numbers_of_parameters_that_are_stated(config, count):
    """As the docstring says."""
    assert parameter_count(config) == counted(config) == count
    assert f"{count:,}" in parameter_count.__doc__
