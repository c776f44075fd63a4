from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from examples import checkpoints
from examples.pretrain_bert.processes import Processes
from examples.pretrain_bert.settings import Settings
from examples.pretrain_bert.text import Prepared, prepare
from examples.pretrain_bert.training import Run

from .conftest import toml

ROOT = Path(__file__).parents[3]
ALONE = Processes(0, 1, torch.device("cpu"))
Tables = dict[str, Any]


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """As the settings have it: sums are then taken in one order."""
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def text(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Prepared."""
    return prepare(settings, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def straight(settings: Settings, text: Prepared) -> Run:
    """A run without interruption."""
    run = Run(settings, text, ALONE)
    run.train()
    return run


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two states hold the same weights, bit for bit, the same losses and the same curve."""
    equal = all(torch.equal(x, other["model"][name]) for name, x in one["model"].items())
    return equal and all(one[name] == other[name] for name in ("losses", "curve", "step", "batches"))


@pytest.mark.parametrize("changed", [{}, {"dropout": 0.2}])
@pytest.mark.parametrize("stop", [1, 2, 5])
def test_a_run_cut_off_at_any_step_ends_with_the_same_weights(
    stop: int, changed: Tables, settings: Settings, text: Prepared, tmp_path: Path
) -> None:
    """It goes on from its last checkpoint, as if nothing had been; dropout goes on, too."""
    settings = replace(settings, model=settings.model | changed)

    class CutError(Exception):
        """The end of the first part."""

    def say(run: Run) -> None:
        if run.step == stop:
            raise CutError

    path, whole, first = tmp_path / "checkpoint.pt", *(Run(settings, text, ALONE) for _ in range(2))
    whole.train()
    with pytest.raises(CutError):
        first.train(path, say)
    torch.rand(3)  # what else draws from torch's generator changes nothing
    second = Run(settings, text, ALONE)
    if path.exists():
        second.load(path)
    assert second.step == stop - stop % 2
    second.train(path)
    assert same(second.state(), whole.state())
    assert same(checkpoints.load(path), whole.state())


def test_a_seed_gives_one_run_and_another_seed_another(
    settings: Settings, text: Prepared, straight: Run
) -> None:
    """Also where workers read the text."""
    again = Run(replace(settings, data=replace(settings.data, workers=1)), text, ALONE)
    other = Run(replace(settings, training=replace(settings.training, seed=1)), text, ALONE)
    for run in (again, other):
        run.train()
    assert same(again.state(), straight.state())
    assert not same(other.state(), straight.state())


def test_the_rate_rises_and_falls(settings: Settings, text: Prepared) -> None:
    """For two steps, then to 0 behind the last one."""
    run, rates = Run(settings, text, ALONE), []
    for batch in run.batches:
        rates.append(run.optimizer.param_groups[0]["lr"] / settings.training.rate)
        run.advance(batch)
        if run.step == 7:
            break
    torch.testing.assert_close(rates, [1 / 2, 1.0, 1.0, 4 / 5, 3 / 5, 2 / 5, 1 / 5])
    assert run.optimizer.param_groups[0]["lr"] == 0


@pytest.mark.parametrize("task", ["next", "order", "none"])
def test_hidden_words_are_learned(task: Any, settings: Settings, text: Prepared) -> None:
    """With and without a second task, whose loss is 0 where there is none. The entropy is that of counts."""
    data, training = replace(settings.data, task=task), replace(settings.training, steps=61, every=61)
    run = Run(replace(settings, data=data, training=training), text, ALONE)
    before = run.quality()
    run.train()
    after = run.curve[-1].quality
    assert after.words < before.words
    assert (after.sentences == 0) == (task == "none")
    counts = (
        torch.cat([text.training[number].tokens for number in range(len(text.training))]).bincount().tolist()
    )
    entropy, unigram = run.unigram()
    total = sum(counts)
    assert entropy == pytest.approx(-sum(n / total * math.log(n / total) for n in counts if n))
    assert unigram == pytest.approx(entropy, rel=0.2)  # other words, of the same kind


def test_a_checkpoint_of_other_settings_is_refused(
    settings: Settings, text: Prepared, straight: Run, tmp_path: Path
) -> None:
    """But for how the work is done: workers, threads, parts."""
    path = tmp_path / "checkpoint.pt"
    straight.save(path)
    other = replace(settings, training=replace(settings.training, seed=1))
    with pytest.raises(ValueError, match=r"checkpoint\.pt belongs to other settings"):
        Run(other, text, ALONE).load(path)
    elsewhere = replace(settings, training=replace(settings.training, threads=2, sharding="fsdp2"))
    run = Run(elsewhere, text, ALONE)
    run.load(path)
    assert run.step == 7


KILLED_WHILE_SAVING = """
import os, signal, sys, torch
from pathlib import Path
from examples import checkpoints
from examples.pretrain_bert import __main__ as command

save, left = torch.save, [int(sys.argv[1])]

def half(state, file):
    left[0] -= 1
    if left[0]:
        return save(state, file)
    file.write(b"half of it")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)

torch.save = half
command.main(["--config", sys.argv[2], "--out", sys.argv[3]])
"""


def started(*command: str) -> subprocess.CompletedProcess[str]:
    """A process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def configured(tables: Tables, tmp_path: Path) -> Callable[..., str]:
    """A file of settings, with some changed."""

    def write(**training: Any) -> str:
        path = tmp_path / f"{'-'.join(map(str, training.values()))}.toml"
        path.write_text(toml({**tables, "training": tables["training"] | training}), encoding="utf-8")
        return str(path)

    return write


def test_a_run_killed_in_the_middle_of_a_save_goes_on(
    configured: Callable[..., str], straight: Run, tmp_path: Path
) -> None:
    """SIGKILL while the third checkpoint is half written: the second is whole, and the run that goes on ends with the same
    weights.
    """
    out, config = tmp_path / "out", configured(steps=7)
    killed = started(sys.executable, "-c", KILLED_WHILE_SAVING, "3", config, str(out))
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (out / "checkpoint.pt.part").read_bytes() == b"half of it"
    assert checkpoints.load(out / "checkpoint.pt")["step"] == 4
    again = started(sys.executable, "-m", "examples.pretrain_bert", "--config", config, "--out", str(out))
    assert again.returncode == 0, again.stderr
    assert "going on from step 4" in again.stdout
    assert same(checkpoints.load(out / "checkpoint.pt"), straight.state())


IN_FLOAT64 = """
import sys, torch
torch.set_default_dtype(torch.float64)
from examples.pretrain_bert import __main__ as command
command.main(["--config", sys.argv[1], "--out", sys.argv[2]])
"""


@pytest.mark.parametrize("sharding", ["ddp", "fsdp2"])
def test_two_processes_have_the_losses_of_one(
    sharding: str, configured: Callable[..., str], settings: Settings, text: Prepared, tmp_path: Path
) -> None:
    """Each has half of every batch, and the weights or a part of them. In float64, sums that are taken in another order differ
    by rounding, far below a billionth; a process that took the mean of means would be off by hundredths. What they saved, one
    goes on from.
    """
    script, config = tmp_path / "run.py", configured(sharding=sharding)
    script.write_text(IN_FLOAT64, encoding="utf-8")
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    two = started(*torchrun, str(script), config, str(tmp_path / "two"))
    assert two.returncode == 0, two.stderr
    assert two.stdout.count("Hidden words of held-out files") == 1
    saved = checkpoints.load(tmp_path / "two" / "checkpoint.pt")
    torch.set_default_dtype(torch.float64)
    try:
        one = Run(settings, text, ALONE)
        one.train()
        torch.testing.assert_close(saved["losses"], one.losses, rtol=1e-9, atol=0)
        for found, expected in zip(saved["curve"], one.state()["curve"], strict=True):
            assert found["quality"] == pytest.approx(expected["quality"], rel=1e-9)
        again = Run(settings, text, ALONE)
        again.load(tmp_path / "two" / "checkpoint.pt")
        assert again.step == 7
        for name, x in again.state()["model"].items():
            torch.testing.assert_close(x, one.state()["model"][name], rtol=1e-6, atol=1e-9)
    finally:
        torch.set_default_dtype(torch.float32)
