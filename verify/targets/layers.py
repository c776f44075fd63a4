"""PyTorch's Transformer, with per-head weights, stacked layers, and masks in which True means "may attend"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from torch import Tensor, nn

from verify.adapt import Adapter, State, causal, layers, module
from verify.targets.multihead import pack_weights, pack_with_biases


def _attend(name: str, letter: str, w: Mapping[str, Tensor]) -> State:
    made = pack_weights(*(w[f"{letter}_{each}"] for each in "qkvo"))
    return {f"{name}.{key}": what for key, what in made.items() if key != "*bias"} | {f"{name}*bias": 0}


def _norm(name: int, letter: int, w: Mapping[str, Tensor]) -> State:
    return {f"norm{name}.weight": w[f"gamma_{letter}"], f"norm{name}.bias": w[f"beta_{letter}"]}


def _network(first: int, w: Mapping[str, Tensor]) -> State:
    inward = {"linear1.weight": w[f"W_{first}"].T, "linear1.bias": w[f"b_{first}"]}
    return inward | {"linear2.weight": w[f"W_{first + 1}"].T, "linear2.bias": w[f"b_{first + 1}"]}


def encoder_layer(**w: Tensor) -> State:
    """The weights of a layer; those of attention have no biases."""
    return {**_attend("self_attn", "W", w), **_norm(1, 1, w), **_network(1, w), **_norm(2, 2, w)}


def _attend_biased(name: str, letter: str, bias: str, w: Mapping[str, Tensor]) -> State:
    attends = {f"W_{each}": w[f"{letter}_{each}"] for each in "qkvo"} | {
        f"b_{each}": w[f"{bias}_{each}"] for each in "qkvo"
    }
    return {f"{name}.{key}": what for key, what in pack_with_biases(**attends).items() if key != "*bias"}


def biased_layer(**w: Tensor) -> State:
    """The same of a layer whose attention has biases."""
    return {**_attend_biased("self_attn", "W", "b", w), **_norm(1, 1, w), **_network(1, w), **_norm(2, 2, w)}


def decoder_layer(own: str = "W", first: int = 1, network: int = 1, **w: Tensor) -> State:
    """The same of a layer that attends to an encoder, too; its letters as they are where no encoder stands before it."""
    norms = {**_norm(1, first, w), **_norm(2, first + 1, w), **_norm(3, first + 2, w)}
    attends = {**_attend("self_attn", own, w), **_attend("multihead_attn", "C", w)}
    return {**attends, **norms, **_network(network, w)}


def biased_decoder_layer(**w: Tensor) -> State:
    """The same with biases in both attentions."""
    attends = {
        **_attend_biased("self_attn", "W", "b", w),
        **_attend_biased("multihead_attn", "C", "c", w),
    }
    return {**attends, **_norm(1, 1, w), **_norm(2, 2, w), **_norm(3, 3, w), **_network(1, w)}


def _stack_layers(layer: Callable[..., State]) -> Callable[..., State]:
    return lambda **letters: layers("layers.{}.", layer, letters)


def encoder(
    stacked: bool,
    training: bool = False,
    norm_first: bool = False,
    gradients: bool = True,
    biased: bool = False,
    activation: str = "relu",
) -> Adapter:
    """``nn.TransformerEncoderLayer``, or ``nn.TransformerEncoder`` of such; without gradients it takes the fast path."""

    def layer(d_model: int, h: int, d_ff: int, eps: float) -> nn.Module:
        how: Any = {"layer_norm_eps": eps, "batch_first": True, "norm_first": norm_first}
        how["activation"] = activation
        return nn.TransformerEncoderLayer(d_model, h, d_ff, 0.0, **how)

    def stack(d_model: int, h: int, d_ff: int, eps: float, L: int) -> nn.Module:
        return nn.TransformerEncoder(layer(d_model, h, d_ff, eps), L, enable_nested_tensor=False)  # type: ignore[arg-type]

    how: Any = {"mask": "drop heads", "train": training, "grad": gradients}
    if stacked:
        return module(
            stack, _stack_layers(encoder_layer), lambda encode, x, mask: encode(x, mask=mask), **how
        )
    return module(
        layer,
        biased_layer if biased else encoder_layer,
        lambda encode, x, mask: encode(x, src_mask=mask),
        **how,
    )


def decoder(
    stacked: bool,
    training: bool = False,
    norm_first: bool = False,
    biased: bool = False,
    activation: str = "relu",
) -> Adapter:
    """``nn.TransformerDecoderLayer``, or ``nn.TransformerDecoder`` of such, given the causal mask."""

    def layer(d_model: int, h: int, d_ff: int, eps: float) -> nn.Module:
        how: Any = {"layer_norm_eps": eps, "batch_first": True, "norm_first": norm_first}
        return nn.TransformerDecoderLayer(d_model, h, d_ff, 0.0, activation, **how)

    def stack(d_model: int, h: int, d_ff: int, eps: float, L: int) -> nn.Module:
        return nn.TransformerDecoder(layer(d_model, h, d_ff, eps), L)  # type: ignore[arg-type]

    def call(decode: nn.Module, x: Tensor, y: Tensor, mask: Tensor | None, m: int) -> Any:
        return decode(y, x, tgt_mask=~causal(m, device=y.device), memory_mask=mask)

    if stacked:
        return module(stack, _stack_layers(decoder_layer), call, mask="drop heads", train=training)
    weights = biased_decoder_layer if biased else decoder_layer
    return module(layer, weights, call, mask="drop heads", train=training)


def _embed(ids: Tensor, E: Tensor) -> Tensor:
    """Embeddings times √d_model, and positions."""
    from impl.embedding import token
    from impl.positional import sinusoidal

    n, d = ids.shape[-1], E.shape[-1]
    x: Tensor = token(ids, E) * d**0.5
    return x + sinusoidal(n, d, dtype=E.dtype, device=E.device)


def transformer(training: bool = True, nested: bool = False) -> Adapter:
    """``nn.Transformer`` of both stacks, without its last normalizations; embeddings, positions and output are ours beside it.

    Not in training it is called without gradients, and takes the fast path, there with ``nested`` tensors or with a mask.
    """

    def build(d_model: int, h: int, d_ff: int, L: int, eps: float) -> nn.Module:
        how: Any = {"layer_norm_eps": eps, "batch_first": True}
        first = nn.TransformerEncoderLayer(d_model, h, d_ff, 0.0, **how)
        second = nn.TransformerDecoderLayer(d_model, h, d_ff, 0.0, **how)
        # Whether it takes the fast path is decided as it is made, when its layers are in evaluation or not.
        encoder = nn.TransformerEncoder(first, L, enable_nested_tensor=nested).train(training)
        stacks: Any = {"custom_encoder": encoder, "custom_decoder": nn.TransformerDecoder(second, L)}
        return nn.Transformer(d_model, h, **stacks, batch_first=True)

    def weights(E: Tensor, **letters: Tensor) -> State:
        later = partial(decoder_layer, "U", 3, 3)
        encoder = layers("encoder.layers.{}.", encoder_layer, letters)
        return {**encoder, **layers("decoder.layers.{}.", later, letters)}

    def call(translate: nn.Module, s: Tensor, t: Tensor, E: Tensor, mask: Tensor | None, m: int) -> Tensor:
        hidden = {"src_key_padding_mask": mask, "memory_key_padding_mask": mask}
        y: Tensor = translate(_embed(s, E), _embed(t, E), tgt_mask=~causal(m, device=t.device), **hidden)
        return (y @ E.mT).softmax(-1)

    return module(build, weights, call, mask="drop", train=training, grad=training)
