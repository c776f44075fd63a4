from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from examples import checkpoints
from examples.translate.training import Run, Settings
from impl.objectives import warmup

TINY = Settings(
    steps=7, batch=5, width=6, hidden=7, heads=2, layers=1, warmup=3, probe=2, every=2, early=3, dropout=0.1
)
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """As the command has it: sums are then taken in one order."""
    torch.set_num_threads(1)


def same(one: Run, other: Run) -> bool:
    """Whether two runs have the same weights, bit for bit: the last, the mean, the early ones; and the same curve."""
    states = [(run.model.state_dict(), run.trained().state_dict(), run.early) for run in (one, other)]
    assert all(state for each in states for state in each)
    equal = (torch.equal(x, mine[name]) for his, mine in zip(*states, strict=True) for name, x in his.items())
    return all(equal) and one.curve == other.curve


@pytest.fixture(scope="module")
def straight() -> Run:
    """A run without interruption."""
    torch.set_num_threads(1)
    run = Run(TINY)
    run.train()
    return run


def test_training_follows_that_schedule() -> None:
    """The optimiser's rate at each step is that of ``impl.objectives.warmup``, for steps counted from 1."""
    run = Run(TINY)
    for step in range(1, 6):
        rate = warmup(torch.tensor(float(step)), TINY.width, TINY.warmup).item()
        assert run.optimizer.param_groups[0]["lr"] == rate
        run.advance()


def test_the_trained_model_is_the_mean_of_the_last_checkpoints(tmp_path: Path) -> None:
    """Of so many as are asked for, or of all there are."""
    path, states, settings = tmp_path / "checkpoint.pt", [], replace(TINY, averaged=3)
    run = Run(settings)

    def say(step: int, point: object) -> None:
        if step % settings.every == 0 or step == settings.steps:
            states.append(checkpoints.load(path)["model"])

    run.train(path, say)
    assert len(states) == 4
    for name, x in run.trained().state_dict().items():
        each = torch.stack([state[name] for state in states[1:]]).double()
        # Two sums and a division round once each, by half a unit of what is summed so far, which three times the largest bounds.
        far = 3 * 3 * each.abs().max().item() * torch.finfo(x.dtype).eps / 2
        torch.testing.assert_close(x.double(), each.mean(0), rtol=0, atol=far)
    assert not run.trained().training


def test_a_seed_gives_one_run_and_another_seed_another(straight: Run) -> None:
    """Weights and curve; dropout is on."""
    again, other = Run(TINY), Run(replace(TINY, seed=1))
    again.train()
    other.train()
    assert TINY.dropout > 0
    assert same(again, straight)
    assert not same(other, straight)


@pytest.mark.parametrize("stop", range(1, TINY.steps))
def test_a_run_cut_off_at_any_step_ends_with_the_same_weights(
    stop: int, straight: Run, tmp_path: Path
) -> None:
    """It goes on from its last checkpoint, as if nothing had been."""

    class CutError(Exception):
        """The end of the first part."""

    def say(step: int, point: object) -> None:
        if step == stop:
            raise CutError

    path = tmp_path / "checkpoint.pt"
    with pytest.raises(CutError):
        Run(TINY).train(path, say)
    torch.rand(3)  # what else draws from torch's generator changes nothing
    run = Run.resumed(TINY, path)
    assert run.step == stop - stop % TINY.every
    run.train(path)
    assert same(run, straight)


KILLED = """
import sys, torch
from pathlib import Path
from examples.translate.training import Run, Settings
torch.set_num_threads(1)
path = Path(sys.argv[1])
run = Run.resumed(Settings(**eval(sys.argv[2])), path)
print(run.step, flush=True)
run.train(path)
print("done", flush=True)
"""


def test_a_run_that_is_killed_again_and_again_ends_with_the_same_weights(tmp_path: Path) -> None:
    """SIGKILL, wherever the process is: three times soon after a checkpoint appeared, then it may finish."""
    settings = replace(TINY, steps=41, every=1)
    path, reached = tmp_path / "checkpoint.pt", [0]

    def start() -> subprocess.Popen[str]:
        command = [sys.executable, "-c", KILLED, str(path), repr(vars(settings))]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)

    for pause in (0.0, 0.013, 0.031):
        with start() as process:
            assert process.stdout is not None
            assert int(process.stdout.readline()) == reached[-1]
            before = path.stat().st_mtime_ns if path.exists() else 0
            while process.poll() is None and (path.stat().st_mtime_ns if path.exists() else 0) == before:
                time.sleep(0.001)
            time.sleep(pause)
            process.send_signal(signal.SIGKILL)
        reached.append(checkpoints.load(path)["step"])
    assert 0 < reached[1] <= reached[2] <= reached[3]
    run, whole = Run.resumed(settings, path), Run(settings)
    run.train()
    whole.train()
    assert same(run, whole)


def test_a_checkpoint_of_other_settings_is_refused(tmp_path: Path) -> None:
    """But for more steps: a longer run begins as a shorter one."""
    path = tmp_path / "checkpoint.pt"
    Run(TINY).train(path)
    for other in (replace(TINY, seed=1), replace(TINY, batch=7), replace(TINY, steps=3)):
        with pytest.raises(
            ValueError, match=r"checkpoint.pt belongs to Settings\(seed=0, .* has 7 steps; expected"
        ):
            Run.resumed(other, path)
    path.unlink()
    checkpoints.save({"step": 3}, path)
    with pytest.raises(
        ValueError, match=r"checkpoint.pt is no checkpoint of this run \(KeyError: 'settings'\)"
    ):
        Run.resumed(TINY, path)


@pytest.mark.parametrize("steps", [2, 3, 7, 8])
def test_a_run_that_is_made_longer_is_the_longer_run(steps: int, tmp_path: Path) -> None:
    """Weights, their mean, the early ones and the curve: the end of the shorter run is not among them, unless the longer has
    a checkpoint there.
    """
    path, longer = tmp_path / "checkpoint.pt", replace(TINY, steps=11, averaged=3)
    Run(replace(longer, steps=steps)).train(path)
    run, whole = Run.resumed(longer, path), Run(longer)
    assert run.step == steps
    run.train()
    whole.train()
    assert same(run, whole)
