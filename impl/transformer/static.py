"""A cache whose tensors keep their shapes and places from one token to the next, as a CUDA graph asks of what it replays."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from impl import _refuse
from impl.transformer.cache import Cache

__all__ = ["StaticCache"]


class StaticCache(Cache):
    """What a cache without a memory has read, continued by one token of each row at a time. Each row has slots of its own, one
    for each place, and a step attends to all of them under a mask; slots that hold no token are 0.

    What a step reads and writes is here: ``ids`` the tokens that come next, ``lengths``, keys and values. It asks nothing of the
    device, so that it can be captured. Reordering copies rows in place; to another number of rows, into a new cache.
    """

    def __init__(
        self,
        kv: Float[Tensor, "L 2 r h C d"],
        positions: Float[Tensor, "C d_model"],
        lengths: Integer[Tensor, " r"],
        taken: int,
    ) -> None:
        none = kv[0, 0, :, :, :0]
        super().__init__([(none, none)], None, positions[:0])  # without room of its own
        self._kv, self.positions, self.lengths, self.taken = kv, positions, lengths, taken
        self._places = torch.arange(len(positions), device=kv.device)
        self.ids = torch.zeros(len(lengths), 1, dtype=torch.int64, device=kv.device)
        self.graph = Graph(kv.device)

    @classmethod
    def of(cls, cache: Cache) -> "StaticCache":
        """Take over what a cache has read that was never reordered: its keys and values stay where they are."""
        kv, lengths = cache._kv, cache.lengths
        free = torch.arange(cache.capacity, device=kv.device) >= lengths[:, None]
        kv.masked_fill_(free[:, None, :, None], 0.0)
        return cls(kv, cache.positions, lengths, cache.taken)

    def places(self, n: int) -> Integer[Tensor, "r {n}"]:
        """The position of the next token of each row. ValueError for more than one, and where there is no room for it."""
        if n != 1:
            raise ValueError(f"transformer: expected one token of each row at a time; got {n}")
        return super().places(1)

    def mask(self, n: int) -> Bool[Tensor, "r 1 C"]:
        """All slots up to the one that the next token gets."""
        return (self._places <= self.lengths[:, None])[:, None]

    def append(
        self, layer: int, k: Float[Tensor, "r h 1 d"], v: Float[Tensor, "r h 1 d"]
    ) -> tuple[Float[Tensor, "r h C d"], Float[Tensor, "r h C d"]]:
        """Write a layer's keys and values of the next token of each row, and get all slots."""
        kv = self._kv[layer]
        at = self.lengths[:, None, None, None].expand_as(k)
        for kept, new in zip(kv, (k, v), strict=True):
            kept.scatter_(2, at, new.to(kept.dtype))
        return kv[0], kv[1]

    def advance(self, n: int, lengths: Integer[Tensor, " r"] | None = None) -> None:
        """The next token of each row is appended in every layer. ``taken``, which no device knows, is for the caller to count."""
        self.lengths.add_(1)

    def reorder(self, rows: Integer[Tensor, " s"]) -> "StaticCache":
        """Row i continues from what was row rows[i]: in this cache where there are as many as before, else in a new one."""
        _refuse.check_range("transformer", "rows", rows, len(self.lengths))
        if len(rows) != len(self.lengths):
            kv, lengths = self._kv.index_select(2, rows), self.lengths.index_select(0, rows)
            return StaticCache(kv, self.positions, lengths, self.taken)
        for kept in self._kv[..., : self.taken, :]:
            kept.copy_(kept.index_select(1, rows))
        self.lengths.copy_(self.lengths.index_select(0, rows))
        return self

    def reset(self) -> None:
        """Refused with NotImplementedError: there is no memory to keep."""
        raise NotImplementedError("transformer: a static cache is not reset; start anew")


class Graph:
    """Runs one function again and again, on tensors that stay where they are. On CUDA the first run is on a stream aside, which
    warms up; the second is captured there, and from then on the graph is replayed without Python. Elsewhere it is always run.
    """

    def __init__(self, device: torch.device) -> None:
        self._aside = torch.cuda.Stream(device) if device.type == "cuda" else None
        self._warm = False
        self._captured: tuple[torch.cuda.CUDAGraph, Tensor] | None = None

    def __call__(self, run: Callable[[], Tensor]) -> Tensor:
        """What ``run`` returns. It is the same function each time, and asks nothing of the device."""
        if self._aside is None:
            return run()
        if self._captured is None:
            here = torch.cuda.current_stream(self._aside.device)
            self._aside.wait_stream(here)
            if not self._warm:
                with torch.cuda.stream(self._aside):
                    out = run()
                here.wait_stream(self._aside)
                self._warm = True
                return out
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=self._aside):
                out = run()
            self._captured = graph, out
        graph, out = self._captured
        graph.replay()
        return out.clone()  # the next replay writes over it
