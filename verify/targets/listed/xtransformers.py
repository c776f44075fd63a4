"""Layers and procedures of x-transformers."""

from __future__ import annotations

from verify.targets.target import Target

X_TRANSFORMERS = (
    Target(
        "x-transformers",
        "Attention",
        "attention.multi_head",
        "xtransformers:multi_head",
        keywords={"flash": False},
    ),
    Target(
        "x-transformers",
        "Attention(flash)",
        "attention.multi_head",
        "xtransformers:multi_head",
        keywords={"flash": True},
    ),
    Target(
        "x-transformers",
        "Attention(causal)",
        "attention.causal_multi_head",
        "gpt:xtransformers",
        differs="has no biases: x gets one more column, of ones, and b_o is added after it",
        keywords={"flash": False},
    ),
    Target(
        "x-transformers",
        "AutoregressiveWrapper.beam_search",
        "decoding.beam",
        "generating:beam_search",
        differs="a small decoder of its own; knows no end and no penalty",
    ),
)
