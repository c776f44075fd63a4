"""torchscale."""

from torchscale.architecture.config import EncoderConfig
from torchscale.component.multihead_attention import MultiheadAttention
from torchscale.component.rms_norm import RMSNorm

from examples.world.component import of
from examples.world.sizes import ONE_WIDTH
from verify.adapt import module, rows

component = of("torchscale")

# fmt: off


@component("MultiheadAttention", "attention.multi_head")
def multi_head():
    """Its softmax is in float32; its mask of keys says what to drop."""
    weights = lambda W_o, **w: {"out_proj.weight": W_o.T, "*bias": 0, **{f"{of}_proj.weight": rows(w[f"W_{of}"]) for of in "qkv"}}
    build = lambda d_model, h: MultiheadAttention(EncoderConfig(), d_model, h, encoder_decoder_attention=True)
    call = lambda attend, x, y, mask: attend(x, y, y, key_padding_mask=mask)
    return module(build, weights, call, mask="drop keys", sizes=ONE_WIDTH)


@component("RMSNorm", "normalization.rms_norm")
def rms_norm():
    """It computes in float32."""
    return module(lambda d, eps: RMSNorm(d, eps), lambda gamma: {"weight": gamma})
