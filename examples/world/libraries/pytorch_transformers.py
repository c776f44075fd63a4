"""pytorch-transformers, of 2019: what transformers was."""

import torch
from pytorch_transformers.modeling_bert import BertConfig, BertSelfAttention
from pytorch_transformers.modeling_xlnet import XLNetLayerNorm

from examples.world.component import of
from examples.world.sizes import ONE_WIDTH
from verify.adapt import module, rows

component = of("pytorch-transformers")

# fmt: off


@component("BertSelfAttention", "attention.multi_head")
def attention():
    """Of the one sequence [x; y], in which x looks at y alone; hidden scores are lowered by 10⁴."""
    weights = lambda W_q, W_k, W_v: {"query.weight": rows(W_q), "key.weight": rows(W_k), "value.weight": rows(W_v), "*bias": 0}
    build = lambda d_model, h: BertSelfAttention(BertConfig(10, hidden_size=d_model, num_attention_heads=h))
    call = lambda attend, x, y, mask, n, W_o: attend(torch.cat((x, y), 1), mask)[0][:, :n] @ W_o
    return module(build, weights, call, mask="joined additive=-1e4 b1nm", sizes=ONE_WIDTH)


@component("XLNetLayerNorm", "normalization.layer_norm")
def layer_norm():
    """Its own ε."""
    return module(lambda d, eps: XLNetLayerNorm(d, eps), lambda gamma, beta: {"weight": gamma, "bias": beta})
