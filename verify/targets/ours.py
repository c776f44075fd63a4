"""Our own implementations. They take the declared inputs as they are; keywords choose a convention or a backend."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import impl.attention
import impl.masking
import impl.normalization
import impl.positional
import impl.scores

Adapted = Callable[..., Any]


def dot() -> Adapted:
    """``impl.scores.dot``."""
    return impl.scores.dot


def scaled_dot() -> Adapted:
    """``impl.scores.scaled_dot``."""
    return impl.scores.scaled_dot


def softmax() -> Adapted:
    """``impl.attention.softmax``."""
    return impl.attention.softmax


def scaled_dot_product() -> Adapted:
    """``impl.attention.scaled_dot_product``."""
    return impl.attention.scaled_dot_product


def scaled_dot_product_math() -> Adapted:
    """``impl.attention.scaled_dot_product`` in plain operations."""
    return partial(impl.attention.scaled_dot_product, backend="math")


def causal() -> Adapted:
    """``impl.attention.causal``."""
    return impl.attention.causal


def causal_upper_left() -> Adapted:
    """``impl.attention.causal``, aligned at the first key."""
    return partial(impl.attention.causal, alignment="upper_left")


def sinusoidal() -> Adapted:
    """``impl.positional.sinusoidal``."""
    return impl.positional.sinusoidal


def sinusoidal_concatenated() -> Adapted:
    """``impl.positional.sinusoidal``, sines first."""
    return partial(impl.positional.sinusoidal, layout="concatenated")


def learned() -> Adapted:
    """``impl.positional.learned``."""
    return impl.positional.learned


def layer_norm() -> Adapted:
    """``impl.normalization.layer_norm``."""
    return impl.normalization.layer_norm


def mlm() -> Adapted:
    """``impl.masking.mlm``."""
    return impl.masking.mlm


def mlm_exact_count() -> Adapted:
    """``impl.masking.mlm`` with BERT's exact count."""
    return partial(impl.masking.mlm, selection="exact_count")
