from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from examples import checkpoints
from examples.translate import __main__ as command
from examples.translate.measuring import WIDTHS, alignment, examples, qualities, shares, written
from examples.translate.numerals import END, IGNORED, VOCABULARY, pairs
from examples.translate.training import Run, Settings

TINY = Settings(
    steps=5,
    batch=5,
    width=6,
    hidden=7,
    heads=2,
    layers=2,
    warmup=3,
    probe=2,
    every=2,
    early=3,
    dropout=0.1,
    measured=7,
    searched=3,
)
CPU = torch.device("cpu")


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command trains a tiny model."""

    def settings(**given: int) -> Settings:
        return replace(TINY, **given)

    monkeypatch.setattr(command, "Settings", settings)


@pytest.fixture(scope="module")
def run() -> Run:
    """A tiny run, hardly trained."""
    torch.set_num_threads(1)
    run = Run(TINY)
    run.train()
    return run


def test_shares_count_numbers_that_are_right_in_every_word() -> None:
    """The end among them; what stands behind a target's end counts for nothing. Each direction by itself."""
    batch = pairs([42, 207, 17])
    said = batch.target.masked_fill(batch.target == IGNORED, 7)
    assert shares(said, batch) == (1.0, 1.0)
    said[0, 2] = 5  # no end behind "42"
    assert shares(said, batch) == (2 / 3, 1.0)
    said[4, 0], said[5, 0] = 2, 2
    assert shares(said, batch) == (2 / 3, 1 / 3)


def test_a_beam_of_one_is_greedy_and_a_wider_one_is_likelier(run: Run) -> None:
    """On average: one beam that keeps more beginnings may lose a good one, rarely."""
    found = qualities(run.model, pairs([42, 207_042, 999]))
    assert [each.width for each in found] == list(WIDTHS)
    likelihoods = [each.log_probability for each in found]
    assert likelihoods == sorted(likelihoods)
    said, _ = written(run.model, pairs([42]), width=1)
    assert said.shape == pairs([42]).target.shape


def test_examples_are_shown_in_both_directions(run: Run) -> None:
    """Sources and targets as they are read; beams from the likeliest."""
    to_digits, to_words = examples(run.model, [207_042], CPU)
    assert (to_digits.source, to_digits.target) == ("two hundred and seven thousand and forty two", "207042")
    assert (to_words.source, to_words.target) == (to_digits.target, to_digits.source)
    for each in (to_digits, to_words):
        likelihoods = [p for _, p in each.beams]
        assert len(likelihoods) == 3
        assert likelihoods == sorted(likelihoods, reverse=True)


def test_an_alignment_has_a_row_for_each_word_written(run: Run) -> None:
    """Of each layer; a column for each word read; each row sums to 1."""
    found = alignment(run.model, 42, CPU)
    assert found.source == ["forty", "two"]
    assert len(found.layers) == TINY.layers
    for layer in found.layers:
        assert len(layer) == len(found.written)
        # Weights are rounded to 4 places: each is off by at most half a unit of the last.
        assert all(len(row) == 2 and abs(sum(row) - 1) <= len(row) * 0.5e-4 + 1e-6 for row in layer)
    assert all(word in VOCABULARY for word in found.written)
    assert VOCABULARY[END] not in found.written[:-1]


@pytest.mark.usefixtures("tiny")
def test_the_command_trains_prints_and_writes_and_when_called_again_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Figures, a record that is read back, a checkpoint; a finished run is measured again, and found the same."""
    command.main(["--steps", "5", "--seed", "3", "--out", str(tmp_path)])
    said = capsys.readouterr()
    assert "right in\nevery word:" in said.out
    assert "5/5" in said.err
    first, made = command.recorded(tmp_path / "record.json")
    assert first.settings == replace(TINY, seed=3)
    assert made["threads"] == 1
    assert [point.step for point in first.curve] == [2, 4, 5]
    assert [len(each) for each in (first.beams, first.early, first.examples)] == [len(WIDTHS), len(WIDTHS), 6]
    asked = json.loads((tmp_path / "tree.json").read_text(encoding="utf-8"))["log_probabilities"]
    assert all(len(log_p) == len(VOCABULARY) for log_p in asked.values())
    # What is asked goes on from what was asked, word by word.
    assert all(text.rpartition(" ")[0] in asked for text in asked)
    for name in ("training", "beams", "alignment"):
        assert "<svg" in (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
    weights = checkpoints.load(tmp_path / "checkpoint.pt")["model"]
    command.main(["--steps", "5", "--seed", "3", "--out", str(tmp_path)])
    assert "going on from step 5" in capsys.readouterr().out
    again, _ = command.recorded(tmp_path / "record.json")
    timeless = replace(again, measuring_seconds=first.measuring_seconds)
    assert timeless == first
    assert all(
        torch.equal(x, weights[name])
        for name, x in checkpoints.load(tmp_path / "checkpoint.pt")["model"].items()
    )


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        (["--steps", "0"], "expected steps >= 1; got 0"),
        (["--steps", "many"], "invalid int value"),
        (["--device", "abacus"], "torch cannot compute on abacus"),
        (["--steps", "3"], "has 5 steps; expected"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_line(
    wrong: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command ends with 2 and says why."""
    checkpoints.save(Run(TINY).state() | {"step": 5}, tmp_path / "checkpoint.pt")
    with pytest.raises(SystemExit) as ended:
        command.main(["--out", str(tmp_path), *wrong])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "python -m examples.translate: error:" in said
    assert line in said


@pytest.mark.usefixtures("tiny")
def test_a_folder_that_cannot_be_written_to_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file stands in its place."""
    (tmp_path / "file").write_text("something")
    with pytest.raises(SystemExit) as ended:
        command.main(["--out", str(tmp_path / "file" / "folder")])
    assert ended.value.code == 2
    assert "--out: expected a folder that can be written to; " in capsys.readouterr().err


def test_help_says_what_every_option_does(capsys: pytest.CaptureFixture[str]) -> None:
    """With its usual value."""
    with pytest.raises(SystemExit) as ended:
        command.main(["--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    for option in ("--steps", "--seed", "--out", "--device"):
        assert option in said
    assert f"({Settings().steps})" in said
