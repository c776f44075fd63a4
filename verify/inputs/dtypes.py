"""The types in which a callable can be checked: their names, and torch's types."""

from __future__ import annotations

import torch

DTYPES: dict[str, torch.dtype] = {
    "float64": torch.float64,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}
NAMES = {value: name for name, value in DTYPES.items()}
