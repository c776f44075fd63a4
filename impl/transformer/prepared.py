"""A decoder's step by one word in each row, with what is the same at every step made ready once.

It says what ``Decoder.step`` says, up to the rounding of another order of summation, in fewer and faster operations: on the CPU
a step of a small model is limited by how fast weights are read and by how many operations there are.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from impl import feedforward
from impl._products import Product
from impl._transforms import in_forward_mode, in_func
from impl.attention import MultiHeadAttention
from impl.transformer.cache import Cache
from impl.transformer.embeddings import Embeddings
from impl.transformer.layers import DecoderLayer, FeedForward, Residual
from impl.transformer.matrices import Matrices
from impl.transformer.stacks import Decoder

__all__ = ["Prepared"]

MANY = 64
"""So many heads of one query each, all sources' together, take no more time as products in batches than in fused attention. Heads
of several queries take less, however few: 0.3 to 1.0 of it at 16 to 600 keys of 32 or 64 entries.
"""
ORDINARY = {Embeddings, Decoder, DecoderLayer, MultiHeadAttention, FeedForward, Residual}
ORDINARY |= {nn.Linear, nn.LayerNorm, nn.Dropout, nn.Identity, nn.ModuleList}
"""What a decoder and its words are made of whose steps are known here."""


class Prepared:
    """The weights of a decoder and of the logits behind it, as they are now, for one decoding: it stays with its cache.

    ``of`` makes it where that is possible; ``holds`` says whether it may still be used. Modules that are replaced or given hooks
    in the middle of a decoding are not looked for.
    """

    def __init__(self, words: Embeddings, decoder: Decoder, W_o: Float[Tensor, "V d_model"]) -> None:
        self._words, self._decoder, self._matrices = words, decoder, Matrices(decoder, W_o)
        self._layers = [Layer(layer) for layer in cast(Iterable[DecoderLayer], decoder.layers)]
        self._memory_of: object = None

    @classmethod
    def of(cls, words: Embeddings, decoder: Decoder, W_o: Float[Tensor, "V d_model"]) -> "Prepared | None":
        """None where steps must be those of the modules: in training, beyond float32 and float64 on the CPU, and where a
        module is of another kind, has a hook, or has weights that are no parameters.
        """
        if torch.compiler.is_compiling():
            return None
        for module in (*words.modules(), *decoder.modules()):
            if type(module) not in ORDINARY or module.training:
                return None
            if module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module):
                return None
            if any(W is not None and type(W) is not nn.Parameter for W in (*_own(module), W_o)):
                return None
        weights = [words.E, *decoder.parameters(), W_o]
        dtypes = {W.dtype for W in weights}
        if len(dtypes) > 1 or not dtypes <= {torch.float32, torch.float64}:
            return None
        if not all(W.is_cpu and not W.is_inference() for W in weights):
            return None
        return cls(words, decoder, W_o)

    def holds(self) -> bool:
        """Whether the matrices are those of the beginning, and nothing traces, transforms or casts what is computed."""
        if (
            torch.compiler.is_compiling()
            or in_func()
            or in_forward_mode()
            or torch.is_autocast_enabled("cpu")
        ):
            return False
        return not (self._words.training or self._decoder.training) and self._matrices.hold()

    def step(self, ids: Integer[Tensor, " r"], cache: Cache) -> Float[Tensor, "r V"]:
        """Logits after one more word in each row; the cache has it afterwards."""
        *products, (logits,) = self._matrices.products(ids.shape[0])
        if cache.memory(0) is not self._memory_of:  # at first, and where sources were picked anew
            self._memory_of = cache.memory(0)
            for number, layer in enumerate(self._layers):
                layer.read(*cache.memory(number), cache.memory_mask)
        with torch.inference_mode():  # what stays within needs no versions; the logits are made outside of it
            new, keys, values = cache.room(1)
            if cache.beams > 1 or keys.shape[1] * keys.shape[2] >= MANY:
                keys, values = keys.flatten(1, 2).mT, values.flatten(1, 2)
            seen = cache.mask(1)
            x = self._words.at(ids, F.embedding(cache.lengths, cache.positions))
            hidden = None if seen is None else _hidden(seen, x)
            rooms = zip(new.unbind(), keys.unbind(), values.unbind(), strict=True)
            for layer, own, room in zip(self._layers, products, rooms, strict=True):
                x = layer.step(x, own, *room, hidden)
            x = self._decoder.norm(x)
        cache.advance(1)
        return logits(x).contiguous()


class Layer:
    """One layer of the decoder: what is between its products."""

    def __init__(self, layer: DecoderLayer) -> None:
        residuals = layer.residual_self, layer.residual_cross, layer.residual_feed_forward
        norms, nothing = [_norm(residual.norm) for residual in residuals], [_same] * len(residuals)
        self._norms = (norms, nothing) if layer.residual_self.pre else (nothing, norms)
        self._active = torch.relu_ if layer.feed_forward.network is feedforward.relu else F.gelu

    def read(
        self, k: Float[Tensor, "g h m d"], v: Float[Tensor, "g h m d"], mask: Bool[Tensor, "g 1 m"] | None
    ) -> None:
        """Keys and values of the memory, each head's in one piece."""
        self._hidden = None
        if mask is not None:
            some = mask.any(-1, keepdim=True)  # a source of which nothing is seen: each head gives 0
            v, self._hidden = torch.where(some[..., None], v, 0.0), _hidden(mask | ~some, v)
        k, v = k.contiguous(), v.contiguous()
        self._memory, self._heads = (k, v), (k.flatten(0, 1).mT, v.flatten(0, 1))

    def step(
        self,
        x: Float[Tensor, "r d_model"],
        products: Sequence[Product],
        new: Float[Tensor, "2 g h w d"],
        k: Float[Tensor, "g h m d"] | Float[Tensor, "gh d m"],
        v: Float[Tensor, "g h m d"] | Float[Tensor, "gh m d"],
        hidden: Float[Tensor, "g 1 w m"] | None,
    ) -> Float[Tensor, "r d_model"]:
        """``DecoderLayer.step`` of one word in each of a source's w rows; −∞ in ``hidden`` stands where a row may not attend.
        Keys and values of the words are written to ``new``, which is part of k and v. x may be overwritten.

        Heads are multiplied in batches where all heads of all sources stand along one axis, the keys as columns.
        """
        qkv, out, q_only, out_memory, expand, contract = products
        (_, g, h, w, d), (before, after) = new.shape, self._norms
        attend, memory = (_in_batches, self._heads) if k.dim() == 3 else (_fused, self._memory)
        q, *kv = qkv(before[0](x)).view(g, w, 3, h, d).permute(2, 0, 3, 1, 4).split((1, 2))
        new.copy_(kv[0])
        x = after[0](out.onto(x, attend(q[0], k, v, hidden)))
        q = q_only(before[1](x)).view(g, w, h, d).transpose(1, 2)
        x = after[1](out_memory.onto(x, attend(q, *memory, self._hidden)))
        return after[2](contract.onto(x, self._active(expand(before[2](x)))))


def _fused(
    q: Float[Tensor, "g h w d"],
    k: Float[Tensor, "g h m d"],
    v: Float[Tensor, "g h m d"],
    hidden: Float[Tensor, "g 1 #w m"] | None,
) -> Float[Tensor, "r d_model"]:
    """What heads say one beside the other. torch's fused attention wants each query in one piece."""
    g, h, w, d = q.shape
    z = F.scaled_dot_product_attention(q if q.stride(-1) == 1 else q.contiguous(), k, v, hidden)
    return (z if w == 1 else z.transpose(1, 2)).reshape(g * w, h * d)


def _in_batches(
    q: Float[Tensor, "g h w d"],
    k: Float[Tensor, "gh d m"],
    v: Float[Tensor, "gh m d"],
    hidden: Float[Tensor, "g 1 #w m"] | None,
) -> Float[Tensor, "r d_model"]:
    """The same by products of all heads of all sources."""
    g, h, w, d = q.shape
    e = torch.baddbmm(q.new_empty(1, 1, 1), q.reshape(g * h, w, d), k, beta=0, alpha=1 / math.sqrt(d))
    if hidden is not None:
        e.view(g, h, w, k.shape[-1]).add_(hidden)
    z = torch.bmm(e.softmax(-1), v).view(g, h, w, d)
    return (z if w == 1 else z.transpose(1, 2)).reshape(g * w, h * d)


def _norm(norm: nn.LayerNorm) -> Callable[[Tensor], Tensor]:
    """What the module computes, without its call."""
    shape, gamma, beta, eps = norm.normalized_shape, norm.weight, norm.bias, norm.eps
    return lambda x: torch.layer_norm(x, shape, gamma, beta, eps)


def _same(x: Tensor) -> Tensor:
    return x


def _hidden(seen: Bool[Tensor, "g #w m"], x: Tensor) -> Float[Tensor, "g 1 #w m"]:
    """What is added to scores: −∞ where a row does not see, 0 elsewhere; x has the dtype."""
    return x.new_zeros(seen.shape).masked_fill_(~seen, -torch.inf).unsqueeze(1)


def _own(module: nn.Module) -> Iterable[Tensor | None]:
    return (getattr(module, name, None) for name in ("weight", "bias"))
