"""Products of few rows with a matrix that is read again and again: the ways there are to multiply, and the quickest of them here.

Such a product waits for the matrix to be read, and what reads it well differs from processor to processor by a factor of four:
so it is measured, once in a process for each shape and number of rows, on the matrices at hand.
"""

import math
from collections.abc import Sequence
from threading import Lock
from time import perf_counter
from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from impl._linear import linear

__all__ = ["Product", "Weights", "quickest"]

Weights = tuple[Tensor, Tensor | None]
"""A matrix (c d) and its bias (c)."""
TRIES = 4
"""Of so many the quickest counts: the first has a kernel made ready for its sizes, and something else may be at work."""
LASTING = 64
"""A copy of a matrix is worth what its making costs if that is won back in so many products."""


class Product:
    """x Wᵀ + b for many x, each of so many ``rows``: ``linear``, and what adds it to something.

    A kind of its own holds while nothing is differentiated, compiled or transformed. What it makes of x may share no memory
    with anything, and may lie in memory column after column. Where it ``copies`` W it does not follow its changes.
    """

    copies: ClassVar[bool] = False

    def __init__(self, W: Float[Tensor, "c d"], b: Float[Tensor, " c"] | None, rows: int) -> None:
        self.W, self.b, self.rows = W, b, rows

    @classmethod
    def suits(cls, W: Float[Tensor, "c d"], rows: int) -> bool:
        """Whether there is such a product."""
        return True

    def __call__(self, x: Float[Tensor, "r d"]) -> Float[Tensor, "r c"]:
        """x Wᵀ + b."""
        return linear(x, self.W, self.b)

    def onto(self, y: Float[Tensor, "r c"], x: Float[Tensor, "r d"]) -> Float[Tensor, "r c"]:
        """y + x Wᵀ + b, in the place of y."""
        return y.add_(self(x))


class AsItStands(Product):
    """W read where it is, transposed once for all. A sum begins with what is added to, so that b is not copied first."""

    def __init__(self, W: Float[Tensor, "c d"], b: Float[Tensor, " c"] | None, rows: int) -> None:
        super().__init__(W, b, rows)
        self._columns = W.detach().mT

    def __call__(self, x: Float[Tensor, "r d"]) -> Float[Tensor, "r c"]:
        return x.mm(self._columns) if self.b is None else torch.addmm(self.b, x, self._columns)

    def onto(self, y: Float[Tensor, "r c"], x: Float[Tensor, "r d"]) -> Float[Tensor, "r c"]:
        y.addmm_(x, self._columns)
        return y if self.b is None else y.add_(self.b)


class ByColumns(Product):
    """(W xᵀ)ᵀ + b. A row of x is wanted in one piece, here and below: MKL takes half the time for few of them."""

    def __init__(self, W: Float[Tensor, "c d"], b: Float[Tensor, " c"] | None, rows: int) -> None:
        super().__init__(W, b, rows)
        self._bias = None if b is None else b.detach().unsqueeze(-1)

    def __call__(self, x: Float[Tensor, "r d"]) -> Float[Tensor, "r c"]:
        columns = x.contiguous().mT
        return (self.W.mm(columns) if self._bias is None else torch.addmm(self._bias, self.W, columns)).mT

    def onto(self, y: Float[Tensor, "r c"], x: Float[Tensor, "r d"]) -> Float[Tensor, "r c"]:
        y = y if self.b is None else y.add_(self.b)
        return y.add_(self.W.mm(x.contiguous().mT).mT)


class InPieces(Product):
    """(W xᵀ)ᵀ + b, some rows of W at a time, which are shared among the threads."""

    def __init__(self, W: Float[Tensor, "c d"], b: Float[Tensor, " c"] | None, rows: int) -> None:
        super().__init__(W, b, rows)
        self._pieces = W.detach().unflatten(0, (_pieces(W), -1))
        self._bias = None if b is None else b.detach().view(*self._pieces.shape[:2], 1)
        self._each = len(self._pieces), W.shape[1], rows

    @classmethod
    def suits(cls, W: Float[Tensor, "c d"], rows: int) -> bool:
        return _pieces(W) > 1

    def __call__(self, x: Float[Tensor, "r d"]) -> Float[Tensor, "r c"]:
        each = x.contiguous().as_strided(self._each, (0, 1, x.shape[1]))  # xᵀ for every piece
        b = self._bias
        y = torch.bmm(self._pieces, each) if b is None else torch.baddbmm(b, self._pieces, each)
        return y.view(1, -1) if self.rows == 1 else y.view(-1, self.rows).mT


class Reordered(Product):
    """W as oneDNN lays it out."""

    copies = True

    def __init__(self, W: Float[Tensor, "c d"], b: Float[Tensor, " c"] | None, rows: int) -> None:
        super().__init__(W, b, rows)
        self._laid = torch.ops.mkldnn._reorder_linear_weight(W, rows)
        self._multiply = torch.ops.mkldnn._linear_pointwise.default

    @classmethod
    def suits(cls, W: Float[Tensor, "c d"], rows: int) -> bool:
        return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")

    def __call__(self, x: Float[Tensor, "r d"]) -> Float[Tensor, "r c"]:
        b = self.b if self.b is None else self.b.contiguous()  # oneDNN reads another as if it were
        y: Tensor = self._multiply(x, self._laid, b, "none", [], "")
        return y


class Packed(Product):
    """W packed by MKL, whose kernels of packed matrices want multiples of four rows."""

    copies = True

    def __init__(self, W: Float[Tensor, "c d"], b: Float[Tensor, " c"] | None, rows: int) -> None:
        super().__init__(W, b, rows)
        self._more = -rows % 4
        self._packed = torch.ops.mkl._mkl_reorder_linear_weight(W, rows + self._more)
        self._multiply = torch.ops.mkl._mkl_linear.default

    @classmethod
    def suits(cls, W: Float[Tensor, "c d"], rows: int) -> bool:
        return rows > 1 and torch.backends.mkl.is_available() and hasattr(torch.ops.mkl, "_mkl_linear")

    def __call__(self, x: Float[Tensor, "r d"]) -> Float[Tensor, "r c"]:
        if self._more:
            x = F.pad(x, (0, 0, 0, self._more))
        y: Tensor = self._multiply(x, self._packed, self.W, self.b, self.rows + self._more)
        return y[: self.rows] if self._more else y


KINDS: tuple[type[Product], ...] = (AsItStands, ByColumns, InPieces, Reordered, Packed)
"""Those that read W where it is come first."""
Key = tuple[tuple[int, ...], int, int]
"""The shape of a matrix, the power of two in which rows are counted, and the number of threads."""
_measured: dict[Key, type[Product]] = {}
_measuring = Lock()


def quickest(weights: Sequence[Weights], rows: int) -> list[Product]:
    """The product of each of these matrices, which are read in turn, with ``rows`` rows.

    All in float32 on the CPU have the kind that takes the least time here, the same as long as the process lasts; others, and all
    under ``torch.use_deterministic_algorithms``, have the first kind, whatever the processor.
    """
    W, _ = weights[0]
    if torch.are_deterministic_algorithms_enabled() or W.dtype != torch.float32 or not (W.is_cpu and rows):
        return [AsItStands(W, b, rows) for W, b in weights]
    with _measuring:
        for key, kind in _measure(weights, rows).items() if _unknown(weights, rows) else ():
            _measured.setdefault(key, kind)
    return [_measured[_key(W, rows)](W, b, rows) for W, b in weights]


def _unknown(weights: Sequence[Weights], rows: int) -> bool:
    return any(_key(W, rows) not in _measured for W, _ in weights)


def _measure(weights: Sequence[Weights], rows: int) -> dict[Key, type[Product]]:
    """The kind for each shape whose products take the least time, one matrix after the other: what was read before has left the
    cache, as it has from step to step.
    """
    least: dict[Key, tuple[float, type[Product]]] = {}
    with torch.inference_mode():
        for kind in KINDS:
            for key, seconds in _seconds(kind, weights, rows).items():
                if key not in least or seconds < least[key][0]:
                    least[key] = seconds, kind
    return {key: kind for key, (_, kind) in least.items()}


def _seconds(kind: type[Product], weights: Sequence[Weights], rows: int) -> dict[Key, float]:
    """What a product takes for each shape that there is one for, with its share in the making of a copy."""
    least: dict[Key, float] = {}
    x = {W.shape[1]: W.new_full((rows, W.shape[1]), 0.5) for W, _ in weights}
    making = -perf_counter()
    products = [kind(W, b, rows) for W, b in weights if kind.suits(W, rows)]
    making += perf_counter()
    for _ in range(TRIES):
        for product in products:
            key, begin = _key(product.W, rows), perf_counter()
            product(x[product.W.shape[1]])
            least[key] = min(perf_counter() - begin, least.get(key, math.inf))
    if not (kind.copies and products):
        return least
    each = making / LASTING / sum(product.W.numel() for product in products)
    return {key: seconds + each * math.prod(key[0]) for key, seconds in least.items()}


def _key(W: Float[Tensor, "c d"], rows: int) -> Key:
    return tuple(W.shape), (rows - 1).bit_length(), torch.get_num_threads()


def _pieces(W: Float[Tensor, "c d"]) -> int:
    """How many parts a matrix has in ``InPieces``: some for each thread, all equal."""
    return math.gcd(len(W), 4 * torch.get_num_threads())
