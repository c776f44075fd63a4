"""Hugging Face transformers."""

from transformers import BartConfig, BertConfig, GPT2Config, LlamaConfig, T5Config
from transformers.models.bart.modeling_bart import BartAttention
from transformers.models.bert.modeling_bert import BertLayer, BertSelfAttention
from transformers.models.gpt2.modeling_gpt2 import GPT2MLP, GPT2Attention
from transformers.models.llama.modeling_llama import LlamaRMSNorm, LlamaRotaryEmbedding, apply_rotary_pos_emb
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.t5.modeling_t5 import T5Attention, T5LayerNorm

from examples.world.component import of
from examples.world.sizes import ONE_WIDTH
from verify.adapt import function, module

component = of("transformers")

NORM = (("weight", "gamma"), ("bias", "beta"))
MINIMUM = {"mask": "additive=min b1nm", "sizes": ONE_WIDTH}

# fmt: off


@component("BertSelfAttention", "attention.multi_head")
def bert_attention():
    """Of the one sequence [x; y], in which x looks at y alone; the product with W_o is what its output layer begins with."""
    weights = {"query.weight": "rows(W_q)", "key.weight": "rows(W_k)", "value.weight": "rows(W_v)", "*bias": 0}
    call, how = "cat(x, y, dim=1), mask", {"mask": "joined additive=min b1nm", "pick": "out[0][:, :n] @ W_o", "sizes": ONE_WIDTH}
    build = lambda d_model, h: BertSelfAttention(BertConfig(hidden_size=d_model, num_attention_heads=h))
    return module(build, weights, call, **how)


@component("BartAttention", "attention.multi_head")
def bart_attention():
    """Over the states of an encoder, in eager arithmetic."""
    weights = {f"{of}_proj.weight": f"rows(W_{of})" for of in "qkv"} | {"out_proj.weight": "W_o.T"}
    config = BartConfig(attn_implementation="eager")
    call, how = "x, key_value_states=y, attention_mask=mask", {"mask": "additive=min b1nm", "sizes": ONE_WIDTH}
    return module(lambda d_model, h: BartAttention(d_model, h, config=config), {**weights, "*bias": 0}, call, **how)


@component("T5Attention", "attention.multi_head")
def t5_attention():
    """It does not divide by √d_k, so its W_q does; its biases of relative positions are not there across sequences."""
    weights = {"q.weight": "rows(W_q) / sqrt(d_k)", "k.weight": "rows(W_k)", "v.weight": "rows(W_v)", "o.weight": "W_o.T"}
    call, how = "x, mask=mask, key_value_states=y", {"mask": "additive=min b1nm", "sizes": {"d_v": "d_k"}}
    build = lambda d_model, h, d_k: T5Attention(T5Config(d_model=d_model, d_kv=d_k, num_heads=h), layer_idx=0)
    return module(build, weights, call, **how)


@component("GPT2Attention, cross", "attention.multi_head")
def gpt2_cross():
    """Over the states of an encoder: its layers are not transposed."""
    weights = {"q_attn.weight": "columns(W_q)", "c_attn.weight": "cat(columns(W_k), columns(W_v), dim=1)", "c_proj.weight": "W_o"}
    call = "x.contiguous(), encoder_hidden_states=y.contiguous(), encoder_attention_mask=mask"
    build = lambda d_model, h: GPT2Attention(GPT2Config(n_embd=d_model, n_head=h), is_cross_attention=True)
    return module(build, {**weights, "*bias": 0}, call, **MINIMUM)


@component("GPT2Attention", "attention.causal_multi_head")
def gpt2_attention():
    """Through torch's fused kernel."""
    weights = {"c_attn.weight": "cat(rows(W_q), rows(W_k), rows(W_v)).T", "c_proj.weight": "W_o", "c_proj.bias": "b_o"}
    weights["c_attn.bias"] = "cat(b_q.flatten(), b_k.flatten(), b_v.flatten())"
    config = lambda d_model, h: GPT2Config(n_embd=d_model, n_head=h, attn_implementation="sdpa")
    return module(lambda d_model, h: GPT2Attention(config(d_model, h)), weights, "x.contiguous()", pick="out[0]", sizes=ONE_WIDTH)


@component("BertLayer", "transformer.encoder_layer")
def bert_layer():
    """With max(0, ·), and a mask of finfo.min."""
    weights = {f"*{name}.weight": f"rows(W_{name[0]})" for name in ("query", "key", "value")} | {"att*dense.weight": "W_o.T"}
    norms = {f"{at}*Norm.{p}": f"{of}_{k}" for k, at in ((1, "att"), (2, "out")) for p, of in NORM}
    ends = {"att*bias": 0, "inter*weight": "W_1.T", "inter*bias": "b_1", "output*weight": "W_2.T", "output*bias": "b_2"}
    arguments = "hidden_size=d_model, num_attention_heads=h, intermediate_size=d_ff, layer_norm_eps=eps, hidden_act='relu'"
    return module(lambda **k: BertLayer(BertConfig(**k)), norms | weights | ends, "x, mask", arguments=arguments, **MINIMUM)


@component("GPT2MLP", "feedforward.gelu")
def gpt2_mlp():
    """With the tanh of its paper."""
    weights = {"c_fc.weight": "W_1", "c_fc.bias": "b_1", "c_proj.weight": "W_2", "c_proj.bias": "b_2"}
    return module(lambda d, f: GPT2MLP(f, GPT2Config(n_embd=d)), weights, "x")


@component("LlamaRMSNorm", "normalization.rms_norm")
def llama_norm():
    """It computes in float32."""
    return module(LlamaRMSNorm, {"weight": "gamma"}, arguments="d, eps", batch=None)


@component("T5LayerNorm", "normalization.rms_norm")
def t5_norm():
    """It subtracts no mean: a root mean square normalization."""
    return module(T5LayerNorm, {"weight": "gamma"}, arguments="d, eps", batch=None)


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
