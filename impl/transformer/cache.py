"""What decoding keeps from one token to the next: keys and values, so that no token is projected twice.

Letters: g sources, each with w rows (its beams; one to begin with), r = g·w rows in all; L layers, h heads of d entries; C places
in a row, S slots for keys and values; m entries of the memory. All tensors have their final size from the beginning, and are made
anew only where reordering changes how many rows there are.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from impl import _refuse

__all__ = ["Cache"]

SWEEP = 16
"""Beams' slots are freed after so many tokens of each. Only what stands behind the first free one is moved: with 4 in its place,
or 32, decoding takes as long.
"""


class Cache:
    """Keys and values of a decoder's L layers: of the tokens so far, and of the memory.

    The rows of a source share its slots and its memory. Each step takes as many slots as it has tokens, row after row, and
    ``mask`` says which of them a row's tokens may attend to: those of its own past. So when beams win or are given up, what was
    written stays where it is, and only the mask's rows are picked anew; now and then slots that no row sees any more are freed.
    What pads a shorter prompt has slots too, which no token sees; ``lengths`` count the others.

    ``memory`` holds (keys, values) of each layer; ``positions`` the vectors of the C positions.
    """

    def __init__(
        self,
        memory: Sequence[tuple[Float[Tensor, "g h m d"], Float[Tensor, "g h m d"]]],
        memory_mask: Bool[Tensor, "g #n m"] | None,
        positions: Float[Tensor, "C d_model"],
    ) -> None:
        self._memory, self.memory_mask, self.positions = list(memory), memory_mask, positions
        k, _ = memory[0]
        self._kv = _allocate(k, len(memory), 2, *k.shape[:2], len(positions), k.shape[3])  # (L 2 g h S d)
        self.lengths = torch.zeros(len(k), dtype=torch.int64, device=positions.device)
        self.beams = 1
        """w: how many rows share a source."""
        self.taken = 0
        """No row has more tokens than that: known without waiting for the device."""
        self._used = 0  # slots
        self._swept = 0  # the tokens that were taken when slots were freed
        self._seen: Tensor | None = None  # (r used): the slots of each row's past; None where these are all

    @property
    def capacity(self) -> int:
        """The number of tokens that a row can have."""
        return len(self.positions)

    @property
    def sources(self) -> int:
        """g: how many sources there are, each with its slots."""
        return self._kv.shape[2]

    @property
    def keys(self) -> Float[Tensor, "L g h S d"]:
        """The keys of all layers in all slots, those that are free among them."""
        return self._kv[:, 0]

    @property
    def values(self) -> Float[Tensor, "L g h S d"]:
        """The values of all layers in all slots."""
        return self._kv[:, 1]

    def memory(self, layer: int) -> tuple[Float[Tensor, "g h m d"], Float[Tensor, "g h m d"]]:
        """Keys and values that a layer made of the encoder's output."""
        return self._memory[layer]

    def places(self, n: int) -> Integer[Tensor, "r {n}"]:
        """The positions of the next n tokens of each row. ValueError where there is no room for them."""
        if n < 1 or self.taken + n > self.capacity:
            raise ValueError(
                f"transformer: expected at least 1 new token and room for it in {self.capacity} slots; "
                f"got {n} new after {self.taken}"
            )
        first = self.lengths[:, None]
        return first if n == 1 else first + torch.arange(n, device=self.lengths.device)

    def mask(self, n: int) -> Bool[Tensor, "g n_w m"] | None:
        """What the next n tokens of each row may attend to, the rows of a source one behind the other: all before them in their
        row, and themselves. None where that is everything.
        """
        if self._seen is None and self.beams == n == 1:
            return None
        g, w = self.sources, self.beams
        new = torch.arange(w * n, device=self.lengths.device)
        own = (new[:, None] // n == new // n) & (new[:, None] >= new)
        past = self._past().view(g, w, 1, self._used).expand(-1, -1, n, -1).flatten(1, 2)
        return torch.cat((past, own.expand(g, -1, -1)), -1)

    def append(
        self, layer: int, k: Float[Tensor, "g h new d"], v: Float[Tensor, "g h new d"]
    ) -> tuple[Float[Tensor, "g h m d"], Float[Tensor, "g h m d"]]:
        """Write a layer's keys and values of the next tokens, and get them with all before them. ``advance`` makes it final."""
        end = self._used + k.shape[2]
        kv = self._kv[layer, ..., :end, :]
        kv[0, :, :, self._used :] = k
        kv[1, :, :, self._used :] = v
        return kv[0], kv[1]

    def advance(self, n: int, lengths: Integer[Tensor, " r"] | None = None) -> None:
        """The next n tokens are appended in every layer; of row i only the first lengths[i] are real, if that is given."""
        g, w, device = self.sources, self.beams, self.lengths.device
        if self._seen is not None or w > 1 or lengths is not None:
            new = torch.eye(w, dtype=torch.bool, device=device)[:, :, None].expand(g, -1, -1, n)
            if lengths is not None:
                new = new & (torch.arange(n, device=device) < lengths[:, None]).view(g, w, 1, n)
            self._seen = torch.cat((self._past(), new.reshape(g * w, w * n)), -1)
        self.lengths = self.lengths + (n if lengths is None else lengths)
        self.taken, self._used = self.taken + n, self._used + w * n

    def reorder(self, rows: Integer[Tensor, " s"]) -> "Cache":
        """Row i continues from what was row rows[i], as beams do when some win and others are given up. There may be more or
        fewer rows afterwards. What comes back is this cache itself.

        Rows that stay with their sources, equally many of each, share slots; only others have their keys and values moved.
        """
        if rows.dtype != torch.int64:
            raise _refuse.dtypes("transformer", "rows of dtype int64", rows=rows)
        if rows.dim() != 1:
            raise _refuse.shapes("transformer", "rows (s)", rows=rows)
        _refuse.check_range("transformer", "rows", rows, len(self.lengths))
        every = torch.arange(self.sources, device=rows.device)
        w, sources = len(rows) // max(self.sources, 1), rows // self.beams
        if not len(rows) or not torch.equal(sources, every.repeat_interleave(w)):
            w = 1
            self._memory = [(k.index_select(0, sources), v.index_select(0, sources)) for k, v in self._memory]
            if self.memory_mask is not None:
                self.memory_mask = self.memory_mask.index_select(0, sources)
            self._move(sources, w)
        elif w != self.beams:
            self._move(every, w)
        if self._seen is not None or w > 1:
            self._seen = self._past().index_select(0, rows)
        self.lengths = self.lengths.index_select(0, rows)
        if w > 1 and self.taken - self._swept >= SWEEP and not torch.compiler.is_compiling():
            self._sweep()
        return self

    def reset(self) -> None:
        """Forget the tokens, and keep the memory: another continuation of the same sources."""
        self.lengths, self._seen = torch.zeros_like(self.lengths), None
        self.taken = self._used = self._swept = 0

    def _move(self, sources: Integer[Tensor, " g"], w: int) -> None:
        """Source i gets the slots of what was source sources[i], and room for w rows: in place, where that suffices."""
        used, C, kept = self._used, self.capacity, self._kv
        if w != self.beams or len(sources) != self.sources:
            room = kept.shape[4] if w == self.beams else max(w * C, used + w * (C - self.taken))
            self._kv = _allocate(kept, *kept.shape[:2], len(sources), kept.shape[3], room, kept.shape[5])
        for new, old in zip(self._kv, kept, strict=True):
            new[..., :used, :] = old[..., :used, :].index_select(1, sources)
        self.beams = w

    def _sweep(self) -> None:
        """Free the slots that no row of their source sees: those of beams that were given up. The others keep their order."""
        seen = self._past().view(self.sources, self.beams, -1)
        live = seen.any(1)
        first = int(live.all(0).cumprod(0).sum())  # nothing before it is free
        self._used, self._swept = int(live.sum(-1).max()), self.taken
        dead = ~live[:, first:]
        # Dead ones fill up where a source has fewer.
        kept = first + dead.byte().sort(stable=True).indices[:, : self._used - first]
        slots = kept[:, None, :, None].expand(2, -1, self._kv.shape[3], -1, self._kv.shape[5])
        for kv in self._kv:
            kv[..., first : self._used, :] = kv.gather(3, slots)
        moved = seen.gather(2, kept.unsqueeze(1).expand(-1, self.beams, -1))
        self._seen = torch.cat((seen[..., :first], moved), -1).flatten(0, 1)

    def _past(self) -> Bool[Tensor, "r used"]:
        """Which of the slots that are in use each row sees."""
        if self._seen is None:
            return self.lengths.new_ones(len(self.lengths), self._used, dtype=torch.bool)
        return self._seen


def _allocate(like: Tensor, *shape: int) -> Tensor:
    """Memory that steps write to; also what is begun in ``torch.inference_mode`` may go on outside of it."""
    with torch.inference_mode(False):
        return like.new_empty(shape)
