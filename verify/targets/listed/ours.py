"""Ours: what ``impl`` has for each formula, and the same once more under other conventions or on other paths."""

from __future__ import annotations

from dataclasses import replace

from spec.language.registry import statement_ids
from verify.targets.listed.entries import EVEN, SHORT, ours
from verify.targets.ours import is_implemented
from verify.targets.target import Target

PARTS = {"w": "window", "cap": "cap", "sink": "sinks"}
"""The parts of a decoder's heads that may be left out, and the convention that says so."""
FURTHER = (
    ours("recurrent.lstm", {"gate_order": "gifo"}, gate_order="gifo"),
    ours("recurrent.gru", {"reset": "before"}, reset="before"),
    ours("recurrent.gru", {"update": "renews", "gate_order": "zrn"}, update="renews", gate_order="zrn"),
    ours("attention.scaled_dot_product", backend="math"),
    ours("attention.causal", {"alignment": "upper_left"}, alignment="upper_left"),
    ours("attention.multi_head", backend="math"),
    ours("attention.relative", backend="math"),
    ours("attention.local", {"window": "whole"}, window="whole"),
    ours("attention.window", {"sides": "both"}, sides="both"),
    ours("attention.window", backend="math"),
    ours("attention.bigbird", {"repeats": "each"}, repeats="each"),
    ours("attention.linformer", {"sharing": "keys_and_values"}, sharing="keys_and_values"),
    ours("attention.grouped_query", backend="math"),
    ours("attention.qk_norm", {"gain": "one_plus"}, gain="one_plus"),
    *(
        Target(
            "impl",
            f"impl.attention.decoder_heads({', '.join(parts)})",
            "attention.decoder_heads",
            "grouped:our_decoder",
            {name: "none" for part, name in PARTS.items() if part not in parts},
            keywords={"parts": parts},
        )
        for parts in ((), ("w",), ("w", "cap"), ("w", "sink"))
    ),
    ours("attention.cached", backend="math"),
    ours("positional.turned", {"pairs": "halves"}, pairs="halves"),
    ours("positional.rotary", {"pairs": "halves"}, pairs="halves"),
    ours("positional.partial_rotary", {"pairs": "halves"}, pairs="halves"),
    ours("positional.frequencies", {"scaling": "ntk"}, scaling="ntk"),
    ours("positional.yarn", {"ramp": "pairs", "lengths": "stay"}, ramp="pairs", lengths="stay"),
    replace(ours("positional.yarn", {"ramp": "whole"}, ramp="whole"), fixed={"base": 150.0}),
    ours("positional.sinusoidal", {"layout": "concatenated"}, layout="concatenated"),
    replace(ours("positional.sinusoidal", {"frequencies": "closed"}, frequencies="closed"), sizes=EVEN),
    ours("feedforward.gelu", {"approximation": "tanh"}, approximation="tanh"),
    ours("transformer.encoder_layer", {"norm": "pre"}, norm="pre"),
    ours("bert.layer", {"approximation": "tanh"}, approximation="tanh"),
    ours("bert.layer", {"norm": "pre", "activation": "relu"}, norm="pre", activation="relu"),
    ours("gpt.layer", {"norm": "post", "approximation": "none"}, norm="post", approximation="none"),
    ours("gpt.model", {"norm": "post"}, norm="post"),
    *(
        Target(
            "impl",
            f"impl.gpt.GPT({norm})",
            "gpt.model",
            "gpt_models:ours",
            {"norm": norm},
            sizes=SHORT,
            keywords={"norm": norm},
        )
        for norm in ("pre", "post")
    ),
    ours("transformer_xl.attention", {"gradient": "passed"}, gradient="passed"),
    ours("transformer_xl.layer", {"gradient": "passed"}, gradient="passed"),
    ours("transformer_xl.model", {"layout": "interleaved"}, layout="interleaved"),
    ours("normalization.rms_norm", {"gain": "one_plus"}, gain="one_plus"),
    ours("normalization.add_rms_norm", {"gain": "one_plus"}, gain="one_plus"),
    ours("activation.gelu", {"approximation": "tanh"}, approximation="tanh"),
    *(
        ours("feedforward.gated", {"activation": option}, activation=option)
        for option in ("gelu", "relu", "sigmoid", "none")
    ),
    ours(
        "feedforward.gated",
        {"activation": "gelu", "approximation": "tanh"},
        activation="gelu",
        approximation="tanh",
    ),
    *(ours("optimization.adamw", {"decay": option}, decay=option) for option in ("by_itself", "l2")),
    ours("routing.top_k", {"weights": "shares"}, weights="shares"),
    ours("routing.capacity", {"weights": "shares", "order": "choices"}, weights="shares", order="choices"),
    ours("llama.attention", {"pairs": "interleaved"}, pairs="interleaved"),
    ours(
        "llama.layer",
        {"activation": "gelu", "approximation": "tanh", "gain": "one_plus"},
        activation="gelu",
        approximation="tanh",
        gain="one_plus",
    ),
    ours("transformer.decoder_layer", {"norm": "pre"}, norm="pre"),
    ours("transformer.biased_decoder_layer", {"norm": "pre"}, norm="pre"),
    ours("transformer.biased_decoder_layer", {"activation": "gelu"}, activation="gelu"),
    ours("transformer.cost", {"projections": "counted"}, projections="counted"),
    ours("objectives.cross_entropy", {"smoothing": "others"}, smoothing="others"),
    ours("objectives.linear_cross_entropy", block=64),
    ours("objectives.linear_cross_entropy", {"smoothing": "others"}, smoothing="others", block=64),
    ours("objectives.distillation", {"divergence": "cross_entropy"}, divergence="cross_entropy"),
    ours("masking.mlm", {"selection": "exact_count"}, selection="exact_count"),
    ours("masking.mlm", {"selection": "count_of_all"}, selection="count_of_all"),
    ours("masking.whole_words", {"replacement": "always_mask"}, replacement="always_mask"),
    ours("masking.nsp", {"negatives": "other_document"}, negatives="other_document"),
    ours("masking.nsp", {"negatives": "any"}, negatives="any"),
    ours("bert.features", {"first": "layer_1"}, first="layer_1"),
    ours("bert.head_mlm", {"approximation": "tanh"}, approximation="tanh"),
    ours("vision.encoder", {"epsilon": "transformers"}, eps=1e-12),
)
"""Ours once more, under another convention or on another path."""

TOKENIZER = (
    Target(
        "impl", "impl.bert.WordPiece", "bert.wordpiece", "tokenizing:our_tokenizer", differs="given words"
    ),
    Target("impl", "impl.bert.WordPiece", "bert.pack", "tokenizing:packed_by_our_tokenizer"),
    Target(
        "impl", "impl.gpt.BytePairs", "gpt.bpe", "tokenizing:our_pairs", differs="given each word as a text"
    ),
)
"""The tokenizers for whole texts."""

OURS = tuple(
    target
    for formula_id in statement_ids()
    if is_implemented(formula_id)
    for target in (ours(formula_id), *(t for t in (*FURTHER, *TOKENIZER) if t.formula_id == formula_id))
)
"""Every formula that ``impl`` has a function for, as it is called without further arguments; then what it does besides."""
