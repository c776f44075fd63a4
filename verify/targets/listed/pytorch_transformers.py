"""Layers and models of pytorch-transformers, which transformers no longer has."""

from __future__ import annotations

from verify.targets.listed.entries import EVEN
from verify.targets.target import Target

PASSED = {"gradient": "passed"}
HEADS = {"d_v": "d_k"}

PYTORCH_TRANSFORMERS = (
    Target(
        "pytorch-transformers",
        "RelPartialLearnableDecoderLayer",
        "transformer_xl.layer",
        "transformer_xl:layer",
        PASSED,
        "the gradient of the memory is stopped by whoever keeps it; distances are of one text, so it is called for each member",
        HEADS,
    ),
    Target(
        "pytorch-transformers",
        "TransfoXLModel",
        "transformer_xl.model",
        "transformer_xl:model",
        {**PASSED, "arithmetic": "float32"},
        "its frequencies are kept in float32",
        {**HEADS, "d_model": EVEN["d"]},
    ),
)
