"""A decoder's step by one word in each row, with what is the same at every step made ready once.

It says what ``Decoder.step`` says, up to the rounding of another order of summation, in fewer and faster operations: on the CPU
a step of a small model is limited by how fast weights are read and by how many operations there are.
"""

from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from impl import feedforward
from impl._linear import linear, prepared
from impl._transforms import in_forward_mode, in_func
from impl.attention import MultiHeadAttention
from impl.transformer.cache import Cache
from impl.transformer.layers import DecoderLayer, FeedForward, Residual
from impl.transformer.stacks import Decoder

__all__ = ["Prepared"]

EARLY = 4
"""After so many steps of equally many rows weights are copied for them. That takes as long as the copies save in 8 to 30 steps:
where a text ends before them, little was lost.
"""
VERSION = attrgetter("_version")
Weights = tuple[Tensor, Tensor | None]
ORDINARY = {Decoder, DecoderLayer, MultiHeadAttention, FeedForward, Residual}
ORDINARY |= {nn.Linear, nn.LayerNorm, nn.Dropout, nn.Identity, nn.ModuleList}
"""What a decoder is made of whose steps are known here."""


class Prepared:
    """The weights of a decoder and of the logits behind it, as they are now, for one decoding: they stay with its cache.

    ``of`` makes it where that is possible; ``holds`` says whether it may still be used.
    """

    def __init__(self, decoder: Decoder, W_o: Float[Tensor, "V d_model"]) -> None:
        self._decoder, self._weights = decoder, [*_multiplied(decoder), W_o]
        self._state = self._versions()
        self._layers = [Layer(layer) for layer in cast(Iterable[DecoderLayer], decoder.layers)]
        self._logits: Weights = W_o, None
        self._rows = self._steps = 0
        self._memory_of: object = None

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
        if (
            torch.compiler.is_compiling()
            or in_func()
            or in_forward_mode()
            or torch.is_autocast_enabled("cpu")
        ):
            return False
        return not self._decoder.training and self._versions() == self._state

    def step(self, x: Float[Tensor, "r d_model"], cache: Cache) -> Float[Tensor, "r V"]:
        """Logits after one more word in each row, x with its place; the cache has it afterwards."""
        self._count(x.shape[0])
        if cache.memory(0) is not self._memory_of:  # at first, and where sources were picked anew
            self._memory_of = cache.memory(0)
            for number, layer in enumerate(self._layers):
                layer.read(*cache.memory(number), cache.memory_mask)
        seen = cache.mask(1)
        hidden = None if seen is None else _hidden(seen, x)
        with torch.inference_mode():  # what stays within needs no versions; the logits are made outside of it
            for layer, room in zip(self._layers, cache.room(1), strict=True):
                x = layer.step(x, cache.beams, *room, hidden)
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

    def _versions(self) -> list[int]:
        """What changes with a parameter."""
        return [*map(VERSION, self._weights), *map(Tensor.data_ptr, self._weights)]


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
        norms = (residual.norm for residual in residuals)
        self._norms = [(norm.normalized_shape, norm.weight, norm.bias, norm.eps) for norm in norms]
        self._pre, self.h = layer.residual_self.pre, own.h
        self._active = torch.relu_ if network.network is feedforward.relu else F.gelu

    def ready(self, rows: int | None) -> None:
        """Products of so many rows each, or of any number."""
        self._products = [_product(weights, rows) for weights in self._weights]

    def read(
        self, k: Float[Tensor, "g h m d"], v: Float[Tensor, "g h m d"], mask: Bool[Tensor, "g 1 m"] | None
    ) -> None:
        """Keys and values of the memory, each head's in one piece."""
        self._hidden = None
        if mask is not None:
            some = mask.any(-1, keepdim=True)  # a source of which nothing is seen: each head gives 0
            v, self._hidden = torch.where(some[..., None], v, 0.0), _hidden(mask | ~some, v)
        self._memory = k.contiguous(), v.contiguous()

    def step(
        self,
        x: Float[Tensor, "r d_model"],
        w: int,
        new: Float[Tensor, "2 g h w d"],
        k: Float[Tensor, "g h m d"],
        v: Float[Tensor, "g h m d"],
        hidden: Float[Tensor, "g 1 w m"] | None,
    ) -> Float[Tensor, "r d_model"]:
        """``DecoderLayer.step`` of one word in each of a source's w rows; −∞ in ``hidden`` stands where a row may not attend.
        Keys and values of the words are written to ``new``, which is part of k and v. x may be overwritten.
        """
        qkv, out, q_only, out_memory, expand, contract = self._products

        def to_itself(x: Tensor) -> Tensor:
            parts = qkv(x).view(k.shape[0], w, 3, self.h, -1).permute(2, 0, 3, 1, 4)
            new.copy_(parts[1:])
            return out(_attend(parts[0], k, v, hidden))

        def to_memory(x: Tensor) -> Tensor:
            q = q_only(x).view(k.shape[0], w, self.h, -1).transpose(1, 2)
            return out_memory(_attend(q, *self._memory, self._hidden))

        def network(x: Tensor) -> Tensor:
            return contract(self._active(expand(x)))

        for (shape, gamma, beta, eps), f in zip(self._norms, (to_itself, to_memory, network), strict=True):
            if self._pre:
                x = x.add_(f(torch.layer_norm(x, shape, gamma, beta, eps)))
            else:
                x = torch.layer_norm(x.add_(f(x)), shape, gamma, beta, eps)
        return x


def _attend(
    q: Float[Tensor, "g h w d"],
    k: Float[Tensor, "g h m d"],
    v: Float[Tensor, "g h m d"],
    hidden: Float[Tensor, "g 1 #w m"] | None,
) -> Float[Tensor, "r d_model"]:
    """What heads say one beside the other."""
    z = F.scaled_dot_product_attention(q, k, v, hidden)
    return z.transpose(1, 2).reshape(-1, z.shape[1] * z.shape[3])


def _hidden(seen: Bool[Tensor, "g #w m"], x: Tensor) -> Float[Tensor, "g 1 #w m"]:
    """What is added to scores: −∞ where a row does not see, 0 elsewhere; x has the dtype."""
    return x.new_zeros(seen.shape).masked_fill_(~seen, -torch.inf).unsqueeze(1)


def _product(weights: Weights, rows: int | None) -> Callable[[Tensor], Tensor]:
    W, b = weights
    return partial(linear, W=W, b=b) if rows is None else prepared(W, b, rows)


def _multiplied(decoder: Decoder) -> Iterable[nn.Parameter]:
    """The parameters of which there may be copies or other views here; those of norms are read where they are."""
    for module in decoder.modules():
        if not isinstance(module, nn.LayerNorm):
            yield from module.parameters(recurse=False)


def _own(module: nn.Module) -> Iterable[Tensor | None]:
    return (getattr(module, name, None) for name in ("weight", "bias"))
