from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from examples import checkpoints
from examples.pretrain_bert import __main__ as command
from impl.bert import BertForPreTraining
from impl.bert.tokenizer import WordPiece

from .conftest import toml

Tables = dict[str, Any]


def test_the_command_trains_prints_and_writes_and_when_called_again_goes_on(
    tables: Tables, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The loss beside the entropy, a record that is read back, a checkpoint; a finished run is measured again, and found the
    same.
    """
    config = tmp_path / "tiny.toml"
    config.write_text(toml(tables), encoding="utf-8")
    arguments = ["--config", str(config), "--out", str(tmp_path / "out")]
    command.main(arguments)
    said = capsys.readouterr()
    first, made = command.recorded(tmp_path / "out" / "record.json")
    assert f"loss {first.quality.words:.3f} nats" in said.out
    assert (
        f"has a loss of {first.unigram:.3f} at them (the entropy of its words is {first.entropy:.3f})"
        in said.out
    )
    assert "follow: loss" in said.out
    assert "7/7" in said.err
    assert made["threads"] == 1
    assert [point.step for point in first.curve] == [2, 4, 6, 7]
    assert len(first.losses) == 7
    model = BertForPreTraining.from_pretrained(tmp_path / "out" / "model")
    saved = checkpoints.load(tmp_path / "out" / "checkpoint.pt")["model"]
    assert all(torch.equal(x, saved[name]) for name, x in model.state_dict().items())
    assert len(WordPiece.from_pretrained(tmp_path / "out" / "model")) == model.config.vocabulary
    command.main(arguments)
    assert "going on from step 7" in capsys.readouterr().out
    assert command.recorded(tmp_path / "out" / "record.json")[0] == first


def test_the_step_from_which_the_loss_is_below_that_of_the_shares_is_named(
    tables: Tables, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first point of the curve, or none."""
    config = tmp_path / "tiny.toml"
    config.write_text(toml(tables), encoding="utf-8")
    command.main(["--config", str(config), "--out", str(tmp_path / "out")])
    found, _ = command.recorded(tmp_path / "out" / "record.json")
    capsys.readouterr()
    for unigram, below, line in (
        (100.0, 2, "Below that loss from step 2 on."),
        (0.0, None, "Below that loss never."),
    ):
        other = command.Result(**{**vars(found), "unigram": unigram})
        assert other.below == below
        assert line in command.summary(other)


def test_what_cannot_be_done_is_refused_in_a_line(
    tables: Tables, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command ends with 2 and says why."""
    config = tmp_path / "wrong.toml"
    for wrong, line in (
        ({"model": {"heads": 5}}, "heads that divide d_model"),
        ({"text": {"source": "nowhere"}}, "expected a folder of text; got nowhere"),
    ):
        config.write_text(toml({**tables, **wrong}), encoding="utf-8")
        with pytest.raises(SystemExit) as ended:
            command.main(["--config", str(config), "--out", str(tmp_path / "out")])
        assert ended.value.code == 2
        said = capsys.readouterr().err
        assert "python -m examples.pretrain_bert: error:" in said
        assert line in said
