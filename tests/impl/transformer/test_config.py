from dataclasses import replace

import pytest

from impl.transformer import TransformerConfig


def test_the_named_models_are_those_of_the_paper():
    """Vaswani et al. 2017, table 3; a vocabulary or a choice may be another."""
    base, big = TransformerConfig.base(), TransformerConfig.big()
    assert (base.d_model, base.heads, base.d_ff, base.encoder_layers, base.decoder_layers) == (
        512,
        8,
        2048,
        6,
        6,
    )
    assert (big.d_model, big.heads, big.d_ff, big.encoder_layers, big.decoder_layers) == (
        1024,
        16,
        4096,
        6,
        6,
    )
    assert (base.dropout, big.dropout) == (0.1, 0.3)
    assert base.tied == big.tied == "all"
    changed = TransformerConfig.big(11, 13, tied="output", dropout=0.0)
    assert changed == replace(big, source_vocabulary=11, target_vocabulary=13, tied="output", dropout=0.0)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"d_model": 0}, "expected d_model >= 1; got d_model 0"),
        ({"decoder_layers": 0}, "expected decoder_layers >= 1; got decoder_layers 0"),
        ({"heads": 3}, "expected heads that divide d_model; got heads 3, d_model 14"),
        ({"dropout": 1.0}, "expected 0 <= dropout < 1; got dropout 1.0"),
        ({"eps": 0.0}, "expected eps > 0; got eps 0.0"),
        ({"norm": "middle"}, "expected norm to be one of post, pre; got norm 'middle'"),
        ({"activation": "tanh"}, "expected activation to be one of relu, gelu; got activation 'tanh'"),
        (
            {"tied": "all"},
            "expected one vocabulary where tied is 'all'; got source_vocabulary 13, target_vocabulary 17",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_built_is_refused_in_one_line(changes, line, config):
    """The line says what was expected and what was given."""
    with pytest.raises(ValueError, match=r"^TransformerConfig: ") as refused:
        replace(config, **changes)
    assert str(refused.value) == f"TransformerConfig: {line}"


def test_stacks_end_in_a_norm_where_nothing_else_normalises_them(config):
    """Or where it is asked for."""
    assert not config.ends_in_norm
    assert replace(config, norm="pre").ends_in_norm
    assert replace(config, final_norm=True).ends_in_norm
    assert not replace(config, norm="pre", final_norm=False).ends_in_norm
