from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from examples.finetune import __main__ as command
from examples.finetune import heads, probing
from examples.finetune.heads import Tuned
from examples.finetune.tasks import TASKS
from impl.bert import BertConfig, BertEncoder
from impl.bert.features import Features
from impl.bert.tokenizer import WordPiece

TINY = heads.Settings(training=13, measured=11, epochs=2, batch=5, layers=1)
PROBED = probing.Settings(seeds=2, training=7, measured=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT whose vocabulary splits every word into letters, but for some."""
    made = tmp_path_factory.mktemp("weights") / "tiny" / "model"
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    first = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", "?", ";"]
    pieces = WordPiece([*first, *letters, *(f"##{letter}" for letter in letters), "the", "from", "to", "not"])
    config = BertConfig(
        vocabulary=len(pieces), d_model=10, layers=5, heads=2, d_ff=11, max_length=251, std=0.3
    )
    BertEncoder(config, generator=torch.Generator().manual_seed(0)).save_pretrained(made)
    pieces.save_pretrained(made)
    return made


@pytest.mark.parametrize("name", TASKS)
def test_a_head_learns_its_examples(name: str, folder: Path) -> None:
    """Its loss on seven of them falls; the layers below those that learn stay as they were. A seed gives the same model."""
    settings = replace(TINY, epochs=30, batch=7, rate=0.02, layers=5)
    examples = TASKS[name].examples(7, 0, held_out=False)
    tuned = Tuned(TASKS[name], folder, settings)
    tuned.model.eval()
    batch, labels = tuned.read(examples)
    before = tuned.model(*batch.inputs, **labels)
    tuned.train(examples)
    assert tuned.model(*batch.inputs, **labels) < before
    some = Tuned(TASKS[name], folder, TINY)
    frozen = {key: x.clone() for key, x in some.model.named_parameters() if not x.requires_grad}
    again = Tuned(TASKS[name], folder, TINY)
    for each in (some, again):
        each.train(examples)
    assert any("layers.3" in key for key in frozen)
    assert not any("layers.4" in key for key in frozen)
    for (key, x), y in zip(some.model.named_parameters(), again.model.parameters(), strict=True):
        assert torch.equal(x, y)
        assert torch.equal(x, frozen[key]) if key in frozen else x.requires_grad


def test_labels_stand_where_words_begin_and_answers_where_they_end(folder: Path) -> None:
    """Whatever the words are cut into."""
    tuned = Tuned(TASKS["token"], folder, TINY)
    examples = TASKS["token"].examples(7, 0, held_out=True)
    batch, labels = tuned.read(examples)
    for encoding, row, each in zip(batch.encodings, labels["labels"].tolist(), examples, strict=True):
        assert [label for label in row if label != heads.IGNORED] == list(each.labels)
        first = [place for place, label in enumerate(row) if label != heads.IGNORED]
        assert all(encoding.words[place] != encoding.words[place - 1] for place in first)
    tuned = Tuned(TASKS["span"], folder, TINY)
    examples = TASKS["span"].examples(7, 0, held_out=True)
    batch, labels = tuned.read(examples)
    for row, each in enumerate(examples):
        start, end = labels["starts"][row], labels["ends"][row]
        answer = tuned.pieces.decode(batch.ids[row, start : end + 1].tolist())
        assert answer.split() == list((each.second or ())[each.labels[0] : each.labels[1] + 1])


def test_an_answer_stands_in_the_text(folder: Path) -> None:
    """Neither in the question nor on a special token, whatever the logits are."""
    tuned = Tuned(TASKS["span"], folder, TINY)
    tuned.model.eval()
    examples = TASKS["span"].examples(11, 0, held_out=True)
    batch, labels = tuned.read(examples)
    # A model that always wants the first token, and the last one.
    best = torch.linspace(1, 0, batch.ids.shape[1]).expand(batch.ids.shape)
    tuned.model.forward = lambda *_: type("Said", (), {"start": best, "end": best})()  # type: ignore[method-assign]
    first = batch.segments.argmax(-1)
    expected = (first == labels["starts"]) & (first == labels["ends"])
    assert torch.equal(tuned.right(examples), expected)


def test_probes_read_six_combinations(folder: Path) -> None:
    """The last four one beside the other are four times as wide; each seed draws other sentences."""
    found = probing.probes(folder, PROBED)
    assert [each.combination for each in found] == list(Features._fields)
    assert [each.width for each in found] == [10, 10, 10, 10, 10, 40]
    for each in found:
        assert len(each.accuracies) == 2
        assert all(0 <= share <= 1 for share in each.accuracies)
        assert min(each.accuracies) <= each.mean <= max(each.accuracies)
        assert each.spread == max(each.accuracies) - min(each.accuracies)


def test_words_have_the_states_of_their_first_pieces(folder: Path, allowed: Callable[..., float]) -> None:
    """Sentence by sentence, as if each were alone."""
    encoder, pieces = BertEncoder.from_pretrained(folder), WordPiece.from_pretrained(folder)
    examples = TASKS["token"].examples(5, 0, held_out=True)

    def states(dtype: torch.dtype) -> Tensor:
        return probing.states(encoder.to(dtype), pieces, examples)

    far = allowed(states, torch.float32)
    together = states(torch.float32)
    assert together.shape == (6, sum(len(each.text) for each in examples), 10)
    alone = torch.cat([probing.states(encoder, pieces, [each]) for each in examples], 1)
    assert (together - alone).abs().max() <= far


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command trains and probes little."""
    monkeypatch.setattr(command.heads, "Settings", lambda **given: replace(TINY, **given))
    monkeypatch.setattr(command.probing, "Settings", lambda **given: replace(PROBED, **given))


@pytest.mark.usefixtures("tiny")
def test_the_command_prints_every_head_beside_the_baselines(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And six combinations of layers; a record is read back."""
    command.main(["--weights", str(folder), "--epochs", "1", "--threads", "1", "--out", str(tmp_path)])
    said = capsys.readouterr().out
    for label in (*command.LABELS.values(), *command.COMBINATIONS.values()):
        assert re.search(rf"^{label} +\d+\.\d%", said, re.MULTILINE), label
    assert "majority  bag of words" in said


def test_a_record_is_read_back(folder: Path, tmp_path: Path) -> None:
    """As it was."""
    result = command.run(folder, replace(TINY, epochs=1), PROBED, ("token", "features"))
    assert [each.task for each in result.heads] == ["token"]
    assert result.weights == "tiny"
    command.recording.write(command.asdict(result), tmp_path / "record.json")
    assert command.recorded(tmp_path / "record.json")[0] == result


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        (["--epochs", "0"], "expected epochs >= 1; got 0"),
        (["--only", "poems"], "invalid choice"),
        (["--weights", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_line(
    wrong: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command ends with 2 and says why."""
    with pytest.raises(SystemExit) as ended:
        command.main(["--out", str(tmp_path), *wrong])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "python -m examples.finetune: error:" in said
    assert line in said
