import operator
import random
from dataclasses import replace
from functools import reduce

import pytest
import torch

import spec
from impl.transformer import Transformer, TransformerConfig
from impl.transformer.counts import parameter_count
from spec.language.expr import Literal, Plus, Times


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


def stated(part, config, layers):
    """The number of parameters that the theorem of a formula says, at the sizes of a configuration."""
    sizes = {
        "V": config.source_vocabulary,
        "L": layers,
        "h": config.heads,
        "d_model": config.d_model,
        "d_k": config.d_model // config.heads,
        "d_v": config.d_model // config.heads,
        "d_ff": config.d_ff,
    }

    def value(node):
        if isinstance(node, Plus | Times):
            join = operator.add if isinstance(node, Plus) else operator.mul
            return reduce(join, map(value, node.args))
        assert isinstance(node, Literal), node
        return node.value.subs({symbol: sizes[symbol.name] for symbol in node.value.free_symbols})

    (claim,) = spec.find(f"transformer.{part}").theorems["parameters"].claims
    assert value(claim.left) == value(claim.right)
    return int(value(claim.right))


def check_as_stated(config):
    """Theorems, count and model agree once a configuration is brought to what is stated; and so does each stack by itself."""
    layers = config.encoder_layers
    config = replace(
        config,
        target_vocabulary=config.source_vocabulary,
        decoder_layers=layers,
        norm="post",
        final_norm=None,
        attention_bias=False,
        positions="sinusoidal",
        tied="all",
    )
    assert stated("model", config, layers) == parameter_count(config) == counted(config)
    with torch.device("meta"):
        model = Transformer(config)
    for part, module in (("encoder", model.encoder), ("decoder", model.decoder)):
        held = sum(p.numel() for p in module.parameters())
        assert stated(part, config, layers) == layers * stated(f"{part}_layer", config, layers) == held


@pytest.mark.parametrize("seed", range(20))
def test_the_count_is_what_the_theorems_say(seed):
    """One table, as many layers in both stacks, no biases in attention, normalised after each sum, as it is stated."""
    check_as_stated(drawn(seed))


@pytest.mark.parametrize("size", ["base", "big"])
def test_the_count_of_the_paper_s_models_is_what_the_theorems_say(size):
    """As above."""
    check_as_stated(getattr(TransformerConfig, size)())
