"""Checkpoints in Hugging Face's form: what is read, what is written, and what is said where something does not fit."""

import json
import os
import re
import stat

import pytest
import torch
from safetensors.torch import load_file, save_file

from impl.bert import (
    BertEncoder,
    BertForMaskedLM,
    BertForPreTraining,
    BertForSequenceClassification,
    BertForTokenClassification,
)


@pytest.fixture
def encoder(randomized, config):
    """An encoder with random parameters."""
    return randomized(BertEncoder(config))


@pytest.fixture
def folder(encoder, tmp_path):
    """Its checkpoint."""
    encoder.save_pretrained(tmp_path)
    return tmp_path


def rewritten(folder, change):
    """The checkpoint with other tensors."""
    file = folder / "model.safetensors"
    state = change(load_file(file))
    save_file(state, file, {"format": "pt"})


def same(one, other):
    """Whether two modules have the same parameters."""
    a, b = one.state_dict(), other.state_dict()
    return a.keys() == b.keys() and all(
        torch.equal(a[name], b[name]) and a[name].dtype == b[name].dtype for name in a
    )


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda x: torch.zeros_like(x), "expected one tensor for {}; got two, which differ"),
        (lambda x: x.to(torch.int8), "expected bert.{} in float16, bfloat16, float32 or float64; got int8"),
    ],
)
def test_a_tensor_with_and_without_a_prefix_is_one(change, line, folder, encoder):
    """Or is refused; where types are mixed, no stored number is rounded."""
    name = "embeddings.word_embeddings.weight"
    rewritten(folder, lambda state: {**state, name: state[name].half(), f"bert.{name}": state[name].half()})
    model = BertEncoder.from_pretrained(folder)
    assert {x.dtype for x in model.parameters()} == {torch.float32}
    assert torch.equal(model.embeddings.P, encoder.embeddings.P)
    rewritten(folder, lambda state: {**state, f"bert.{name}": change(state[name])})
    with pytest.raises(ValueError, match=f"^{folder}/model.safetensors: {line.format(name)}$"):
        BertEncoder.from_pretrained(folder)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_there_and_back_changes_nothing(dtype, member, randomized, tmp_path):
    """Of every family, in every type; what is read is in evaluation, and can be trained."""
    ours = randomized(BertEncoder(member)).to(dtype).train()
    ours.save_pretrained(tmp_path)
    again = BertEncoder.from_pretrained(tmp_path)
    assert same(ours, again)
    assert not again.training
    assert all(p.requires_grad and p.is_cpu for p in again.parameters())
    assert again.config.to_dict() == member.to_dict()
    assert (
        next(BertEncoder.from_pretrained(tmp_path, dtype=torch.float32).parameters()).dtype == torch.float32
    )


def test_the_names_are_those_of_transformers(minilm, tmp_path):
    """A real checkpoint, read and written, has the tensors that it had."""
    BertEncoder.from_pretrained(minilm).save_pretrained(tmp_path)
    before, after = (load_file(path / "model.safetensors") for path in (minilm, tmp_path))
    del before["embeddings.position_ids"]
    assert before.keys() == after.keys()
    assert all(torch.equal(after[name], x) for name, x in before.items())


def test_a_prefix_and_old_names_are_read(folder, encoder):
    """As the first checkpoints have them, with heads beside the encoder."""

    def old(state):
        named = {
            "bert."
            + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta"
            ): x
            for name, x in state.items()
        }
        return named | {"cls.predictions.bias": torch.ones(3), "cls.seq_relationship.weight": torch.ones(2)}

    rewritten(folder, old)
    assert same(BertEncoder.from_pretrained(folder), encoder)


def test_what_torch_pickled_is_read_and_no_code_in_it_runs(folder, encoder):
    """``pytorch_model.bin``, also in several files."""
    state = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(state, folder / "pytorch_model.bin")
    assert same(BertEncoder.from_pretrained(folder), encoder)

    class Evil:
        """Makes a file when it is unpickled."""

        def __reduce__(self):
            return os.mkdir, (str(folder / "made"),)

    torch.save({**state, "evil": Evil()}, folder / "pytorch_model.bin")
    with pytest.raises(Exception, match=r"(?i)weights only"):
        BertEncoder.from_pretrained(folder)
    assert not (folder / "made").exists()


@pytest.mark.parametrize(("stem", "suffix"), [("model", "safetensors"), ("pytorch_model", "bin")])
def test_a_checkpoint_in_several_files_is_read(stem, suffix, folder, encoder):
    """By its index, which names a file for each tensor."""
    state = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(state)
    parts = {f"{stem}-{i + 1}-of-3.{suffix}": names[i::3] for i in range(3)}
    for file, own in parts.items():
        part = {name: state[name] for name in own}
        if suffix == "bin":
            torch.save(part, folder / file)
        else:
            save_file(part, folder / file)
    where = {name: file for file, own in parts.items() for name in own}
    (folder / f"{stem}.{suffix}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
    assert same(BertEncoder.from_pretrained(folder), encoder)
    (folder / f"{stem}-2-of-3.{suffix}").unlink()
    with pytest.raises(
        FileNotFoundError, match=rf"index.json names {stem}-2-of-3.{suffix}, which is not there"
    ):
        BertEncoder.from_pretrained(folder)


def test_what_does_not_fit_is_one_line_that_names_the_tensors(folder):
    """Missing, not known and of another shape, all at once."""

    def spoil(state):
        del state["encoder.layer.1.attention.self.key.bias"]
        state["encoder.layer.7.output.dense.bias"] = torch.ones(14)
        state["embeddings.word_embeddings.weight"] = torch.ones(43, 14)
        state["encoder.layer.0.intermediate.dense.weight"] = torch.ones(14, 11)
        return state

    rewritten(folder, spoil)
    with pytest.raises(ValueError, match="BertEncoder") as refused:
        BertEncoder.from_pretrained(folder)
    assert str(refused.value) == (
        f"BertEncoder of {folder}: missing: encoder.layer.1.attention.self.key.bias; "
        "not known: encoder.layer.7.output.dense.bias; "
        "misshapen: embeddings.word_embeddings.weight is (43, 14) where (41, 14) is expected, "
        "encoder.layer.0.intermediate.dense.weight is (14, 11) where (11, 14) is expected"
    )


@pytest.mark.parametrize(
    ("name", "held", "line"),
    [
        ("config.json", b"{", "not JSON: "),
        ("config.json", b"\xff\xfe", "not UTF-8: "),
        ("config.json", b"[]", "expected values by name; got list"),
        ("model.safetensors", b"", r"the tensors cannot be read; is the file whole\? "),
        ("model.safetensors", b"<html>" * 40, r"the tensors cannot be read; is the file whole\? "),
        ("pytorch_model.bin", b"version https://git-lfs.github.com/spec/v1\n", r"the tensors cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(name, held, line, folder):
    """Cut off, a page in its place, or the pointer that stands where a large file was not fetched: one line, a ValueError."""
    if name == "pytorch_model.bin":
        (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(held)
    with pytest.raises(ValueError, match=f"^{re.escape(str(folder / name))}: {line}") as refused:
        BertEncoder.from_pretrained(folder)
    assert "\n" not in str(refused.value)


def test_a_few_of_many_are_named(folder):
    """Where the configuration has more layers than the file, most names are alike."""
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 13}))
    with pytest.raises(ValueError, match=r"missing: (encoder\.layer\.1[0-2]\S+, ){8}and 152 more$"):
        BertEncoder.from_pretrained(folder)


def test_an_empty_folder_says_what_is_missing(folder):
    """The files that would do."""
    (folder / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"expected one of model\.safetensors, .*pytorch_model\.bin"):
        BertEncoder.from_pretrained(folder)


def test_a_pooler_is_there_where_the_checkpoint_has_one(randomized, config, folder, tmp_path):
    """Unless it is asked for, or left out."""
    assert BertEncoder.from_pretrained(folder).pooler is not None
    assert BertEncoder.from_pretrained(folder, pooler=False).pooler is None
    bare = tmp_path / "bare"
    randomized(BertEncoder(config, pooler=False)).save_pretrained(bare)
    assert BertEncoder.from_pretrained(bare).pooler is None
    with pytest.raises(ValueError, match=r"missing: pooler\.dense\.bias, pooler\.dense\.weight$"):
        BertEncoder.from_pretrained(bare, pooler=True)


def test_a_head_is_read_beside_its_encoder_and_an_encoder_beside_a_head(randomized, config, tmp_path):
    """The number of labels is the stored one; a head that is not there is missing."""
    whole = randomized(BertForTokenClassification(BertEncoder(config, pooler=False), labels=5))
    whole.save_pretrained(tmp_path)
    assert same(BertForTokenClassification.from_pretrained(tmp_path), whole)
    assert same(BertEncoder.from_pretrained(tmp_path), whole.encoder)
    with pytest.raises(
        ValueError, match=r"^BertForMaskedLM of .* missing: cls\.predictions\.bias, cls\.pred"
    ):
        BertForMaskedLM.from_pretrained(tmp_path)
    with pytest.raises(
        ValueError, match=r"^BertForSequenceClassification of .* missing: pooler\.dense\.bias"
    ):
        BertForSequenceClassification.from_pretrained(tmp_path)


@pytest.mark.parametrize("kept", ["cls.predictions.bias", "cls.predictions.decoder.bias"])
def test_the_bias_of_words_is_read_under_either_name(kept, randomized, config, tmp_path):
    """It is one tensor with two names, of which a file may hold one; the matrix is the table of words."""
    whole = randomized(BertForPreTraining(BertEncoder(config)))
    whole.save_pretrained(tmp_path)
    words = whole.encoder.embeddings.E.detach().clone()

    def renamed(state):
        state[kept] = state.pop("cls.predictions.bias")
        return {**state, "cls.predictions.decoder.weight": words}

    rewritten(tmp_path, renamed)
    assert same(BertForPreTraining.from_pretrained(tmp_path), whole)
    rewritten(tmp_path, lambda state: {**state, "cls.predictions.decoder.weight": words + 1})
    with pytest.raises(ValueError, match=r"cls\.predictions\.decoder\.weight is not the table of words"):
        BertForPreTraining.from_pretrained(tmp_path)
    assert same(BertEncoder.from_pretrained(tmp_path), whole.encoder)


def test_a_save_that_fails_leaves_what_was_there(folder, encoder, monkeypatch):
    """And nothing beside it."""
    import safetensors.torch

    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(tensors, path, metadata):
        path.write_bytes(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(safetensors.torch, "save_file", full)
    with pytest.raises(OSError, match="no space left"):
        encoder.save_pretrained(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_files_are_readable_as_others_are(folder):
    """They are written under another name first, which only their owner may read."""
    plain = folder / "plain"
    plain.touch()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {stat.S_IMODE(plain.stat().st_mode)}
