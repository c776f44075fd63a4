"""PyTorch's Transformer, adapted to per-head weights, stacked layers, and masks in which True means "may attend"."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from verify.targets.flattening import called, flat, hollow, opened
from verify.targets.multihead import rows

Adapted = Callable[..., Any]
Weights = dict[str, Tensor]


def _attention(prefix: str, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor) -> Weights:
    """The weights of a ``nn.MultiheadAttention``; its biases are 0."""
    packed = torch.cat([rows(W_q), rows(W_k), rows(W_v)])
    return {
        f"{prefix}.in_proj_weight": packed,
        f"{prefix}.in_proj_bias": packed.new_zeros(len(packed)),
        f"{prefix}.out_proj.weight": W_o.mT,
        f"{prefix}.out_proj.bias": W_o.new_zeros(W_o.shape[1]),
    }


def _norm(number: int, gamma: Tensor, beta: Tensor) -> Weights:
    return {f"norm{number}.weight": gamma, f"norm{number}.bias": beta}


def _network(W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Weights:
    return {"linear1.weight": W_1.mT, "linear1.bias": b_1, "linear2.weight": W_2.mT, "linear2.bias": b_2}


def _encoder_weights(given: tuple[Tensor, ...]) -> Weights:
    return {
        **_attention("self_attn", *given[:4]),
        **_norm(1, *given[4:6]),
        **_network(*given[6:10]),
        **_norm(2, *given[10:12]),
    }


def _decoder_weights(given: tuple[Tensor, ...]) -> Weights:
    return {
        **_attention("self_attn", *given[:4]),
        **_norm(1, *given[4:6]),
        **_attention("multihead_attn", *given[6:10]),
        **_norm(2, *given[10:12]),
        **_network(*given[12:16]),
        **_norm(3, *given[16:18]),
    }


def _stacked(of: Callable[[tuple[Tensor, ...]], Weights], given: tuple[Tensor, ...]) -> Weights:
    """The weights of a stack, layer by layer."""
    return {
        f"layers.{t}.{name}": value
        for t in range(len(given[0]))
        for name, value in of(tuple(W[t] for W in given)).items()
    }


@lru_cache(maxsize=256)
def _module(
    kind: str,
    width: int,
    heads: int,
    inside: int,
    layers: int,
    training: bool,
    first: bool,
    nested: bool = False,
) -> nn.Module:
    """A layer, or a stack of so many; normalised ``first`` or after each sum; ``nested`` packs sequences without padding."""
    made: dict[str, Any] = {
        "encoder": nn.TransformerEncoderLayer,
        "decoder": nn.TransformerDecoderLayer,
    }

    def layer() -> nn.Module:
        one: nn.Module = made[kind](width, heads, inside, dropout=0.0, batch_first=True, norm_first=first)
        return one

    def stack() -> nn.Module:
        if kind == "encoder":
            return nn.TransformerEncoder(layer(), layers, enable_nested_tensor=nested)  # type: ignore[arg-type]
        return nn.TransformerDecoder(layer(), layers)  # type: ignore[arg-type]

    return hollow(stack if layers else layer, training)


def _with_eps(module: nn.Module, eps: float) -> nn.Module:
    for part in module.modules():
        if isinstance(part, nn.LayerNorm):
            part.eps = eps
    return module


def _dropped(mask: Tensor | None, lead: torch.Size, heads: int) -> Tensor | None:
    """The mask as the modules take it: True drops, one for each head of each member."""
    return None if mask is None else ~flat(mask, lead, 2).repeat_interleave(heads, 0)


def _sizes(W_q: Tensor, W_1: Tensor) -> tuple[int, int, int]:
    return W_q.shape[-2], W_q.shape[-3], W_1.shape[-1]


def encoder(
    stacked: bool, training: bool = False, norm_first: bool = False, gradients: bool = True
) -> Adapted:
    """``nn.TransformerEncoderLayer``, or ``nn.TransformerEncoder`` of such; without gradients it takes the fast path."""

    def run(x: Tensor, *given: Any) -> Tensor:
        weights, eps, mask = given[:12], given[12], given[13] if len(given) > 13 else None
        lead, heads = x.shape[:-2], weights[0].shape[-3]
        module = _module(
            "encoder", *_sizes(weights[0], weights[6]), len(weights[0]) * stacked, training, norm_first
        )
        made = _stacked(_encoder_weights, weights) if stacked else _encoder_weights(weights)
        mask_name = "mask" if stacked else "src_mask"
        dropped = _dropped(mask, lead, heads)
        with torch.set_grad_enabled(gradients and torch.is_grad_enabled()):
            y = called(_with_eps(module, eps), made, flat(x, lead, 2), **{mask_name: dropped})
        return opened(y, lead)

    return run


def decoder(stacked: bool, training: bool = False, norm_first: bool = False) -> Adapted:
    """``nn.TransformerDecoderLayer``, or ``nn.TransformerDecoder`` of such, given the causal mask."""

    def run(y: Tensor, x: Tensor, *given: Any) -> Tensor:
        weights, eps, mask = given[:18], given[18], given[19] if len(given) > 19 else None
        lead, heads = y.shape[:-2], weights[0].shape[-3]
        module = _module(
            "decoder", *_sizes(weights[0], weights[12]), len(weights[0]) * stacked, training, norm_first
        )
        made = _stacked(_decoder_weights, weights) if stacked else _decoder_weights(weights)
        later = torch.ones(y.shape[-2], y.shape[-2], dtype=torch.bool, device=y.device).triu(1)
        z = called(
            _with_eps(module, eps),
            made,
            flat(y, lead, 2),
            flat(x, lead, 2),
            tgt_mask=later,
            memory_mask=_dropped(mask, lead, heads),
        )
        return opened(z, lead)

    return run


def transformer(training: bool = True, nested: bool = False) -> Adapted:
    """``nn.Transformer`` of both stacks, without its last normalizations; embeddings and output are ours beside it.

    Not in training it is called without gradients, and takes the fast path, there with ``nested`` tensors or with a mask.
    """
    from impl.embedding import token
    from impl.positional import sinusoidal

    def run(s: Tensor, t: Tensor, E: Tensor, *given: Any) -> Tensor:
        first, second, eps = given[:12], given[12:30], given[30]
        mask = given[31] if len(given) > 31 else None
        lead, layers, sizes = s.shape[:-1], len(first[0]), _sizes(first[0], first[6])
        module = _joined(sizes, layers, training, nested)
        made = {f"encoder.{name}": value for name, value in _stacked(_encoder_weights, first).items()}
        made |= {f"decoder.{name}": value for name, value in _stacked(_decoder_weights, second).items()}
        root = E.shape[-1] ** 0.5
        padding = None if mask is None else ~flat(mask, lead, 1)
        later = torch.ones(t.shape[-1], t.shape[-1], dtype=torch.bool, device=s.device).triu(1)
        with torch.set_grad_enabled(training and torch.is_grad_enabled()):
            X, Y = (
                flat(
                    token(ids, E) * root
                    + sinusoidal(ids.shape[-1], E.shape[-1], dtype=E.dtype, device=E.device),
                    lead,
                    2,
                )
                for ids in (s, t)
            )
            y = called(
                _with_eps(module, eps),
                made,
                X,
                Y,
                tgt_mask=later,
                src_key_padding_mask=padding,
                memory_key_padding_mask=padding,
            )
            return (opened(y, lead) @ E.mT).softmax(-1)

    return run


@lru_cache(maxsize=64)
def _joined(sizes: tuple[int, int, int], layers: int, training: bool, nested: bool) -> nn.Module:
    width, heads, inside = sizes

    def make() -> nn.Module:
        stacks = (
            _module("encoder", width, heads, inside, layers, training, False, nested),
            _module("decoder", width, heads, inside, layers, training, False),
        )
        return nn.Transformer(
            width, heads, custom_encoder=stacks[0], custom_decoder=stacks[1], batch_first=True
        )

    return hollow(make, training)
