"""Implementations at the weights of a model beside the statement: right ones conform in every layer, and a mistake is named with
the first layer that shows it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import BertModel

from tests.verify.weights.conftest import TEXTS, WORDS
from verify.command.cli import main
from verify.output.layers import verdicts
from verify.weights.causes import cause
from verify.weights.checkpoint import Checkpoint
from verify.weights.comparing import Comparison, Sentence, compare, expectation
from verify.weights.reading import read_checkpoint
from verify.weights.sentences import sentences
from verify.weights.subjects import Subject, call_transformers, list_built_in


@pytest.fixture(scope="module")
def checkpoint(folder: Path) -> Checkpoint:
    """Its letters."""
    return read_checkpoint(folder)


@pytest.fixture(scope="module")
def texts(checkpoint: Checkpoint) -> list[Sentence]:
    """A text, and a pair of them."""
    return sentences(checkpoint, TEXTS)


def wrong(change: Callable[[BertModel], Any]) -> Subject:
    """transformers' model with something changed in place, or what the change returns."""

    def build(folder: Path, dtype: torch.dtype) -> Any:
        model = BertModel.from_pretrained(folder, dtype=dtype, add_pooling_layer=False).eval()
        with torch.no_grad():
            changed = change(model)
        return partial(call_transformers, changed if isinstance(changed, nn.Module) else model)

    return Subject("wrong", build)


def tried(subject: Subject, checkpoint: Checkpoint, texts: list[Sentence]) -> Comparison:
    """The comparison in float64, with its cause."""
    found = compare(subject, checkpoint, texts, [], "float64")
    if found.first is not None:
        found.cause = cause(checkpoint, texts, found.seen, found.first)
    return found


def test_a_text_is_cut_and_packed_as_the_checkpoint_says(texts: list[Sentence]) -> None:
    """[CLS] A [SEP], and B [SEP] behind it in the second segment."""
    one, two = texts
    assert one.tokens == ("[CLS]", "the", "river", "bank", "was", "muddy", "[SEP]")
    assert one.ids == tuple(WORDS.index(token) for token in one.tokens)
    assert set(one.segments) == {0}
    assert two.segments == (0,) * 6 + (1,) * 6


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_ours_and_transformers_conform_in_every_layer(
    checkpoint: Checkpoint, texts: list[Sentence], dtype: str
) -> None:
    """Two texts of different lengths in one batch; there is an error to be measured at all but few digits."""
    wanted = [] if dtype == "float64" else [expectation(checkpoint, one, dtype) for one in texts]
    subjects = list_built_in("bert")
    assert len(subjects) == 3
    for subject in subjects:
        found = compare(subject, checkpoint, texts, wanted, dtype)
        assert found.first is None, (subject.name, found.ratios)
        assert len(found.ratios) == 4
        assert min(found.ratios) > 0


def _flip(weight: torch.Tensor) -> None:
    weight.copy_(weight.flip(0).clone())


def _one_segment(model: BertModel) -> None:
    rows = model.embeddings.token_type_embeddings.weight
    rows[1] = rows[0].clone()


def _turn(weight: torch.Tensor) -> None:
    weight.copy_(weight.T.clone())


def _eps(model: BertModel) -> None:
    for part in model.modules():
        if isinstance(part, nn.LayerNorm):
            part.eps = 1e-5


def _tanh(model: BertModel) -> None:
    for layer in model.encoder.layer:
        layer.intermediate.intermediate_act_fn = nn.GELU(approximate="tanh")


def _one_tanh(model: BertModel) -> None:
    model.encoder.layer[1].intermediate.intermediate_act_fn = nn.GELU(approximate="tanh")


def _exchanged(model: BertModel) -> None:
    own = model.encoder.layer[2].attention.self
    own.query, own.key = own.key, own.query


def _shared(model: BertModel) -> None:
    model.encoder.layer[2] = model.encoder.layer[1]


def _scaled(model: BertModel, factor: float) -> None:
    for layer in model.encoder.layer:
        layer.attention.self.scaling = factor


def _interleaved(model: BertModel, one: int, other: int) -> None:
    value = model.encoder.layer[2].attention.self.value
    value.weight.copy_(value.weight.view(one, other, 22).transpose(0, 1).reshape(22, 22).clone())
    value.bias.copy_(value.bias.view(one, other).T.reshape(22).clone())


class Moved(nn.Module):
    """Positions begin at a place."""

    def __init__(self, model: BertModel, start: int) -> None:
        super().__init__()
        self.model, self.start = model, start

    def forward(self, input_ids: torch.Tensor, **others: Any) -> Any:
        places = torch.arange(self.start, self.start + input_ids.shape[1])
        return self.model(input_ids, position_ids=places[None].expand(input_ids.shape), **others)


class Seen(nn.Module):
    """Padding is not hidden."""

    def __init__(self, model: BertModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, **others: Any) -> Any:
        return self.model(input_ids, **others)


PLANTED: dict[str, tuple[Callable[[BertModel], Any], int, str]] = {
    "segments exchanged": (lambda m: _flip(m.embeddings.token_type_embeddings.weight), 0, "segments (S) are exchanged"),
    "one segment": (_one_segment, 0, "first segment"),
    "positions from 1": (lambda m: Moved(m, 1), 0, "counted from 1"),
    "positions from 2": (lambda m: Moved(m, 2), 0, "counted from 2"),
    "eps": (_eps, 0, "ε is 1e-05 instead of 1e-12"),
    "tanh": (_tanh, 1, "tanh"),
    "tanh in one layer": (_one_tanh, 2, "tanh"),
    "no bias of queries": (lambda m: m.encoder.layer[2].attention.self.query.bias.zero_(), 3, "(b_q) is dropped"),
    "no bias of values": (lambda m: m.encoder.layer[1].attention.self.value.bias.zero_(), 2, "(b_v) is dropped"),
    "no bias behind the heads": (lambda m: m.encoder.layer[0].attention.output.dense.bias.zero_(), 1, "(b_o) is dropped"),
    "no first bias": (lambda m: m.encoder.layer[0].intermediate.dense.bias.zero_(), 1, "(b_1) is dropped"),
    "no second bias": (lambda m: m.encoder.layer[2].output.dense.bias.zero_(), 3, "(b_2) is dropped"),
    "no gain": (lambda m: m.encoder.layer[1].output.LayerNorm.weight.fill_(1.0), 2, "(gamma_2) is dropped"),
    "no bias of the embedding": (lambda m: m.embeddings.LayerNorm.bias.zero_(), 0, "(beta) is dropped"),
    "transposed": (lambda m: _turn(m.encoder.layer[1].attention.output.dense.weight), 2, "(W_o) lies the other way"),
    "queries transposed": (lambda m: _turn(m.encoder.layer[0].attention.self.query.weight), 1, "(W_q) lies the other way"),
    "queries for keys": (_exchanged, 3, "exchanged"),
    "no scale": (lambda m: _scaled(m, 1.0), 1, "the scores are not divided by √(d_k)"),
    "scale of the model": (lambda m: _scaled(m, 22**-0.5), 1, "divided by √(d_model), not √(d_k)"),
    "heads read otherwise": (lambda m: _interleaved(m, 11, 2), 3, "heads of the values are interleaved"),
    "heads laid otherwise": (lambda m: _interleaved(m, 2, 11), 3, "heads of the values are interleaved"),
    "shared layers": (_shared, 3, "the weights are those of layer 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_named_with_the_first_layer_that_shows_it(
    checkpoint: Checkpoint, texts: list[Sentence], name: str
) -> None:
    """Layer 0 is the embedding."""
    change, layer, says = PLANTED[name]
    found = tried(wrong(change), checkpoint, texts)
    assert (found.first, says in found.cause) == (layer, True), (found.ratios, found.cause)


def test_the_page_tells_what_is_named() -> None:
    """Every mistake planted here stands on the page of real weights, in the words that name it."""
    page = (Path(__file__).parents[3] / "docs" / "real_weights.md").read_text(encoding="utf-8")
    for _, _, says in PLANTED.values():
        assert says in page or says.removesuffix(" is dropped") in page


def test_a_bias_of_the_keys_is_no_mistake_when_dropped(checkpoint: Checkpoint, texts: list[Sentence]) -> None:
    """The theorem says so: a softmax does not see it."""
    found = tried(wrong(lambda m: m.encoder.layer[1].attention.self.key.bias.zero_()), checkpoint, texts)
    assert found.first is None


def test_padding_that_is_seen_shows_in_the_shorter_text(
    checkpoint: Checkpoint, texts: list[Sentence]
) -> None:
    """From the first layer on, and in no other text: it is named."""
    found = tried(wrong(Seen), checkpoint, texts)
    assert found.first == 1
    assert "padding is attended to" in found.cause


def test_what_is_only_near_is_not_called_the_cause(checkpoint: Checkpoint, texts: list[Sentence]) -> None:
    """ε is another in one of a layer's two normalizations: the whole layer's ε is named as what leaves some of it."""

    def one(model: BertModel) -> None:
        model.encoder.layer[1].output.LayerNorm.eps = 1e-3

    found = tried(wrong(one), checkpoint, texts)
    assert found.first == 2
    assert "is 0.001" not in found.cause or "not wholly" in found.cause


def test_what_is_not_finite_differs(checkpoint: Checkpoint, texts: list[Sentence]) -> None:
    """From the layer on where it appears."""
    found = tried(wrong(lambda m: m.encoder.layer[1].output.dense.bias.fill_(np.nan)), checkpoint, texts)
    assert found.first == 2
    assert found.cause.startswith("it is not finite there")
    assert found.ratios[2] == float("inf")


def test_the_command_says_and_writes_what_it_found(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It exits 0 where all conforms; the file has every layer of every implementation."""
    file = tmp_path / "found.json"
    words = ["verify", "bert.encoder", "--weights", str(folder), "--text", *TEXTS[1], "--text", *TEXTS[0]]
    assert main([*words, "--dtype", "float64", "float32", "--json", str(file)]) == 0
    assert "impl.bert.BertEncoder conforms in every layer (float64, float32)" in capsys.readouterr().out
    found = json.loads(file.read_text(encoding="utf-8"))
    assert len(found["compared"]) == 6
    assert all(len(one["layers"]) == 4 for one in found["compared"])


def test_a_callable_of_the_users_is_held_to_the_statement(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Called with the folder it gives a model; a wrong one makes the command exit 1 and is named."""
    (tmp_path / "mine.py").write_text(
        "import torch\nfrom transformers import BertModel\n\n\ndef build(folder):\n"
        "    model = BertModel.from_pretrained(folder)\n"
        "    torch.nn.init.zeros_(model.encoder.layer[1].intermediate.dense.bias)\n    return model\n",
        encoding="utf-8",
    )
    words = [
        "verify",
        "--weights",
        str(folder),
        "--text",
        "the bank",
        "--against",
        f"{tmp_path / 'mine.py'}:build",
    ]
    assert main([*words, "--dtype", "float64"]) == 1
    assert "differs from layer 2 on" in (said := " ".join(capsys.readouterr().out.split()))
    assert "the first bias of the network (b_1) is dropped" in said


def test_what_differs_in_a_narrower_type_alone_is_said_to() -> None:
    """A cause is looked for in float64 alone: none is denied where none was tried."""
    right, wrong_one = Comparison("mine", "float64", [0.1], []), Comparison("mine", "float32", [80.0], [])
    ((line, good),) = verdicts([right, wrong_one])
    assert (line.endswith(": in float64 it conforms"), good) == (True, False)
    ((line, good),) = verdicts([wrong_one])
    assert (line.endswith(": mistakes are looked for in float64 alone"), good) == (True, False)
