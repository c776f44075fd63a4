"""A decoder's step by one word in each row, with what is the same at every step made ready once.

It says what ``Decoder.step`` says, up to the rounding of another order of summation, in fewer and faster operations: on the CPU
a step of a small model is limited by how fast weights are read and by how many operations there are.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from impl import feedforward
from impl._linear import linear, prepared
from impl._transforms import in_forward_mode, in_func
from impl.attention import MultiHeadAttention, scaled_dot_product
from impl.transformer.cache import Cache
from impl.transformer.layers import DecoderLayer, FeedForward, Residual
from impl.transformer.stacks import Decoder

__all__ = ["Prepared"]

EARLY = 8
"""After so many steps of equally many rows weights are copied for them: that takes about as long as the copies save in twice
so many steps, so that a short text costs little more than it must, and a long one too.
"""
Weights = tuple[Tensor, Tensor | None]
ORDINARY = {Decoder, DecoderLayer, MultiHeadAttention, FeedForward, Residual}
ORDINARY |= {nn.Linear, nn.LayerNorm, nn.Dropout, nn.Identity, nn.ModuleList}
"""What a decoder is made of whose steps are known here."""


class Prepared:
    """The weights of a decoder and of the logits behind it, as they are now, for one decoding: they stay with its cache.

    ``of`` makes it where that is possible; ``holds`` says whether it may still be used.
    """

    def __init__(self, decoder: Decoder, W_o: Float[Tensor, "V d_model"]) -> None:
        self._decoder, self._weights = decoder, [*decoder.parameters(), W_o]
        self._state = self._versions()
        self._layers = [Layer(layer) for layer in cast(Iterable[DecoderLayer], decoder.layers)]
        self._logits: Weights = W_o, None
        self._rows = self._steps = 0

    @classmethod
    def of(cls, decoder: Decoder, W_o: Float[Tensor, "V d_model"]) -> "Prepared | None":
        """None where steps must be those of the modules: in training, beyond float32 and float64 on the CPU, and where a
        module is of another kind, has a hook, or has weights that are no parameters.
        """
        if torch.compiler.is_compiling():
            return None
        for module in decoder.modules():
            if type(module) not in ORDINARY or module.training:
                return None
            if module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module):
                return None
            if any(W is not None and type(W) is not nn.Parameter for W in (*_own(module), W_o)):
                return None
        weights = [*decoder.parameters(), W_o]
        dtypes = {W.dtype for W in weights}
        if len(dtypes) > 1 or not dtypes <= {torch.float32, torch.float64}:
            return None
        if not all(W.is_cpu and not W.is_inference() for W in weights):
            return None
        return cls(decoder, W_o)

    def holds(self) -> bool:
        """Whether the weights are those of the beginning, and nothing traces, transforms or casts what is computed."""
        if torch.compiler.is_compiling() or in_func() or in_forward_mode() or torch.is_autocast_enabled("cpu"):
            return False
        return not self._decoder.training and self._versions() == self._state

    def step(self, x: Float[Tensor, "r d_model"], cache: Cache) -> Float[Tensor, "r V"]:
        """Logits after one more word in each row, x with its place; the cache has it afterwards."""
        self._count(len(x))
        seen = cache.mask(1)
        if seen is not None:
            seen = x.new_zeros(seen.shape).masked_fill_(~seen, -torch.inf).unsqueeze(1)
        for number, layer in enumerate(self._layers):
            x = layer.step(x, cache, number, seen)
        cache.advance(1)
        y: Tensor = self._last(self._decoder.norm(x))
        return y.contiguous()

    def _count(self, rows: int) -> None:
        """Copy the weights where steps of so many rows are many."""
        if rows != self._rows:
            self._rows, self._steps = rows, 0
        if self._steps in (0, EARLY):
            for layer in self._layers:
                layer.ready(rows if self._steps else None)
            self._last = _product(self._logits, rows if self._steps else None)
        self._steps += 1

    def _versions(self) -> list[tuple[int, int]]:
        """What changes with a parameter."""
        return [(W._version, W.data_ptr()) for W in self._weights]


class Layer:
    """One layer of the decoder: its products, and what is between them."""

    def __init__(self, layer: DecoderLayer) -> None:
        own, other, network = layer.self_attention, layer.cross_attention, layer.feed_forward
        self._weights: list[Weights] = [
            (own.qkv.weight, own.qkv.bias),
            (own.out.weight, own.out.bias),
            other._part(slice(0, other.rows[0])),
            (other.out.weight, other.out.bias),
            (network.expand.weight, network.expand.bias),
            (network.contract.weight, network.contract.bias),
        ]
        residuals = layer.residual_self, layer.residual_cross, layer.residual_feed_forward
        self._norms = [residual.norm for residual in residuals]
        self._pre, self._h = layer.residual_self.pre, own.h
        self._active = F.relu if network.network is feedforward.relu else F.gelu

    def ready(self, rows: int | None) -> None:
        """Products of so many rows each, or of any number."""
        self._products = [_product(weights, rows) for weights in self._weights]

    def step(
        self, x: Float[Tensor, "r d_model"], cache: Cache, layer: int, seen: Float[Tensor, "g 1 w m"] | None
    ) -> Float[Tensor, "r d_model"]:
        """``DecoderLayer.step`` of one word in each row; −∞ in ``seen`` stands where a row may not attend."""
        qkv, out, q_only, out_memory, expand, contract = self._products
        g, w, h = cache.sources, cache.beams, self._h

        def to_itself(x: Tensor) -> Tensor:
            q, k, v = qkv(x).contiguous().view(g, w, 3, h, -1).permute(2, 0, 3, 1, 4).unbind()
            z = F.scaled_dot_product_attention(q, *cache.append(layer, k, v), seen)
            return out(z.transpose(1, 2).reshape(x.shape))

        def to_memory(x: Tensor) -> Tensor:
            q, mask = q_only(x).contiguous().view(g, w, h, -1).transpose(1, 2), cache.memory_mask
            if mask is None:
                z = F.scaled_dot_product_attention(q, *cache.memory(layer))
            else:  # which may leave nothing of a source: that is for our own function
                z = scaled_dot_product(q, *cache.memory(layer), mask.unsqueeze(1))
            return out_memory(z.transpose(1, 2).reshape(x.shape))

        def network(x: Tensor) -> Tensor:
            return contract(self._active(expand(x)))

        for norm, f in zip(self._norms, (to_itself, to_memory, network), strict=True):
            x = x + f(_normal(norm, x)) if self._pre else _normal(norm, x + f(x))
        return x


def _normal(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    return torch.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)


def _product(weights: Weights, rows: int | None) -> Callable[[Tensor], Tensor]:
    W, b = weights
    return partial(linear, W=W, b=b) if rows is None else prepared(W, b, rows)


def _own(module: nn.Module) -> Iterable[Tensor | None]:
    return (getattr(module, name, None) for name in ("weight", "bias"))
