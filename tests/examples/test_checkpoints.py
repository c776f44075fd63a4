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


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def _flipped(path: Path) -> None:
    """One bit of a tensor."""
    whole = path.read_bytes()
    at = whole.index(torch.arange(700).numpy().tobytes()) + 4000
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


SPOILT = {
    "cut": _cut,
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("not a checkpoint"),
    "flipped": _flipped,
    "folder": _folder,
    "code": lambda path: torch.save(Path(), path),
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_file_that_is_no_checkpoint_is_refused_in_a_line_that_names_it(how: str, tmp_path: Path) -> None:
    """One that was cut, is another file, has one bit that is not as it was written, or holds what runs code."""
    path = tmp_path / "checkpoint.pt"
    checkpoints.save({"x": torch.arange(700)}, path)
    SPOILT[how](path)
    with pytest.raises(
        ValueError, match=r"checkpoint\.pt is no checkpoint of this run \(.*; delete it"
    ) as raised:
        checkpoints.load(path)
    assert "\n" not in str(raised.value)


def test_what_someone_misses_in_a_checkpoint_is_said_with_its_name(tmp_path: Path) -> None:
    """And who refuses it for another reason is heard."""
    path = tmp_path / "checkpoint.pt"
    checkpoints.save({"x": 1}, path)
    missing = pytest.raises(
        ValueError, match=r"checkpoint\.pt is no checkpoint of this run \(KeyError: 'y'\)"
    )
    with missing, checkpoints.taken_up(path) as state:
        torch.tensor(state["y"])
    with pytest.raises(ValueError, match="of another run"), checkpoints.taken_up(path):
        raise ValueError("of another run")
