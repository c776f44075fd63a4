"""Checkpoints that are whole at any moment: a run that is killed goes on from its last one.

A file is written beside the checkpoint, brought to the disk, and then given its name in one step of the file system: whoever
looks finds the old checkpoint or the new one, never a part.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

__all__ = ["load", "save", "taken_up"]


def save(state: dict[str, Any], path: Path) -> None:
    """Put ``state`` instead of what ``path`` holds."""
    beside = path.with_name(path.name + ".part")
    with beside.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def load(path: Path, device: torch.device | str = "cpu") -> dict[str, Any]:
    """What was saved: tensors and plain values, nothing that runs code. ValueError if the file is none that was saved so, or
    is not as it was saved.
    """
    with taken_up(path, device) as state:
        return state


@contextmanager
def taken_up(path: Path, device: torch.device | str = "cpu") -> Iterator[dict[str, Any]]:
    """What was saved, while it is put to use: a file that cannot be read and one in which something is missing, or is of
    another kind, are a ValueError that names it.
    """
    try:
        # Each part of the file has a checksum, which torch does not look at.
        with zipfile.ZipFile(path) as file:
            if (part := file.testzip()) is not None:
                raise zipfile.BadZipFile(f"{part} is not as it was written")
        state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:  # whatever torch and its unpickler raise of a file that is none
        raise _none(path, error) from error
    try:
        yield state
    except (KeyError, IndexError, TypeError, AttributeError, AssertionError, RuntimeError) as error:
        raise _none(path, error) from error


def _none(path: Path, error: Exception) -> ValueError:
    lines = str(error).strip().splitlines()
    said = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return ValueError(
        f"{path} is no checkpoint of this run ({said}); delete it to begin anew, or name another folder"
    )
