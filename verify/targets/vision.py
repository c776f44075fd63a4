"""Images in patches, and what reads them, of PyTorch and of Hugging Face transformers; with per-head weights."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from verify.adapt import Adapter, State, function, layers, module
from verify.targets.layers import biased_layer
from verify.targets.pre_norm import joined


def _kernel(W: Tensor) -> Tensor:
    """The matrix of the patches as the kernel of a convolution: (d, C, p, p)."""
    return W.movedim(-1, 0)


def conv2d() -> Adapter:
    """``nn.Conv2d`` whose stride is its kernel; it gives channels first."""

    def build(C: int, d: int, p: int) -> nn.Module:
        return nn.Conv2d(C, d, kernel_size=p, stride=p)

    return module(
        build,
        lambda W, b: {"weight": _kernel(W), "bias": b},
        lambda convolve, image: convolve(image),
        pick=lambda out: out.flatten(-2).mT,
    )


def unfold() -> Adapter:
    """``F.unfold``, then a linear layer."""

    def call(image: Tensor, W: Tensor, b: Tensor) -> Tensor:
        return F.linear(F.unfold(image, W.shape[1], stride=W.shape[1]).mT, W.flatten(0, 2).mT, b)

    return function(call, batch=1)


def patch_embeddings() -> Adapter:
    """``ViTPatchEmbeddings``."""
    from transformers.models.vit.modeling_vit import ViTPatchEmbeddings

    def build(C: int, p: int, n_r: int, n_c: int, d: int) -> nn.Module:
        return ViTPatchEmbeddings(_config("eager", 1e-12, C, p, (n_r * p, n_c * p), hidden_size=d))

    return module(build, lambda W, b: {"projection.weight": _kernel(W), "projection.bias": b})


def _config(backend: str, eps: float, channels: int, patch: int, image: tuple[int, int], **sizes: int) -> Any:
    from transformers import ViTConfig

    how: Any = {"num_channels": channels, "patch_size": patch, "image_size": image, "layer_norm_eps": eps}
    config = ViTConfig(**(how | sizes))
    config._attn_implementation = backend
    return config


def _sizes(d_model: int, h: int, d_ff: int, L: int) -> dict[str, int]:
    return {
        "hidden_size": d_model,
        "num_attention_heads": h,
        "intermediate_size": d_ff,
        "num_hidden_layers": L,
    }


def _weights(cls: Tensor, P: Tensor, gamma_0: Tensor, beta_0: Tensor, **letters: Tensor) -> dict[str, Tensor]:
    """The weights of a ``ViTModel`` but for its patches."""
    stack = layers("layers.{}.", lambda **w: joined("vit", w), letters)
    return {
        "embeddings.cls_token": cls.expand(1, 1, -1),
        "embeddings.position_embeddings": P.unsqueeze(0),
        "layernorm.weight": gamma_0,
        "layernorm.bias": beta_0,
        **stack,
    }


def features(backend: str, eps: float) -> Adapter:
    """``ViTModel`` of patches: each is an image's pixel of d_model channels, which the identity makes a row of."""
    from transformers import ViTModel

    projection = "embeddings.patch_embeddings.projection"

    def build(n: int, d_model: int, h: int, d_ff: int, L: int) -> nn.Module:
        config = _config(backend, eps, d_model, 1, (1, n), **_sizes(d_model, h, d_ff, L))
        return ViTModel(config, add_pooling_layer=False)

    def weights(**letters: Tensor) -> State:
        d = letters["P"].shape[-1]
        same = torch.eye(d, dtype=letters["P"].dtype, device=letters["P"].device).view(d, d, 1, 1)
        return {**_weights(**letters), f"{projection}.weight": same, f"{projection}.bias": 0}

    def call(vit: nn.Module, z: Tensor) -> Any:
        return vit(z.mT.unsqueeze(-2)).last_hidden_state

    return module(build, weights, call)


def classification(backend: str, eps: float) -> Adapter:
    """``ViTForImageClassification``."""
    from transformers import ViTForImageClassification

    def build(
        C: int, p: int, n_r: int, n_c: int, d_model: int, h: int, d_ff: int, L: int, K: int
    ) -> nn.Module:
        config = _config(backend, eps, C, p, (n_r * p, n_c * p), **_sizes(d_model, h, d_ff, L))
        config.num_labels = K
        return ViTForImageClassification(config)

    def weights(W: Tensor, b: Tensor, W_h: Tensor, b_h: Tensor, **letters: Tensor) -> State:
        below = {
            **_weights(**letters),
            "embeddings.patch_embeddings.projection.weight": _kernel(W),
            "embeddings.patch_embeddings.projection.bias": b,
        }
        head = {"classifier.weight": W_h.T, "classifier.bias": b_h}
        return {**{f"vit.{name}": value for name, value in below.items()}, **head}

    return module(build, weights, lambda vit, image: vit(image).logits)


def torch_encoder() -> Adapter:
    """``nn.TransformerEncoder`` that normalises first, with a last normalization; the class token and positions are put before
    it.
    """

    def build(d_model: int, h: int, d_ff: int, L: int) -> nn.Module:
        how: Any = {"layer_norm_eps": 1e-6, "batch_first": True, "norm_first": True, "activation": "gelu"}
        layer = nn.TransformerEncoderLayer(d_model, h, d_ff, 0.0, **how)
        return nn.TransformerEncoder(layer, L, nn.LayerNorm(d_model, 1e-6), enable_nested_tensor=False)

    def weights(gamma_0: Tensor, beta_0: Tensor, **letters: Tensor) -> State:
        own = {name: stacked for name, stacked in letters.items() if name not in ("cls", "P")}
        stack = layers("layers.{}.", biased_layer, own)
        return {"norm.weight": gamma_0, "norm.bias": beta_0, **stack}

    def call(encode: nn.Module, z: Tensor, cls: Tensor, P: Tensor) -> Any:
        return encode(torch.cat((cls.expand(len(z), 1, -1), z), 1) + P)

    return module(build, weights, call, train=True)
