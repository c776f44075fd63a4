"""The targets as data: ours, as the registry and ``impl`` have them; PyTorch's, and those of other libraries, listed by hand.

No implementation is imported until a target is loaded.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spec.language.registry import statement_ids
from verify.targets.ours import implemented
from verify.targets.target import Target


def _ours(formula_id: str, conventions: dict[str, str] | None = None, **keywords: str | int) -> Target:
    said = ", ".join(f"{name}={value!r}" for name, value in keywords.items())
    shown = f"impl.{formula_id}" + (f"({said})" if said else "")
    given = {"formula_id": formula_id, **keywords}
    return Target("impl", shown, formula_id, "ours:implementation", conventions or {}, keywords=given)


def _torch(
    shown: str,
    formula_id: str,
    adapter: str,
    conventions: dict[str, str] | None = None,
    differs: str = "",
    sizes: dict[str, str] | None = None,
    **keywords: Any,
) -> Target:
    return Target("torch", shown, formula_id, adapter, conventions or {}, differs, sizes or {}, keywords)


UNSPECIFIED = {"fully_masked": "unspecified"}
NAN = "a fully masked row is NaN"
ONE_WIDTH = {"d_v": "d_k", "d_model": "h*d_k"}
"""The sizes of modules that divide d_model among the heads."""
EVEN = {"d": "4|6|14|26|62|134"}
"""Widths that hold sines and cosines alike, and more than a pair of them."""
NO_BIAS = "its biases are 0"
POLARITY = "its mask says what to drop, and is passed inverted"

FURTHER = (
    _ours("recurrent.lstm", {"gate_order": "gifo"}, gate_order="gifo"),
    _ours("recurrent.gru", {"reset": "before"}, reset="before"),
    _ours("recurrent.gru", {"update": "renews", "gate_order": "zrn"}, update="renews", gate_order="zrn"),
    _ours("attention.scaled_dot_product", backend="math"),
    _ours("attention.causal", {"alignment": "upper_left"}, alignment="upper_left"),
    _ours("attention.multi_head", backend="math"),
    _ours("attention.local", {"window": "whole"}, window="whole"),
    _ours("positional.sinusoidal", {"layout": "concatenated"}, layout="concatenated"),
    replace(_ours("positional.sinusoidal", {"frequencies": "closed"}, frequencies="closed"), sizes=EVEN),
    _ours("feedforward.gelu", {"approximation": "tanh"}, approximation="tanh"),
    _ours("transformer.encoder_layer", {"norm": "pre"}, norm="pre"),
    _ours("transformer.decoder_layer", {"norm": "pre"}, norm="pre"),
    _ours("transformer.cost", {"projections": "counted"}, projections="counted"),
    _ours("objectives.linear_cross_entropy", block=64),
    _ours("objectives.distillation", {"divergence": "cross_entropy"}, divergence="cross_entropy"),
    _ours("masking.mlm", {"selection": "exact_count"}, selection="exact_count"),
)
"""Ours once more, under another convention or on another path."""

OURS = tuple(
    target
    for formula_id in statement_ids()
    if implemented(formula_id)
    for target in (_ours(formula_id), *(t for t in FURTHER if t.formula_id == formula_id))
)
"""Every formula that ``impl`` has a function for, as it is called without further arguments; then what it does besides."""

NONE_ASKED = {"none_asked": "unspecified"}
ONE_MEAN = "one mean for a batch: called for each member; without a target it is NaN"
CLAMPED = "norms below 1e-8 count as 1e-8, so that a zero vector has cosine 0 and yet a gradient"

TORCH = (
    _torch("torch.linalg.vecdot", "similarity.dot", "pytorch:vecdot"),
    _torch(
        "torch.dot",
        "similarity.dot",
        "pytorch:one_by_one",
        differs="takes two vectors; called for each member of a batch",
        name="dot",
    ),
    _torch(
        "torch.inner",
        "similarity.dot",
        "pytorch:one_by_one",
        differs="takes all pairs of a batch; called for each member",
        name="inner",
    ),
    _torch(
        "F.cosine_similarity",
        "similarity.cosine",
        "pytorch:cosine_similarity",
        {"zero_vector": "unspecified"},
        CLAMPED,
    ),
    _torch("F.embedding", "embedding.token", "pytorch:embedding"),
    _torch("nn.Embedding", "embedding.token", "pytorch:embedding_module"),
    _torch(
        "nn.RNNCell", "recurrent.rnn_cell", "recurrences:rnn_cell", differs="the output is a product after it"
    ),
    _torch(
        "nn.RNN",
        "recurrent.rnn",
        "recurrences:rnn",
        differs="the distributions are a product and torch.softmax after it",
    ),
    _torch("nn.RNN(num_layers)", "recurrent.stacked", "recurrences:stacked"),
    _torch("nn.RNN(bidirectional)", "recurrent.bidirectional", "recurrences:bidirectional"),
    _torch("nn.LSTMCell", "recurrent.lstm_cell", "recurrences:lstm_cell", differs="its second bias is 0"),
    _torch("nn.LSTM", "recurrent.lstm", "recurrences:lstm", differs="its second bias is 0"),
    _torch(
        "nn.LSTM(num_layers)",
        "recurrent.lstm_stacked",
        "recurrences:lstm_stacked",
        differs="its second bias is 0",
    ),
    _torch(
        "nn.LSTM(bidirectional)",
        "recurrent.lstm_bidirectional",
        "recurrences:lstm_bidirectional",
        differs="its second bias is 0",
    ),
    _torch("nn.GRUCell", "recurrent.gru_cell", "recurrences:gru_cell"),
    _torch("nn.GRU", "recurrent.gru", "recurrences:gru"),
    _torch(
        "F.cross_entropy",
        "recurrent.bilm_objective",
        "pytorch:cross_entropy",
        differs="is the negative, of one direction at a time",
    ),
    _torch("torch.matmul", "scores.dot", "pytorch:matmul"),
    _torch("torch.baddbmm", "scores.scaled_dot", "pytorch:baddbmm", differs="called with the factor 1/√d_k"),
    _torch(
        "nn.Bilinear",
        "scores.general",
        "pytorch:bilinear",
        differs="takes pairs: called with every query beside every key",
    ),
    _torch(
        "F.cosine_similarity",
        "scores.cosine",
        "pytorch:cosine_scores",
        {"zero_vector": "unspecified"},
        CLAMPED,
    ),
    _torch("torch.softmax", "attention.softmax", "pytorch:softmax", UNSPECIFIED, f"masked by −∞; {NAN}"),
    _torch("F.scaled_dot_product_attention", "attention.scaled_dot_product", "pytorch:attention"),
    _torch(
        "F.scaled_dot_product_attention(is_causal)",
        "attention.causal",
        "pytorch:causal",
        {"alignment": "upper_left"},
        "the first query sees the first key",
    ),
    _torch(
        "nn.MultiheadAttention",
        "attention.multi_head",
        "multihead:torch_multi_head",
        UNSPECIFIED,
        f"{POLARITY}; {NO_BIAS}; {NAN}",
        ONE_WIDTH,
        training=True,
    ),
    _torch(
        "nn.MultiheadAttention(eval)",
        "attention.multi_head",
        "multihead:torch_multi_head",
        differs=f"{POLARITY}; {NO_BIAS}; need_weights=False goes to the fused kernel, where a fully masked row is 0",
        sizes=ONE_WIDTH,
        training=False,
    ),
    _torch(
        "nn.MultiheadAttention(fast path)",
        "attention.multi_head",
        "multihead:torch_fast_path",
        UNSPECIFIED,
        f"torch._native_multi_head_attention of the one sequence [x; y], without gradients; {POLARITY}; {NO_BIAS}; {NAN}",
        {"h": "2|4", **ONE_WIDTH},
    ),
    _torch(
        "nn.MultiheadAttention(is_causal)",
        "attention.causal_multi_head",
        "gpt:torch_causal",
        sizes=ONE_WIDTH,
        need_weights=False,
    ),
    _torch("F.embedding", "positional.learned", "pytorch:embedding"),
    _torch("F.layer_norm", "normalization.layer_norm", "pytorch:layer_norm"),
    _torch("nn.LayerNorm", "normalization.layer_norm", "pytorch:layer_norm_module"),
    _torch("F.rms_norm", "normalization.rms_norm", "pytorch:rms_norm"),
    *(
        _torch(
            f"{name}({how})" if how else name,
            f"transformer.{formula}",
            f"layers:{formula.removesuffix('_layer')}",
            {"norm": "pre"} if options.get("norm_first") else {},
            f"{POLARITY}; {NO_BIAS} in attention; a fully masked row is 0",
            ONE_WIDTH,
            stacked=not formula.endswith("_layer"),
            **options,
        )
        for name, formula, how, options in (
            ("nn.TransformerEncoderLayer", "encoder_layer", "", {"training": True}),
            (
                "nn.TransformerEncoderLayer",
                "encoder_layer",
                "norm_first",
                {"training": True, "norm_first": True},
            ),
            ("nn.TransformerDecoderLayer", "decoder_layer", "", {"training": True}),
            (
                "nn.TransformerDecoderLayer",
                "decoder_layer",
                "norm_first",
                {"training": True, "norm_first": True},
            ),
            ("nn.TransformerEncoder", "encoder", "", {"training": True}),
            ("nn.TransformerDecoder", "decoder", "", {"training": True}),
        )
    ),
    _torch(
        "nn.TransformerEncoderLayer(fast path)",
        "transformer.encoder_layer",
        "layers:encoder",
        UNSPECIFIED,
        f"torch._transformer_encoder_layer_fwd, without gradients; {POLARITY}; {NO_BIAS} in attention; {NAN}",
        {"h": "2|4", **ONE_WIDTH},
        stacked=False,
        gradients=False,
    ),
    _torch(
        "nn.TransformerEncoder(fast path)",
        "transformer.encoder",
        "layers:encoder",
        UNSPECIFIED,
        f"layer after layer torch._transformer_encoder_layer_fwd, without gradients; {POLARITY}; {NO_BIAS} in attention; {NAN}",
        {"h": "2|4", **ONE_WIDTH},
        stacked=True,
        gradients=False,
    ),
    _torch(
        "nn.Transformer",
        "transformer.model",
        "layers:transformer",
        differs=f"without its last normalizations; embeddings and output beside it; {POLARITY}; {NO_BIAS} in attention",
        sizes=ONE_WIDTH,
    ),
    _torch(
        "nn.Transformer(fast path)",
        "transformer.model",
        "layers:transformer",
        differs=(
            "in evaluation, without gradients: the encoder packs words without their padding; no last normalizations; "
            f"embeddings and output beside it; {POLARITY}; {NO_BIAS} in attention"
        ),
        sizes={"h": "2|4", **ONE_WIDTH},
        training=False,
        nested=True,
    ),
    _torch("nn.RMSNorm", "normalization.rms_norm", "pytorch:rms_norm_module"),
    _torch("F.cross_entropy", "objectives.cross_entropy", "objectives:cross_entropy", NONE_ASKED, ONE_MEAN),
    _torch(
        "nn.CrossEntropyLoss",
        "objectives.cross_entropy",
        "objectives:cross_entropy_module",
        NONE_ASKED,
        ONE_MEAN,
    ),
    _torch(
        "F.kl_div(batchmean)",
        "objectives.distillation",
        "objectives:kl_div",
        differs="takes log-probabilities and probabilities, which are torch's softmax; times τ²; called for each member",
    ),
    _torch(
        "F.cross_entropy(probabilities)",
        "objectives.distillation",
        "objectives:cross_entropy_of_probabilities",
        {"divergence": "cross_entropy"},
        "takes logits over τ, and torch's softmax of the teacher's; times τ²; called for each member",
    ),
    _torch(
        "F.cross_entropy(sum)",
        "objectives.autoregressive",
        "objectives:summed_cross_entropy",
        differs="is the negative; called for each member",
    ),
    _torch(
        "F.linear_cross_entropy",
        "objectives.linear_cross_entropy",
        "objectives:linear_cross_entropy",
        NONE_ASKED,
        ONE_MEAN,
    ),
    _torch(
        "F.linear_cross_entropy(chunked)",
        "objectives.linear_cross_entropy",
        "objectives:linear_cross_entropy",
        NONE_ASKED,
        ONE_MEAN,
        chunked=True,
    ),
)

BEAMS = {"finished": "aside", "penalty": "power"}

OTHERS = (
    Target(
        "transformers",
        "get_inverse_sqrt_schedule",
        "objectives.warmup",
        "objectives:inverse_sqrt_schedule",
        differs="a factor: of the largest rate, 1/√(d_model·warmup_steps); gives Python numbers, one for each step",
    ),
    Target(
        "transformers",
        "LabelSmoother",
        "objectives.cross_entropy",
        "objectives:label_smoother",
        NONE_ASKED,
        ONE_MEAN,
    ),
    Target(
        "transformers",
        "sdpa_attention_forward",
        "attention.scaled_dot_product",
        "huggingface:sdpa",
        differs="takes (batch, heads, n, d); returns heads last",
    ),
    Target(
        "transformers",
        "bert eager_attention_forward",
        "attention.scaled_dot_product",
        "huggingface:eager",
        {"fully_masked": "mean"},
        "adds finfo.min to masked scores, so that a fully masked row is the mean",
    ),
    Target(
        "transformers",
        "BertSelfAttention(eager)",
        "attention.multi_head",
        "multihead:bert_self",
        UNSPECIFIED,
        f"of the one sequence [x; y], so that a fully masked row is the mean over both; {NO_BIAS}",
        ONE_WIDTH,
        {"backend": "eager"},
    ),
    Target(
        "transformers",
        "BertSelfAttention(sdpa)",
        "attention.multi_head",
        "multihead:bert_self",
        differs=f"of the one sequence [x; y]; {NO_BIAS}",
        sizes=ONE_WIDTH,
        keywords={"backend": "sdpa"},
    ),
    Target(
        "transformers",
        "BertCrossAttention(eager)",
        "attention.multi_head",
        "multihead:bert_cross",
        {"fully_masked": "mean"},
        f"adds finfo.min to masked scores, so that a fully masked row is the mean; {NO_BIAS}",
        ONE_WIDTH,
        {"backend": "eager"},
    ),
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
    *(
        Target(
            "transformers",
            f"GPT2Attention({backend})",
            "attention.causal_multi_head",
            "gpt:gpt2",
            sizes=ONE_WIDTH,
            keywords={"backend": backend},
        )
        for backend in ("eager", "sdpa")
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
        "transformers",
        "MarianSinusoidalPositionalEmbedding",
        "positional.sinusoidal",
        "huggingface:marian",
        {"layout": "concatenated"},
        "sines, then cosines; float32",
    ),
    Target(
        "transformers",
        "M2M100SinusoidalPositionalEmbedding",
        "positional.sinusoidal",
        "huggingface:m2m100",
        {"layout": "concatenated", "frequencies": "closed"},
        "sines, then cosines; float32; its first rows are for padding, and are skipped",
        EVEN,
    ),
    Target(
        "transformers",
        "ConvNextLayerNorm(channels_first)",
        "normalization.layer_norm",
        "huggingface:convnext",
        differs="normalises over channels of an image; here one pixel",
    ),
    Target("transformers", "LlamaRMSNorm", "normalization.rms_norm", "huggingface:llama_rms_norm"),
    Target("transformers", "T5LayerNorm", "normalization.rms_norm", "huggingface:t5_layer_norm"),
    Target(
        "transformers",
        "DataCollatorForLanguageModeling",
        "masking.mlm",
        "huggingface:collator",
        differs="its generator attribute is set to the generator passed",
    ),
    Target(
        "transformers",
        "temperature, top-k, top-p warpers",
        "decoding.sample",
        "generating:warpers",
        differs="the logits processors of generate in its order, drawn from with torch.multinomial",
    ),
    Target(
        "transformers",
        "generate(greedy)",
        "decoding.greedy",
        "generating:greedy",
        differs="a small GPT-2 of its own; pads on the left",
        keywords={"family": "gpt2"},
    ),
    Target(
        "transformers",
        "generate(num_beams)",
        "decoding.beam",
        "generating:beam",
        BEAMS,
        "a small GPT-2 of its own; early_stopping=False, which is the default",
        keywords={"family": "gpt2"},
    ),
    Target(
        "transformers",
        "generate(num_beams, early_stopping='never')",
        "decoding.beam",
        "generating:beam",
        BEAMS,
        "a small LLaMA of its own",
        keywords={"family": "llama", "early_stopping": "never"},
    ),
    Target(
        "x-transformers",
        "AutoregressiveWrapper.beam_search",
        "decoding.beam",
        "generating:beam_search",
        differs="a small decoder of its own; knows no end and no penalty",
    ),
)


TARGETS: tuple[Target, ...] = (*OURS, *TORCH, *OTHERS)
