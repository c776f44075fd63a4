"""vit-pytorch."""

from vit_pytorch.crossformer import LayerNorm as CrossFormerNorm
from vit_pytorch.cvt import LayerNorm as CvtNorm
from vit_pytorch.na_vit import LayerNorm as NaVitNorm
from vit_pytorch.simple_vit_with_qk_norm import RMSNorm

from examples.world.component import of
from verify.adapt import module

component = of("vit-pytorch")

# fmt: off


def by_channel(gamma, beta):
    """Gain and bias of an image's channels."""
    return {"g": gamma[None, :, None, None], "b": beta[None, :, None, None]}


def at_pixel(norm, x):
    """Over the channels of an image of one pixel."""
    return norm(x[:, :, None, None])[:, :, 0, 0]


@component("cvt.LayerNorm", "normalization.layer_norm")
def cvt():
    """Over the channels of an image, here of one pixel."""
    return module(lambda d, eps: CvtNorm(d, eps), by_channel, at_pixel)


@component("crossformer.LayerNorm", "normalization.layer_norm")
def crossformer():
    """Over the channels of an image, here of one pixel."""
    return module(lambda d, eps: CrossFormerNorm(d, eps), by_channel, at_pixel)


@component("na_vit.LayerNorm", "normalization.layer_norm")
def na_vit():
    """It has no bias, and the ε of torch."""
    return module(lambda d: NaVitNorm(d), fixed={"eps": 1e-5, "beta": 0})


@component("simple_vit_with_qk_norm.RMSNorm", "normalization.rms_norm")
def rms_norm():
    """By F.normalize, whose ε is the least norm; its gain is divided by √d, which it is given back."""
    weights, call = lambda gamma: {"gamma": gamma[None, None]}, lambda norm, x: norm(x[:, None, None])[:, 0, 0]
    return module(lambda d: RMSNorm(1, d), weights, call, fixed={"eps": 1e-37})
