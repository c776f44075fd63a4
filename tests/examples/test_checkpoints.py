from __future__ import annotations

from pathlib import Path

import pytest
import torch

from examples import checkpoints


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    """Tensors and plain values; the latest of several."""
    path = tmp_path / "checkpoint.pt"
    for step in range(3):
        checkpoints.save({"step": step, "x": torch.arange(5) * step}, path)
    state = checkpoints.load(path)
    assert state["step"] == 2
    assert torch.equal(state["x"], torch.arange(5) * 2)
    assert [each.name for each in tmp_path.iterdir()] == ["checkpoint.pt"]


@pytest.mark.parametrize("where", ["torch.save", "os.fsync", "pathlib.Path.replace"])
def test_who_dies_while_saving_leaves_the_checkpoint_before(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole; and whoever goes on saves over what was left."""
    path = tmp_path / "checkpoint.pt"
    checkpoints.save({"step": 1}, path)

    def die(state: object, file: object = None) -> None:
        if where == "torch.save":
            file.write(b"half of it")  # type: ignore[attr-defined]
        raise KeyboardInterrupt

    with monkeypatch.context() as m:
        m.setattr(where, die)
        with pytest.raises(KeyboardInterrupt):
            checkpoints.save({"step": 2}, path)
    assert checkpoints.load(path) == {"step": 1}
    checkpoints.save({"step": 3}, path)
    assert checkpoints.load(path) == {"step": 3}
