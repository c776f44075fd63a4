"""The Vision Transformer as a module: from images to logits, or to features.

Source: Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale", section 3.1.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Unpack, cast

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from impl import _refuse
from impl._placement import Placement
from impl.bert.layers import draw
from impl.transformer import Encoder, EncoderLayer
from impl.vision.config import ViTConfig
from impl.vision.functions import cut, positions_of_size

__all__ = ["ViT"]


class ViT(nn.Module):
    """Patches through one linear layer, a class token in front, positions, an ``Encoder`` normalised before its sub-layers, and a
    linear layer on the class token's feature where the configuration has ``classes``.

    The linear layer's columns are a patch's pixels by channel, row and column. Weights are drawn from ``generator``.
    """

    def __init__(
        self, config: ViTConfig, *, generator: Generator | None = None, **placement: Unpack[Placement]
    ) -> None:
        super().__init__()
        self.config, d = config, config.d_model
        self.patches = nn.Linear(config.channels * config.patch**2, d, **placement)
        self.cls = nn.Parameter(torch.empty(d, **placement))
        self.P = nn.Parameter(torch.empty(config.patches + 1, d, **placement))
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = Encoder(config.stack, **placement)
        for layer in self._layers:
            layer.self_attention.dropout = config.attention_dropout
        self.head = None if config.classes is None else nn.Linear(d, config.classes, **placement)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: Generator | None = None) -> None:
        """Draw all weights anew: normal, cut at two standard deviations; biases and the class token 0, and gains 1."""
        draw(self, self.config.std, generator)

    def forward(
        self, image: Float[Tensor, "... C height width"], *, interpolate: bool = False
    ) -> Float[Tensor, "... K"] | Float[Tensor, "... tokens d_model"]:
        """Logits (... K); where there is no head, the features of all tokens.

        An image of another size than ``config.image`` is a ValueError, unless positions are to be interpolated for it
        (``interpolate=True``); so are sides that are no multiples of a patch's, and other channels. TypeError for an image
        whose dtype is not that of the weights.
        """
        y = self.features(image, interpolate=interpolate)
        return y if self.head is None else self.head(y[..., 0, :])

    def features(
        self, image: Float[Tensor, "... C height width"], *, interpolate: bool = False
    ) -> Float[Tensor, "... tokens d_model"]:
        """What the last layer says of each token, normalised: the class token, then patch after patch as one reads a page."""
        y: Tensor = self.encoder(self._tokens(image, interpolate))
        return y

    def attention(
        self, image: Float[Tensor, "... C height width"], *, interpolate: bool = False
    ) -> Float[Tensor, "L ... h tokens tokens"]:
        """The weights of attention of each layer and head, from each token (the last axis but one) to each."""
        x, found = self._tokens(image, interpolate), []
        for layer in self._layers:
            _, a = layer.self_attention(layer.residual_self.norm(x), return_weights=True)
            found.append(a)
            x = layer(x)
        return torch.stack(found)

    @property
    def _layers(self) -> Iterable[EncoderLayer]:
        """The layers, as what they are."""
        return cast(Iterable[EncoderLayer], self.encoder.layers)

    def _tokens(self, image: Tensor, interpolate: bool) -> Tensor:
        """What the first layer reads."""
        patch = self.config.patch
        pixels = cut("ViT", image, self.config.channels, patch)
        _refuse.check_floating("ViT", image=image, weights=self.cls)
        size = tuple(image.shape[-2:])
        if size != (self.config.image, self.config.image) and not interpolate:
            raise ValueError(
                f"ViT: expected images of {self.config.image} × {self.config.image} pixels, for which positions "
                f"were learned, or interpolate=True; got {size[0]} × {size[1]}"
            )
        P = positions_of_size(self.P, size[0] // patch, size[1] // patch)
        z = self.patches(pixels)
        x: Tensor = self.dropout(torch.cat((self.cls.expand(*z.shape[:-2], 1, -1), z), -2) + P)
        return x

    @classmethod
    def from_pretrained(
        cls, folder: str | Path, *, head: bool | None = None, dtype: torch.dtype | None = None
    ) -> "ViT":
        """A checkpoint's folder as Hugging Face writes it (``ViTModel``, ``ViTForImageClassification``), in evaluation.

        ``head=None``: with a head where the checkpoint has one. A pooler is left out. ``dtype`` is the stored one unless given;
        of several, the narrowest that holds all.

        ValueError, in one line that names the file or the tensors, for files that cannot be read, and for tensors that are
        missing, not known, of another shape or not of floating numbers. TypeError for a dtype that is not floating.
        """
        from impl.vision.checkpoints import load

        return load(cls, folder, head, dtype)

    def save_pretrained(self, folder: str | Path) -> None:
        """A checkpoint's folder that ``from_pretrained`` and transformers read. A file is replaced once it is whole."""
        from impl.vision.checkpoints import save

        save(self, self.config, folder)
