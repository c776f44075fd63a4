"""Where a callable has its batch, its heads and its sequence; statements have any leading dimensions, then their own axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor


def flat(x: Tensor, lead: Sequence[int], kept: int) -> Tensor:
    """``x`` with its leading dimensions made one; the last ``kept`` stay."""
    tail = x.shape[x.ndim - kept :]
    return x.expand(*lead, *tail).reshape(-1, *tail)


def restore_lead(x: Tensor, lead: Sequence[int]) -> Tensor:
    """The leading dimensions back instead of the first."""
    return x.reshape((*lead, *x.shape[1:]))


@dataclass(frozen=True)
class Layout:
    """The axes of a callable's data: where its batch, its heads and its sequence stand.

    Attributes:
        batch: leading dimensions that are taken: exactly 1, 0 (each member is called by itself), None (any).
        seq_first: whether the first own axis of sequences stands before the batch.
        heads_axis: where an axis of heads stands, which is the last leading dimension (of length 1 where there is none).
        single: whether there is one head always, and all leading dimensions are the batch.
    """

    batch: int | None = 1
    seq_first: bool = False
    heads_axis: int | None = None
    single: bool = False

    @staticmethod
    def flat(x: Tensor, lead: Sequence[int], kept: int) -> Tensor:
        """``x`` with one leading dimension."""
        return flat(x, lead, kept)

    def expand_mask(self, mask: Tensor, lead: Sequence[int]) -> Tensor:
        """A mask with one leading dimension, with as many as the data have."""
        if self.batch == 0 or (self.batch is None and self.heads_axis is None):
            return mask.reshape(*lead, *mask.shape[1:])
        if self.heads_axis is not None:
            return mask if self.single else mask.reshape(-1, self._heads(lead), *mask.shape[1:])
        return mask

    def _heads(self, lead: Sequence[int]) -> int:
        return lead[-1] if lead and not self.single else 1

    def _sequence(self, rank: int, whole: bool) -> bool:
        return self.seq_first and rank >= (1 if whole else 2)

    def inward(self, x: Tensor, lead: Sequence[int], rank: int, whole: bool) -> Tensor:
        """Data as they are passed: ``rank`` own axes behind the leading ones; ``whole`` numbers are ids of a sequence."""
        if self.batch is None and self.heads_axis is None:
            return x
        if self.batch == 0:
            return x
        if self.heads_axis is not None:
            tail = x.shape[x.ndim - rank :]
            x = x.expand(*lead, *tail).reshape(-1, self._heads(lead), *tail)
            return x.movedim(1, self.heads_axis) if rank > 1 else x
        x = flat(x, lead, rank)
        return x.transpose(0, 1) if self._sequence(rank, whole) else x

    def outward(self, x: Tensor, lead: Sequence[int], rank: int, whole: bool) -> Tensor:
        """An output as the statement has it; one whose axes do not fit is left as it is, and falls by its shape."""
        if self.batch is None and self.heads_axis is None:
            return x
        if self.batch == 0:
            return x
        if self.heads_axis is not None:
            if x.ndim != rank + 2:
                return x
            x = x.movedim(self.heads_axis, 1) if rank > 1 else x
            return x.reshape((*lead, *x.shape[2:]))
        if x.ndim != rank + 1:
            return x
        x = x.transpose(0, 1) if self._sequence(rank, whole) else x
        return restore_lead(x, lead) if len(x) == math.prod(lead) else x


__all__ = ["Layout", "flat", "restore_lead"]
