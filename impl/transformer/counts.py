"""How many numbers a Transformer learns, from its sizes alone: nothing is built."""

from impl.transformer.config import TransformerConfig

__all__ = ["parameter_count"]


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
