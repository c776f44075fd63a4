"""Implementations of Hugging Face transformers, adapted to the declared input order and otherwise as they are."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Generator, Tensor

from verify.targets.flattening import called, hollow

# The adapters need no model and no tokenizer of a hub.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

Adapted = Callable[..., Any]


def _heads(x: Tensor, lead: torch.Size) -> Tensor:
    """(… n d) as (batch, 1 head, n, d), which is what attention functions take."""
    return x.expand(*lead, *x.shape[-2:]).reshape(-1, 1, *x.shape[-2:])


def _attend(forward: Callable[..., Any], additive: bool) -> Adapted:
    module = torch.nn.Module().eval()
    module.is_causal = False  # type: ignore[assignment]

    def scaled_dot_product(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        lead = torch.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
        given = None if mask is None else _heads(mask, lead)
        if given is not None and additive:
            given = torch.zeros(given.shape, dtype=q.dtype, device=q.device).masked_fill(
                ~given, torch.finfo(q.dtype).min
            )
        out, _ = forward(module, _heads(q, lead), _heads(k, lead), _heads(v, lead), given)
        return out.transpose(1, 2).reshape(*lead, q.shape[-2], v.shape[-1])  # type: ignore[no-any-return]

    return scaled_dot_product


def sdpa() -> Adapted:
    """``sdpa_attention_forward`` with a boolean mask."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    return _attend(sdpa_attention_forward, additive=False)


def eager() -> Adapted:
    """BERT's ``eager_attention_forward`` with an additive mask of ``finfo.min``, as transformers makes it."""
    from transformers.models.bert.modeling_bert import eager_attention_forward

    return _attend(eager_attention_forward, additive=True)


def marian() -> Adapted:
    """The sinusoidal table of Marian (BART, PEGASUS and others copy it)."""
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    def sinusoidal(n: int, d: int) -> Tensor:
        # The module is made anew for each size, and making any embedding draws weights, here thrown away.
        with torch.random.fork_rng(devices=[]):
            module = MarianSinusoidalPositionalEmbedding(n, d)
        return module.create_weight()  # type: ignore[no-any-return, no-untyped-call]

    return sinusoidal


def m2m100() -> Adapted:
    """The sinusoidal table of M2M-100, which fairseq's and tensor2tensor's resemble, from its row for position 0 on."""
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding

    def sinusoidal(n: int, d: int) -> Tensor:
        return M2M100SinusoidalPositionalEmbedding.get_embedding(n, d, None)  # type: ignore[no-any-return]

    return sinusoidal


def convnext() -> Adapted:
    """ConvNeXt's layer normalisation of (batch, channels, height, width), each vector as one pixel."""
    from transformers.models.convnext.modeling_convnext import ConvNextLayerNorm

    def normalised(x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
        d = x.shape[-1]
        module = ConvNextLayerNorm(d, eps=eps, data_format="channels_first")  # type: ignore[no-untyped-call]
        module.to(x.device, x.dtype)
        out = torch.func.functional_call(module, {"weight": gamma, "bias": beta}, (x.reshape(-1, d, 1, 1),))
        return out.reshape(x.shape)  # type: ignore[no-any-return]

    return normalised


def llama_rms_norm() -> Adapted:
    """LLaMA's ``LlamaRMSNorm`` with the gain put in as its parameter."""
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

    return _rms_norm(LlamaRMSNorm)


def t5_layer_norm() -> Adapted:
    """T5's ``T5LayerNorm``, which subtracts no mean and has no bias; the gain is put in as its parameter."""
    from transformers.models.t5.modeling_t5 import T5LayerNorm

    return _rms_norm(T5LayerNorm)


def _rms_norm(make: Callable[..., torch.nn.Module]) -> Adapted:
    def normalised(x: Tensor, gamma: Tensor, eps: float) -> Tensor:
        return called(hollow(lambda: make(len(gamma), eps=eps)), {"weight": gamma}, x)  # type: ignore[no-any-return]

    return normalised


class _Words(SimpleNamespace):
    """As much of a tokenizer as the collator's corruption asks for: a [MASK] and a length."""

    def __len__(self) -> int:
        return int(self.vocab_size)

    def convert_tokens_to_ids(self, token: str) -> int:
        """The id of [MASK], the only token asked for."""
        return int(self.mask_token_id)


def collator() -> Adapted:
    """The corruption of ``DataCollatorForLanguageModeling``; it works in place, so it is given a copy, as in a batch."""
    from transformers import DataCollatorForLanguageModeling

    def mlm(
        ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
    ) -> tuple[Tensor, Tensor]:
        words = _Words(mask_token="[MASK]", mask_token_id=mask_id, vocab_size=vocab_size, pad_token="[PAD]")
        collate = DataCollatorForLanguageModeling(words)  # type: ignore[arg-type]
        collate.generator = generator
        corrupted, labels = collate.torch_mask_tokens(ids.clone(), special_tokens_mask=special)
        return corrupted, labels

    return mlm
