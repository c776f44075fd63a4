"""PyTorch's functions and modules."""

from __future__ import annotations

from dataclasses import replace

from verify.targets.listed.entries import (
    BETAS,
    CLAMPED,
    NAN,
    NO_BIAS,
    NONE_ASKED,
    ONE_MEAN,
    ONE_WIDTH,
    POLARITY,
    UNSPECIFIED,
    torch,
)
from verify.targets.target import Target

TORCH = (
    torch("torch.linalg.vecdot", "similarity.dot", "pytorch:vecdot"),
    torch(
        "torch.dot",
        "similarity.dot",
        "pytorch:one_by_one",
        differs="takes two vectors; called for each member of a batch",
        name="dot",
    ),
    torch(
        "torch.inner",
        "similarity.dot",
        "pytorch:one_by_one",
        differs="takes all pairs of a batch; called for each member",
        name="inner",
    ),
    torch(
        "F.cosine_similarity",
        "similarity.cosine",
        "pytorch:cosine_similarity",
        {"eps": "max_1e8"},
        CLAMPED,
    ),
    torch(
        "F.normalize",
        "similarity.cosine",
        "pytorch:normalized_product",
        {"eps": "max_1e12"},
        "normalises a vector; the scalar product is beside it",
    ),
    torch("F.embedding", "embedding.token", "pytorch:embedding"),
    torch("nn.Embedding", "embedding.token", "pytorch:embedding_module"),
    torch(
        "nn.Embedding(padding_idx=0)",
        "embedding.token",
        "pytorch:embedding_padded",
        {"padding": "id_0"},
        "the row of padding is 0, as the module initialises it",
        place=0,
    ),
    torch(
        "nn.RNNCell", "recurrent.rnn_cell", "recurrences:rnn_cell", differs="the output is a product after it"
    ),
    torch(
        "nn.RNN",
        "recurrent.rnn",
        "recurrences:rnn",
        differs="the distributions are a product and torch.softmax after it",
    ),
    torch("nn.RNN(num_layers)", "recurrent.stacked", "recurrences:stacked"),
    torch("nn.RNN(bidirectional)", "recurrent.bidirectional", "recurrences:bidirectional"),
    torch("nn.LSTMCell", "recurrent.lstm_cell", "recurrences:lstm_cell", differs="its second bias is 0"),
    torch("nn.LSTM", "recurrent.lstm", "recurrences:lstm", differs="its second bias is 0"),
    torch(
        "nn.LSTM(num_layers)",
        "recurrent.lstm_stacked",
        "recurrences:lstm_stacked",
        differs="its second bias is 0",
    ),
    torch(
        "nn.LSTM(bidirectional)",
        "recurrent.lstm_bidirectional",
        "recurrences:lstm_bidirectional",
        differs="its second bias is 0",
    ),
    torch("nn.GRUCell", "recurrent.gru_cell", "recurrences:gru_cell"),
    torch("nn.GRU", "recurrent.gru", "recurrences:gru"),
    torch(
        "F.cross_entropy",
        "recurrent.bilm_objective",
        "pytorch:cross_entropy",
        differs="is the negative, of one direction at a time",
    ),
    torch("torch.matmul", "scores.dot", "pytorch:matmul"),
    torch("torch.baddbmm", "scores.scaled_dot", "pytorch:baddbmm", differs="called with the factor 1/√d_k"),
    torch(
        "nn.Bilinear",
        "scores.general",
        "pytorch:bilinear",
        differs="takes pairs: called with every query beside every key",
    ),
    torch(
        "F.cosine_similarity",
        "scores.cosine",
        "pytorch:cosine_scores",
        {"eps": "max_1e8"},
        CLAMPED,
    ),
    torch("torch.softmax", "attention.softmax", "pytorch:softmax", UNSPECIFIED, f"masked by −∞; {NAN}"),
    torch("F.scaled_dot_product_attention", "attention.scaled_dot_product", "pytorch:attention"),
    torch(
        "torch.logsumexp", "attention.log_sum_exp", "blocks_of_keys:torch_log_sum_exp", differs="masked by −∞"
    ),
    replace(
        torch(
            "_scaled_dot_product_flash_attention_for_cpu",
            "attention.log_sum_exp",
            "blocks_of_keys:flash_log_sum_exp",
            differs="attention to the identity with the scores as queries; its log-sum-exp, which has no gradient",
        ),
        cpu_only=True,
    ),
    torch(
        "flex_attention(return_aux)",
        "attention.log_sum_exp",
        "blocks_of_keys:flex_log_sum_exp",
        differs="attention to the identity with the scores as queries; not compiled: on the CPU it has no gradient",
    ),
    torch(
        "context parallel _SDPAMerger",
        "attention.merge",
        "blocks_of_keys:ring_merger",
        differs="takes block after block, and no mask",
    ),
    torch(
        "flex_attention(score_mod=tanh)",
        "attention.softcap",
        "grouped:flex_softcap",
        UNSPECIFIED,
        "not compiled: on the CPU it has no gradient",
    ),
    torch("F.scaled_dot_product_attention(enable_gqa)", "attention.grouped_query", "grouped:torch_grouped"),
    torch(
        "flex_attention(enable_gqa)",
        "attention.grouped_query",
        "grouped:flex_grouped",
        differs="not compiled: on the CPU it has no gradient",
    ),
    torch(
        "F.scaled_dot_product_attention(is_causal)",
        "attention.causal",
        "pytorch:causal",
        {"alignment": "upper_left"},
        "the first query sees the first key",
    ),
    torch(
        "nn.MultiheadAttention",
        "attention.multi_head",
        "multihead:torch_multi_head",
        UNSPECIFIED,
        f"{POLARITY}; {NO_BIAS}; {NAN}",
        ONE_WIDTH,
        training=True,
    ),
    torch(
        "nn.MultiheadAttention(eval)",
        "attention.multi_head",
        "multihead:torch_multi_head",
        differs=f"{POLARITY}; {NO_BIAS}; need_weights=False goes to the fused kernel, where a fully masked row is 0",
        sizes=ONE_WIDTH,
        training=False,
    ),
    torch(
        "nn.MultiheadAttention(fast path)",
        "attention.multi_head",
        "multihead:torch_fast_path",
        UNSPECIFIED,
        f"torch._native_multi_head_attention of the one sequence [x; y], without gradients; {POLARITY}; {NO_BIAS}; {NAN}",
        {"h": "2|4", **ONE_WIDTH},
    ),
    *(
        torch(
            f"nn.MultiheadAttention({shown})",
            "attention.biased_multi_head",
            "multihead:torch_multi_head",
            conventions,
            differs,
            ONE_WIDTH,
            training=training,
            biased=True,
        )
        for shown, training, conventions, differs in (
            ("bias", True, UNSPECIFIED, f"{POLARITY}; {NAN}"),
            ("bias, eval", False, {}, f"{POLARITY}; need_weights=False goes to the fused kernel"),
        )
    ),
    torch(
        "nn.MultiheadAttention(is_causal)",
        "attention.causal_multi_head",
        "gpt:torch_causal",
        sizes=ONE_WIDTH,
        need_weights=False,
    ),
    torch("F.embedding", "positional.learned", "pytorch:embedding"),
    torch("F.layer_norm", "normalization.layer_norm", "pytorch:layer_norm"),
    torch("nn.LayerNorm", "normalization.layer_norm", "pytorch:layer_norm_module"),
    torch("F.rms_norm", "normalization.rms_norm", "pytorch:rms_norm"),
    *(
        torch(
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
    *(
        torch(
            f"nn.TransformerEncoderLayer({shown})",
            "bert.layer",
            "layers:encoder",
            conventions,
            f"{POLARITY}; a fully masked row is 0",
            ONE_WIDTH,
            stacked=False,
            training=True,
            biased=True,
            **options,
        )
        for shown, conventions, options in (
            ("gelu", {}, {"activation": "gelu"}),
            ("norm_first", {"norm": "pre", "activation": "relu"}, {"norm_first": True}),
        )
    ),
    *(
        torch(
            f"nn.TransformerDecoderLayer({shown})",
            "transformer.biased_decoder_layer",
            "layers:decoder",
            conventions,
            f"{POLARITY}; a fully masked row is 0",
            ONE_WIDTH,
            stacked=False,
            training=True,
            biased=True,
            **options,
        )
        for shown, conventions, options in (
            ("biased", {}, {}),
            ("biased, norm_first", {"norm": "pre"}, {"norm_first": True}),
            ("biased, gelu", {"activation": "gelu"}, {"activation": "gelu"}),
        )
    ),
    *(
        torch(
            f"nn.{name}({shown})",
            f"gpt.{of}",
            "gpt_models:torch_encoder",
            {"norm": norm, **UNSPECIFIED},
            "given a causal mask, and one that says what to drop",
            ONE_WIDTH,
            stacked=of == "model",
            norm_first=norm == "pre",
        )
        for name, shown, of, norm in (
            ("TransformerEncoderLayer", "GELU by tanh, norm_first", "layer", "pre"),
            ("TransformerEncoderLayer", "GELU by tanh", "layer", "post"),
            ("TransformerEncoder", "as a GPT, norm_first", "model", "pre"),
            ("TransformerEncoder", "as a GPT", "model", "post"),
        )
    ),
    torch(
        "nn.TransformerEncoderLayer(fast path)",
        "transformer.encoder_layer",
        "layers:encoder",
        UNSPECIFIED,
        f"torch._transformer_encoder_layer_fwd, without gradients; {POLARITY}; {NO_BIAS} in attention; {NAN}",
        {"h": "2|4", **ONE_WIDTH},
        stacked=False,
        gradients=False,
    ),
    torch(
        "nn.TransformerEncoder(fast path)",
        "transformer.encoder",
        "layers:encoder",
        UNSPECIFIED,
        f"layer after layer torch._transformer_encoder_layer_fwd, without gradients; {POLARITY}; {NO_BIAS} in attention; {NAN}",
        {"h": "2|4", **ONE_WIDTH},
        stacked=True,
        gradients=False,
    ),
    torch(
        "nn.Transformer",
        "transformer.model",
        "layers:transformer",
        differs=f"without its last normalizations; embeddings and output beside it; {POLARITY}; {NO_BIAS} in attention",
        sizes=ONE_WIDTH,
    ),
    torch(
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
    torch("nn.Conv2d", "vision.patches", "vision:conv2d", differs="gives channels first"),
    torch("F.unfold", "vision.patches", "vision:unfold", differs="the product with W and b is beside it"),
    torch(
        "nn.TransformerEncoder(norm_first, gelu)",
        "vision.encoder",
        "vision:torch_encoder",
        differs="with a last normalization; class token and positions beside it",
        sizes=ONE_WIDTH,
    ),
    torch("nn.RMSNorm", "normalization.rms_norm", "pytorch:rms_norm_module"),
    *(
        torch(f"F.{name}", f"activation.{name}", "pytorch:entrywise", name=name)
        for name in ("relu", "gelu", "silu")
    ),
    torch(
        "F.gelu(tanh)",
        "activation.gelu",
        "pytorch:entrywise",
        {"approximation": "tanh"},
        name="gelu",
        approximate="tanh",
    ),
    torch("F.log_softmax", "activation.log_softmax", "pytorch:entrywise", name="log_softmax", dim=-1),
    *(
        Target(
            "torch",
            f"optim.{name}({how})" if how else f"optim.{name}",
            "optimization.adamw",
            "optimization:torch_optimizer",
            {"decay": "l2"} if name == "Adam" else {},
            "works in place, on the weights and a state; called with copies; passes no gradient on; its β are 0.9 and 0.999"
            + "; reads a gradient of another layout in the wrong order" * (how == "fused"),
            fixed=BETAS,
            keywords={"name": name, **({how: True} if how else {"foreach": False})},
        )
        for name in ("AdamW", "Adam")
        for how in ("", "foreach", "fused")
    ),
    Target(
        "torch",
        "optim.adamw.adamw(differentiable)",
        "optimization.adamw",
        "optimization:torch_differentiable",
        differs="works in place; called with copies, through which gradients pass; its β are 0.9 and 0.999",
        fixed=BETAS,
    ),
    torch("F.cross_entropy", "objectives.cross_entropy", "objectives:cross_entropy", NONE_ASKED, ONE_MEAN),
    torch(
        "F.kl_div(smoothed targets)",
        "objectives.cross_entropy",
        "objectives:kl_div_of_words",
        {"smoothing": "but_padding", "divergence": "kl"},
        "takes the smoothed targets, which are made as the Annotated Transformer makes them; over the number of targets",
    ),
    torch(
        "nn.CrossEntropyLoss",
        "objectives.cross_entropy",
        "objectives:cross_entropy_module",
        NONE_ASKED,
        ONE_MEAN,
    ),
    torch("F.cross_entropy", "objectives.mlm", "objectives:cross_entropy_of_words", NONE_ASKED, ONE_MEAN),
    torch(
        "F.cross_entropy",
        "objectives.nsp",
        "objectives:cross_entropy_of_words",
        differs="one mean for a batch: called for each member",
    ),
    torch("nn.Linear", "bert.head_sequence", "bert_heads:linear"),
    torch("nn.Linear", "bert.head_token", "bert_heads:linear"),
    torch(
        "F.kl_div(batchmean)",
        "objectives.distillation",
        "objectives:kl_div",
        differs="takes log-probabilities and probabilities, which are torch's softmax; times τ²; called for each member",
    ),
    torch(
        "F.cross_entropy(probabilities)",
        "objectives.distillation",
        "objectives:cross_entropy_of_probabilities",
        {"divergence": "cross_entropy"},
        "takes logits over τ, and torch's softmax of the teacher's; times τ²; called for each member",
    ),
    torch(
        "F.cross_entropy(sum)",
        "objectives.autoregressive",
        "objectives:summed_cross_entropy",
        differs="is the negative; called for each member",
    ),
    replace(
        torch(
            "F.linear_cross_entropy",
            "objectives.linear_cross_entropy",
            "objectives:linear_cross_entropy",
            NONE_ASKED,
            ONE_MEAN,
        ),
        needs="nn.functional.linear_cross_entropy",
    ),
    replace(
        torch(
            "F.linear_cross_entropy(chunked)",
            "objectives.linear_cross_entropy",
            "objectives:linear_cross_entropy",
            NONE_ASKED,
            ONE_MEAN,
            chunked=True,
        ),
        needs="nn.modules.LinearCrossEntropyOptions",
    ),
)
