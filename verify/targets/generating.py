"""Decoders of other libraries, with small models of their own made from a seed, under the contract of :mod:`verify.decoding`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import verify.targets.huggingface  # noqa: F401  (says that no hub is asked)

WIDTH, HEADS, LAYERS, POSITIONS = 16, 2, 2, 32
"""The sizes of the models: tiny, with everything a real one has."""
SPREAD = 0.5
"""The standard deviation of their weights: with the usual 0.02 all words would be about equally likely."""


def _make_seeded(make: Callable[[], nn.Module], seed: int, dtype: torch.dtype = torch.float64) -> nn.Module:
    """A model whose weights are drawn from a seed, the global generator left alone."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        module = make().to(dtype).eval()
        for parameter in module.parameters():
            if parameter.dim() > 1:
                parameter.data.normal_(std=SPREAD)
    return module.requires_grad_(False)


# transformers -------------------------------------------------------------------------------------------------------------


class HuggingFace(nn.Module):
    """A causal language model of transformers; ``cached`` is what its ``generate`` is told."""

    cached = True
    precision = "float32"  # that of generate's scores, whatever the model's

    def __init__(self, family: str, vocabulary: int, seed: int) -> None:
        super().__init__()
        self.inner = _make_seeded(lambda: _language_model(family, vocabulary), seed)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits (r n V)."""
        return self.inner(tokens, use_cache=False).logits  # type: ignore[no-any-return]


def _language_model(family: str, vocabulary: int) -> nn.Module:
    import transformers

    ids: dict[str, Any] = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    if family == "gpt2":
        return transformers.GPT2LMHeadModel(
            transformers.GPT2Config(
                vocab_size=vocabulary,
                n_positions=POSITIONS,
                n_embd=WIDTH,
                n_layer=LAYERS,
                n_head=HEADS,
                **ids,
            )
        )
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=vocabulary, hidden_size=WIDTH, intermediate_size=2 * WIDTH, num_hidden_layers=LAYERS,
            num_attention_heads=HEADS, max_position_embeddings=POSITIONS, **ids,
        )
    )  # fmt: skip


def _generate(model: HuggingFace, prompts: Tensor, lengths: Tensor, end: int | None, **asked: Any) -> Any:
    """``generate`` for prompts padded on the left, as it wants them; ``end`` stands in for what it pads with, too."""
    n = prompts.shape[1]
    place = torch.arange(n) - (n - lengths).unsqueeze(1)
    mask = place >= 0
    given = prompts.gather(1, place.clamp(min=0)).masked_fill(~mask, 0)
    return model.inner.generate(  # type: ignore[operator]
        given, attention_mask=mask.long(), use_cache=model.cached, do_sample=False, eos_token_id=end,
        pad_token_id=0 if end is None else end, return_dict_in_generate=True, output_scores=True, **asked,
    )  # fmt: skip


def greedy(family: str) -> Callable[..., Any]:
    """``generate(num_beams=1, do_sample=False)``; its log-probabilities are those of ``compute_transition_scores``."""

    def generate(
        model: HuggingFace, prompts: Tensor, *, lengths: Tensor, max_length: int, end: int | None
    ) -> tuple[Tensor, Tensor]:
        out = _generate(model, prompts, lengths, end, max_new_tokens=max_length, num_beams=1)
        tokens = out.sequences[:, prompts.shape[1] :]
        steps = model.inner.compute_transition_scores(out.sequences, out.scores, normalize_logits=True)  # type: ignore[operator]
        behind = torch.zeros_like(tokens, dtype=torch.bool)
        if end is not None:
            behind = ((tokens == end).cumsum(-1) - (tokens == end).long()) > 0
        return tokens, steps.masked_fill(behind, 0.0).sum(-1)

    generate.model = lambda vocabulary, seed: HuggingFace(family, vocabulary, seed)  # type: ignore[attr-defined]
    return generate


def beam(family: str, early_stopping: bool | str = False) -> Callable[..., Any]:
    """``generate(num_beams=k)``, which says scores alone."""

    def generate(
        model: HuggingFace, prompts: Tensor, *, lengths: Tensor, max_length: int, end: int | None, width: int,
        alpha: float,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        if width == 1:
            raise NotImplementedError("num_beams=1 is another search, greedy decoding, which says no scores")
        out = _generate(
            model, prompts, lengths, end, max_new_tokens=max_length, num_beams=width, num_return_sequences=width,
            length_penalty=alpha, early_stopping=early_stopping,
        )  # fmt: skip
        tokens = out.sequences[:, prompts.shape[1] :].view(len(prompts), width, -1)
        score = out.sequences_scores.view(tokens.shape[:2]).double()
        L = torch.full_like(score, tokens.shape[-1])
        if end is not None:
            L = ((tokens == end).cumsum(-1) == 0).sum(-1).add(1).clamp(max=tokens.shape[-1]).double()
        # A place that nothing took has a score of about −10⁹, where the contract has −∞.
        return tokens, (score * L**alpha).masked_fill(score < -1e6, -math.inf), score

    generate.model = lambda vocabulary, seed: HuggingFace(family, vocabulary, seed)  # type: ignore[attr-defined]
    return generate


def warpers() -> Callable[..., Any]:
    """``TemperatureLogitsWarper``, ``TopKLogitsWarper`` and ``TopPLogitsWarper``, as ``generate(do_sample=True)`` has them."""
    from transformers.generation.logits_process import (
        LogitsProcessorList,
        TemperatureLogitsWarper,
        TopKLogitsWarper,
        TopPLogitsWarper,
    )

    def sample(x: Tensor, T: float, k: int, p: float, generator: torch.Generator) -> Tensor:
        every = LogitsProcessorList(
            [TemperatureLogitsWarper(float(T)), TopKLogitsWarper(k), TopPLogitsWarper(float(p))]
        )
        seen: Any = torch.zeros(1, 0, dtype=torch.int64)  # the text so far, which these three do not look at
        warped: Any = every(seen, x.reshape(-1, x.shape[-1]))
        drawn = torch.multinomial(torch.softmax(warped, -1), 1, generator=generator)
        return drawn.reshape(x.shape[:-1])

    return sample


# x-transformers -----------------------------------------------------------------------------------------------------------


class XTransformers(nn.Module):
    """A decoder of x-transformers; ``cached`` is what its ``beam_search`` is told."""

    cached = True
    precision = "float32"  # in float64 its padded rows are NaN: it masks with finfo.min, which its softmax casts to float32

    def __init__(self, vocabulary: int, seed: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.inner = _make_seeded(lambda: _make_wrapper(vocabulary), seed, torch.float32)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits (r n V)."""
        return self.inner.net(tokens)  # type: ignore[no-any-return, operator]


def _make_wrapper(vocabulary: int) -> nn.Module:
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    layers = Decoder(dim=WIDTH, depth=LAYERS, heads=HEADS, attn_dim_head=WIDTH // HEADS)
    net = TransformerWrapper(num_tokens=vocabulary, max_seq_len=POSITIONS, attn_layers=layers)
    return AutoregressiveWrapper(net)  # type: ignore[no-any-return]


def beam_search() -> Callable[..., Any]:
    """``AutoregressiveWrapper.beam_search``, which knows no end, no penalty, and no more beams than words."""

    def search(
        model: XTransformers, prompts: Tensor, *, lengths: Tensor, max_length: int, width: int
    ) -> tuple[Tensor, Tensor]:
        if width > model.vocabulary:
            raise NotImplementedError("it takes its k best words from one row, which has fewer")
        tokens, scores = model.inner.beam_search(  # type: ignore[operator]
            prompts,
            max_length,
            beams=width,
            return_beams_and_scores=True,
            cache_kv=model.cached,
            prompt_lens=lengths,
        )
        return tokens.movedim(0, 1), scores.mT

    search.model = XTransformers  # type: ignore[attr-defined]
    return search
