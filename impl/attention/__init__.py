"""Attention: a softmax over the keys a query may attend to, and the mean of their values under it.

Letters are the statements': n queries and m keys of d_k entries, m values of d_v entries; s scores, a weights, z contexts.
Leading dimensions are batches (heads among them) and broadcast. Modules take ``device`` and ``dtype`` by name, as torch's do.

A mask is boolean and **True means "may attend"**; it broadcasts to (... n m), so (... 1 m) hides padding keys, and has no more
leading dimensions than what it is for. A query
that may attend to nothing gets 0 and passes no gradient. What stands in a slot that no query may attend to, NaN and
Inf included, reaches neither output nor gradient: torch's kernels multiply it by 0, which leaves NaN as it is. On an accelerator
that costs a pass over the inputs; ``trust_hidden`` does without, where what is hidden is known to be finite.

The functions on q, k and v go to torch's fused kernel (``F.scaled_dot_product_attention``), which never stores the n × m
weights. Fused kernels have first derivatives only. Inside ``torch.func`` everything beyond one ``grad`` (vmap, jvp, jacfwd,
hessian, …) takes the math path by itself. For ``create_graph=True``, ``torch.autograd.forward_ad``, jacrev and vmap inside
``torch.compile``, ask for it with ``backend="math"``: the same formula in plain operations, differentiable to any order in
either mode. In 16 bits the fused kernel also rounds the weights before it sums with them; the math path rounds once, at the end.
"""

from impl._arguments import check_arguments
from impl.attention import layouts as layouts
from impl.attention.blocks import bigbird, bigbird_table, random_blocks
from impl.attention.cache import KeyValueCache, cached, paged
from impl.attention.grouped import decoder_heads, grouped_query, qk_norm, sinks, softcap
from impl.attention.low_rank import LinformerAttention, linformer
from impl.attention.masks import causal_mask, key_padding_mask, trust_hidden
from impl.attention.merging import merge
from impl.attention.mixing import Attention, attend
from impl.attention.multihead import MultiHeadAttention
from impl.attention.projections import biased_multi_head, causal_multi_head, cross, multi_head
from impl.attention.projections import self_ as self
from impl.attention.relative import relative, shift_distances
from impl.attention.sampling import hard, log_weight
from impl.attention.steps import bahdanau_step, luong_step
from impl.attention.weights import additive_weights, causal, log_sum_exp, scaled_dot_product, softmax
from impl.attention.windows import local, window

__all__ = [
    "softmax",
    "additive_weights",
    "scaled_dot_product",
    "log_sum_exp",
    "merge",
    "attend",
    "Attention",
    "causal",
    "causal_mask",
    "key_padding_mask",
    "trust_hidden",
    "self",
    "cross",
    "multi_head",
    "biased_multi_head",
    "causal_multi_head",
    "grouped_query",
    "qk_norm",
    "sinks",
    "softcap",
    "decoder_heads",
    "relative",
    "shift_distances",
    "MultiHeadAttention",
    "KeyValueCache",
    "cached",
    "paged",
    "hard",
    "log_weight",
    "local",
    "window",
    "linformer",
    "LinformerAttention",
    "bigbird",
    "bigbird_table",
    "random_blocks",
    "bahdanau_step",
    "luong_step",
]

check_arguments(__name__)
