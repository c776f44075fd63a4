"""memory-efficient-attention-pytorch."""

from memory_efficient_attention_pytorch.memory_efficient_attention import Attention

from examples.world.component import of
from verify.adapt import module

component = of("memory-efficient-attention-pytorch")

# fmt: off


@component("Attention", "attention.multi_head")
def attention():
    """With a mask of keys."""
    weights = {"to_q.weight": "rows(W_q)", "to_kv.weight": "cat(rows(W_k), rows(W_v))", "to_out.weight": "W_o.T"}
    call, arguments = "x, context=y, mask=mask", "dim=d_model, heads=h, dim_head=d_k"
    return module(Attention, weights, call, arguments=arguments, mask="keys", sizes={"d_v": "d_k"})


@component("Attention(memory_efficient=True)", "attention.multi_head")
def blockwise():
    """With a mask of keys; blocks of three queries and five keys."""
    weights = {"to_q.weight": "rows(W_q)", "to_kv.weight": "cat(rows(W_k), rows(W_v))", "to_out.weight": "W_o.T"}
    arguments = "dim=d_model, heads=h, dim_head=d_k, memory_efficient=True, q_bucket_size=3, k_bucket_size=5"
    return module(Attention, weights, "x, context=y, mask=mask", arguments=arguments, mask="keys", sizes={"d_v": "d_k"})
