"""Checkpoints of Vision Transformers: there and back, as transformers writes them, and what is said where one does not fit."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file

from impl.vision import ViT, ViTConfig


@pytest.fixture
def folder(model, tmp_path):
    """The checkpoint of a model."""
    model.save_pretrained(tmp_path)
    return tmp_path


def same(one, other):
    """Whether two modules have the same parameters."""
    a, b = one.state_dict(), other.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("classes", [7, None])
def test_there_and_back_changes_nothing(dtype, classes, config, randomized, tmp_path):
    """With a head or without, in every type; what is read is in evaluation."""
    ours = randomized(ViT(replace(config, classes=classes))).to(dtype).train()
    ours.save_pretrained(tmp_path)
    again = ViT.from_pretrained(tmp_path)
    assert same(ours, again)
    assert again.config == ours.config
    assert again.cls.dtype == dtype
    assert not again.training
    assert next(ViT.from_pretrained(tmp_path, dtype=torch.float32).parameters()).dtype == torch.float32


def test_what_transformers_writes_is_read(model, theirs, tmp_path):
    """The names are the same, ε is its own; with a pooler it is a model without a head."""
    peer = theirs(model, "ViTForImageClassification")
    peer.save_pretrained(tmp_path)
    assert same(ViT.from_pretrained(tmp_path), model)
    written = load_file(tmp_path / "model.safetensors").keys()
    assert written == load_file(tmp_path / "ViTForImageClassification" / "model.safetensors").keys()
    transformers = pytest.importorskip("transformers")
    pooled = transformers.ViTModel(transformers.ViTConfig(num_hidden_layers=1, hidden_size=12, image_size=32))
    pooled.save_pretrained(tmp_path)
    read = ViT.from_pretrained(tmp_path)
    assert (read.config.classes, read.config.eps) == (None, 1e-12)
    assert torch.equal(read.P, pooled.embeddings.position_embeddings[0])


def test_a_head_may_be_left_behind(folder, model, images):
    """Or asked for where there is none, which is said."""
    bare = ViT.from_pretrained(folder, head=False)
    assert torch.equal(bare(images), model.features(images))
    bare.save_pretrained(folder)
    with pytest.raises(ValueError, match=r"missing: classifier.bias, classifier.weight$"):
        ViT.from_pretrained(folder, head=True)


def test_no_stored_number_is_rounded_and_none_taken_that_is_no_floating_one(folder, model):
    """Where types are mixed, all parameters have the one that holds them."""
    file, name = folder / "model.safetensors", "vit.embeddings.cls_token"
    state = load_file(file)
    save_file({**state, name: state[name].half()}, file)
    found = ViT.from_pretrained(folder)
    assert torch.equal(found.P, model.P)
    save_file({**state, name: state[name].to(torch.int8)}, file)
    with pytest.raises(ValueError, match=f"^{file}: expected {name} in float16, .*; got int8$"):
        ViT.from_pretrained(folder)


def test_what_does_not_fit_is_one_line_that_names_the_tensors(folder):
    """Missing, not known and of another shape, all at once."""
    state = load_file(folder / "model.safetensors")
    del state["vit.encoder.layer.1.attention.attention.key.bias"]
    state["vit.encoder.layer.7.output.dense.bias"] = torch.ones(14)
    state["vit.embeddings.position_embeddings"] = torch.ones(1, 9, 14)
    save_file(state, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ValueError, match=r"^ViT of") as refused:
        ViT.from_pretrained(folder)
    assert str(refused.value) == (
        f"ViT of {folder}: missing: vit.encoder.layer.1.attention.attention.key.bias; "
        "not known: vit.encoder.layer.7.output.dense.bias; "
        "misshapen: vit.embeddings.position_embeddings is (1, 9, 14) where (1, 10, 14) is expected"
    )


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "bert"}, "expected model_type 'vit'; got 'bert'"),
        ({"qkv_bias": False}, "expected qkv_bias True; got False"),
        (
            {"hidden_act": "quick_gelu"},
            "expected activation to be one of gelu, relu; got activation 'quick_gelu'",
        ),
        ({"patch_size": None}, "expected a whole number for patch; got patch None"),
    ],
)
def test_a_model_that_is_computed_otherwise_is_refused(change, said, config):
    """As is one of another kind."""
    with pytest.raises(ValueError, match=f"^ViTConfig: {said}$"):
        ViTConfig.from_json(json.loads(json.dumps(config.to_dict() | change)))
