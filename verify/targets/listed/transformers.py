"""Functions, layers and procedures of transformers."""

from __future__ import annotations

from verify.targets.listed.entries import (
    ADDED_MIN,
    BEAMS,
    BIGBIRD_SIZES,
    EVEN,
    FIRST_SEES_ALL,
    GPT1,
    GPT1_MASK,
    GPT1_SIZES,
    IN_SINGLE,
    LLAMA,
    NO_BIAS,
    NO_FEWER_KEYS,
    NONE_ASKED,
    ONE_MEAN,
    ONE_WIDTH,
    OWN_ANGLES,
    PACKED,
    SHORT,
    UNSPECIFIED,
    XLNET,
)
from verify.targets.target import Target

TRANSFORMERS = (
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
        "sdpa_attention_forward(groups)",
        "attention.grouped_query",
        "grouped:transformers_grouped",
        differs="takes (batch, heads, n, d); returns heads last",
        keywords={"model": "llama", "backend": "sdpa"},
    ),
    *(
        Target(
            "transformers",
            f"{model} eager_attention_forward",
            "attention.grouped_query",
            "grouped:transformers_grouped",
            UNSPECIFIED,
            ADDED_MIN,
            keywords={"model": model, "backend": "eager"},
        )
        for model in ("llama", "mistral", "gemma")
    ),
    *(
        Target(
            "transformers",
            f"{model} apply_rotary_pos_emb",
            f"positional.{'turned' if given else 'rotary'}",
            "rotary:transformers_turned",
            {"pairs": "interleaved" if model == "gptj" else "halves"},
            "takes sines and cosines, here those of the angles",
            keywords={"model": model, "given": given},
        )
        for given, models in ((True, ("llama", "gptj")), (False, ("llama", "gptj", "gpt_neox")))
        for model in models
    ),
    Target(
        "transformers",
        "gpt_neox apply_rotary_pos_emb(part)",
        "positional.partial_rotary",
        "rotary:transformers_turned",
        {"pairs": "halves"},
        "takes sines and cosines, here those of the angles",
        keywords={"model": "gpt_neox", "given": False},
    ),
    Target(
        "transformers",
        "GPTJAttention(rotary_dim)",
        "positional.partial_rotary",
        "rotary:transformers_partial",
        differs="its queries, before they are compared; its table of sines and cosines is that of the angles",
    ),
    Target(
        "transformers",
        "gpt_oss eager_attention_forward",
        "attention.sinks",
        "grouped:transformers_sinks",
        differs="adds finfo.min to masked scores",
    ),
    Target(
        "transformers",
        "gemma2 eager_attention_forward(softcap)",
        "attention.softcap",
        "grouped:transformers_softcap",
        UNSPECIFIED,
        ADDED_MIN,
    ),
    *(
        Target(
            "transformers",
            f"{name}Attention(sdpa)",
            "attention.qk_norm",
            "grouped:transformers_qk_norm",
            conventions,
            "at position 0; its projections pick queries, keys and values out of its input",
            {"m": "n", "d_k": "even", "d_v": "d_k"},
            {"model": name.lower()},
        )
        for name, conventions in (("Qwen3", {}), ("Gemma3", {"gain": "one_plus"}))
    ),
    *(
        Target(
            "transformers",
            f"{model} {backend}_attention_forward(sliding window)",
            "attention.decoder_heads",
            "grouped:transformers_decoder",
            {**dict.fromkeys(without, "none"), **conventions},
            f"its window of w + 1 counts the query's own key{differs}",
            NO_FEWER_KEYS,
            {"model": model, "backend": backend},
        )
        for model, backend, without, conventions, differs in (
            ("mistral", "sdpa", ("cap", "sinks"), {}, ""),
            ("mistral", "eager", ("cap", "sinks"), UNSPECIFIED, f"; {ADDED_MIN}"),
            ("gemma2", "eager", ("sinks",), UNSPECIFIED, f"; {ADDED_MIN}"),
            ("gpt_oss", "eager", ("cap",), {}, "; adds finfo.min to masked scores"),
        )
    ),
    Target("transformers", "DynamicCache(sdpa)", "attention.cached", "blocks_of_keys:transformers_cache"),
    Target(
        "transformers",
        "ROPE_INIT_FUNCTIONS[linear]",
        "positional.frequencies",
        "rotary:transformers_frequencies",
        differs="float32",
        keywords={"kind": "linear"},
    ),
    Target(
        "transformers",
        "ROPE_INIT_FUNCTIONS[dynamic]",
        "positional.frequencies",
        "rotary:transformers_frequencies",
        {"scaling": "ntk"},
        "float32; its scale follows the length: with the factor s − 1, at twice the length of training, it is s",
        sizes={"h": "2.."},
        keywords={"kind": "dynamic"},
    ),
    Target(
        "transformers",
        "ROPE_INIT_FUNCTIONS[llama3]",
        "positional.yarn",
        "rotary:transformers_frequencies",
        {"lengths": "stay"},
        "float32",
        keywords={"kind": "llama3"},
    ),
    *(
        Target(
            "transformers",
            f"ROPE_INIT_FUNCTIONS[yarn]({'' if whole else 'truncate=False'})".removesuffix("()"),
            "positional.yarn",
            "rotary:transformers_frequencies",
            {"ramp": "whole" if whole else "pairs"},
            "float32; its ramp is kept between pair 0 and pair 2·h − 1, where these numbers have it anyhow",
            keywords={"kind": "yarn", "truncate": whole},
            fixed={"base": 10000.0, "L": 4096.0, "alpha": 1.0, "beta": 32.0},
        )
        for whole in (True, False)
    ),
    *(
        Target(
            "transformers",
            f"{kind}RotaryEmbedding",
            "positional.rotary",
            "rotary:transformers_module",
            {"pairs": "halves"},
            "has frequencies of its own, here those given; angles are float32, and pass no gradient",
            keywords={"model": model, "kind": kind},
        )
        for model, kind in (("llama", "Llama"), ("gpt_neox", "GPTNeoX"))
    ),
    *(
        Target(
            "transformers",
            f"sliding_window_{shown}_mask_function({backend})",
            "attention.window",
            "windows:transformers_window",
            {"sides": sides},
            differs,
            NO_FEWER_KEYS,
            {"backend": backend, "sides": sides},
        )
        for shown, backend, sides, differs in (
            ("causal", "sdpa", "before", "its window of w + 1 counts the query's own key"),
            ("causal", "eager", "before", "its window of w + 1 counts the query's own key"),
            ("bidirectional", "sdpa", "both", ""),
        )
    ),
    *(
        Target(
            "transformers",
            name,
            "attention.bigbird",
            f"bigbird:{adapter}",
            conventions,
            differs,
            BIGBIRD_SIZES,
            keywords,
            fixed={"w": 1.0, "g": 1.0, **fixed},
        )
        for name, adapter, conventions, differs, keywords, fixed in (
            (
                "BigBirdBlockSparseAttention(training)",
                "block_sparse",
                {"repeats": "each"},
                "draws the table that is given",
                {"training": True},
                {},
            ),
            (
                "BigBirdBlockSparseAttention(evaluation)",
                "block_sparse",
                {},
                "has a table of its own, which is read",
                {"training": False},
                {"table": 0.0},
            ),
            (
                "BigBirdModel(after a short text)",
                "after_a_short_text",
                {"repeats": "each"},
                "the attention of its layer, which draws the table that is given",
                {},
                {},
            ),
        )
    ),
    Target(
        "transformers",
        "BigBirdSelfAttention(original_full)",
        "attention.scaled_dot_product",
        "bigbird:original_full",
        differs="of one sequence, without a mask",
        sizes={"n": "1..256", "m": "n", "d_k": "1..64", "d_v": "d_k"},
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
    *(
        Target(
            "transformers",
            f"BertSelfAttention({backend}, bias)",
            "attention.biased_multi_head",
            "multihead:bert_self",
            conventions,
            differs,
            ONE_WIDTH,
            {"backend": backend, "biased": True},
        )
        for backend, conventions, differs in (
            (
                "eager",
                UNSPECIFIED,
                "of the one sequence [x; y], so that a fully masked row is the mean over both",
            ),
            ("sdpa", {}, "of the one sequence [x; y]"),
        )
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
        "transformers",
        "EsmFoldTriangleMultiplicativeUpdate",
        "evoformer.triangle_multiplication",
        "evoformer:triangle_multiplication",
        differs="edges as wide as pairs; its ε, 1e-5, is set",
        sizes={"c": "c_z"},
    ),
    Target(
        "transformers",
        "EsmFoldTriangleAttention",
        "evoformer.triangle_attention",
        "evoformer:triangle_attention",
        UNSPECIFIED,
        "adds −10⁹ to the scores of masked pairs; its ε, 1e-5, is set",
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
    Target(
        "transformers",
        "GemmaRMSNorm",
        "normalization.rms_norm",
        "huggingface:gemma_rms_norm",
        {"gain": "one_plus"},
    ),
    Target("transformers", "T5LayerNorm", "normalization.rms_norm", "huggingface:t5_layer_norm"),
    Target(
        "transformers",
        "NewGELUActivation",
        "activation.gelu",
        "huggingface:new_gelu",
        {"approximation": "tanh"},
    ),
    *(
        Target("transformers", name, "feedforward.gated", f"gated:{adapter}", conventions, keywords=keywords)
        for name, adapter, conventions, keywords in (
            ("LlamaMLP", "llama", {}, {}),
            ("LlamaMLP(gelu)", "llama", {"activation": "gelu"}, {"hidden_act": "gelu"}),
            ("LlamaMLP(relu)", "llama", {"activation": "relu"}, {"hidden_act": "relu"}),
            ("GemmaMLP", "gemma", {"activation": "gelu", "approximation": "tanh"}, {}),
            ("T5DenseGatedActDense", "t5", {"activation": "gelu", "approximation": "tanh"}, {}),
        )
    ),
    *(
        Target(
            "transformers",
            name,
            "routing.top_k",
            "routing:router",
            {"ties": "unspecified", **conventions},
            IN_SINGLE,
            {},
            {"model": model, "name": name.partition("(")[0], **options},
        )
        for name, model, conventions, options in (
            ("MixtralTopKRouter", "mixtral", {}, {}),
            ("Qwen3MoeTopKRouter", "qwen3_moe", {}, {"norm_topk_prob": True}),
            ("Qwen2MoeTopKRouter(shares)", "qwen2_moe", {"weights": "shares"}, {"norm_topk_prob": False}),
        )
    ),
    Target(
        "transformers",
        "SwitchTransformersTop1Router",
        "routing.capacity",
        "routing:switch",
        {"weights": "shares"},
        sizes={"k": "1"},
    ),
    Target(
        "transformers",
        "NllbMoeTop2Router",
        "routing.capacity",
        "routing:nllb",
        {"order": "choices"},
        "called for each member: it counts a batch as one text",
        sizes={"k": "2", "E": "2.."},
    ),
    *(
        Target(
            "transformers",
            f"{name}({backend})",
            f"llama.{of}",
            f"llama:{of}",
            conventions,
            f"{OWN_ANGLES}{differs}",
            LLAMA,
            {"backend": backend},
        )
        for name, of, backend, conventions, differs in (
            ("LlamaAttention", "attention", "eager", UNSPECIFIED, f"; {ADDED_MIN}"),
            ("LlamaAttention", "attention", "sdpa", {}, ""),
            ("LlamaDecoderLayer", "layer", "sdpa", {}, ""),
            ("LlamaForCausalLM", "model", "sdpa", {}, ""),
        )
    ),
    Target(
        "transformers",
        "BertEmbeddings",
        "embedding.bert",
        "bert:embeddings",
        differs="without an id of padding, whose row would get no gradient",
    ),
    *(
        Target(
            "transformers",
            f"BertLayer({shown})",
            "bert.layer",
            "bert:layer",
            conventions,
            "" if conventions.get("fully_masked") is None else ADDED_MIN,
            ONE_WIDTH,
            keywords,
        )
        for shown, conventions, keywords in (
            ("eager", UNSPECIFIED, {"backend": "eager"}),
            ("sdpa", {}, {"backend": "sdpa"}),
            (
                "gelu_pytorch_tanh",
                {"approximation": "tanh"},
                {"backend": "sdpa", "act": "gelu_pytorch_tanh"},
            ),
        )
    ),
    *(
        Target(
            "transformers",
            name,
            "bert.layer",
            f"pre_norm:{adapter}",
            {"norm": "pre", **conventions},
            differs,
            ONE_WIDTH,
            {"backend": "sdpa"},
        )
        for name, adapter, conventions, differs in (
            (
                "GPT2Block",
                "gpt2",
                {"approximation": "tanh"},
                "without a mask it is causal, so that it is always given one",
            ),
            ("ViTLayer", "vit", {}, ""),
            ("EsmLayer", "esm", {}, "without rotary positions"),
            ("WhisperEncoderLayer", "whisper", {}, "its keys have no bias, which changes nothing"),
        )
    ),
    *(
        Target(
            "transformers",
            f"{model}DecoderLayer({backend})",
            "transformer.biased_decoder_layer",
            "decoders:layer",
            {"activation": "gelu", **conventions},
            differs,
            ONE_WIDTH,
            {"model": model, "backend": backend, **keywords},
        )
        for model, backend, conventions, differs, keywords in (
            ("Bart", "eager", UNSPECIFIED, ADDED_MIN, {}),
            ("Bart", "sdpa", {}, "", {}),
            (
                "Whisper",
                "sdpa",
                {"norm": "pre"},
                "its keys have no bias, which changes nothing",
                {"key_bias": False},
            ),
        )
    ),
    *(
        Target(
            "transformers", name, f"gpt.{of}", f"gpt_models:{adapter}", conventions, differs, sizes, keywords
        )
        for name, of, adapter, conventions, differs, sizes, keywords in (
            (
                "GPT2Block(eager)",
                "layer",
                "gpt2_layer",
                UNSPECIFIED,
                ADDED_MIN,
                ONE_WIDTH,
                {"backend": "eager"},
            ),
            ("GPT2Block(sdpa)", "layer", "gpt2_layer", {}, "", ONE_WIDTH, {"backend": "sdpa"}),
            ("OpenAIGPT Block", "layer", "gpt1_layer", GPT1, GPT1_MASK, GPT1_SIZES, {}),
            (
                "GPT2LMHeadModel(eager)",
                "model",
                "gpt2_model",
                UNSPECIFIED,
                f"{ADDED_MIN}; {PACKED}",
                ONE_WIDTH,
                {"backend": "eager"},
            ),
            ("GPT2LMHeadModel(sdpa)", "model", "gpt2_model", {}, PACKED, ONE_WIDTH, {"backend": "sdpa"}),
            ("OpenAIGPTLMHeadModel", "model", "gpt1_model", GPT1, GPT1_MASK, {**SHORT, **GPT1_SIZES}, {}),
        )
    ),
    *(
        Target(
            "transformers",
            f"GPT2Attention(cross, {by})",
            "attention.biased_multi_head",
            "gpt_models:cross",
            sizes=ONE_WIDTH,
            keywords={"by": by},
        )
        for by in ("encoder_attention_mask", "attention_mask")
    ),
    *(
        Target(
            "transformers",
            f"{name}({shown})" if shown else name,
            f"xlnet.{of}",
            f"xlnet:{adapter}",
            conventions,
            differs,
            sizes,
        )
        for name, of, adapter, more, sizes in (
            ("XLNetLayer", "two_stream", "layer", {}, ONE_WIDTH),
            ("XLNetLMHeadModel", "objective", "model", NONE_ASKED, XLNET),
        )
        for shown, conventions, differs in (
            ("", more, ""),
            ("all but the first", {**more, **UNSPECIFIED}, FIRST_SEES_ALL),
        )
    ),
    Target("transformers", "BertPooler", "bert.pooler", "bert:pooler"),
    *(
        Target(
            "transformers",
            f"BertModel({backend})",
            "bert.encoder",
            "bert:model",
            conventions,
            f"without its pooler, and without an id of padding{differs}",
            ONE_WIDTH,
            {"backend": backend},
        )
        for backend, conventions, differs in (
            ("eager", UNSPECIFIED, f"; {ADDED_MIN}"),
            ("sdpa", {}, ""),
        )
    ),
    Target("transformers", "ViTPatchEmbeddings", "vision.patches", "vision:patch_embeddings"),
    *(
        Target(
            "transformers",
            f"{name}({shown})",
            formula,
            f"vision:{adapter}",
            {"epsilon": "original" if eps == 1e-6 else "transformers"},
            differs,
            ONE_WIDTH,
            {"backend": backend, "eps": eps},
        )
        for name, formula, adapter, differs, options in (
            (
                "ViTModel",
                "vision.encoder",
                "features",
                "its patches are pixels of d_model channels, and its matrix the identity",
                (("eager", "eager", 1e-12), ("sdpa", "sdpa", 1e-12), ("layer_norm_eps=1e-6", "sdpa", 1e-6)),
            ),
            (
                "ViTForImageClassification",
                "vision.classifier",
                "classification",
                "",
                (("sdpa", "sdpa", 1e-12), ("layer_norm_eps=1e-6", "sdpa", 1e-6)),
            ),
        )
        for shown, backend, eps in options
    ),
    Target(
        "transformers",
        "DataCollatorForLanguageModeling",
        "masking.mlm",
        "huggingface:collator",
        differs="its generator attribute is set to the generator passed",
        cpu_only=True,
    ),
    Target(
        "transformers",
        "DataCollatorForLanguageModeling(whole_word_mask)",
        "masking.whole_words",
        "huggingface:whole_word_collator",
        {"replacement": "always_mask"},
        "its generator attribute is set to the generator passed; words are given by offsets; takes one leading dimension",
        cpu_only=True,
    ),
    Target(
        "transformers",
        "BertForMaskedLM(loss)",
        "objectives.mlm",
        "bert_heads:masked_words_loss",
        NONE_ASKED,
        ONE_MEAN,
    ),
    Target(
        "transformers",
        "BertForNextSentencePrediction(loss)",
        "objectives.nsp",
        "bert_heads:next_sentence_loss",
        differs="one mean for a batch: called for each member",
    ),
    Target(
        "transformers",
        "BertForPreTraining(loss)",
        "objectives.bert",
        "bert_heads:pretraining_loss",
        NONE_ASKED,
        ONE_MEAN,
    ),
    Target(
        "transformers",
        "BertForMaskedLM(head)",
        "bert.head_mlm",
        "bert_heads:masked_words",
        keywords={"hidden_act": "gelu"},
    ),
    Target(
        "transformers",
        "BertForMaskedLM(head, gelu_new)",
        "bert.head_mlm",
        "bert_heads:masked_words",
        {"approximation": "tanh"},
        keywords={"hidden_act": "gelu_new"},
    ),
    Target(
        "transformers",
        "BertForSequenceClassification(head)",
        "bert.head_sequence",
        "bert_heads:sequence_classification",
    ),
    Target(
        "transformers",
        "BertForNextSentencePrediction(head)",
        "bert.head_pair",
        "bert_heads:next_sentence_prediction",
        differs="the probabilities are torch.softmax after it",
        sizes={"K": "2"},
    ),
    Target(
        "transformers",
        "BertForTokenClassification(head)",
        "bert.head_token",
        "bert_heads:token_classification",
    ),
    Target(
        "transformers",
        "BertForQuestionAnswering(head)",
        "bert.head_span",
        "bert_heads:question_answering",
        differs=f"gives logits: the probabilities are made of them beside it; {NO_BIAS}",
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
        "BertTokenizer(pieces)",
        "bert.wordpiece",
        "tokenizing:bert_tokenizer",
        differs="given words; case and accents stay",
    ),
    Target("transformers", "tokenizers.models.WordPiece", "bert.wordpiece", "tokenizing:model_of_tokenizers"),
    Target(
        "transformers",
        "GPT2Tokenizer",
        "gpt.bpe",
        "tokenizing:gpt2_tokenizer",
        differs="given each word as a text",
    ),
    Target("transformers", "tokenizers.models.BPE", "gpt.bpe", "tokenizing:pairs_of_tokenizers"),
    *(
        Target(
            "transformers",
            f"BertTokenizer({truncation})",
            "bert.pack",
            "tokenizing:packed_by_bert_tokenizer",
            {"truncation": truncation, "odd": "longer"},
            "a second text without a token is none; the one text that may be cut keeps a token",
            keywords={"truncation": truncation},
        )
        for truncation in ("longest_first", "only_first", "only_second")
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
)
