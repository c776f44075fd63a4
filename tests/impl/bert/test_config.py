import json
from dataclasses import replace

import pytest
import torch

from impl.bert import BertConfig, BertEncoder


def parameters(config, **changes):
    """How many there are; nothing is allocated."""
    with torch.device("meta"):
        return sum(p.numel() for p in BertEncoder(config, **changes).parameters())


@pytest.mark.parametrize(
    ("config", "count"),
    [
        (BertConfig.base(), 109_482_240),
        (BertConfig.large(), 335_141_888),
        (BertConfig.roberta(), 124_645_632),
        (BertConfig.roberta(family="xlm-roberta", vocabulary=250_002), 278_043_648),
        (BertConfig.albert(), 11_683_584),
        (BertConfig.distilbert(), 66_362_880),
        (BertConfig.base(vocabulary=100_000), 162_841_344),
    ],
    ids=["BASE", "LARGE", "RoBERTa", "XLM-R", "ALBERT", "DistilBERT", "ParsBERT"],
)
def test_named_models_have_the_numbers_of_parameters_that_are_published(config, count):
    """110, 340, 125, 278, 12, 66 and 163 million, each with its pooler where it has one."""
    assert parameters(config) == count


def test_without_a_pooler_its_parameters_are_not_there():
    """A square and a bias."""
    config = BertConfig.base()
    assert parameters(config) - parameters(config, pooler=False) == 768 * 769


def test_a_configuration_there_and_back_is_the_same(member, tmp_path):
    """From the file as from what stands in it."""
    document = member.to_dict()
    file = tmp_path / "config.json"
    file.write_text(json.dumps(document))
    again = BertConfig.from_json(document)
    assert again.to_dict() == document
    assert again == BertConfig.from_json(file)
    assert parameters(again) == parameters(member)
    assert again == replace(member, d_embedding=again.d_embedding, groups=again.groups)


@pytest.mark.parametrize(
    "name", ["BertConfig", "RobertaConfig", "XLMRobertaConfig", "AlbertConfig", "DistilBertConfig"]
)
def test_what_transformers_writes_is_read(name):
    """The fields of its default configuration that ours has are those that it has."""
    transformers = pytest.importorskip("transformers")
    theirs = getattr(transformers, name)().to_dict()
    assert theirs.items() >= BertConfig.from_json(theirs).to_dict().items() - {("classifier_dropout", None)}


def test_a_checkpoint_of_a_person_s_own_is_its_configuration(minilm):
    """MiniLM's file is from another time than ours."""
    config = BertConfig.from_json(minilm / "config.json")
    assert config == BertConfig(d_model=384, layers=6, heads=12, d_ff=1536)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"d_model": 0}, "expected d_model >= 1; got d_model 0"),
        ({"heads": 3}, "expected heads that divide d_model; got heads 3, d_model 14"),
        ({"dropout": 1.0}, "expected 0 <= dropout < 1; got dropout 1.0"),
        ({"eps": 0.0}, "expected eps > 0; got eps 0.0"),
        (
            {"activation": "tanh"},
            "expected activation to be one of gelu, gelu_tanh, relu; got activation 'tanh'",
        ),
        ({"padding_id": 41}, "expected a padding_id of the vocabulary; got padding_id 41, vocabulary 41"),
        ({"segments": -1}, "expected segments >= 0; got segments -1"),
        ({"heads": "2"}, "expected a whole number for heads; got heads '2'"),
        ({"d_model": 14.0}, "expected a whole number for d_model; got d_model 14.0"),
        ({"eps": "1e-12"}, "expected a finite number for eps; got eps '1e-12'"),
        ({"d_embedding": 7}, "expected d_embedding only where family is 'albert'; got d_embedding 7"),
        ({"groups": 1}, "expected groups only where family is 'albert'; got groups 1"),
        ({"family": "albert", "groups": 2}, "expected groups that divide layers; got groups 2, layers 3"),
        ({"family": "distilbert"}, "expected no segments where family is 'distilbert'; got segments 3"),
        ({"max_length": 0}, "expected max_length >= 1; got max_length 0"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_built_is_refused_in_one_line(changes, line, config):
    """The line says what was expected and what was given."""
    with pytest.raises(ValueError, match=r"^BertConfig: ") as refused:
        replace(config, **changes)
    assert str(refused.value) == f"BertConfig: {line}"


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"model_type": "gpt2"}, "expected model_type to be one of bert, .*; got 'gpt2'"),
        (
            {"position_embedding_type": "relative_key"},
            "expected position_embedding_type 'absolute'; got 'relative_key'",
        ),
        ({"is_decoder": True}, "expected is_decoder False; got True"),
        ({"hidden_act": ["gelu"]}, r"expected hidden_act to be one of gelu, .*; got \['gelu'\]"),
        ({"initializer_range": -1.0}, "expected std >= 0; got std -1.0"),
        ({"hidden_act": "silu"}, "expected hidden_act to be one of gelu, .*; got 'silu'"),
    ],
)
def test_a_model_of_another_kind_is_refused(changes, line, config):
    """Rather than computed as if it were a BERT."""
    with pytest.raises(ValueError, match=f"^BertConfig: {line}$"):
        BertConfig.from_json({**config.to_dict(), **changes})


def test_missing_sizes_are_named(config):
    """By their keys."""
    document = config.to_dict()
    del document["vocab_size"], document["hidden_size"]
    with pytest.raises(ValueError, match="expected vocab_size, hidden_size in the configuration"):
        BertConfig.from_json(document)
