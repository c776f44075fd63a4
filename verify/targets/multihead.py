"""Multi-head attention of peers, adapted to per-head weights, and to masks in which True means "may attend"."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from verify.targets.flattening import called, flat, hollow, opened

# The adapters need no model of a hub.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

Adapted = Callable[..., Any]


def rows(W: Tensor) -> Tensor:
    """Weights (h, d_model, c) as those of one linear layer (h·c, d_model), head below head."""
    return W.transpose(-1, -2).flatten(0, 1)


# torch ----------------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _torch_module(width: int, heads: int, training: bool) -> nn.Module:
    return hollow(lambda: nn.MultiheadAttention(width, heads, batch_first=True), training)


def _torch_weights(W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor) -> dict[str, Tensor]:
    packed = torch.cat([rows(W_q), rows(W_k), rows(W_v)])
    return {
        "in_proj_weight": packed,
        "in_proj_bias": packed.new_zeros(len(packed)),
        "out_proj.weight": W_o.mT,
        "out_proj.bias": W_o.new_zeros(W_o.shape[1]),
    }


def _dropped(mask: Tensor | None, lead: torch.Size, heads: int) -> Tensor | None:
    """The mask as ``nn.MultiheadAttention`` takes it: True drops, one for each head of each member."""
    return None if mask is None else ~flat(mask, lead, 2).repeat_interleave(heads, 0)


def torch_multi_head(training: bool) -> Adapted:
    """``nn.MultiheadAttention``: in training it computes weights, in evaluation it goes to the fused kernel."""

    def multi_head(
        x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        lead, heads = x.shape[:-2], W_q.shape[0]
        x, y = flat(x, lead, 2), flat(y, lead, 2)
        module = _torch_module(x.shape[-1], heads, training)
        weights = _torch_weights(W_q, W_k, W_v, W_o)
        given = {"need_weights": training, "attn_mask": _dropped(mask, lead, heads)}
        return opened(called(module, weights, x, y, y, **given)[0], lead)

    return multi_head


def torch_fast_path() -> Adapted:
    """``nn.MultiheadAttention`` where it calls ``torch._native_multi_head_attention``: self-attention in evaluation.

    Queries and keys are one sequence [x; y] there; the mask lets x look at y alone (what y gets is thrown away).
    """

    def multi_head(
        x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        lead, heads, n = x.shape[:-2], W_q.shape[0], x.shape[-2]
        with torch.no_grad():
            one, joint = joined(x, y, mask, lead)
            module = _torch_module(x.shape[-1], heads, False)
            weights = _torch_weights(W_q, W_k, W_v, W_o)
            given = {"need_weights": False, "attn_mask": _dropped(joint, one.shape[:1], heads)}
            return opened(called(module, weights, one, one, one, **given)[0][:, :n], lead)

    return multi_head


def joined(x: Tensor, y: Tensor, mask: Tensor | None, lead: torch.Size) -> tuple[Tensor, Tensor]:
    """One sequence [x; y] for each member, and the mask in which x looks at y alone, and y at nothing."""
    n, m = x.shape[-2], y.shape[-2]
    one = torch.cat([flat(x, lead, 2), flat(y, lead, 2)], 1)
    looks = torch.zeros(len(one), n + m, n + m, dtype=torch.bool, device=x.device)
    looks[:, :n, n:] = True if mask is None else flat(mask, lead, 2)
    return one, looks


# transformers ---------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _bert(kind: str, width: int, heads: int, backend: str) -> nn.Module:
    from transformers import BertConfig
    from transformers.models.bert import modeling_bert

    config = BertConfig(hidden_size=width, num_attention_heads=heads)
    config._attn_implementation = backend
    return hollow(lambda: getattr(modeling_bert, kind)(config))


def _bert_weights(W_q: Tensor, W_k: Tensor, W_v: Tensor) -> dict[str, Tensor]:
    made: dict[str, Tensor] = {}
    for name, W in (("query", W_q), ("key", W_k), ("value", W_v)):
        made |= {f"{name}.weight": rows(W), f"{name}.bias": W.new_zeros(W.shape[0] * W.shape[-1])}
    return made


def _bert_mask(looks: Tensor, dtype: torch.dtype, backend: str) -> Tensor:
    """The mask as transformers makes it: boolean for the fused kernel, else finfo.min where nothing is seen; for all heads."""
    looks = looks.unsqueeze(1)
    if backend == "sdpa":
        return looks
    return torch.zeros(looks.shape, dtype=dtype, device=looks.device).masked_fill(
        ~looks, torch.finfo(dtype).min
    )


def bert_self(backend: str) -> Adapted:
    """``BertSelfAttention`` of the one sequence [x; y], and the product that BERT's output layer begins with."""

    def multi_head(
        x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        lead, n = x.shape[:-2], x.shape[-2]
        one, looks = joined(x, y, mask, lead)
        module = _bert("BertSelfAttention", x.shape[-1], W_q.shape[0], backend)
        weights = _bert_weights(W_q, W_k, W_v)
        out, _ = called(module, weights, one, attention_mask=_bert_mask(looks, x.dtype, backend))
        return opened(F.linear(out[:, :n], W_o.mT), lead)

    return multi_head


def bert_cross(backend: str) -> Adapted:
    """``BertCrossAttention``, and the product that BERT's output layer begins with."""

    def multi_head(
        x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        lead = x.shape[:-2]
        module = _bert("BertCrossAttention", x.shape[-1], W_q.shape[0], backend)
        given = None if mask is None else _bert_mask(flat(mask, lead, 2), x.dtype, backend)
        out, _ = called(
            module, _bert_weights(W_q, W_k, W_v), flat(x, lead, 2), flat(y, lead, 2), attention_mask=given
        )
        return opened(F.linear(out, W_o.mT), lead)

    return multi_head
