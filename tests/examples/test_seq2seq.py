from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from examples.seq2seq import (
    BEGIN,
    END,
    IGNORED,
    LETTERS,
    Result,
    Settings,
    long_words,
    main,
    record,
    recorded,
    reversing,
    run,
    shares,
    summary,
    training_words,
)

TINY = Settings(steps=3, length=7, batch=5, held_out=11)


def timeless(result: Result) -> Result:
    """A result without what a clock said."""
    outcomes = {name: replace(o, seconds=0.0) for name, o in result.outcomes.items()}
    return replace(result, seconds=0.0, processor=0.0, outcomes=outcomes)


@pytest.fixture(scope="module")
def tiny() -> Result:
    """A run of a few steps."""
    return run(TINY, say=lambda line: None)


def test_a_target_is_its_source_from_the_last_letter_to_the_first() -> None:
    """Then the end word, and nothing counts behind it; the decoder is given begin and the same letters one step later."""
    words = reversing(torch.tensor([5, 1, 3]), torch.Generator().manual_seed(2))
    for source, n, target, previous in zip(
        words.source.tolist(), [5, 1, 3], words.target.tolist(), words.previous.tolist(), strict=True
    ):
        assert target == [*source[:n][::-1], END] + [IGNORED] * (5 - n)
        assert previous[: n + 1] == [BEGIN, *source[:n][::-1]]


def test_long_words_are_long_and_training_has_words_of_every_length() -> None:
    """Of at most thirty letters, twenty are long; all letters occur."""
    usual, generator = Settings(), torch.Generator().manual_seed(3)
    assert long_words(usual, 500, generator).lengths.unique().tolist() == list(range(20, 31))
    seen = [training_words(usual, generator) for _ in range(20)]
    assert torch.cat([words.lengths for words in seen]).unique().tolist() == list(range(1, 31))
    assert seen[0].source.unique().tolist() == list(range(len(LETTERS)))


class Saying:
    """Stands in for a model: it writes what it was told to, whatever it reads."""

    def __init__(self, words: torch.Tensor) -> None:
        self.words = words

    def greedy(self, source: torch.Tensor, lengths: torch.Tensor, longest: int) -> tuple[torch.Tensor, None]:
        """The same words for every source."""
        return self.words, None


def test_shares_count_what_is_right() -> None:
    """Letters and ends one by one, and words that are right throughout; what stands behind a word's end counts for nothing."""
    words = reversing(torch.tensor([1, 3, 4]), torch.Generator().manual_seed(2))
    said = words.target.masked_fill(words.target == IGNORED, 7)
    assert shares(Saying(said), words)[:2] == (1.0, 1.0)
    said[1, 2] = (said[1, 2] + 1) % len(LETTERS)
    letters, whole, which = shares(Saying(said), words)
    assert (letters, whole, which.tolist()) == (10 / 11, 2 / 3, [True, False, True])
    letters, whole, which = shares(Saying(said[:, :2]), words)  # all rows ended after two words
    assert (letters, whole, which.tolist()) == ((2 + 3 + 3) / 11, 1 / 3, [True, False, False])


def test_a_seed_gives_one_result_and_another_seed_another(tiny: Result) -> None:
    """Every figure but the seconds is the same in a second run."""
    assert timeless(run(TINY, say=lambda line: None)) == timeless(tiny)
    assert timeless(run(replace(TINY, seed=1), say=lambda line: None)) != timeless(tiny)


def test_no_model_has_fewer_parameters_for_having_no_attention(tiny: Result) -> None:
    """The comparison is not won by size."""
    sizes = {name: o.parameters for name, o in tiny.outcomes.items()}
    assert sizes["none"] >= max(sizes.values())


def test_alignments_belong_to_what_was_written(tiny: Result) -> None:
    """A row of weights for each letter written, a column for each letter read; each row sums to 1. Without attention, none."""
    assert tiny.outcomes["none"].alignment is None
    for name in ("bahdanau", "luong"):
        found = tiny.outcomes[name].alignment
        assert found is not None
        assert len(found.weights) == len(found.written)
        for row in found.weights:
            assert len(row) == len(found.source)
            assert abs(sum(row) - 1) <= 0.5e-4 * len(row), "more than rounding to four digits explains"


def test_a_record_is_read_as_it_was_written(tiny: Result, tmp_path: Path) -> None:
    """Lengths are numbers again, points and alignments what they were."""
    path = tmp_path / "seq2seq.json"
    record(tiny, path)
    again, made = recorded(path)
    assert again == tiny
    assert made["torch"] == torch.__version__


def test_the_summary_states_the_gap_to_the_lesser_attention(tiny: Result) -> None:
    """In percentage points of whole words."""
    shares_of = {"none": 0.125, "bahdanau": 0.75, "luong": 0.5}
    outcomes = {name: replace(o, words=shares_of[name]) for name, o in tiny.outcomes.items()}
    text = summary(replace(tiny, outcomes=outcomes))
    assert "gap in whole words: 37.5 percentage points" in text
    assert "11 words of 5 to 7 letters" in text


def test_the_command_prints_progress_and_writes_what_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line for each tenth of the way, the shares of each model, a picture and a record."""
    figure, kept = tmp_path / "picture.svg", tmp_path / "record.json"
    main(["--steps", "2", "--length", "3", "--seed", "5", "--draw", str(figure), "--record", str(kept)])
    said = capsys.readouterr().out
    assert said.count("step     2") == 3
    assert "whole words right" in said
    assert "<svg" in figure.read_text(encoding="utf-8")
    assert recorded(kept)[0].settings == Settings(seed=5, steps=2, length=3)


@pytest.mark.parametrize("wrong", [["--steps", "0"], ["--length", "1"], ["--steps", "many"]])
def test_what_cannot_be_trained_is_refused_in_a_line(
    wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The command ends with 2 and says why."""
    with pytest.raises(SystemExit) as ended:
        main(wrong)
    assert ended.value.code == 2
    assert "python -m examples.seq2seq: error:" in capsys.readouterr().err
