"""Hugging Face transformers."""

import torch
from transformers import BartConfig, BertConfig, GPT2Config, LlamaConfig, T5Config
from transformers.models.bart.modeling_bart import BartAttention
from transformers.models.bert.modeling_bert import BertLayer, BertSelfAttention
from transformers.models.gpt2.modeling_gpt2 import GPT2MLP, GPT2Attention
from transformers.models.llama.modeling_llama import LlamaRMSNorm, LlamaRotaryEmbedding, apply_rotary_pos_emb
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.t5.modeling_t5 import T5Attention, T5LayerNorm

from examples.world.component import of
from examples.world.sizes import ONE_WIDTH
from verify.adapt import entries, function, module, rows

component = of("transformers")

LAYER = {
    "*query.weight": "W_q", "*key.weight": "W_k", "*value.weight": "W_v",
    "att*dense.weight": "W_o", "att*Norm.weight": "gamma_1", "att*Norm.bias": "beta_1", "output.Layer*weight": "gamma_2",
    "output.Layer*bias": "beta_2", "inter*weight": "W_1", "inter*bias": "b_1", "output*weight": "W_2", "output*bias": "b_2",
}  # fmt: skip
"""The parameters of a layer, and their letters."""
MINIMUM = {"mask": "additive=min b1nm", "sizes": ONE_WIDTH}

# fmt: off


@component("BertSelfAttention", "attention.multi_head")
def bert_attention():
    """Of the one sequence [x; y], in which x looks at y alone; the product with W_o is what its output layer begins with."""
    weights = lambda W_q, W_k, W_v: {"query.weight": rows(W_q), "key.weight": rows(W_k), "value.weight": rows(W_v), "*bias": 0}
    build = lambda d_model, h: BertSelfAttention(BertConfig(hidden_size=d_model, num_attention_heads=h))
    call = lambda attend, x, y, mask, n, W_o: attend(torch.cat((x, y), 1), mask)[0][:, :n] @ W_o
    return module(build, weights, call, mask="joined additive=min b1nm", sizes=ONE_WIDTH)


@component("BartAttention", "attention.multi_head")
def bart_attention():
    """Over the states of an encoder, in eager arithmetic."""
    weights = lambda W_o, **w: {"out_proj.weight": W_o.T, "*bias": 0, **{f"{of}_proj.weight": rows(w[f"W_{of}"]) for of in "qkv"}}
    config = BartConfig(attn_implementation="eager")
    call = lambda attend, x, y, mask: attend(x, key_value_states=y, attention_mask=mask)
    return module(lambda d_model, h: BartAttention(d_model, h, config=config), weights, call, **MINIMUM)


@component("T5Attention", "attention.multi_head")
def t5_attention():
    """It does not divide by √d_k, so its W_q does; its biases of relative positions are not there across sequences."""
    def weights(W_q, W_k, W_v, W_o, d_k):
        return {"q.weight": rows(W_q) / d_k**0.5, "k.weight": rows(W_k), "v.weight": rows(W_v), "o.weight": W_o.T}
    build = lambda d_model, h, d_k: T5Attention(T5Config(d_model=d_model, d_kv=d_k, num_heads=h), layer_idx=0)
    call = lambda attend, x, y, mask: attend(x, mask=mask, key_value_states=y)
    return module(build, weights, call, **{**MINIMUM, "sizes": {"d_v": "d_k"}})


@component("GPT2Attention, cross", "attention.multi_head")
def gpt2_cross():
    """Over the states of an encoder: its layers are not transposed."""
    def weights(W_q, W_k, W_v, W_o):
        return {"q_attn.weight": rows(W_q).T, "c_attn.weight": rows(W_k, W_v).T, "c_proj.weight": W_o, "*bias": 0}
    call = lambda a, x, y, mask: a(x.contiguous(), encoder_hidden_states=y.contiguous(), encoder_attention_mask=mask)
    build = lambda d_model, h: GPT2Attention(GPT2Config(n_embd=d_model, n_head=h), is_cross_attention=True)
    return module(build, weights, call, **MINIMUM)


@component("GPT2Attention", "attention.causal_multi_head")
def gpt2_attention():
    """Through torch's fused kernel."""
    def weights(W_q, W_k, W_v, b_q, b_k, b_v, W_o, b_o):
        packed = {"c_attn.weight": rows(W_q, W_k, W_v).T, "c_attn.bias": entries(b_q, b_k, b_v)}
        return {**packed, "c_proj.weight": W_o, "c_proj.bias": b_o}
    build = lambda d_model, h: GPT2Attention(GPT2Config(n_embd=d_model, n_head=h, attn_implementation="sdpa"))
    return module(build, weights, lambda attend, x: attend(x.contiguous()), sizes=ONE_WIDTH)


@component("BertLayer", "transformer.encoder_layer")
def bert_layer():
    """With max(0, ·), and a mask of finfo.min."""
    def build(d_model, h, d_ff, eps):
        how = {"num_attention_heads": h, "intermediate_size": d_ff, "layer_norm_eps": eps, "hidden_act": "relu"}
        return BertLayer(BertConfig(hidden_size=d_model, **how))
    weights = lambda **w: {at: rows(w[of]) if of[0] == "W" else w[of] for at, of in LAYER.items()} | {"att*bias": 0}
    return module(build, weights, **MINIMUM)


@component("GPT2MLP", "feedforward.gelu")
def gpt2_mlp():
    """With the tanh of its paper."""
    weights = lambda W_1, b_1, W_2, b_2: {"c_fc.weight": W_1, "c_fc.bias": b_1, "c_proj.weight": W_2, "c_proj.bias": b_2}
    return module(lambda d, f: GPT2MLP(f, GPT2Config(n_embd=d)), weights)


@component("LlamaRMSNorm", "normalization.rms_norm")
def llama_norm():
    """It computes in float32."""
    return module(lambda d, eps: LlamaRMSNorm(d, eps), lambda gamma: {"weight": gamma}, batch=None)


@component("T5LayerNorm", "normalization.rms_norm")
def t5_norm():
    """It subtracts no mean: a root mean square normalization."""
    return module(lambda d, eps: T5LayerNorm(d, eps), lambda gamma: {"weight": gamma}, batch=None)


@component("apply_rotary_pos_emb (LLaMA)", "examples/formulas/rope.py:rope")
def llama_rotary():
    """Halves are pairs; its table of angles is made without gradients, so that none reaches the positions."""
    table = lambda x, p: LlamaRotaryEmbedding(LlamaConfig(head_dim=x.shape[-1]))(x, p)
    turn = lambda x, p: apply_rotary_pos_emb(x[:, None], x[:, None], *table(x, p))[0][:, 0]
    return function(turn, batch=1)


@component("MarianSinusoidalPositionalEmbedding", "positional.sinusoidal")
def marian():
    """Sines, then cosines; a table in float32."""
    return lambda n, d: MarianSinusoidalPositionalEmbedding(n, d).create_weight()
