"""local-attention, with a window that reaches everything."""

from local_attention import LocalAttention

from examples.world.component import of
from verify.adapt import module

component = of("local-attention")

# fmt: off


@component("LocalAttention", "attention.scaled_dot_product")
def attention():
    """One window."""
    build, how = lambda n: LocalAttention(n, autopad=True, use_rotary_pos_emb=False), {"sizes": {"m": "n", "d_v": "d_k"}}
    return module(build, None, lambda attend, q, k, v, mask: attend(q, k, v, mask=mask), mask="keys", **how)


@component("LocalAttention(causal=True)", "attention.causal")
def causal():
    """One window."""
    build = lambda n: LocalAttention(n, causal=True, use_rotary_pos_emb=False)
    return module(build, sizes={"m": "n", "d_v": "d_k"})
