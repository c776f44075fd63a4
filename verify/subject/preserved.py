"""What a tensor held before a call, so that it can be told whether the call has changed it."""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from verify.subject.returned import identical


class TensorSnapshot:
    """A tensor, and what it held: its bytes where they lie in one piece in memory, which is quickest, else a copy."""

    __slots__ = ("address", "copy", "dtype", "held", "now", "shape")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.now, self.shape, self.dtype = tensor, tensor.shape, tensor.dtype
        self.held = _bytes(tensor)
        self.copy = None if self.held is not None else tensor.detach().clone()
        self.address = 0 if self.held is None else tensor.data_ptr()

    @property
    def changed(self) -> bool:
        """Whether it has another shape, type or bit now."""
        now = self.now
        if self.held is not None and now.shape == self.shape and now.dtype == self.dtype:
            if now.data_ptr() == self.address and now.is_contiguous():  # it lies where it lay
                return bool(self.held) and not _equal(self.address, self.held)
            held = _bytes(now)
            if held is not None:
                return held != self.held
        return not identical(now, self.before())

    def before(self) -> torch.Tensor:
        """The tensor as it was."""
        if self.copy is not None:
            return self.copy
        if not self.held:
            return torch.empty(self.shape, dtype=self.dtype)
        return torch.frombuffer(bytearray(self.held), dtype=self.dtype).reshape(self.shape)


try:
    _compared: Any = ctypes.CDLL(None).memcmp
    _compared.argtypes = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
except (AttributeError, OSError, TypeError):  # another C library, or none that is found like this
    _compared = None


def _equal(address: int, held: bytes) -> bool:
    """Whether memory holds these bytes there."""
    if _compared is None:
        return ctypes.string_at(address, len(held)) == held
    return not _compared(address, held, len(held))


def _bytes(tensor: torch.Tensor) -> bytes | None:
    """The bytes of a dense tensor that lies in one piece in the processor's memory, else None."""
    if type(tensor) is not torch.Tensor or not tensor.is_cpu or tensor.layout != torch.strided:
        return None
    if not tensor.is_contiguous() or tensor.is_neg() or tensor.is_conj():
        return None
    return ctypes.string_at(tensor.data_ptr(), tensor.nbytes) if tensor.numel() else b""


__all__ = ["TensorSnapshot"]
