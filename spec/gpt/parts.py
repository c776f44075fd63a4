"""What GPT's formulas share: where their normalization stands, and which GELU they bend by, unless something else is chosen."""

from dataclasses import replace

from spec.attention.masks import FULLY_MASKED
from spec.feedforward.gelu import APPROXIMATION
from spec.normalization.layer_norm import OURS, layer_norm
from spec.transformer.parts import NORM

CONVENTIONS = (
    replace(NORM, default="pre"),
    replace(APPROXIMATION, default="tanh"),
    FULLY_MASKED,
    *layer_norm.conventions,
)
ZERO = {"fully_masked": "zero", **OURS, "gain": "gamma"}
"""The conventions under which theorems are stated: every row gathers something that is defined, and has a variance."""
