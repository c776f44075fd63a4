"""memory-efficient-attention-pytorch."""

from memory_efficient_attention_pytorch.memory_efficient_attention import Attention

from examples.world.component import of
from verify.adapt import module, rows

component = of("memory-efficient-attention-pytorch")

# fmt: off


def packed(W_q, W_k, W_v, W_o):
    """Keys and values have one layer."""
    return {"to_q.weight": rows(W_q), "to_kv.weight": rows(W_k, W_v), "to_out.weight": W_o.T}


@component("Attention", "attention.multi_head")
def attention():
    """With a mask of keys."""
    build = lambda d_model, h, d_k: Attention(dim=d_model, heads=h, dim_head=d_k)
    return module(build, packed, lambda attend, x, y, mask: attend(x, context=y, mask=mask), mask="keys", sizes={"d_v": "d_k"})


@component("Attention(memory_efficient=True)", "attention.multi_head")
def blockwise():
    """With a mask of keys; blocks of three queries and five keys."""
    blocks = {"memory_efficient": True, "q_bucket_size": 3, "k_bucket_size": 5}
    build = lambda d_model, h, d_k: Attention(dim=d_model, heads=h, dim_head=d_k, **blocks)
    return module(build, packed, lambda attend, x, y, mask: attend(x, context=y, mask=mask), mask="keys", sizes={"d_v": "d_k"})
