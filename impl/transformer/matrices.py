"""The products with a decoder's matrices and with that of the logits, made ready for a number of rows, and kept from one decoding
to the next.

Copies of matrices take time to make, as long as some three steps, and more until the processor's caches have them. A program that
decodes again and again pays that once, and has the copies in its memory for as long as the model.
"""

from collections.abc import Callable, Iterable
from operator import attrgetter, is_
from typing import cast
from weakref import WeakKeyDictionary

from jaxtyping import Float
from torch import Tensor

from impl._linear import Product, prepared
from impl.transformer.layers import DecoderLayer
from impl.transformer.stacks import Decoder

__all__ = ["Matrices"]

EARLY = 1
"""After so many steps of equally many rows matrices are copied for them: whose rows change at every step copies nothing."""
VERSION, PLACE = attrgetter("_version"), Tensor.data_ptr
"""What a change of a matrix changes: in place, and by another in its place."""
Weights = tuple[Tensor, Tensor | None]


class Matrices:
    """The matrices, where they are now, or copies of them; vectors (biases) are read where they are.

    ``of`` makes it, or finds that of the decoding before; ``hold`` says whether its products are still those of the matrices.
    """

    def __init__(self, decoder: Decoder, W_o: Float[Tensor, "V d_model"]) -> None:
        self._parameters = [*decoder.parameters(), W_o]
        self._matrices = [W for W in self._parameters if W.dim() > 1]
        self._places = self._have(PLACE)
        self._versions: list[int] | None = None
        self._weights = [_weights(layer) for layer in cast(Iterable[DecoderLayer], decoder.layers)]
        self._weights.append([(W_o.detach(), None)])
        self._rows = self._steps = 0

    @classmethod
    def of(cls, decoder: Decoder, W_o: Float[Tensor, "V d_model"]) -> "Matrices":
        """Those that are kept with the decoder, if they are still its own."""
        kept = _KEPT.get(decoder)
        if kept is None or not kept._are((*decoder.parameters(), W_o)) or not kept.hold():
            kept = _KEPT[decoder] = cls(decoder, W_o)
        return kept

    def hold(self) -> bool:
        """Whether every matrix is where it was; and what it was, if there are copies."""
        if self._versions is not None and self._have(VERSION) != self._versions:
            return False
        return self._have(PLACE) == self._places

    def products(self, rows: int) -> list[list[Product]]:
        """Those of each layer, and that of the logits at the end, for one more step of so many rows."""
        if rows != self._rows:
            self._rows, self._steps = rows, 0
        if self._steps in (0, EARLY):
            make = prepared if self._steps else lambda W, b, _: Product(W, b)
            self._products = [[make(W, b, rows) for W, b in weights] for weights in self._weights]
            copies = any(product.copies for products in self._products for product in products)
            self._versions = self._have(VERSION) if copies else None
        self._steps += 1
        return self._products

    def _are(self, parameters: tuple[Tensor, ...]) -> bool:
        same = len(parameters) == len(self._parameters)
        return same and all(map(is_, parameters, self._parameters))

    def _have(self, what: Callable[[Tensor], int]) -> list[int]:
        return [*map(what, self._matrices)]


_KEPT: WeakKeyDictionary[Decoder, Matrices] = WeakKeyDictionary()
"""Those of the latest decoding with each decoder, which they do not keep alive."""


def _weights(layer: DecoderLayer) -> list[Weights]:
    """The matrices of a layer with their biases, in the order of its step."""
    own, other, network = layer.self_attention, layer.cross_attention, layer.feed_forward
    return [
        (own.qkv.weight, own.qkv.bias),
        (own.out.weight, own.out.bias),
        other._part(slice(0, other.rows[0])),
        (other.out.weight, other.out.bias),
        (network.expand.weight, network.expand.bias),
        (network.contract.weight, network.contract.bias),
    ]
