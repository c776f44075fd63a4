"""rotary-embedding-torch."""

from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

from examples.world.component import of
from verify.adapt import function

component = of("rotary-embedding-torch")

# fmt: off


@component("RotaryEmbedding, apply_rotary_emb", "examples/formulas/rope.py:rope")
def rotary():
    """Neighbouring entries are a pair; positions have no batch."""
    table = lambda x, p: RotaryEmbedding(x.shape[-1], cache_if_possible=False)(p)
    return function(lambda x, p: apply_rotary_emb(table(x, p), x), batch=0, sizes={"h": "2..16"})
