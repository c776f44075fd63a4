"""Greedy and beam search over a Transformer, beside the same weights in transformers' Marian and its ``generate``.

Both say the same words, and have the same logits of whole targets: that is asserted in float64 before anything is timed.
"""

from collections.abc import Iterator
from copy import deepcopy
from functools import partial

import torch
from torch import Tensor
from transformers import GenerationConfig, MarianConfig, MarianMTModel

from benchmarks.harness import Comparison, seeded
from impl.decoding import beam, greedy
from impl.transformer import Conditioned, Transformer, TransformerConfig

V, D, H, F, L = 8192, 384, 12, 1536, 6
M, NEW, K = 32, 128, 4
BEGIN = V - 1
TARGET = 2.0

NAMES = {
    "self_attention": "self_attn",
    "cross_attention": "encoder_attn",
    "attn.out.": "attn.out_proj.",
    "feed_forward.expand": "fc1",
    "feed_forward.contract": "fc2",
    "residual_self.norm": "self_attn_layer_norm",
    "residual_cross.norm": "encoder_attn_layer_norm",
    "residual_feed_forward.norm": "final_layer_norm",
}
"""Our name of a part, and Marian's."""


def entries(quick: bool) -> Iterator[Comparison]:
    """From sources of ``M`` words to ``NEW`` words each, the encoder's work included."""
    generator = seeded(L)
    config = TransformerConfig(V, V, D, H, F, L, L, positions="learned", max_length=2 * NEW)
    ours = Transformer(config, generator=generator).eval()
    for layer in ours.decoder.layers:  # adds little to its words, else an untrained model repeats one
        for last in (layer.self_attention.out, layer.cross_attention.out, layer.feed_forward.contract):
            last.weight.mul_(0.25)
    theirs = marian(ours)
    sources = torch.randint(V - 1, (8, M), generator=generator)
    assert_same(ours, theirs, sources)
    new = NEW // 4 if quick else NEW
    for b in (1, 8):
        yield Comparison(
            f"greedy decoding, {new} words",
            f"{b}×{M}",
            partial(by_greedy, ours, sources[:b], new),
            {"transformers": partial(generated, theirs, sources[:b], new, 1)},
            TARGET,
        )
    for b in (1, 8):
        yield Comparison(
            f"beam search, k={K}, {new} words",
            f"{b}×{M}",
            partial(by_beam, ours, sources[:b], new),
            {"transformers": partial(generated, theirs, sources[:b], new, K)},
            TARGET,
        )


def by_greedy(model: Transformer, sources: Tensor, new: int) -> Tensor:
    """The words that ours says greedily."""
    begin = torch.full_like(sources[:, :1], BEGIN)
    return greedy(Conditioned(model, sources), begin, max_length=new).tokens


def by_beam(model: Transformer, sources: Tensor, new: int) -> Tensor:
    """The words of the best of ``K`` beams."""
    begin = torch.full_like(sources[:, :1], BEGIN)
    return beam(Conditioned(model, sources), begin, width=K, max_length=new).tokens[:, 0]


def generated(model: MarianMTModel, sources: Tensor, new: int, beams: int) -> Tensor:
    """The words that transformers says, the first of which begins; by its beams' scores without a length penalty."""
    options = GenerationConfig(
        max_new_tokens=new,
        num_beams=beams,
        length_penalty=0.0 if beams > 1 else None,
        do_sample=False,
        decoder_start_token_id=BEGIN,
        pad_token_id=BEGIN,
    )
    mask = torch.ones_like(sources)
    return model.generate(sources, attention_mask=mask, generation_config=options)[:, 1:]


def marian(ours: Transformer) -> MarianMTModel:
    """transformers' Marian of the same sizes, with our weights. Both read Marian's table of positions, which is a constant, and
    one table of words.
    """
    config = MarianConfig(
        vocab_size=V,
        d_model=D,
        encoder_layers=L,
        decoder_layers=L,
        encoder_attention_heads=H,
        decoder_attention_heads=H,
        encoder_ffn_dim=F,
        decoder_ffn_dim=F,
        activation_function="relu",
        max_position_embeddings=ours.config.max_length,
        scale_embedding=ours.config.scaled,
        tie_word_embeddings=False,
        pad_token_id=BEGIN,
        decoder_start_token_id=BEGIN,
        bos_token_id=None,
        eos_token_id=None,
        forced_eos_token_id=None,
    )
    theirs = MarianMTModel(config).eval()
    tables = {"source": theirs.model.encoder.embed_positions, "target": theirs.model.decoder.embed_positions}
    for name, table in tables.items():
        getattr(ours, name).W_PE.data.copy_(table.weight)
    ours.source.E.data.copy_(ours.target.E)
    state = {"model.shared.weight": ours.target.E, "lm_head.weight": ours.W_o}
    for stack in ("encoder", "decoder"):
        state[f"model.{stack}.embed_tokens.weight"] = ours.target.E
        for name, x in getattr(ours, stack).state_dict().items():
            state |= {f"model.{stack}.{theirs_}": part for theirs_, part in _renamed(name, x)}
    missing, unexpected = theirs.load_state_dict(state, strict=False)
    assert not unexpected, unexpected
    assert all("embed_positions" in name or name == "final_logits_bias" for name in missing), missing
    return theirs


def _renamed(name: str, x: Tensor) -> Iterator[tuple[str, Tensor]]:
    """A parameter of one of our stacks under Marian's name, or its names where ours is packed."""
    for ours, theirs in NAMES.items():
        name = name.replace(ours, theirs)
    layer = next((each for each in ("qkv", "q", "kv") if f".{each}." in name), "")
    for part, y in zip(layer, x.chunk(max(len(layer), 1)), strict=True) if layer else ():
        yield name.replace(f".{layer}.", f".{part}_proj."), y
    if not layer:
        yield name, x


def assert_same(ours: Transformer, theirs: MarianMTModel, sources: Tensor, new: int = 16) -> None:
    """Equal logits of whole targets, and equal words found, in float64: its rounding decides no word."""
    ours, theirs, targets = deepcopy(ours).double(), deepcopy(theirs).double(), sources.flip(-1)
    said = theirs(sources, torch.ones_like(sources), targets).logits
    # Some thousand roundings of 1e-16 each, which layers with norms leave as they are: far below 1e-10.
    assert (ours(sources, targets) - said).abs().max() < 1e-10 * said.abs().max()
    for find, beams in ((by_greedy, 1), (by_beam, K)):
        words = find(ours, sources, new)
        assert torch.equal(words, generated(theirs, sources, new, beams))
        assert len(words.unique()) > new, "a model that repeats one word shows nothing"
