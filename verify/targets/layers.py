"""PyTorch's Transformer, with per-head weights, stacked layers, and masks in which True means "may attend"."""

from __future__ import annotations

import re

import torch
from torch import Tensor, nn

from verify.adapt import Adapter, module
from verify.targets.multihead import PACKED

Weights = dict[str, str | int]


def _attention(name: str, letter: str) -> Weights:
    made = {key: re.sub("W_", f"{letter}_", str(what)) for key, what in PACKED.items() if key != "*bias"}
    return {**{f"{name}.{key}": what for key, what in made.items()}, f"{name}*bias": 0}


def _norm(name: int, letter: int) -> Weights:
    return {f"norm{name}.weight": f"gamma_{letter}", f"norm{name}.bias": f"beta_{letter}"}


def _network(first: int) -> Weights:
    made: Weights = {}
    for name, letter in ((1, first), (2, first + 1)):
        made |= {f"linear{name}.weight": f"W_{letter}.T", f"linear{name}.bias": f"b_{letter}"}
    return made


ENCODER = {**_attention("self_attn", "W"), **_norm(1, 1), **_network(1), **_norm(2, 2)}
DECODER = {
    **_attention("self_attn", "W"), **_norm(1, 1), **_attention("multihead_attn", "C"), **_norm(2, 2), **_network(1),
    **_norm(3, 3),
}  # fmt: skip
LATER_DECODER = {
    **_attention("self_attn", "U"), **_norm(1, 3), **_attention("multihead_attn", "C"), **_norm(2, 4), **_network(3),
    **_norm(3, 5),
}  # fmt: skip
"""The weights of a layer; those of attention have no biases. The last as the letters are where an encoder stands before it."""


def _layers(weights: Weights, stack: str = "layers") -> Weights:
    """The weights of a stack: each letter has an axis of layers."""
    return {
        f"{stack}.{{l}}.{name}": re.sub(r"\b(\w+_\w)\b", r"\1[l]", what) if isinstance(what, str) else what
        for name, what in weights.items()
    }


def encoder(
    stacked: bool, training: bool = False, norm_first: bool = False, gradients: bool = True
) -> Adapter:
    """``nn.TransformerEncoderLayer``, or ``nn.TransformerEncoder`` of such; without gradients it takes the fast path."""

    def layer(d_model: int, h: int, d_ff: int, eps: float) -> nn.Module:
        how = {"layer_norm_eps": eps, "batch_first": True, "norm_first": norm_first}
        return nn.TransformerEncoderLayer(d_model, h, d_ff, 0.0, **how)  # type: ignore[arg-type]

    def stack(d_model: int, h: int, d_ff: int, eps: float, L: int) -> nn.Module:
        return nn.TransformerEncoder(layer(d_model, h, d_ff, eps), L, enable_nested_tensor=False)  # type: ignore[arg-type]

    how = {"mask": "drop heads", "train": training, "grad": gradients}
    if stacked:
        return module(stack, _layers(ENCODER), "x, mask=mask", **how)  # type: ignore[arg-type]
    return module(layer, ENCODER, "x, src_mask=mask", **how)  # type: ignore[arg-type]


def decoder(stacked: bool, training: bool = False, norm_first: bool = False) -> Adapter:
    """``nn.TransformerDecoderLayer``, or ``nn.TransformerDecoder`` of such, given the causal mask."""

    def layer(d_model: int, h: int, d_ff: int, eps: float) -> nn.Module:
        how = {"layer_norm_eps": eps, "batch_first": True, "norm_first": norm_first}
        return nn.TransformerDecoderLayer(d_model, h, d_ff, 0.0, **how)  # type: ignore[arg-type]

    def stack(d_model: int, h: int, d_ff: int, eps: float, L: int) -> nn.Module:
        return nn.TransformerDecoder(layer(d_model, h, d_ff, eps), L)  # type: ignore[arg-type]

    weights, build = (_layers(DECODER), stack) if stacked else (DECODER, layer)
    call = "y, x, tgt_mask=~causal(m), memory_mask=mask"
    return module(build, weights, call, mask="drop heads", train=training)


class Translator(nn.Module):
    """``nn.Transformer`` between embeddings that are also its output layer, which are ours, as are positions."""

    def __init__(
        self, V: int, d_model: int, h: int, d_ff: int, L: int, eps: float, training: bool, nested: bool
    ) -> None:
        super().__init__()
        how = {"layer_norm_eps": eps, "batch_first": True}
        first = nn.TransformerEncoderLayer(d_model, h, d_ff, 0.0, **how)  # type: ignore[arg-type]
        second = nn.TransformerDecoderLayer(d_model, h, d_ff, 0.0, **how)  # type: ignore[arg-type]
        # Whether it takes the fast path is decided as it is made, when its layers are in evaluation or not.
        encoder = nn.TransformerEncoder(first, L, enable_nested_tensor=nested).train(training)
        decoder = nn.TransformerDecoder(second, L)
        self.inner = nn.Transformer(
            d_model, h, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
        )
        self.E = nn.Parameter(torch.zeros(V, d_model))

    def embedded(self, ids: Tensor) -> Tensor:
        """Embeddings times √d_model, and positions."""
        from impl.embedding import token
        from impl.positional import sinusoidal

        n, d = ids.shape[-1], self.E.shape[-1]
        x: Tensor = token(ids, self.E) * d**0.5
        return x + sinusoidal(n, d, dtype=self.E.dtype, device=self.E.device)

    def forward(self, s: Tensor, t: Tensor, later: Tensor, padding: Tensor | None) -> Tensor:
        """The probabilities of every next word."""
        hidden = {"src_key_padding_mask": padding, "memory_key_padding_mask": padding}
        y = self.inner(self.embedded(s), self.embedded(t), tgt_mask=later, **hidden)
        P: Tensor = (y @ self.E.mT).softmax(-1)
        return P


def transformer(training: bool = True, nested: bool = False) -> Adapter:
    """``nn.Transformer`` of both stacks, without its last normalizations; embeddings and output are ours beside it.

    Not in training it is called without gradients, and takes the fast path, there with ``nested`` tensors or with a mask.
    """
    weights = {"E": "E", **_layers(ENCODER, "inner.encoder.layers")}
    weights |= _layers(LATER_DECODER, "inner.decoder.layers")
    arguments = f"V, d_model, h, d_ff, L, eps, {training}, {nested}"
    call = "s, t, ~causal(m), mask"
    return module(Translator, weights, call, arguments=arguments, mask="drop", train=training, grad=training)
