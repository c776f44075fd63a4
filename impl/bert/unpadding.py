"""The tokens of a padded batch without its padding: what is done token by token is done to real tokens alone, and attention
goes over blocks of sequences of one length, or on an accelerator over all sequences in one kernel that knows where each ends.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from impl._transforms import beyond_one_grad
from impl.attention.weights import attend_with_weights, kernel

__all__ = ["Tokens"]

SHORT = (torch.float16, torch.bfloat16)
"""The types that torch's kernel for sequences of different lengths takes."""
WIDEST, STEP = 256, 8
"""Its widest heads, and what their width is a multiple of."""
OLDEST = (8, 0)
"""The least compute capability that it runs on."""


@dataclass(frozen=True)
class Tokens:
    """Where the tokens of a batch (b n) stand once they are in one row, T of them.

    ``blocks`` holds (sequences, length) of what follows one another there. ``places`` are the tokens' slots in the batch; None:
    all of them, in the batch's order, and ``mask`` says which are real, if that is not all. ``ends`` are the places in the row
    where sequences begin, and where the last one ends.
    """

    shape: tuple[int, int]
    blocks: tuple[tuple[int, int], ...]
    places: Shaped[Tensor, " T"] | None = None
    mask: Bool[Tensor, "b n"] | None = None
    ends: Shaped[Tensor, " ends"] | None = None

    @classmethod
    def of(cls, b: int, n: int, mask: Bool[Tensor, "b n"] | None, unpadded: bool) -> "Tokens":
        """All tokens where there is no mask or ``unpadded`` is False, else the real ones: sequences by their length, the shortest
        first, those of equal length in one block. A sequence without a token is left out.
        """
        if mask is None or not unpadded:
            return cls((b, n), ((b, n),), mask=mask)
        lengths = mask.sum(-1)
        if int(lengths.sum()) == b * n:
            return cls((b, n), ((b, n),))
        order = lengths.argsort(stable=True)
        row, column = mask[order].nonzero(as_tuple=True)
        found, counts = lengths.unique(return_counts=True)
        pairs = zip(counts.tolist(), found.tolist(), strict=True)
        blocks = tuple((g, length) for g, length in pairs if length)
        some = lengths[order[b - sum(g for g, _ in blocks) :]]
        ends = F.pad(some.cumsum(0), (1, 0)).int()
        return cls((b, n), blocks, order[row] * n + column, ends=ends)

    def pack(self, x: Shaped[Tensor, "b n *rest"]) -> Shaped[Tensor, "T *rest"]:
        """One row of tokens."""
        x = x.flatten(0, 1)
        return x if self.places is None else x[self.places]

    def unpack(self, x: Shaped[Tensor, "T *rest"]) -> Shaped[Tensor, "b n *rest"]:
        """The batch, with 0 in its padding."""
        b, n = self.shape
        if self.places is not None:
            x = x.new_zeros(b * n, *x.shape[1:]).index_copy(0, self.places, x)
        x = x.view(b, n, *x.shape[1:])
        if self.mask is None:
            return x
        return torch.where(self.mask.view(b, n, *[1] * (x.dim() - 2)), x, x.new_zeros(()))

    def attend(self, qkv: Float[Tensor, "T three_d"], h: int, dropout: float = 0.0) -> Float[Tensor, "T d"]:
        """What the h heads say one beside the other, each token attending to the real tokens of its sequence."""
        if self.ends is not None and len(self.blocks) > 1 and not dropout and one_kernel(qkv, h):
            return attend_ragged(qkv, h, self.ends, self.blocks[-1][1])
        mask = None if self.mask is None else self.mask[:, None, None]
        sizes = [g * length for g, length in self.blocks]
        said = [
            _heads(_attended(*_split_heads(part, block, h), mask, dropout))
            for part, block in zip(qkv.split(sizes), self.blocks, strict=True)
        ]
        return said[0] if len(said) == 1 else torch.cat(said) if said else qkv[:, : qkv.shape[-1] // 3]

    def weights(self, qkv: Float[Tensor, "T three_d"], h: int) -> Float[Tensor, "b h n n"]:
        """The weights that every token gives to every token; 0 to padding. They are for looking at: the batch is not unpadded."""
        q, k, _ = _split_heads(qkv, self.shape, h)
        s: Tensor = q @ k.mT / math.sqrt(q.shape[-1])
        if self.mask is None:
            return s.softmax(-1)
        seen = self.mask[:, None, None]
        return torch.where(seen, s.masked_fill(~seen, -torch.inf).softmax(-1), 0.0)


def one_kernel(qkv: Float[Tensor, "T three_d"], h: int) -> bool:
    """Whether torch has a kernel for sequences of different lengths of this type and width, on this device."""
    width = qkv.shape[-1] // (3 * h)
    return (
        qkv.is_cuda
        and qkv.dtype in SHORT
        and width <= WIDEST
        and width % STEP == 0
        and torch.cuda.get_device_capability(qkv.device) >= OLDEST
    )


def attend_ragged(
    qkv: Float[Tensor, "T three_d"], h: int, ends: Shaped[Tensor, " ends"], longest: int
) -> Float[Tensor, "T d"]:
    """Attention of sequences one behind the other in one kernel; ``longest`` is the length of the longest."""
    from torch.nn.attention.varlen import varlen_attn

    q, k, v = qkv.view(len(qkv), 3, h, -1).unbind(1)
    z = varlen_attn(q, k, v, ends, ends, longest, longest)
    assert isinstance(z, Tensor)  # nothing beside it was asked for
    return z.flatten(1)


def _split_heads(qkv: Tensor, block: tuple[int, int], h: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of g sequences of one length, head by head (g h n d)."""
    q, k, v = qkv.view(*block, 3, h, qkv.shape[-1] // (3 * h)).permute(2, 0, 3, 1, 4).unbind()
    return q, k, v


def _attended(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    """Contexts (g h n d), by torch's kernel where that follows what is asked."""
    return (
        attend_with_weights(q, k, v, mask, None, dropout)[0]
        if beyond_one_grad()
        else kernel(q, k, v, mask, dropout)
    )


def _heads(z: Tensor) -> Tensor:
    """One token after the other, its heads one beside the other."""
    return z.transpose(1, 2).flatten(2).flatten(0, 1)
