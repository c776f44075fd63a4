"""Checkpoints that are whole at any moment: a run that is killed goes on from its last one.

A file is written beside the checkpoint, brought to the disk, and then given its name in one step of the file system: whoever
looks finds the old checkpoint or the new one, never a part.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

__all__ = ["load", "save"]


def save(state: dict[str, Any], path: Path) -> None:
    """Put ``state`` in the place of what ``path`` holds."""
    beside = path.with_name(path.name + ".part")
    with beside.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def load(path: Path, device: torch.device | str = "cpu") -> dict[str, Any]:
    """What was saved: tensors and plain values, nothing that runs code."""
    state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
    return state
