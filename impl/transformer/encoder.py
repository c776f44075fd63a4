"""The encoder: layers in which every token attends to all of its sequence."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from impl.transformer.config import TransformerConfig
from impl.transformer.layers import EncoderLayer

__all__ = ["Encoder"]


class Encoder(nn.Module):
    """``encoder_layers`` layers, and a final LayerNorm where the configuration has one. Reads vectors, not ids."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.norm = nn.LayerNorm(config.d_model, config.eps) if config.ends_in_norm else nn.Identity()

    def forward(
        self, x: Float[Tensor, "... n d_model"], mask: Bool[Tensor, "... n"] | None = None
    ) -> Float[Tensor, "... n d_model"]:
        """What the top layer says of each token. Where the mask is False stands padding: whatever it holds, NaN included, reaches
        neither the tokens nor a gradient; what comes out there means nothing, and is finite.
        """
        if mask is not None:
            x = torch.where(mask.unsqueeze(-1), x, 0.0)
            mask = mask.unsqueeze(-2)
        for layer in self.layers:
            x = layer(x, mask)
        encoded: Tensor = self.norm(x)
        return encoded
