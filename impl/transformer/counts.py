"""How many numbers a Transformer learns, and how many operations a layer takes, from sizes alone: nothing is built."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from impl.transformer.config import TransformerConfig

__all__ = ["cost", "parameter_count"]


def parameter_count(config: TransformerConfig) -> int:
    """The number of parameters of ``Transformer(config)``. What is tied counts once.

    With a vocabulary of 37,000 words: 63,045,632 for the base model and 214,171,648 for the big
    one, both without biases in attention, of which Vaswani et al. 2017, table 3, say "65" and "213" million.
    """
    d, d_ff = config.d_model, config.d_ff
    norm = 2 * d
    attention = 4 * d * d + (4 * d if config.attention_bias else 0)
    feed_forward = 2 * d * d_ff + d_ff + d
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    final = 2 * norm if config.ends_in_norm else 0
    V_s, V_t = config.source_vocabulary, config.target_vocabulary
    words = {"none": V_s + 2 * V_t, "output": V_s + V_t, "all": V_s}[config.tied]
    positions = 2 * config.max_length if config.positions == "learned" else 0
    stacks = config.encoder_layers * encoder_layer + config.decoder_layers * decoder_layer + final
    return stacks + (words + positions) * d


def cost(
    n: int, d: int, k: int, *, projections: Literal["none", "counted"] = "none"
) -> tuple[Float[Tensor, ""], Float[Tensor, ""], Float[Tensor, ""], Float[Tensor, "3"], Float[Tensor, "3"]]:
    """(attention, recurrence, convolution, steps, path) of layers over n rows of d entries. Statement: ``transformer.cost``.

    The first three are the multiply-adds of a layer's matrix products, half of what ``torch.utils.flop_counter`` says; k is the
    width of the convolution's kernel. ``projections="counted"`` adds those that make queries, keys, values and the output.
    ``steps`` and ``path`` are of the three layers in this order: what runs one after another, and what lies between the first
    place and the last (0 where nothing connects them). In float64, exact up to 2⁵³. ValueError unless all sizes are at least 1,
    and for other projections. Source: Vaswani et al. 2017, table 1.
    """
    if min(n, d, k) < 1:
        raise ValueError(f"transformer.cost: expected sizes of at least 1; got n {n}, d {d}, k {k}")
    attention = 2 * n * n * d + (4 * n * d * d if projections == "counted" else 0)
    recurrence, convolution = 2 * n * d * d, k * n * d * d
    layers = max(1, -(-(n - 1) // (k - 1))) if k > 1 else 0
    made = (attention, recurrence, convolution, (1, n, 1), (1, n, layers))
    first, second, third, steps, path = (torch.tensor(x, dtype=torch.float64) for x in made)
    return first, second, third, steps, path
