"""Optax: losses."""

import optax

from examples.world.component import of
from verify import adapt

component = of("optax")

# fmt: off


@component("softmax_cross_entropy_with_integer_labels", "objectives.autoregressive")
def cross_entropy():
    """Summed over the text."""
    return adapt.jax(lambda s, y: -optax.softmax_cross_entropy_with_integer_labels(s, y).sum(-1))


@component("losses.cosine_similarity", "similarity.cosine")
def cosine():
    """With its ε of 0."""
    return adapt.jax(lambda x, y: optax.losses.cosine_similarity(x, y))
