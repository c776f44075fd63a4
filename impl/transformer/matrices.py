"""The products with a decoder's matrices and with that of the logits, made ready for a number of rows."""

from collections.abc import Iterable
from itertools import islice
from operator import attrgetter
from typing import cast

from jaxtyping import Float
from torch import Tensor

from impl._products import Product, Weights, quickest
from impl.transformer.layers import DecoderLayer
from impl.transformer.stacks import Decoder

__all__ = ["Matrices"]

EARLY = 1
"""After so many steps of equally many rows their products are those that are quickest here, some of copied matrices. Where rows
change at every step nothing is measured, and nothing copied.
"""
VERSION, PLACE = attrgetter("_version"), Tensor.data_ptr
"""What a change of a matrix changes: in place, and by another in its place."""


class Matrices:
    """The matrices, where they are now, or copies of them; vectors (biases) are read where they are.

    They are one decoding's own: what changes a model between two of them need not say so, as fused optimizers do not. During a
    decoding ``hold`` says whether its products are still those of the matrices; a parameter in another's place is not seen, nor
    what is written by way of ``.data``, of which torch keeps no account.
    """

    def __init__(self, decoder: Decoder, W_o: Float[Tensor, "V d_model"]) -> None:
        layers = list(cast(Iterable[DecoderLayer], decoder.layers))
        self._copied = [W for W in decoder.parameters() if W.dim() > 1] + [W_o]
        self._read = self._copied + [b for layer in layers for b in _biases(layer) if b is not None]
        self._places = [*map(PLACE, self._read)]
        self._versions: list[int] | None = None
        self._weights = [_weights(layer) for layer in layers]
        self._weights.append([(W_o.detach(), None)])
        self._rows = self._steps = 0

    def hold(self) -> bool:
        """Whether every matrix is where it was; and what it was, if there are copies."""
        if self._versions is not None and [*map(VERSION, self._copied)] != self._versions:
            return False
        return [*map(PLACE, self._read)] == self._places

    def products(self, rows: int) -> list[list[Product]]:
        """Those of each layer, and that of the logits at the end, for one more step of so many rows."""
        if rows != self._rows:
            self._rows, self._steps = rows, 0
        if self._steps in (0, EARLY):
            every = [pair for weights in self._weights for pair in weights]
            made = iter(quickest(every, rows) if self._steps else [Product(W, b, rows) for W, b in every])
            self._products = [list(islice(made, len(weights))) for weights in self._weights]
            copies = any(product.copies for products in self._products for product in products)
            self._versions = [*map(VERSION, self._copied)] if copies else None
        self._steps += 1
        return self._products


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


def _biases(layer: DecoderLayer) -> list[Tensor | None]:
    """Those of its products, whole."""
    own, other, network = layer.self_attention, layer.cross_attention, layer.feed_forward
    linear = own.qkv, own.out, other.qkv, other.out, network.expand, network.contract
    return [each.bias for each in linear]
