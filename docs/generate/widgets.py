"""Figures that answer to the reader: the numbers they begin with, and what is shown where no script runs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import steps
from .drawing import normal
from .markup import escape

KEYS = 16


def attention() -> str:
    """Attention on the three tokens, whose queries, keys, values and mask may be changed."""
    values = {name: np.round(steps.layer()[name], 6).tolist() for name in "qkv"}
    caption = "Change a number, or hide a key from a query: scores, weights and contexts follow."
    return _widget("attention", values, steps.tokens("s", "a", "z"), caption)


def saturation() -> str:
    """The softmax of the scores of keys whose entries have variance 1, by their width, scaled or not."""
    values = {"scores": np.round(normal(KEYS, seed=3).numpy(), 6).tolist()}
    static = "<p>Unscaled scores spread with √d_k: one weight takes all, and the derivative vanishes.</p>"
    caption = f"{KEYS} keys with random entries of variance 1: their scores have variance d_k, unless they are divided by √d_k."
    return _widget("saturation", values, static, caption)


WIDGETS = {"attention": attention, "saturation": saturation}


def shown(name: str) -> str:
    """The figure of this name."""
    return WIDGETS[name]()


def _widget(name: str, values: Any, static: str, caption: str) -> str:
    data = escape(json.dumps(values))
    inside = f'<div class="widget" data-widget="{name}" data-values="{data}">{static}</div>'
    return f'<figure class="drawn">{inside}<figcaption>{escape(caption)}</figcaption></figure>'
