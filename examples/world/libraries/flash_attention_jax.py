"""flash-attention-jax."""

from flash_attention_jax import attention, causal_flash_attention, flash_attention

from examples.world.component import of
from verify import adapt

component = of("flash-attention-jax")

# fmt: off


@component("attention", "attention.scaled_dot_product")
def plain():
    """With a mask of keys; hidden scores are −10¹⁰."""
    how = {"mask": "keys always", "heads_axis": 1, "sizes": {"d_v": "d_k"}}
    return adapt.jax(attention, **how)


@component("flash_attention", "attention.scaled_dot_product")
def flash():
    """With a mask of keys."""
    how = {"mask": "keys always", "heads_axis": 1, "sizes": {"d_v": "d_k"}}
    return adapt.jax(flash_attention, **how)


@component("causal_flash_attention", "attention.causal")
def causal():
    """The last query sees the last key."""
    return adapt.jax(causal_flash_attention, heads_axis=1, sizes={"d_v": "d_k"})
