"""Layers of linformer and linformer-pytorch."""

from __future__ import annotations

from verify.targets.target import Target

LINFORMERS = (
    Target(
        "linformer",
        "LinformerSelfAttention",
        "attention.linformer",
        "linformers:linformer",
        differs="its projections along the sequence have no biases; made for texts that are longer",
        sizes={"d_v": "d_k"},
        fixed={"b_E": 0.0, "b_F": 0.0},
    ),
    *(
        Target(
            "linformer-pytorch",
            f"LinearAttentionHead({shown})",
            "attention.linformer",
            "linformers:linformer_pytorch",
            {"sharing": sharing},
            keywords={"shared": sharing == "keys_and_values"},
        )
        for shown, sharing in (("headwise", "separate"), ("kv", "keys_and_values"))
    ),
)
