"""The parameters of published models, by the formulas."""

import pytest

from spec.bert import encoder as of
from spec.vision import classifier as image

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


BIGBIRD = {"base": 128_111_286, "large": 360_225_974}
"""Of the models of hidden words, with the pooler that they carry: google/bigbird-roberta-base and -large."""


@pytest.mark.parametrize("name", BIGBIRD)
def test_the_formula_gives_the_counts_of_bigbird(name: str) -> None:
    """Attention by blocks has no parameters of its own: the encoder, with 50,358 words and 4,096 positions, pooler and head."""
    measures, words = MODELS[name][0], 50_358
    sizes = {of.V: words, of.N: 4096, of.K: 2, of.d_k: 64, of.d_v: 64, **measures}
    width = measures[of.d_model]
    pooler, head = (width + 1) * width, (width + 1) * width + 2 * width + words
    assert of.COUNT.subs(sizes) + pooler + head == BIGBIRD[name]


IMAGES = {  # patch, layers, width, heads; Dosovitskiy et al. 2021, table 1, which says 86, 307 and 632 million
    "ViT-B/16": (16, 12, 768, 12, 86_567_656),
    "ViT-L/16": (16, 24, 1024, 16, 304_326_632),
    "ViT-H/14": (14, 32, 1280, 16, 632_045_800),
}


@pytest.mark.parametrize("name", IMAGES)
def test_the_formula_gives_the_counts_of_vision_transformers(name: str) -> None:
    """The right side of the theorem *parameters* of the classifier, which its sentence says of each."""
    patch, layers, width, heads, count = IMAGES[name]
    along, of_head = 224 // patch, width // heads
    sizes = {image.C: 3, image.p: patch, image.n_r: along, image.n_c: along, image.L: layers, image.K: 1000}
    widths = {of.d_model: width, of.h: heads, of.d_k: of_head, of.d_v: of_head, of.d_ff: 4 * width}
    assert image.COUNT.subs(sizes | widths) == count
    assert f"{count:,} in {name}" in image.classifier.theorems["parameters"].title
