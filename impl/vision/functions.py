"""The Vision Transformer as functions of its weights, with the statements' inputs in their order.

Letters are the statements': images of C channels, cut into n_r rows of n_c patches each, p pixels wide and high; tokens of
d_model entries; h heads; L layers, whose parameters are stacked in front. Leading dimensions of images and patches are batches.

Source: Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale", section 3.1.
"""

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from impl import _refuse
from impl._axes import Axes
from impl.bert import LayerWeights, head_sequence, layer
from impl.normalization import layer_norm

__all__ = ["classifier", "cut", "encoder", "patches", "positions_of_size"]

_PATCHES = Axes("W (C p p d), b (d)")
_ENCODER = Axes("z (... n d_model), cls (d_model), P (n+1 d_model)")

Activation = Literal["gelu", "relu"]
Approximation = Literal["none", "tanh"]
Norm = Literal["pre", "post"]


def patches(
    image: Float[Tensor, "... C height width"], W: Float[Tensor, "C p p d"], b: Float[Tensor, " d"]
) -> Float[Tensor, "... n d"]:
    """Each square of p × p pixels, all channels, times one matrix, plus b; row after row of squares. Statement:
    ``vision.patches``.

    The same as a convolution with kernel W and stride p, by one product of matrices. ValueError for shapes that do not fit and
    for sides that are no multiples of p, TypeError unless all share one floating dtype.
    """
    sizes = _PATCHES.fit("vision.patches", W=W, b=b)
    _refuse.check_floating("vision.patches", image=image, W=W)
    return F.linear(cut("vision.patches", image, sizes["C"], sizes["p"]), W.flatten(0, 2).mT, b)


def cut(
    formula: str, image: Float[Tensor, "... C height width"], C: int, p: int
) -> Float[Tensor, "... n pixels"]:
    """The pixels of each patch in a row: by channel, then by row, then by column."""
    if image.dim() < 3 or image.shape[-3] != C or not p or image.shape[-2] % p or image.shape[-1] % p:
        expected = f"an image (... {C} height width) whose sides are multiples of {p}"
        raise _refuse.shapes(formula, expected, image=image)
    squares = image.unflatten(-2, (-1, p)).unflatten(-1, (-1, p))  # (... C n_r p n_c p)
    rows: Tensor = squares.movedim((-4, -2), (-5, -4)).flatten(-3).flatten(-3, -2)
    return rows


def encoder(
    z: Float[Tensor, "... n d_model"],
    cls: Float[Tensor, " d_model"],
    P: Float[Tensor, "n+1 d_model"],
    weights: LayerWeights,
    gamma_0: Float[Tensor, " d_model"],
    beta_0: Float[Tensor, " d_model"],
    *,
    eps: float = 1e-6,
    norm: Norm = "pre",
    activation: Activation = "gelu",
    approximation: Approximation = "none",
) -> Float[Tensor, "... n+1 d_model"]:
    """The features: the class token and the patches, each with its position, after L layers (``impl.bert.layer``) and a last
    normalization. Statement: ``vision.encoder``.

    Row 0 is the class token's. ``eps`` is the original's unless given; transformers has 1e-12. ValueError for shapes that do not
    fit, TypeError for weights that are not ``LayerWeights``, else errors are those of the parts.
    """
    _ENCODER.fit("vision.encoder", z=z, cls=cls, P=P)
    if not isinstance(weights, LayerWeights):
        raise _refuse.kind("vision.encoder", "weights", "LayerWeights", weights)
    x = torch.cat((cls.expand(*z.shape[:-2], 1, -1), z), -2) + P
    for own in _refuse.layers("vision.encoder", weights):
        x = layer(x, own, eps, norm=norm, activation=activation, approximation=approximation)
    return layer_norm(x, gamma_0, beta_0, eps)


def classifier(
    image: Float[Tensor, "... C height width"],
    W: Float[Tensor, "C p p d_model"],
    b: Float[Tensor, " d_model"],
    cls: Float[Tensor, " d_model"],
    P: Float[Tensor, "N d_model"],
    weights: LayerWeights,
    gamma_0: Float[Tensor, " d_model"],
    beta_0: Float[Tensor, " d_model"],
    W_h: Float[Tensor, "d_model K"],
    b_h: Float[Tensor, " K"],
    *,
    eps: float = 1e-6,
    norm: Norm = "pre",
    activation: Activation = "gelu",
    approximation: Approximation = "none",
) -> Float[Tensor, "... K"]:
    """A logit for each class: ``patches``, ``encoder``, and a linear layer on the class token's feature. Statement:
    ``vision.classifier``.

    Errors are those of the parts.
    """
    z = patches(image, W, b)
    y = encoder(
        z,
        cls,
        P,
        weights,
        gamma_0,
        beta_0,
        eps=eps,
        norm=norm,
        activation=activation,
        approximation=approximation,
    )
    return head_sequence(y[..., 0, :], W_h, b_h)


def positions_of_size(P: Float[Tensor, "N d"], n_r: int, n_c: int) -> Float[Tensor, "M d"]:
    """Positions for n_r rows of n_c patches, of those learned for a square of patches: the class token's as it is, the others
    interpolated as the pixels of an image are, bicubically, as transformers does it. A part of :class:`ViT`.

    ValueError unless there are as many positions as a square has patches, and one more. Source: Dosovitskiy et al. 2021, section
    3.2.
    """
    side = round((len(P) - 1) ** 0.5) if P.dim() == 2 and len(P) else 0
    if P.dim() != 2 or side < 1 or side * side != len(P) - 1 or min(n_r, n_c) < 1:
        raise _refuse.shapes("vision.positions_of_size", "P (n·n+1 d), and n_r, n_c of at least 1", P=P)
    if (n_r, n_c) == (side, side):
        return P
    grid = P[1:].mT.unflatten(-1, (side, side)).unsqueeze(0)
    other = F.interpolate(grid, (n_r, n_c), mode="bicubic", align_corners=False)
    return torch.cat((P[:1], other.squeeze(0).flatten(1).mT))
