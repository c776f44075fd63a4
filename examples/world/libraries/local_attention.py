"""local-attention, with a window that reaches everything."""

from local_attention import LocalAttention

from examples.world.component import of
from verify.adapt import module

component = of("local-attention")

# fmt: off


@component("LocalAttention", "attention.scaled_dot_product")
def attention():
    """One window."""
    arguments, how = "n, autopad=True, use_rotary_pos_emb=False", {"mask": "keys", "sizes": {"m": "n", "d_v": "d_k"}}
    return module(LocalAttention, {}, "q, k, v, mask=mask", arguments=arguments, **how)


@component("LocalAttention(causal=True)", "attention.causal")
def causal():
    """One window."""
    sizes = {"m": "n", "d_v": "d_k"}
    return module(LocalAttention, {}, "q, k, v", arguments="n, causal=True, use_rotary_pos_emb=False", sizes=sizes)
