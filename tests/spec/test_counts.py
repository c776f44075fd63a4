"""The parameters of BERT's two models, by the formula."""

import pytest

from spec.bert import encoder as of

MODELS = {
    "base": ({of.L: 12, of.d_model: 768, of.h: 12, of.d_ff: 3072}, 109_482_240),
    "large": ({of.L: 24, of.d_model: 1024, of.h: 16, of.d_ff: 4096}, 335_141_888),
}
"""Sizes of either, and what is published of it: Devlin et al. 2019, with the pooler."""


@pytest.mark.parametrize("name", MODELS)
def test_the_formula_gives_the_published_counts(name: str) -> None:
    """The right side of the theorem *parameters* of the encoder, and the pooler's matrix and bias."""
    measures, count = MODELS[name]
    sizes = {of.V: 30_522, of.N: 512, of.K: 2, of.d_k: 64, of.d_v: 64, **measures}
    assert of.COUNT.subs(sizes) + (measures[of.d_model] + 1) * measures[of.d_model] == count
