"""Examples of different lengths become one batch: padded at the right, and hidden where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from impl._labels import IGNORED

__all__ = ["Batch", "Collator", "Example", "Place"]


class Place(NamedTuple):
    """Where a stream is: which time through its corpus, which chunk of that time, and which pair of that chunk; and how many
    examples behind that.
    """

    epoch: int = 0
    turn: int = 0
    pair: int = 0
    behind: int = 0


class Example(NamedTuple):
    """A row: ids as they are read, segments, labels (−100 where nothing is hidden), whether b follows a; and where the batch
    that it belongs to begins.
    """

    ids: Tensor
    segments: Tensor
    labels: Tensor
    follows: int
    begins: Place


class Batch(NamedTuple):
    """Rows (B n) of ids, segments, the mask that is True for a real token, and labels; ``follows`` (B) are those of the second
    task, 0 where b follows a; ``begins`` (4) the place of the batch.
    """

    ids: Tensor
    segments: Tensor
    mask: Tensor
    labels: Tensor
    follows: Tensor
    begins: Tensor


@dataclass(frozen=True)
class Collator:
    """Pads with ``pad_id``, to the longest row, rounded up to a multiple of ``multiple``."""

    pad_id: int = 0
    multiple: int = 1

    def __call__(self, examples: Sequence[Example]) -> Batch:
        """The batch of these examples."""
        ids, segments, labels = (
            self._pad([getattr(each, name) for each in examples], value)
            for name, value in (("ids", self.pad_id), ("segments", 0), ("labels", IGNORED))
        )
        mask = self._pad([torch.ones_like(each.ids, dtype=torch.bool) for each in examples], False)
        follows = torch.tensor([each.follows for each in examples])
        return Batch(ids, segments, mask, labels, follows, torch.tensor(examples[0].begins))

    def _pad(self, rows: list[Tensor], value: int) -> Tensor:
        padded = pad_sequence(rows, batch_first=True, padding_value=value)
        return torch.nn.functional.pad(padded, (0, -padded.shape[1] % self.multiple), value=value)
