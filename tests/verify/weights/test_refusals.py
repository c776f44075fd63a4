"""What cannot be used is refused in one line that names it: folders, tensors, texts, and callables of the user's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig

from tests.verify.weights.conftest import TEXTS
from verify import Unusable
from verify.command.cli import main
from verify.weights.reading import read_checkpoint
from verify.weights.sentences import sentences
from verify.weights.subjects import layers_of


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--weights", "/nowhere"], "expected a folder with a config.json; got '/nowhere'"),
        (
            ["attention.causal", "--weights", "FOLDER"],
            "expected the formula bert.encoder or gpt.model; got attention.causal",
        ),
        (["--text", "a"], "expected --weights FOLDER with it; got none"),
        (["--weights", "FOLDER", "--text", "a", "b", "c"], "expected a text or two"),
        (["--weights", "FOLDER", "--text", "the " * 17], "expected at most 17 tokens"),
        (["--weights", "FOLDER", "--text", "\ud800"], "lone surrogate"),
        (["--weights", "FOLDER", "--dtype", "float16"], "expected --dtype to be among"),
        (["--weights", "FOLDER", "--against", "nowhere:no"], "there is no module 'nowhere'"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    """With exit status 2."""
    assert main(["verify", *(str(folder) if word == "FOLDER" else word for word in words)]) == 2
    said = capsys.readouterr().err.strip()
    assert says in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("type", {"model_type": "t5"}, "expected a checkpoint of the model type 'bert'"),
        ("activation", {"hidden_act": "swish"}, "expected hidden_act to be one of"),
        ("layers", {"num_hidden_layers": 4}, "expected a tensor 'encoder.layer.3"),
        (
            "width",
            {"intermediate_size": 29},
            "expected intermediate.dense.weight to give W_1 of shape (22, 29)",
        ),
        ("heads", {"num_attention_heads": "2"}, "expected a whole number above 0 for 'num_attention_heads'"),
        ("no head", {"num_attention_heads": 0}, "expected a whole number above 0 for 'num_attention_heads'"),
        ("no layer", {"num_hidden_layers": 0}, "expected a whole number above 0 for 'num_hidden_layers'"),
        ("uneven heads", {"num_attention_heads": 3}, "got 3 heads and width 22"),
        ("no eps", {"layer_norm_eps": 0}, "expected a number above 0 for 'layer_norm_eps'; got 0"),
        ("eps in words", {"layer_norm_eps": "tiny"}, "expected a number above 0 for 'layer_norm_eps'"),
        ("decoder", {"is_decoder": True}, "expected 'is_decoder' to be False, as bert.encoder states it"),
        ("relative", {"position_embedding_type": "relative_key"}, "to be 'absolute'"),
    ],
)
def test_a_checkpoint_that_does_not_fit_its_configuration_is_refused(
    folder: Path, tmp_path: Path, name: str, change: dict[str, Any], says: str
) -> None:
    """In one line that names the key or the tensor."""
    settings = BertConfig.from_pretrained(folder).to_dict() | change
    (tmp_path / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    (tmp_path / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    with pytest.raises(Unusable, match=says.replace("(", r"\(").replace(")", r"\)")):
        read_checkpoint(tmp_path)


def copied(folder: Path, to: Path, change: Callable[[dict[str, torch.Tensor]], Any]) -> Path:
    """The folder once more, with something changed among its tensors."""
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, to / "model.safetensors")
    for name in ("config.json", "vocab.txt"):
        (to / name).write_bytes((folder / name).read_bytes())
    return to


def _cut(name: str, rows: slice | None) -> Callable[[dict[str, torch.Tensor]], Any]:
    return lambda tensors: tensors.update({name: tensors[name][rows].contiguous()})


def _not_a_number(tensors: dict[str, torch.Tensor]) -> None:
    tensors["encoder.layer.1.output.dense.bias"][0] = torch.nan


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_not_a_number, "expected finite numbers in 'encoder.layer.1.output.dense.bias'"),
        (_cut("embeddings.LayerNorm.weight", None), "of shape (22,); got (1, 22)"),
        (_cut("embeddings.word_embeddings.weight", slice(9)), "as 'vocab_size' says; got 9"),
        (lambda tensors: tensors.update({"encoder.layer.9.a": torch.ones(1)}), "says; the checkpoint has more"),
    ],
)  # fmt: skip
def test_tensors_that_are_not_what_the_settings_say_are_refused(
    folder: Path, tmp_path: Path, change: Callable[[dict[str, torch.Tensor]], Any], says: str
) -> None:
    """Before anything is evaluated, in one line."""
    with pytest.raises(Unusable) as refused:
        read_checkpoint(copied(folder, tmp_path, change))
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("table", "key", "rows", "says"),
    [
        ("word", "vocab_size", 9, "the table of words has a row of, 9 in all; got 'muddy'"),
        ("token_type", "type_vocab_size", 1, "expected one text"),
    ],
)
def test_tables_that_a_text_does_not_fit_are_refused(
    folder: Path, tmp_path: Path, table: str, key: str, rows: int, says: str
) -> None:
    """Before anything is evaluated, in one line."""
    found = copied(folder, tmp_path, _cut(f"embeddings.{table}_embeddings.weight", slice(rows)))
    config = found / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {key: rows}))
    with pytest.raises(Unusable) as refused:
        sentences(read_checkpoint(found), TEXTS)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("key", "value"), [("model_type", ["bert"]), ("hidden_act", {"gelu": 1}), ("hidden_act", None)]
)
def test_settings_that_are_no_words_are_refused(folder: Path, tmp_path: Path, key: str, value: Any) -> None:
    """A list is no name of a kind, and has no hash."""
    found = copied(folder, tmp_path, lambda tensors: None)
    config = found / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {key: value}))
    with pytest.raises(Unusable, match="expected") as refused:
        read_checkpoint(found)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("model.safetensors", b""),
        ("model.safetensors", b"<html>" * 40),
        ("model.safetensors", None),
        ("pytorch_model.bin", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
    ],
)
def test_a_file_of_tensors_that_is_not_whole_is_refused_by_its_name(
    folder: Path, tmp_path: Path, name: str, held: bytes | None
) -> None:
    """Empty, a page of the web, cut off (None), or the pointer that stands where a large file was not fetched."""
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    (tmp_path / name).write_bytes((folder / "model.safetensors").read_bytes()[:999] if held is None else held)
    with pytest.raises(Unusable) as refused:
        read_checkpoint(tmp_path)
    assert str(refused.value).startswith(f"{tmp_path / name}: the tensors cannot be read")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("where", ["build", "later"])
def test_a_model_that_exits_is_refused_in_one_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str
) -> None:
    """A script that is no module often does, as soon as it is called."""
    (tmp_path / "leaves.py").write_text(
        "def build(folder):\n    raise SystemExit(3)\n\n\ndef later(folder):\n    return lambda **given: build(folder)\n",
        encoding="utf-8",
    )
    words = ["verify", "--weights", str(folder), "--against", f"{tmp_path / 'leaves.py'}:{where}"]
    assert main([*words, "--text", "the bank", "--dtype", "float64"]) == 2
    assert "it raised SystemExit: 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (None, "got NoneType"),
        (torch.zeros(3, 2, 5, 7), r"got \(3, 2, 5, 7\)"),
        ((torch.zeros(2, 5, 7), torch.zeros(2, 5, 3)), "got tuple"),
    ],
)
def test_what_a_model_returns_is_refused_where_it_is_no_layers(found: Any, says: str) -> None:
    """The line says what was expected and what was given."""
    with pytest.raises(Unusable, match=rf"mine: expected 4 hidden states of shape \(2, 5, 7\).*{says}"):
        layers_of(found, (4, 2, 5, 7), "mine")
