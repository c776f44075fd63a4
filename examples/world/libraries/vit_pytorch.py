"""vit-pytorch."""

from vit_pytorch.crossformer import LayerNorm as CrossFormerNorm
from vit_pytorch.cvt import LayerNorm as CvtNorm
from vit_pytorch.na_vit import LayerNorm as NaVitNorm
from vit_pytorch.simple_vit_with_qk_norm import RMSNorm

from examples.world.component import of
from verify.adapt import module

component = of("vit-pytorch")

# fmt: off


@component("cvt.LayerNorm", "normalization.layer_norm")
def cvt():
    """Over the channels of an image, here of one pixel."""
    weights = {"g": "gamma[None, :, None, None]", "b": "beta[None, :, None, None]"}
    return module(CvtNorm, weights, "x[:, :, None, None]", arguments="d, eps", pick="out[:, :, 0, 0]")


@component("crossformer.LayerNorm", "normalization.layer_norm")
def crossformer():
    """Over the channels of an image, here of one pixel."""
    weights = {"g": "gamma[None, :, None, None]", "b": "beta[None, :, None, None]"}
    return module(CrossFormerNorm, weights, "x[:, :, None, None]", arguments="d, eps", pick="out[:, :, 0, 0]")


@component("na_vit.LayerNorm", "normalization.layer_norm")
def na_vit():
    """It has no bias, and the ε of torch."""
    return module(NaVitNorm, {"gamma": "gamma"}, arguments="d", fixed={"eps": 1e-5, "beta": 0})


@component("simple_vit_with_qk_norm.RMSNorm", "normalization.rms_norm")
def rms_norm():
    """By F.normalize, whose ε is the least norm; its gain is divided by √d, which it is given back."""
    call, pick = "x[:, None, None]", "out[:, 0, 0]"
    return module(RMSNorm, {"gamma": "gamma[None, None]"}, call, arguments="1, d", pick=pick, fixed={"eps": 1e-37})
