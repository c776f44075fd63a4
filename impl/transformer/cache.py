"""What decoding keeps from one token to the next: keys and values, so that no token is projected twice.

Letters: b rows (sources, or their beams), L layers, h heads, C slots in a row, of which the first lengths[b] are taken; m
entries of the memory. All tensors have their final size from the beginning.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from impl import _refuse

__all__ = ["Cache"]


class Cache:
    """Keys and values of a decoder's L layers: of the tokens so far, row by row, and of the memory.

    A row's tokens stand in its slots 0, 1, 2, …, with no gap: a token's slot is its position. Rows may have different lengths. A
    new token is written to the slot behind its row's last, so that what a shorter prompt leaves behind its end is overwritten,
    and until then is seen by no token.

    ``memory`` holds (keys, values) of each layer, (b h m d_k) and (b h m d_v); ``positions`` the vectors of the C positions.
    """

    def __init__(
        self,
        memory: Sequence[tuple[Float[Tensor, "b h m d_k"], Float[Tensor, "b h m d_v"]]],
        memory_mask: Bool[Tensor, "b #n m"] | None,
        positions: Float[Tensor, "C d_model"],
    ) -> None:
        self._memory, self.memory_mask, self.positions = list(memory), memory_mask, positions
        C = len(positions)
        self.keys = [k.new_zeros(*k.shape[:2], C, k.shape[3]) for k, _ in memory]
        self.values = [v.new_zeros(*v.shape[:2], C, v.shape[3]) for _, v in memory]
        rows = memory[0][0].shape[0]
        self.lengths = torch.zeros(rows, dtype=torch.int64, device=positions.device)
        self.taken = 0
        """No row has more tokens than that: known without waiting for the device."""

    @property
    def capacity(self) -> int:
        """The number of slots in a row."""
        return len(self.positions)

    def memory(self, layer: int) -> tuple[Float[Tensor, "b h m d_k"], Float[Tensor, "b h m d_v"]]:
        """Keys and values that a layer made of the encoder's output."""
        return self._memory[layer]

    def slots(self, n: int) -> Integer[Tensor, "b {n}"]:
        """Where the next n tokens of each row will stand. ValueError where they would not fit."""
        if n < 1 or self.taken + n > self.capacity:
            raise ValueError(
                f"transformer: expected at least 1 new token and room for it in {self.capacity} slots; "
                f"got {n} new after {self.taken}"
            )
        return self.lengths[:, None] + torch.arange(n, device=self.lengths.device)

    def mask(self, n: int) -> Bool[Tensor, "b {n} m"]:
        """What the next n tokens of each row may attend to: all before them in their row, and themselves."""
        seen = torch.arange(self.taken + n, device=self.lengths.device)
        return seen <= self.slots(n)[..., None]

    def append(
        self, layer: int, k: Float[Tensor, "b h n d_k"], v: Float[Tensor, "b h n d_v"]
    ) -> tuple[Float[Tensor, "b h m d_k"], Float[Tensor, "b h m d_v"]]:
        """Write a layer's keys and values of the next n tokens, and get them with all before them. ``advance`` makes it final."""
        n = k.shape[2]
        rows, slots = torch.arange(len(k), device=k.device)[:, None], self.slots(n)
        for kept, new in ((self.keys[layer], k), (self.values[layer], v)):
            kept[rows, :, slots] = new.transpose(1, 2).to(kept.dtype)
        m = self.taken + n
        return self.keys[layer][:, :, :m], self.values[layer][:, :, :m]

    def advance(self, n: int, lengths: Integer[Tensor, " b"] | None = None) -> None:
        """The next n tokens are appended in every layer; of row b only the first lengths[b] are real, if that is given."""
        self.lengths = self.lengths + (n if lengths is None else lengths)
        self.taken += n

    def reorder(self, rows: Integer[Tensor, " r"]) -> "Cache":
        """Row i continues from what was row rows[i], as beams do when some win and others are given up. There may be more or
        fewer rows afterwards. What comes back is this cache itself.
        """
        if rows.dtype != torch.int64:
            raise _refuse.dtypes("transformer", "rows of dtype int64", rows=rows)
        if len(rows) == len(self.lengths):
            for kept in (*self.keys, *self.values):  # the rest holds nothing
                kept[:, :, : self.taken] = kept[:, :, : self.taken].index_select(0, rows)
        else:
            self.keys = [kept.index_select(0, rows) for kept in self.keys]
            self.values = [kept.index_select(0, rows) for kept in self.values]
        self._memory = [(k.index_select(0, rows), v.index_select(0, rows)) for k, v in self._memory]
        if self.memory_mask is not None:
            self.memory_mask = self.memory_mask.index_select(0, rows)
        self.lengths = self.lengths.index_select(0, rows)
        return self

    def reset(self) -> None:
        """Forget the tokens, and keep the memory: another continuation of the same sources."""
        self.lengths, self.taken = torch.zeros_like(self.lengths), 0
