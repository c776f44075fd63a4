"""``attnspec verify --scheduler``: the same report from a cluster, of which a worker is killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from verify.command.cli import main

distributed = pytest.importorskip("distributed")

THEIRS = """
import time
from pathlib import Path
import torch.nn.functional as F

def right(x, gamma, beta, eps):
    Path("begun").touch()
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)

def wrong(x, gamma, beta, eps):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, 2 * eps)

def crashes(x, gamma, beta, eps):
    import ctypes
    ctypes.string_at(0)
"""
TARGETS = "max-examples = 5\n" + "".join(
    f'[[target]]\ncallable = "theirs.py:{name}"\nformula = "normalization.layer_norm"\n'
    for name in ("right", "wrong", "crashes")
)


def judged(folder: Path, *options: str) -> tuple[int, list[Any]]:
    """The exit status of the command, and its reports without what differs from run to run."""
    status = main(
        ["verify", "--config", str(folder / "attnspec.toml"), "--json", str(folder / "found.json"), *options]
    )
    found = json.loads((folder / "found.json").read_text())
    (folder / "found.json").unlink()
    assert not found["errors"]
    return status, [
        (
            each["target"],
            each["verdict"],
            [
                (
                    c["name"],
                    c["verdict"],
                    c["verdict"] == "conforms" and c["worst_ratio"],
                )  # shrinking takes its time
                for c in each["checks"]
            ],
        )
        for each in sorted(found["reports"], key=lambda each: each["target"])
    ]


def test_a_worker_that_is_killed_changes_no_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tasks are done by the other."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "theirs.py").write_text(THEIRS)
    (tmp_path / "attnspec.toml").write_text(TARGETS)
    here = judged(tmp_path, "--jobs", "1")
    assert [verdict for _, verdict, _ in here[1]] == ["falsified", "conforms", "falsified"]
    (tmp_path / "begun").unlink()
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    )
    with cluster:
        killed: list[int] = []

        def kill() -> None:
            while not (tmp_path / "begun").exists():
                time.sleep(0.05)
            with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
                pids = client.run(os.getpid)
                busy = [worker for worker, keys in client.processing().items() if keys]
            killed.append(pids[busy[0]])
            os.kill(killed[0], signal.SIGKILL)

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        assert judged(tmp_path, "--scheduler", cluster.scheduler_address) == here
        killer.join(60)
        assert killed


def test_no_scheduler_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody is waited for long."""
    assert main(["verify", "similarity.dot", "--target", "torch", "--scheduler", "nowhere"]) == 2
    assert capsys.readouterr().err.startswith("attnspec: no scheduler answers at nowhere")
