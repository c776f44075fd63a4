"""The two stacks. In the encoder every token attends to all of its sequence; in the decoder to those before it, and to the
encoder's output (the memory). Both read vectors, not ids.
"""

from collections.abc import Iterable
from typing import Unpack, cast

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from impl import _refuse
from impl._placement import Placement
from impl.attention import causal_mask
from impl.transformer.cache import Cache
from impl.transformer.config import TransformerConfig
from impl.transformer.layers import DecoderLayer, EncoderLayer

__all__ = ["Encoder", "Decoder"]


class Encoder(nn.Module):
    """``encoder_layers`` layers, and a final LayerNorm where the configuration has one."""

    def __init__(self, config: TransformerConfig, **placement: Unpack[Placement]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config, **placement) for _ in range(config.encoder_layers))
        self.norm = _final_norm(config, **placement)

    def forward(
        self, x: Float[Tensor, "... n d_model"], mask: Bool[Tensor, "... n"] | None = None
    ) -> Float[Tensor, "... n d_model"]:
        """What the top layer says of each token. Where the mask is False stands padding: whatever it holds, NaN included, reaches
        neither the tokens nor a gradient; what comes out there means nothing, and is finite.
        """
        x, mask = _blanked(x, mask)
        for layer in self.layers:
            x = layer(x, mask)
        encoded: Tensor = self.norm(x)
        return encoded


class Decoder(nn.Module):
    """``decoder_layers`` layers, and a final LayerNorm where the configuration has one."""

    def __init__(self, config: TransformerConfig, **placement: Unpack[Placement]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config, **placement) for _ in range(config.decoder_layers))
        self.norm = _final_norm(config, **placement)

    def forward(
        self,
        x: Float[Tensor, "... n d_model"],
        memory: Float[Tensor, "... m d_model"],
        mask: Bool[Tensor, "... n"] | None = None,
        memory_mask: Bool[Tensor, "... m"] | None = None,
    ) -> Float[Tensor, "... n d_model"]:
        """What the top layer says of each token, given those before it and itself. Where a mask is False stands padding: whatever
        it holds, NaN included, reaches neither the tokens nor a gradient.
        """
        x, mask, memory, memory_mask = self._prepared(x, memory, mask, memory_mask)
        for layer in self._layers:
            x = layer(x, memory, mask, memory_mask)
        decoded: Tensor = self.norm(x)
        return decoded

    def alignments(
        self,
        x: Float[Tensor, "... n d_model"],
        memory: Float[Tensor, "... m d_model"],
        mask: Bool[Tensor, "... n"] | None = None,
        memory_mask: Bool[Tensor, "... m"] | None = None,
    ) -> list[Float[Tensor, "... h n m"]]:
        """The weights that each layer's heads give to the memory, in the order of the layers."""
        x, mask, memory, memory_mask = self._prepared(x, memory, mask, memory_mask)
        found = []
        for layer in self._layers:
            x, a = layer.aligned(x, memory, mask, memory_mask)
            found.append(a)
        return found

    def start(
        self,
        memory: Float[Tensor, "b m d_model"],
        memory_mask: Bool[Tensor, "b m"] | None,
        positions: Float[Tensor, "C d_model"],
    ) -> Cache:
        """A cache without tokens: the keys and values that every layer makes of the memory, and room for as many tokens as there
        are vectors of positions.
        """
        memory, memory_mask = _blanked(memory, memory_mask)
        made = [layer.cross_attention.keys_and_values(memory) for layer in self._layers]
        return Cache(made, memory_mask, positions)

    def step(
        self, x: Float[Tensor, "b n d_model"], cache: Cache, lengths: Integer[Tensor, " b"] | None = None
    ) -> Float[Tensor, "b n d_model"]:
        """As a call, for the n tokens that come next; the cache has those before them, and has these afterwards. Of row b only
        the first lengths[b] are real, where that is given.
        """
        b, n, d_model = x.shape
        mask = cache.mask(n)
        x = x.reshape(cache.sources, cache.beams * n, d_model)  # what shares keys and values attends together
        for number, layer in enumerate(self._layers):
            x = layer.step(x, cache, number, mask)
        cache.advance(n, lengths)
        decoded: Tensor = self.norm(x).view(b, n, d_model)
        return decoded

    @property
    def _layers(self) -> Iterable[DecoderLayer]:
        """The layers, as what they are."""
        return cast(Iterable[DecoderLayer], self.layers)

    def _prepared(
        self, x: Tensor, memory: Tensor, mask: Tensor | None, memory_mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Both sequences with 0 in their padding, each with the mask of the attention to it."""
        x, mask = _blanked(x, mask)
        seen = causal_mask(x.shape[-2], x.shape[-2], device=x.device)
        return x, seen if mask is None else seen & mask, *_blanked(memory, memory_mask)


def _final_norm(config: TransformerConfig, **placement: Unpack[Placement]) -> nn.Module:
    return nn.LayerNorm(config.d_model, config.eps, **placement) if config.ends_in_norm else nn.Identity()


def _blanked(x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """A sequence with 0 in its padding, and its mask as one over pairs; refuse a mask that is not one of its tokens."""
    if mask is None:
        return x, None
    if mask.dtype != torch.bool:
        raise _refuse.dtypes("transformer", "a boolean mask, True = a real token", mask=mask)
    if x.dim() < 2 or mask.dim() < 1 or mask.shape[-1] not in (1, x.shape[-2]):
        raise _refuse.shapes("transformer", "x (... n d_model), mask (... n)", x=x, mask=mask)
    _refuse.check_belonging("transformer", x.shape[:-2], 1, mask=mask)
    return torch.where(mask.unsqueeze(-1), x, 0.0), mask.unsqueeze(-2)
