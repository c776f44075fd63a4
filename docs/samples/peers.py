"""Modules of libraries, each with the statement that it is held to, in a few lines."""

import torch
from torch import nn

from verify.adapt import module, rows

ONE_WIDTH = {"d_v": "d_k", "d_model": "h*d_k"}


def torch_attention():
    """``nn.MultiheadAttention`` for attention.multi_head: its weights are packed, its masks say what to drop."""
    return module(
        lambda d_model, h: nn.MultiheadAttention(d_model, h, batch_first=True),
        lambda W_q, W_k, W_v, W_o: {"in_proj_weight": rows(W_q, W_k, W_v), "out_proj.weight": W_o.T, "*bias": 0},
        lambda attend, x, y, mask: attend(x, y, y, attn_mask=mask),
        mask="drop heads", sizes=ONE_WIDTH,
    )  # fmt: skip


def torch_padding():
    """The same with the sequence first and a mask of keys."""
    return module(
        lambda d_model, h: nn.MultiheadAttention(d_model, h, bias=False),
        lambda W_q, W_k, W_v, W_o: {"in_proj_weight": rows(W_q, W_k, W_v), "out_proj.weight": W_o.T},
        lambda attend, x, y, mask: attend(x, y, y, key_padding_mask=mask),
        mask="drop keys", seq_first=True, sizes=ONE_WIDTH,
    )  # fmt: skip


def torch_lstm():
    """``nn.LSTM`` for recurrent.lstm: its second bias is 0, and of what it returns the last cell state is one output."""
    return module(
        lambda p, d: nn.LSTM(p, d, batch_first=True),
        lambda W_x, W_h, b: {"weight_ih_l0": W_x, "weight_hh_l0": W_h, "bias_ih_l0": b, "bias_hh_l0": 0},
        lambda lstm, x, h, s: lstm(x, (h.unsqueeze(0), s.unsqueeze(0))),
        pick=lambda out: (out[0], out[1][1][0]),
    )


def bert_attention():
    """``BertSelfAttention`` for attention.multi_head: x and y are one sequence, in which x looks at y alone."""
    from transformers.models.bert.modeling_bert import BertConfig, BertSelfAttention

    return module(
        lambda d_model, h: BertSelfAttention(BertConfig(hidden_size=d_model, num_attention_heads=h)),
        lambda W_q, W_k, W_v: {"query.weight": rows(W_q), "key.weight": rows(W_k), "value.weight": rows(W_v), "*bias": 0},
        lambda attend, x, y, mask, n, W_o: attend(torch.cat((x, y), 1), mask)[0][:, :n] @ W_o,
        mask="joined additive=min b1nm", sizes=ONE_WIDTH,
    )  # fmt: skip


def bert_layer():
    """``BertLayer`` for transformer.encoder_layer."""
    from transformers.models.bert.modeling_bert import BertConfig, BertLayer

    def build(d_model, h, d_ff, eps):
        sizes = {"hidden_size": d_model, "num_attention_heads": h, "intermediate_size": d_ff}
        return BertLayer(BertConfig(**sizes, layer_norm_eps=eps, hidden_act="relu"))

    return module(build, bert_weights, mask="additive=min b1nm", sizes=ONE_WIDTH)


def bert_weights(W_q, W_k, W_v, W_o, gamma_1, beta_1, W_1, b_1, W_2, b_2, gamma_2, beta_2):
    """Of a layer; those of attention have no biases."""
    return {
        "*query.weight": rows(W_q), "*key.weight": rows(W_k), "*value.weight": rows(W_v),
        "attention.output.dense.weight": W_o.T, "attention*Norm.weight": gamma_1, "attention*Norm.bias": beta_1,
        "attention*bias": 0, "intermediate.dense.weight": W_1.T, "intermediate.dense.bias": b_1,
        "output.dense.weight": W_2.T, "output.dense.bias": b_2, "output*Norm.weight": gamma_2, "output*Norm.bias": beta_2,
    }  # fmt: skip


def gpt2_attention():
    """``GPT2Attention`` over the states of an encoder for attention.multi_head: its layers are not transposed."""
    from transformers.models.gpt2.modeling_gpt2 import GPT2Attention, GPT2Config

    return module(
        lambda d_model, h: GPT2Attention(GPT2Config(n_embd=d_model, n_head=h), is_cross_attention=True),
        lambda W_q, W_k, W_v, W_o: {
            "q_attn.weight": rows(W_q).T, "c_attn.weight": rows(W_k, W_v).T, "c_proj.weight": W_o, "*bias": 0,
        },
        lambda attend, x, y, mask: attend(x, encoder_hidden_states=y, encoder_attention_mask=mask),
        mask="additive=min b1nm", sizes=ONE_WIDTH,
    )  # fmt: skip


def t5_attention():
    """``T5Attention`` for attention.multi_head: it does not divide by √d_k, so its W_q does."""
    from transformers.models.t5.modeling_t5 import T5Attention, T5Config

    return module(
        lambda d_model, h, d_k: T5Attention(T5Config(d_model=d_model, d_kv=d_k, num_heads=h), layer_idx=0),
        lambda W_q, W_k, W_v, W_o, d_k: {
            "q.weight": rows(W_q) / d_k**0.5, "k.weight": rows(W_k), "v.weight": rows(W_v), "o.weight": W_o.T,
        },
        lambda attend, x, y, mask: attend(x, mask=mask, key_value_states=y),
        mask="additive=min b1nm", sizes={"d_v": "d_k"},
    )  # fmt: skip


def x_attention():
    """``Attention`` of x-transformers for attention.multi_head."""
    from x_transformers.x_transformers import Attention

    return module(
        lambda d_model, h, d_k, d_v: Attention(d_model, dim_head=d_k, heads=h, value_dim_head=d_v, project_out=True),
        lambda W_q, W_k, W_v, W_o: {
            "to_q.weight": rows(W_q), "to_k.weight": rows(W_k), "to_v.weight": rows(W_v), "to_out.weight": W_o.T,
        },
        lambda attend, x, y, mask: attend(x, context=y, attn_mask=mask), mask="b1nm",
    )  # fmt: skip
