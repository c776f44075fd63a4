"""The example of GPT: its baselines and tasks by themselves, and its commands on a small folder of files."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from examples import checkpoints
from examples.gpt import __main__ as command
from examples.gpt import comparing
from examples.gpt.baselines import compressed, counted
from examples.gpt.symbols import KEYS, Symbols
from examples.gpt.text import Text, bits_per_byte, learned, library
from examples.gpt.training import Run, Settings
from impl.gpt import GPT

TINY = Settings(
    steps=5, batch=3, vocabulary=263, context=11, width=6, layers=2, heads=2, warmup=2, every=2, rate=0.01
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ninety short files, and two that are left out."""
    folder = tmp_path_factory.mktemp("source")
    for number in range(90):
        text = f'"""Module {number}."""\n\n\ndef add_{number}(x, y):\n    return x + {number} * y\n'
        (folder / f"module_{number}.py").write_text(text, encoding="utf-8")
    (folder / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\n# \xe9\n")
    (folder / "test").mkdir()
    (folder / "test" / "test_add.py").write_text("assert True\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def text(source: Path) -> Text:
    """The folder as a task."""
    files = library(source)
    return Text.of(files, learned(files.training, TINY.vocabulary), TINY.context)


def test_some_files_are_held_out_and_tests_and_other_encodings_left_out(source: Path, text: Text) -> None:
    """Each file is on one side; a folder with too few is refused."""
    files = library(source)
    assert len(files.training) + len(files.held_out) == 90
    assert 0 < len(files.held_out) < 20
    assert text.bytes == len("".join(files.held_out))
    with pytest.raises(ValueError, match="got too few"):
        library(source / "test")


def test_counts_are_kneser_and_ney_s() -> None:
    """At order 1, beside the formula written out with counters; a text that was counted is cheaper than one that was not."""
    training, held_out = b"abracadabra banana", b"\xffbanana abra"
    pairs = Counter(zip(b"\0" + training, training, strict=False))
    kinds = Counter(second for _, second in pairs)

    def discount(counts: Counter) -> float:
        once, twice = (list(counts.values()).count(many) for many in (1, 2))
        return once / (once + 2 * twice)

    def p(second: int, first: int) -> float:
        d = discount(kinds)
        alone = (max(kinds[second] - d, 0) + d * len(kinds) / 256) / kinds.total()
        after = {pair: count for pair, count in pairs.items() if pair[0] == first}
        if not after:
            return alone
        d = discount(pairs)
        return (max(pairs[first, second] - d, 0) + d * len(after) * alone) / sum(after.values())

    bits = [-math.log2(p(x, before)) for before, x in zip(b"\0" + held_out, held_out, strict=False)]
    assert counted(training, held_out, order=1) == pytest.approx(sum(bits) / len(bits), rel=1e-12)
    assert counted(training * 5, training, order=5) < counted(training * 5, held_out, order=5)


def test_xz_that_has_read_the_same_before_pays_little() -> None:
    """Less than alone, and than gzip."""
    noise = bytes(torch.randint(256, (3000,), generator=torch.Generator().manual_seed(0)).tolist())
    found = compressed(noise, noise)
    assert found["xz_after"] < 0.5 < 8 <= min(found["xz"], found["gzip"])


def test_bits_count_every_token_of_a_file_once(text: Text) -> None:
    """A model that gives each token the same probability pays its logarithm for each, however windows overlap."""
    model = GPT(replace(TINY).config, generator=torch.Generator().manual_seed(0))
    torch.nn.init.zeros_(model.E)
    many = sum(len(ids) - 1 for ids in text.held_out)
    assert bits_per_byte(model, text) == pytest.approx(
        math.log2(TINY.vocabulary) * many / text.bytes, rel=1e-5
    )


def test_maps_are_held_out_and_rows_are_of_others() -> None:
    """No row that is learned from is of a held-out map; each letter has one digit in its row."""
    task = Symbols(pairs=2 * KEYS)
    assert len(task.held_out.unique(dim=0)) > 990
    rows = task.draw(400, torch.Generator().manual_seed(1))
    assert rows.shape == (400, 4 * KEYS)
    letters, digits = rows[:, ::2], rows[:, 1::2] - KEYS
    assert 0 <= int(letters.min()) <= int(letters.max()) < KEYS
    for row, held in zip(letters, digits, strict=True):
        pairs = set(zip(row.tolist(), held.tolist(), strict=True))
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
        whole = (task.held_out[:, [a for a, _ in pairs]] == torch.tensor([b for _, b in pairs])).all(1)
        assert len(pairs) < KEYS or not whole.any()


class Reader(torch.nn.Module):
    """Reads a prompt rightly: the digit behind the letter that is asked; else the first digit that is left."""

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Logits."""
        found = torch.zeros(*rows.shape, 2 * KEYS)
        for number, row in enumerate(rows.tolist()):
            shown = dict(zip(row[:-1:2], row[1::2], strict=True))
            left = [digit for digit in range(KEYS, 2 * KEYS) if digit not in shown.values()]
            found[number, -1, shown.get(row[-1], left[0] if left else KEYS)] = 1
        return found


@pytest.mark.parametrize("examples", [0, 3, KEYS])
def test_who_reads_prompts_rightly_has_what_can_be_had(examples: int) -> None:
    """And only chance where the digits are shuffled: six standard deviations, a false alarm in 5·10⁸ runs; the seed is fixed."""
    found = Symbols().accuracy(Reader(), examples)  # type: ignore[arg-type]
    for share, expected in ((found.right, found.best), (found.shuffled, 1 / KEYS)):
        assert abs(share - expected) <= 6 * math.sqrt(expected * (1 - expected) / 1000)
    assert found.shown == (1.0 if examples else None)


def test_a_run_cut_off_goes_on_to_the_same_weights(text: Text, tmp_path: Path) -> None:
    """From its last checkpoint; one of other settings is refused."""
    path, whole = tmp_path / "run.pt", Run(TINY, text)
    whole.train()

    class CutError(Exception):
        """The end of the first part."""

    def say(step: int, point: object) -> None:
        if step == 3:
            raise CutError

    with pytest.raises(CutError):
        Run(TINY, text).train(path, say)
    run = Run.resumed(TINY, text, path)
    assert run.step == 2
    run.train(path)
    assert run.curve == whole.curve
    for name, x in whole.model.state_dict().items():
        assert torch.equal(x, run.model.state_dict()[name])
    with pytest.raises(ValueError, match="belongs to Settings"):
        Run.resumed(replace(TINY, seed=1), text, path)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands train tiny models."""
    for name in ("text", "positions"):
        monkeypatch.setitem(comparing.USUAL, name, TINY)
    small = replace(TINY, vocabulary=2 * KEYS, context=4 * KEYS)
    monkeypatch.setitem(comparing.USUAL, "few_shot", small)


@pytest.mark.usefixtures("tiny")
def test_the_text_is_learned_saved_and_read_back(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By transformers, with the same tokens and logits; what was found is recorded, and found again when called again."""
    pytest.importorskip("transformers")
    command.main(["--threads", "1", "--out", str(tmp_path)], source=source)
    said = capsys.readouterr()
    assert "xz, behind the other files" in said.out
    assert "5/5" in said.err
    first, made = comparing.recorded_text(tmp_path / "record.json")
    assert made["threads"] == 1
    assert [point.step for point in first.curve] == [2, 4, 5]
    assert first.read_back < 1e-5  # float32, logits of about 1: the order of sums
    weights = checkpoints.load(tmp_path / "learned-0.pt")["model"]
    saved = GPT.from_pretrained(tmp_path)
    assert all(torch.equal(x, weights[name]) for name, x in saved.state_dict().items())
    command.main(["--threads", "1", "--out", str(tmp_path)], source=source)
    assert comparing.recorded_text(tmp_path / "record.json")[0] == first
    assert "<svg" in (tmp_path / "training.svg").read_text(encoding="utf-8")


@pytest.mark.usefixtures("tiny")
def test_comparisons_run_every_seed_and_kind(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three kinds of positions, and accuracies after none to all examples; asking changes no weight."""
    for name in ("positions", "few_shot"):
        command.main([name, "--threads", "1", "--seeds", "2", "--out", str(tmp_path / name)], source=source)
        assert "<svg" in (tmp_path / name / f"{name}.svg").read_text(encoding="utf-8")
    runs, _ = comparing.recorded_positions(tmp_path / "positions" / "record.json")
    assert {(run.settings.positions, run.settings.seed) for run in runs} == {
        (way, seed) for way in comparing.WAYS for seed in (0, 1)
    }
    tasks, _ = comparing.recorded_symbols(tmp_path / "few_shot" / "record.json")
    assert [each.examples for each in tasks[0].accuracies] == list(range(KEYS + 1))
    run = Run(comparing.USUAL["few_shot"], Symbols())
    before = {name: x.clone() for name, x in run.model.state_dict().items()}
    comparing.of_symbols(run, Symbols())
    assert all(torch.equal(x, before[name]) for name, x in run.model.state_dict().items())


def test_what_cannot_be_used_is_refused_in_one_line(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A number of steps, a seed, a checkpoint of other settings, and half of a tokenizer."""
    with pytest.raises(SystemExit):
        command.main(["--steps", "0"])
    assert "expected steps >= 1; got 0" in capsys.readouterr().err
    for seed in (str(2**63), "-1", "x"):
        with pytest.raises(SystemExit):
            command.main(["--seed", seed])
        assert (
            f"argument --seed: expected a whole number in 0..4294967295; got '{seed}'"
            in capsys.readouterr().err
        )
    (tmp_path / "merges.txt").touch()
    with pytest.raises(SystemExit):
        command.main(["--threads", "1", "--out", str(tmp_path)], source=source)
    assert f"{tmp_path / 'vocab.json'}" in capsys.readouterr().err.splitlines()[-1]
    checkpoints.save({"step": 3}, tmp_path / "learned-0.pt")
    with pytest.raises(SystemExit):
        command.main(["few_shot", "--seeds", "1", "--threads", "1", "--out", str(tmp_path)])
    assert "no checkpoint of this run" in capsys.readouterr().err
