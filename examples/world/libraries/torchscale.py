"""torchscale."""

from torchscale.architecture.config import EncoderConfig
from torchscale.component.multihead_attention import MultiheadAttention
from torchscale.component.rms_norm import RMSNorm

from examples.world.component import of
from examples.world.sizes import ONE_WIDTH
from verify.adapt import module

component = of("torchscale")

# fmt: off


@component("MultiheadAttention", "attention.multi_head")
def multi_head():
    """Its softmax is in float32; its mask of keys says what to drop."""
    weights = {f"{of}_proj.weight": f"rows(W_{of})" for of in "qkv"} | {"out_proj.weight": "W_o.T"}
    build = lambda d_model, h: MultiheadAttention(EncoderConfig(), d_model, h, encoder_decoder_attention=True)
    call, how = "x, y, y, key_padding_mask=mask", {"mask": "drop keys", "sizes": ONE_WIDTH}
    return module(build, {**weights, "*bias": 0}, call, **how)


@component("RMSNorm", "normalization.rms_norm")
def rms_norm():
    """It computes in float32."""
    return module(RMSNorm, {"weight": "gamma"}, arguments="d, eps")
