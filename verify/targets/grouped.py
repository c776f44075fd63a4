"""Grouped-query attention of PyTorch and transformers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from verify.adapt import Adapter, State, function, module
from verify.targets.multihead import MASKS
from verify.targets.windows import window_mask


def torch_grouped() -> Adapter:
    """``F.scaled_dot_product_attention`` with ``enable_gqa``."""

    def call(attend: Callable[..., Any], q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Any:
        return attend(q, k, v, mask, enable_gqa=True)

    return function(F.scaled_dot_product_attention, call, mask="b1nm", batch=1)


def flex_grouped() -> Adapter:
    """``flex_attention`` with ``enable_gqa``, as it is without a compiler."""

    def call(attend: Callable[..., Any], q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Any:
        def hidden(score: Tensor, b: Tensor, _: Tensor, i: Tensor, j: Tensor) -> Tensor:
            return score if mask is None else torch.where(mask[b, i, j], score, -math.inf)

        return attend(q, k, v, score_mod=hidden, enable_gqa=True)

    return function(flex(), call, mask="bnm", batch=1)


def flex() -> Callable[..., Any]:
    """``flex_attention`` as it is without a compiler, whose warning of that is left out; on the CPU it has no gradient."""
    from torch.nn.attention.flex_attention import flex_attention

    run: Callable[..., Any] = flex_attention

    def attend(*given: Tensor, **options: Any) -> Any:
        alone = [x.detach() if x.device.type == "cpu" else x for x in given]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run(*alone, **options)

    return attend


def transformers_grouped(model: str, backend: str) -> Adapter:
    """The attention of a model of transformers: its own in plain operations, or the one over the fused kernel that all share."""
    if backend == "sdpa":
        from transformers.integrations.sdpa_attention import sdpa_attention_forward as forward
    else:
        forward = import_module(f"transformers.models.{model}.modeling_{model}").eager_attention_forward
    owner = nn.Module().eval()
    owner.is_causal = False  # type: ignore[assignment]

    def call(
        attend: Callable[..., Any], q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, r: int, d_k: int
    ) -> Any:
        owner.num_key_value_groups = r  # type: ignore[assignment]
        return attend(owner, q, k, v, mask, scaling=d_k**-0.5)[0].transpose(1, 2)

    return function(forward, call, mask=MASKS[backend], batch=1)


def transformers_sinks() -> Adapter:
    """gpt-oss's attention in plain operations."""
    from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

    owner = nn.Module().eval()

    def call(
        attend: Callable[..., Any],
        q: Tensor,
        k: Tensor,
        v: Tensor,
        sink: Tensor,
        mask: Tensor | None,
        r: int,
        d_k: int,
    ) -> Any:
        owner.num_key_value_groups, owner.sinks = r, sink  # type: ignore[assignment]
        return attend(owner, q, k, v, mask, scaling=d_k**-0.5)[0].transpose(1, 2)

    return function(eager_attention_forward, call, mask=MASKS["eager"], batch=1)


def transformers_softcap() -> Adapter:
    """Gemma 2's attention in plain operations, with as many heads of keys as of queries."""
    from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward

    owner = nn.Module().eval()
    owner.num_key_value_groups = 1  # type: ignore[assignment]

    def call(
        attend: Callable[..., Any], q: Tensor, k: Tensor, v: Tensor, cap: float, mask: Tensor | None, d_k: int
    ) -> Any:
        return attend(owner, q, k, v, mask, scaling=d_k**-0.5, softcap=cap)[0].transpose(1, 2)

    return function(eager_attention_forward, call, mask="additive=min", heads_axis=1)


def flex_softcap() -> Adapter:
    """``flex_attention`` with a tanh as its ``score_mod``, as it is without a compiler."""

    def call(
        attend: Callable[..., Any], q: Tensor, k: Tensor, v: Tensor, cap: float, mask: Tensor | None
    ) -> Any:
        def capped(score: Tensor, b: Tensor, _: Tensor, i: Tensor, j: Tensor) -> Tensor:
            score = cap * torch.tanh(score / cap)
            return score if mask is None else torch.where(mask[b, i, j], score, -math.inf)

        return attend(q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1), score_mod=capped).squeeze(1)

    return function(flex(), call, mask="bnm", batch=1)


def transformers_decoder(model: str, backend: str) -> Adapter:
    """A decoder's attention under transformers' mask of a window, with the cap and the sinks that its model has."""
    from transformers.integrations import sdpa_attention

    own = f"transformers.models.{model}.modeling_{model}"
    forward = (
        sdpa_attention.sdpa_attention_forward
        if backend == "sdpa"
        else import_module(own).eager_attention_forward
    )
    make, owner = window_mask(backend), nn.Module().eval()
    owner.is_causal = False  # type: ignore[assignment]

    def call(
        attend: Callable[..., Any],
        q: Tensor,
        k: Tensor,
        v: Tensor,
        sink: Tensor,
        cap: float,
        w: int,
        mask: Tensor | None,
        r: int,
        n: int,
        m: int,
        d_k: int,
    ) -> Any:
        seen = make(q, w, n, m)
        if mask is not None:
            seen = seen & mask if backend == "sdpa" else seen.masked_fill(~mask, torch.finfo(q.dtype).min)
        owner.num_key_value_groups, owner.sinks = r, sink  # type: ignore[assignment]
        softcap = {"softcap": cap} if model == "gemma2" else {}
        return attend(owner, q, k, v, seen, scaling=d_k**-0.5, **softcap)[0].transpose(1, 2)

    return function(forward, call, mask="b1nm", batch=1)


def our_decoder(parts: tuple[str, ...]) -> Callable[..., Any]:
    """``impl.attention.decoder_heads`` with these of its parts alone."""
    from impl.attention import decoder_heads

    def attend(
        q: Tensor, k: Tensor, v: Tensor, sink: Tensor, cap: float, w: int, mask: Tensor | None = None
    ) -> Tensor:
        given = {"sink": sink, "cap": cap, "w": w}
        return decoder_heads(q, k, v, **{name: given[name] for name in parts}, mask=mask)  # type: ignore[arg-type]

    return attend


def transformers_qk_norm(model: str) -> Adapter:
    """A model's attention over the fused kernel, unturned; projections pick queries, keys and values out of its input."""
    import transformers

    name = {"qwen3": "Qwen3", "gemma3": "Gemma3"}[model]
    owner: Any = import_module(f"transformers.models.{model}.modeling_{model}")
    config: Any = getattr(transformers, f"{name}TextConfig" if model == "gemma3" else f"{name}Config")

    def build(g: int, r: int, d_k: int, eps: float) -> nn.Module:
        widths, width = (g * r * d_k, g * d_k, g * d_k), 3 * g * r * d_k
        heads = {"num_attention_heads": g * r, "num_key_value_heads": g, "head_dim": d_k}
        scale = {"query_pre_attn_scalar": d_k} if model == "gemma3" else {}
        layers = {"num_hidden_layers": 1, "layer_types": ["full_attention"]}
        made = config(hidden_size=width, rms_norm_eps=eps, **heads, **scale, **layers)
        made._attn_implementation = "sdpa"
        attention: nn.Module = getattr(owner, f"{name}Attention")(made, 0)
        picked = torch.eye(sum(widths), width).split(widths)
        with torch.no_grad():
            for projection, rows in zip("qkv", picked, strict=True):
                attention.get_submodule(f"{projection}_proj").weight.copy_(rows)  # type: ignore[operator]
            attention.o_proj.weight.copy_(picked[0].T)  # type: ignore[operator, union-attr]
        return attention

    def call(attend: nn.Module, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Any:
        x = torch.cat([each.transpose(1, 2).flatten(-2) for each in (q, k, v)], -1)
        x = F.pad(x, (0, 3 * q.shape[1] * q.shape[-1] - x.shape[-1]))
        turns = x.new_ones(*x.shape[:2], q.shape[-1]), x.new_zeros(*x.shape[:2], q.shape[-1])
        z = attend(x, turns, mask)[0][..., : q.shape[1] * q.shape[-1]]
        return z.unflatten(-1, (q.shape[1], q.shape[-1])).transpose(1, 2)

    def weights(gamma_q: Tensor, gamma_k: Tensor) -> State:
        return {"q_norm.weight": gamma_q, "k_norm.weight": gamma_k, "*_proj.weight": None}

    return module(build, weights, call, mask="b1nm always", batch=1)
