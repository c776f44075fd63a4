"""The layers of encoder and decoder: attention and a feed-forward network, each with a residual connection and a norm.

Source: Vaswani et al. 2017, "Attention Is All You Need", sections 3.1 to 3.3; with norm="pre", Xiong et al. 2020, "On Layer
Normalization in the Transformer Architecture", figure 1 (b).
"""

from collections.abc import Callable
from functools import partial
from typing import Unpack

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Generator, Tensor, nn

from impl._placement import Placement
from impl.attention import MultiHeadAttention
from impl.transformer.cache import Cache
from impl.transformer.config import TransformerConfig

__all__ = ["FeedForward", "Residual", "EncoderLayer", "DecoderLayer"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
}


class FeedForward(nn.Module):
    """``feedforward.relu`` or ``feedforward.gelu`` with its weights: two linear layers with an activation between them."""

    def __init__(self, d_model: int, d_ff: int, activation: str, **placement: Unpack[Placement]) -> None:
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff, **placement)
        self.contract = nn.Linear(d_ff, d_model, **placement)
        self.activation = ACTIVATIONS[activation]

    def reset_parameters(self, generator: Generator | None = None) -> None:
        """Weights as Glorot & Bengio 2010 draw them, biases 0."""
        for layer in (self.expand, self.contract):
            nn.init.xavier_uniform_(layer.weight, generator=generator)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """What the network makes of each token by itself."""
        y: Tensor = self.contract(self.activation(self.expand(x)))
        return y


class Residual(nn.Module):
    """What stands around a sub-layer f: LayerNorm(x + Dropout(f(x))), or x + Dropout(f(LayerNorm(x))) where norm is "pre"."""

    def __init__(
        self, d_model: int, eps: float, dropout: float, norm: str, **placement: Unpack[Placement]
    ) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model, eps, **placement)
        self.dropout = nn.Dropout(dropout)
        self.pre = norm == "pre"

    def forward(
        self, x: Float[Tensor, "... n d_model"], f: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "... n d_model"]:
        """The sub-layer f with its residual connection."""
        y: Tensor = x + self.dropout(f(self.norm(x))) if self.pre else self.norm(x + self.dropout(f(x)))
        return y


class EncoderLayer(nn.Module):
    """Every token attends to the sequence, then passes the feed-forward network."""

    def __init__(self, config: TransformerConfig, **placement: Unpack[Placement]) -> None:
        super().__init__()
        self.self_attention = _attention(config, **placement)
        self.feed_forward = _feed_forward(config, **placement)
        self.residual_self, self.residual_feed_forward = (
            _residual(config, **placement),
            _residual(config, **placement),
        )

    def forward(
        self, x: Float[Tensor, "... n d_model"], mask: Bool[Tensor, "... #n #n"] | None = None
    ) -> Float[Tensor, "... n d_model"]:
        """x after the layer; True in the mask = may attend."""
        x = self.residual_self(x, lambda x: self.self_attention(x, mask=mask))
        y: Tensor = self.residual_feed_forward(x, self.feed_forward)
        return y


class DecoderLayer(nn.Module):
    """Every token attends to the target so far, then to the encoder's output (the memory), then passes the feed-forward
    network.
    """

    def __init__(self, config: TransformerConfig, **placement: Unpack[Placement]) -> None:
        super().__init__()
        self.self_attention, self.cross_attention = (
            _attention(config, **placement),
            _attention(config, config.d_model, **placement),
        )
        self.feed_forward = _feed_forward(config, **placement)
        self.residual_self, self.residual_cross = (
            _residual(config, **placement),
            _residual(config, **placement),
        )
        self.residual_feed_forward = _residual(config, **placement)

    def forward(
        self,
        x: Float[Tensor, "... n d_model"],
        memory: Float[Tensor, "... m d_model"],
        mask: Bool[Tensor, "... #n #n"] | None = None,
        memory_mask: Bool[Tensor, "... #n #m"] | None = None,
    ) -> Float[Tensor, "... n d_model"]:
        """x after the layer; True in a mask = may attend. Nothing is causal here unless the mask is."""
        return self._through(
            x,
            lambda x: self.self_attention(x, mask=mask),
            lambda x: self.cross_attention(x, memory, memory_mask),
        )

    def aligned(
        self,
        x: Float[Tensor, "... n d_model"],
        memory: Float[Tensor, "... m d_model"],
        mask: Bool[Tensor, "... #n #n"] | None = None,
        memory_mask: Bool[Tensor, "... #n #m"] | None = None,
    ) -> tuple[Float[Tensor, "... n d_model"], Float[Tensor, "... h n m"]]:
        """x after the layer, and the weights that each token gives to the entries of the memory, head by head."""
        weights: list[Tensor] = []

        def attend_memory(x: Tensor) -> Tensor:
            z: Tensor
            z, a = self.cross_attention(x, memory, memory_mask, return_weights=True)
            weights.append(a)
            return z

        x = self._through(x, lambda x: self.self_attention(x, mask=mask), attend_memory)
        return x, weights[0]

    def step(
        self, x: Float[Tensor, "g n d_model"], cache: Cache, layer: int, mask: Bool[Tensor, "g n m"] | None
    ) -> Float[Tensor, "g n d_model"]:
        """As a call, for the n tokens that come next to each source: keys and values of those before them, and of the memory,
        are in the cache, where this layer has the number ``layer``.
        """

        def attend_tokens(x: Tensor) -> Tensor:
            q, k, v = self.self_attention.project(x)
            return self.self_attention.attend(q, *cache.append(layer, k, v), mask)

        def attend_memory(x: Tensor) -> Tensor:
            q = self.cross_attention.queries(x)
            return self.cross_attention.attend(q, *cache.memory(layer), cache.memory_mask)

        return self._through(x, attend_tokens, attend_memory)

    def _through(
        self, x: Tensor, to_itself: Callable[[Tensor], Tensor], to_memory: Callable[[Tensor], Tensor]
    ) -> Tensor:
        x = self.residual_self(x, to_itself)
        x = self.residual_cross(x, to_memory)
        y: Tensor = self.residual_feed_forward(x, self.feed_forward)
        return y


def _attention(
    config: TransformerConfig, d_y: int | None = None, **placement: Unpack[Placement]
) -> MultiHeadAttention:
    return MultiHeadAttention(config.d_model, config.heads, d_y=d_y, bias=config.attention_bias, **placement)


def _feed_forward(config: TransformerConfig, **placement: Unpack[Placement]) -> FeedForward:
    return FeedForward(config.d_model, config.d_ff, config.activation, **placement)


def _residual(config: TransformerConfig, **placement: Unpack[Placement]) -> Residual:
    return Residual(config.d_model, config.eps, config.dropout, config.norm, **placement)
