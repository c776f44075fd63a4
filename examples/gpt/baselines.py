"""What a file costs without a network: compressors, and a model that counts which byte follows which."""

from __future__ import annotations

import gzip
import lzma

import torch
from torch import Tensor

ORDER = 5
"""How many bytes before a byte are looked at."""
CHECK = {"format": lzma.FORMAT_RAW, "filters": [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 26}]}
"""xz without its header; its window holds all of the text."""


def compressed(training: bytes, held_out: bytes) -> dict[str, float]:
    """Bits for each byte of ``held_out`` by gzip and by xz, and by xz that has read the other text before."""
    both, alone = (len(lzma.compress(text, **CHECK)) for text in (training + held_out, training))
    sizes = {
        "gzip": len(gzip.compress(held_out, 9)),
        "xz": len(lzma.compress(held_out, **CHECK)),
        "xz_after": both - alone,
    }
    return {name: 8 * size / len(held_out) for name, size in sizes.items()}


def counted(training: bytes, held_out: bytes, order: int = ORDER) -> float:
    """Bits for each byte of ``held_out`` by the counts of another text: each byte given ``order`` before it, by interpolated
    Kneser–Ney smoothing (Kneser & Ney 1995; Chen & Goodman 1999, section 2.8), which falls back on shorter contexts down to none.
    """
    asked = _grams(held_out, order)
    types, counts = _grams(training, order).unique(return_counts=True)
    levels = [(types, counts)]
    for k in reversed(range(order)):  # below the longest a type counts once for each byte before it
        types, counts = (types & (256 ** (k + 1) - 1)).unique(return_counts=True)
        levels.append((types, counts))
    p = torch.full(asked.shape, 1 / 256, dtype=torch.float64)
    for k, (types, counts) in enumerate(reversed(levels)):
        p = _interpolated(types, counts, asked & (256 ** (k + 1) - 1), p)
    return float(-p.log2().mean())


def _interpolated(types: Tensor, counts: Tensor, asked: Tensor, shorter: Tensor) -> Tensor:
    """The probability of each last byte asked given those before it, where shorter contexts give it ``shorter``."""
    once, twice = (int((counts == many).sum()) for many in (1, 2))
    discount = once / max(1, once + 2 * twice) if once else 0.5
    contexts, place, kinds = (types >> 8).unique_consecutive(return_inverse=True, return_counts=True)
    totals = torch.zeros_like(contexts).index_add_(0, place, counts)
    count, (total, kind) = _found(types, asked, counts)[0], _found(contexts, asked >> 8, totals, kinds)
    seen = total > 0
    kept = (count - discount).clamp(min=0) + discount * kind * shorter
    return torch.where(seen, kept / total.clamp(min=1), shorter)


def _found(keys: Tensor, asked: Tensor, *values: Tensor) -> list[Tensor]:
    """What stands beside each key that is asked; 0 where it is not among the sorted keys."""
    place = torch.searchsorted(keys, asked).clamp(max=len(keys) - 1)
    return [torch.where(keys[place] == asked, each[place], 0).double() for each in values]


def _grams(text: bytes, order: int) -> Tensor:
    """Each byte behind the ``order`` bytes before it as one number, zeros before the first."""
    data = torch.frombuffer(bytearray(bytes(order) + text), dtype=torch.uint8).long()
    many = len(text)
    found = torch.zeros(many, dtype=torch.int64)
    for k in range(order + 1):
        found = found << 8 | data[k : k + many]
    return found
