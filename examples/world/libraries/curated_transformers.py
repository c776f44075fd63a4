"""curated-transformers."""

from curated_transformers.layers import AttentionMask, RMSNorm, ScaledDotProductAttention

from examples.world.component import of
from verify.adapt import function, module

component = of("curated-transformers")

# fmt: off


@component("ScaledDotProductAttention", "attention.scaled_dot_product")
def attention():
    """With a mask of keys."""
    layer = ScaledDotProductAttention(dropout_prob=0.0, linear_biases=None)
    attend = lambda q, k, v, mask: layer(query=q, key=k, value=v, attention_mask=AttentionMask(mask), use_causal_mask=False)
    return function(attend, mask="b11m always", heads_axis=1)


@component("ScaledDotProductAttention(use_causal_mask)", "attention.causal")
def causal():
    """Of queries that are as many as the keys, or fewer."""
    layer = ScaledDotProductAttention(dropout_prob=0.0, linear_biases=None)
    every = lambda k: k.new_ones(len(k), 1, 1, k.shape[-2])
    attend = lambda q, k, v: layer(query=q, key=k, value=v, attention_mask=AttentionMask(every(k).bool()), use_causal_mask=True)
    return function(attend, heads_axis=1)


@component("RMSNorm", "normalization.rms_norm")
def rms_norm():
    """The mean of squares in float32."""
    return module(lambda d, eps: RMSNorm(d, eps=eps), lambda gamma: {"weight": gamma})
