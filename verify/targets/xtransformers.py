"""Implementations of x-transformers, adapted to the declared input order and otherwise as they are."""

from __future__ import annotations

from verify.adapt import Adapter, module


def multi_head(flash: bool) -> Adapter:
    """``Attention`` with a context; with ``flash`` it goes to torch's fused kernel."""
    from x_transformers.x_transformers import Attention

    arguments = f"d_model, dim_head=d_k, heads=h, value_dim_head=d_v, flash={flash}, project_out=True"
    weights = {
        "to_q.weight": "rows(W_q)",
        "to_k.weight": "rows(W_k)",
        "to_v.weight": "rows(W_v)",
        "to_out.weight": "W_o.T",
    }
    return module(Attention, weights, "x, context=y, attn_mask=mask", arguments=arguments, mask="b1nm")
