"""Where a module's parameters are made, and of which type: every constructor takes both by name, as torch's modules do."""

from typing import TypedDict

import torch


class Placement(TypedDict, total=False):
    """``device`` and ``dtype``; torch's default where one is not given."""

    device: torch.device | str | int | None
    dtype: torch.dtype | None


class Drawing(Placement, total=False):
    """And the ``generator`` that they are drawn from."""

    generator: torch.Generator | None
