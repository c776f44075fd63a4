"""PyTorch's Transformer, with per-head weights, stacked layers, and masks in which True means "may attend"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from verify.adapt import Adapter, State, causal, layers, module
from verify.targets.multihead import packed


def _attend(name: str, letter: str, w: Mapping[str, Tensor]) -> State:
    made = packed(*(w[f"{letter}_{each}"] for each in "qkvo"))
    return {f"{name}.{key}": what for key, what in made.items() if key != "*bias"} | {f"{name}*bias": 0}


def _norm(name: int, letter: int, w: Mapping[str, Tensor]) -> State:
    return {f"norm{name}.weight": w[f"gamma_{letter}"], f"norm{name}.bias": w[f"beta_{letter}"]}


def _network(first: int, w: Mapping[str, Tensor]) -> State:
    inward = {"linear1.weight": w[f"W_{first}"].T, "linear1.bias": w[f"b_{first}"]}
    return inward | {"linear2.weight": w[f"W_{first + 1}"].T, "linear2.bias": w[f"b_{first + 1}"]}


def encoder_layer(**w: Tensor) -> State:
    """The weights of a layer; those of attention have no biases."""
    return {**_attend("self_attn", "W", w), **_norm(1, 1, w), **_network(1, w), **_norm(2, 2, w)}


def decoder_layer(own: str = "W", first: int = 1, network: int = 1, **w: Tensor) -> State:
    """The same of a layer that attends to an encoder, too; its letters as they are where no encoder stands before it."""
    norms = {**_norm(1, first, w), **_norm(2, first + 1, w), **_norm(3, first + 2, w)}
    attends = {**_attend("self_attn", own, w), **_attend("multihead_attn", "C", w)}
    return {**attends, **norms, **_network(network, w)}


def _stacked(layer: Callable[..., State]) -> Callable[..., State]:
    return lambda **letters: layers("layers.{}.", layer, letters)


def encoder(
    stacked: bool, training: bool = False, norm_first: bool = False, gradients: bool = True
) -> Adapter:
    """``nn.TransformerEncoderLayer``, or ``nn.TransformerEncoder`` of such; without gradients it takes the fast path."""

    def layer(d_model: int, h: int, d_ff: int, eps: float) -> nn.Module:
        how = {"layer_norm_eps": eps, "batch_first": True, "norm_first": norm_first}
        return nn.TransformerEncoderLayer(d_model, h, d_ff, 0.0, **how)  # type: ignore[arg-type]

    def stack(d_model: int, h: int, d_ff: int, eps: float, L: int) -> nn.Module:
        return nn.TransformerEncoder(layer(d_model, h, d_ff, eps), L, enable_nested_tensor=False)  # type: ignore[arg-type]

    how: Any = {"mask": "drop heads", "train": training, "grad": gradients}
    if stacked:
        return module(stack, _stacked(encoder_layer), lambda encode, x, mask: encode(x, mask=mask), **how)
    return module(layer, encoder_layer, lambda encode, x, mask: encode(x, src_mask=mask), **how)


def decoder(stacked: bool, training: bool = False, norm_first: bool = False) -> Adapter:
    """``nn.TransformerDecoderLayer``, or ``nn.TransformerDecoder`` of such, given the causal mask."""

    def layer(d_model: int, h: int, d_ff: int, eps: float) -> nn.Module:
        how = {"layer_norm_eps": eps, "batch_first": True, "norm_first": norm_first}
        return nn.TransformerDecoderLayer(d_model, h, d_ff, 0.0, **how)  # type: ignore[arg-type]

    def stack(d_model: int, h: int, d_ff: int, eps: float, L: int) -> nn.Module:
        return nn.TransformerDecoder(layer(d_model, h, d_ff, eps), L)  # type: ignore[arg-type]

    def call(decode: nn.Module, x: Tensor, y: Tensor, mask: Tensor | None, m: int) -> Any:
        return decode(y, x, tgt_mask=~causal(m, device=y.device), memory_mask=mask)

    weights, build = (_stacked(decoder_layer), stack) if stacked else (decoder_layer, layer)
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

    def build(V: int, d_model: int, h: int, d_ff: int, L: int, eps: float) -> nn.Module:
        return Translator(V, d_model, h, d_ff, L, eps, training, nested)

    def weights(E: Tensor, **letters: Tensor) -> State:
        later = partial(decoder_layer, "U", 3, 3)
        encoder = layers("inner.encoder.layers.{}.", encoder_layer, letters)
        return {"E": E, **encoder, **layers("inner.decoder.layers.{}.", later, letters)}

    def call(translate: nn.Module, s: Tensor, t: Tensor, mask: Tensor | None, m: int) -> Any:
        return translate(s, t, ~causal(m, device=t.device), mask)

    return module(build, weights, call, mask="drop", train=training, grad=training)
