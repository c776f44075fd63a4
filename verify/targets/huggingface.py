"""Implementations of Hugging Face transformers, adapted to the declared input order and otherwise as they are."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Generator, Tensor

from verify.adapt import Adapter, function, module

Adapted = Callable[..., Any]


def _attend(forward: Callable[..., Any], mask: str) -> Adapter:
    owner = torch.nn.Module().eval()
    owner.is_causal = False  # type: ignore[assignment]

    def call(attend: Callable[..., Any], q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Any:
        return attend(owner, q, k, v, mask)[0].transpose(1, 2)

    return function(forward, call, mask=mask, heads_axis=1)


def sdpa() -> Adapter:
    """``sdpa_attention_forward`` with a boolean mask."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    return _attend(sdpa_attention_forward, "bool")


def eager() -> Adapter:
    """BERT's ``eager_attention_forward`` with an additive mask of ``finfo.min``, as transformers makes it."""
    from transformers.models.bert.modeling_bert import eager_attention_forward

    return _attend(eager_attention_forward, "additive=min")


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


def convnext() -> Adapter:
    """ConvNeXt's layer normalisation of (batch, channels, height, width), each vector as one pixel."""
    from transformers.models.convnext.modeling_convnext import ConvNextLayerNorm

    return module(
        lambda d, eps: ConvNextLayerNorm(d, eps=eps, data_format="channels_first"),  # type: ignore[no-untyped-call]
        lambda gamma, beta: {"weight": gamma, "bias": beta},
        lambda norm, x: norm(x[:, :, None, None])[:, :, 0, 0],
    )


def llama_rms_norm() -> Adapter:
    """LLaMA's ``LlamaRMSNorm`` with the gain put in as its parameter."""
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

    return module(lambda d, eps: LlamaRMSNorm(d, eps), lambda gamma: {"weight": gamma}, batch=None)


def gemma_rms_norm() -> Adapter:
    """Gemma's ``GemmaRMSNorm``, whose parameter is 0 at first: the gain is one more."""
    from transformers.models.gemma.modeling_gemma import GemmaRMSNorm

    return module(lambda d, eps: GemmaRMSNorm(d, eps), lambda gamma: {"weight": gamma}, batch=None)


def t5_layer_norm() -> Adapter:
    """T5's ``T5LayerNorm``, which subtracts no mean and has no bias; the gain is put in as its parameter."""
    from transformers.models.t5.modeling_t5 import T5LayerNorm

    return module(lambda d, eps: T5LayerNorm(d, eps), lambda gamma: {"weight": gamma}, batch=None)  # type: ignore[no-untyped-call]


def new_gelu() -> Adapted:
    """GPT-2's ``NewGELUActivation``: GELU by tanh, written out."""
    from transformers.activations import NewGELUActivation

    bend = NewGELUActivation()
    return lambda x: bend(x)


class _Words(SimpleNamespace):
    """As much of a tokenizer as the collator's corruption asks for: a [MASK], a length, and that it knows offsets."""

    is_fast = True

    def __len__(self) -> int:
        return int(self.vocab_size)

    def convert_tokens_to_ids(self, token: str) -> int:
        """The id of [MASK], the only token asked for."""
        return int(self.mask_token_id)


def _collator() -> Any:
    """The class, whose import may load much and draw random numbers: no call of what is checked is to do that."""
    from transformers import DataCollatorForLanguageModeling

    return DataCollatorForLanguageModeling


def collator() -> Adapted:
    """The corruption of ``DataCollatorForLanguageModeling``; it works in place, so it is given a copy, as in a batch."""
    _collator()

    def mlm(
        ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
    ) -> tuple[Tensor, Tensor]:
        collate = _collate(mask_id, vocab_size, generator)
        corrupted, labels = collate.torch_mask_tokens(ids.clone(), special_tokens_mask=special)
        return corrupted, labels

    return mlm


def whole_word_collator() -> Adapted:
    """The same with ``whole_word_mask``. It learns from a tokenizer's offsets which tokens continue a word: these begin in the
    text where the one before ends. Each token is one character here, and a word has a space before it.
    """
    _collator()

    def whole_words(
        ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
    ) -> tuple[Tensor, Tensor]:
        # Any other mask_replace_prob is set to 1, with a warning.
        how = {"whole_word_mask": True, "mask_replace_prob": 1.0, "random_replace_prob": 0.0}
        collate = _collate(mask_id, vocab_size, generator, **how)
        shape = (-1, ids.shape[-1])  # it takes two dimensions
        end = (2 - continues.reshape(shape).long()).cumsum(-1)
        corrupted, labels = collate.torch_mask_tokens(
            ids.reshape(shape).clone(),
            special_tokens_mask=special.reshape(shape),
            offset_mapping=torch.stack([end - 1, end], -1),
        )
        return corrupted.reshape(ids.shape), labels.reshape(ids.shape)

    return whole_words


def _collate(mask_id: int, vocab_size: int, generator: Generator, **how: Any) -> Any:
    """The collator with as much of a tokenizer as it needs, and with the generator that it draws from."""
    words = _Words(mask_token="[MASK]", mask_token_id=mask_id, vocab_size=vocab_size, pad_token="[PAD]")
    collate = _collator()(words, **how)
    collate.generator = generator
    return collate
