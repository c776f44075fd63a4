"""A GPT-2's checkpoint beside its statement: ours and transformers' conform, and mistakes are named with their layer."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

pytest.importorskip("transformers")

from transformers import GPT2Config, GPT2Model

from impl.gpt import BytePairs
from impl.gpt.tokenizer import ALPHABET
from verify.command.cli import main
from verify.weights.causes import cause
from verify.weights.checkpoint import Checkpoint
from verify.weights.comparing import Sentence, compare, expectation
from verify.weights.reading import read_checkpoint
from verify.weights.sentences import sentences
from verify.weights.subjects import Subject, call_transformers, list_built_in

TEXTS = (("the river bank",), ("a bank",))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3 layers of width 22 in 2 heads, 31 inner entries; all bytes and two merges."""
    home = tmp_path_factory.mktemp("gpt")
    merges = [("h", "e"), ("b", "a")]
    tokens = [*ALPHABET.values(), "he", "ba"]
    BytePairs({token: number for number, token in enumerate(tokens)}, merges).save_pretrained(home)
    config = GPT2Config(
        vocab_size=258, n_positions=17, n_embd=22, n_layer=3, n_head=2, n_inner=31, initializer_range=0.3
    )
    with torch.random.fork_rng():
        torch.manual_seed(5)
        model = GPT2Model(config)
        for parameter in model.parameters():
            if parameter.dim() == 1:  # else there would be nothing to lose
                with torch.no_grad():
                    parameter.add_(torch.randn_like(parameter) * 0.3)
    model.save_pretrained(home)
    return home


@pytest.fixture(scope="module")
def checkpoint(folder: Path) -> Checkpoint:
    """Its letters."""
    return read_checkpoint(folder)


@pytest.fixture(scope="module")
def texts(checkpoint: Checkpoint) -> list[Sentence]:
    """Two texts of different lengths."""
    return sentences(checkpoint, TEXTS)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_ours_and_transformers_conform_in_every_layer(
    checkpoint: Checkpoint, texts: list[Sentence], dtype: str
) -> None:
    """The last of them behind the last normalization."""
    wanted = [] if dtype == "float64" else [expectation(checkpoint, one, dtype) for one in texts]
    for subject in list_built_in("gpt2"):
        found = compare(subject, checkpoint, texts, wanted, dtype)
        assert found.first is None, (subject.name, found.ratios)
        assert len(found.ratios) == 4
        assert min(found.ratios[1:]) > 0


def _shift(model: GPT2Model) -> None:
    model.wpe.weight.copy_(model.wpe.weight.roll(-1, 0))


def _exact(model: GPT2Model) -> None:
    for layer in model.h:
        layer.mlp.act = nn.GELU()


PLANTED: list[tuple[Callable[[GPT2Model], Any], int, str]] = [
    (_shift, 0, "positions are counted from 1"),
    (_exact, 1, "GELU is the exact one, not its form with tanh"),
    (lambda m: m.h[1].mlp.c_fc.bias.zero_(), 2, "the first bias of the network (b_1) is dropped"),
    (lambda m: m.h[2].ln_2.weight.fill_(1), 3, "(gamma_2) is dropped"),
    (lambda m: m.ln_f.bias.zero_(), 3, "the bias of the last normalization (beta_f) is dropped"),
]


@pytest.mark.parametrize(("change", "layer", "says"), PLANTED)
def test_a_planted_mistake_is_named_with_the_first_layer_that_shows_it(
    checkpoint: Checkpoint, texts: list[Sentence], change: Callable[[GPT2Model], Any], layer: int, says: str
) -> None:
    """In the embedding, in a layer, in the last one, and behind it."""

    def build(folder: Path, dtype: torch.dtype) -> Any:
        model = GPT2Model.from_pretrained(folder, dtype=dtype).eval()
        with torch.no_grad():
            change(model)
        return partial(call_transformers, model)

    found = compare(Subject("wrong", build), checkpoint, texts, [], "float64")
    assert found.first == layer
    assert says in cause(checkpoint, texts, found.seen, layer)


def test_the_command_says_what_it_found_and_refuses_what_it_cannot_read(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The formula of the checkpoint's kind, one text at a time."""
    file = tmp_path / "found.json"
    words = ["verify", "gpt.model", "--weights", str(folder), "--text", "a bank", "--dtype", "float64"]
    assert main([*words, "--json", str(file)]) == 0
    assert "impl.gpt.GPT conforms in every layer (float64)" in capsys.readouterr().out
    assert json.loads(file.read_text(encoding="utf-8"))["formula_id"] == "gpt.model"
    for words, says in (
        (["bert.encoder", "--weights", str(folder)], "expected a checkpoint that bert.encoder states"),
        (["--weights", str(folder), "--text", "a", "b"], "expected one text at a time; got 2"),
    ):
        assert main(["verify", *words]) == 2
        assert says in capsys.readouterr().err
