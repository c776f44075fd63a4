"""Figures that answer to the reader: the numbers they begin with, and what is shown where no script runs."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes

import impl.attention
import impl.positional
import impl.recurrent
from examples.real_weights import LETTERS, recorded_heads
from examples.translate.measuring import DEEPEST, TOP, WIDEST
from examples.translate.numerals import END, VOCABULARY

from . import law, real_weights, steps, translate, tree
from .drawing import INK, ONE, THREE, TWO, drawings, normal
from .markup import escape, table

KEYS, WIDTHS = 16, (1, 16, 64, 256, 1024)
"""Keys, and the widths that are listed where no script runs."""
LOOKS = ((1, 3), (3, 10), (4, 2), (6, 12))
"""Layers and heads that are listed where no script runs."""
POSITIONS, HANDS, BASE = 40, 4, 10_000
SENTENCE = {"dogs": [1, 0, 1, 0], "chase": [0, 2, 0, 2], "cats": [1, 1, 1, 1], "often": [1, 2, 0, 0]}
"""Words with small vectors; three of them are the decks' three tokens."""
STEPS = 40
CELLS = {
    "rnn": {"W_xh": 1.0, "W_hh": 0.9},
    "lstm": {"W_gx": 1.0, "b_i": 4.0, "b_f": 2.0},
    "gru": {"W_nx": 1.0, "W_zx": -8.0, "b_z": 3.0},
}
"""Cells of one unit: each writes what arrives first. Gates hang on the word and on biases; weights not named here are 0."""
WORDS = (
    "the",
    "a",
    "cat",
    "dog",
    "house",
    "tree",
    "water",
    "river",
    "road",
    "long",
    "old",
    "red",
    "went",
    "saw",
    "ran",
)


def attention() -> str:
    """Attention on the three tokens, whose queries, keys, values and mask may be changed."""
    values = {name: np.round(steps.layer()[name], 6).tolist() for name in "qkv"}
    caption = "Change a number, or hide a key from a query: scores, weights and contexts follow."
    return _widget("attention", values, steps.tokens("s", "a", "z"), caption)


def saturation() -> str:
    """The softmax of the scores of keys whose entries have variance 1, by their width, scaled or not."""
    scores = normal(KEYS, seed=3).round(decimals=6)
    values = {"scores": scores.tolist()}
    scaled = impl.attention.softmax(scores[None]).max().item()
    unscaled = [(d, impl.attention.softmax(d**0.5 * scores[None]).max().item()) for d in WIDTHS]
    rows = [(str(d), f"{largest:.3f}", f"{scaled:.3f}") for d, largest in unscaled]
    static = table(("d_k", "Largest weight, unscaled", "Divided by √d_k"), rows)
    caption = f"{KEYS} keys with random entries of variance 1: their scores have variance d_k, unless they are divided by √d_k."
    return _widget("saturation", values, static, caption)


def heads() -> str:
    """What every head of a trained BERT looks at, in three sentences."""
    found, _ = recorded_heads(real_weights.FOLDER / "heads.json")
    rows = []
    for layer, head in LOOKS:
        cells = []
        for one in found:
            n, at = len(one.tokens), one.tokens.index(one.word)
            row = one.weights[layer - 1][head - 1][n * at : n * (at + 1)]
            most = max(range(n), key=lambda j, row=row: LETTERS.index(row[j]))
            cells.append(f"“{one.tokens[most]}”, {LETTERS.index(row[most]) / (len(LETTERS) - 1):.2f}")
        rows.append((f"layer {layer}, head {head}", *cells))
    titles = [f"“{one.word}”, in “… {' '.join(one.tokens[-4:-1])}”" for one in found]
    values = {
        "letters": LETTERS,
        "start": LOOKS[-2],
        "sentences": [{"tokens": o.tokens, "word": o.word, "weights": o.weights} for o in found],
    }
    caption = (
        "Choose a word: the bars are the weights that it gives to the others. Heads differ. Head 3 of layer 1 looks at the word "
        "before; head 2 of layer 4 connects “it” with “animal” and “are” with “keys”. Now read the sentence that ends in “wide”."
    )
    return _widget("heads", values, table(("Most of its weight gets", *titles), rows), caption)


def clocks() -> str:
    """Positions as hands of clocks, and the inner product of two positions by their distance."""
    d = 2 * HANDS

    def paint(axes: Axes, sines_only: bool) -> None:
        pe = impl.positional.sinusoidal(2 * POSITIONS, d, base=BASE, dtype=torch.float64)
        pe = pe[:, ::2] if sines_only else pe
        for t, style, colour in ((0, "--", INK), (3, "-", ONE)):
            axes.plot(
                (pe[t : t + POSITIONS] @ pe[t]).numpy(), style, color=colour, label=f"from position {t}"
            )
        axes.set(xlabel="distance", title="sines only" if sines_only else "sines and cosines")
        axes.set_ylim(-HANDS / 2, HANDS)
        axes.legend(loc="upper right", handlelength=1.8)

    size = (3.4, 2.4)
    static = drawings(
        "The inner product of two positions by their distance, from position 0 and from position 3.",
        ("clocks-both", partial(paint, sines_only=False), size),
        ("clocks-sines", partial(paint, sines_only=True), size),
    )
    caption = (
        f"Two positions as {HANDS} hands, and their inner product by their distance. Move the position: the hands turn, and the "
        "curve stays. Then take away the cosines: now the curve depends on where one stands."
    )
    return _widget("clocks", {"hands": HANDS, "base": BASE, "positions": POSITIONS}, static, caption)


def shuffle() -> str:
    """Words in another order: what self-attention makes of it."""
    values = {
        "words": list(SENTENCE),
        "x": list(SENTENCE.values()),
        **{name: np.round(steps.layer()[name], 6).tolist() for name in ("W_q", "W_k", "W_v")},
        "positions": impl.positional.sinusoidal(len(SENTENCE), 4, dtype=torch.float64).tolist(),
    }
    rows = (
        ("without positions", "the same as before, each word its own"),
        ("with sinusoidal positions", "others"),
        ("causal, without positions", "others, but for a word that still sees the same words"),
    )
    caption = (
        f"“{' '.join(SENTENCE)}” in another order, each word as {len(SENTENCE['dogs'])} numbers. Shuffle: without positions "
        "every word keeps its output. Add positions, or the causal mask, and shuffle again."
    )
    return _widget("shuffle", values, table(("Attention", "Outputs after shuffling"), rows), caption)


def memory() -> str:
    """What is left of a first input in cells of one unit."""

    def paint(axes: Axes) -> None:
        for (name, states), style, colour in zip(
            remembered().items(), ("-", "--", ":"), (ONE, TWO, THREE), strict=True
        ):
            axes.plot(range(1, STEPS + 1), states, style, color=colour, label=name)
        axes.set(xlabel="step", ylabel="state", ylim=(0, 1))
        axes.legend(loc="upper right", handlelength=2.4)

    text = "The state of an RNN, an LSTM and a GRU of one unit that read a 1 and then zeros."
    caption = (
        f"One unit of each kind reads a 1, then {STEPS - 1} zeros. Move the recurrent weight, and the biases that open the "
        "gates: how long does the 1 stay? A recurrent weight above 1 keeps the state up, but a small change of it is forgotten."
    )
    static = drawings(text, ("memory-states", paint, (5.0, 2.6)))
    return _widget("memory", {"steps": STEPS, "cells": CELLS}, static, caption)


def remembered(cells: dict[str, dict[str, float]] = CELLS) -> dict[str, list[float]]:
    """The states after every step of a 1 and zeros, of each kind of cell (of an LSTM its inner state)."""
    x = torch.zeros(STEPS, 1, dtype=torch.float64)
    x[0] = 1

    def weights(kind: str, *names: str) -> list[torch.Tensor]:
        shapes = ((1, 1) if name.startswith("W") else (1,) for name in names)
        return [
            torch.full(shape, cells[kind].get(name, 0.0), dtype=torch.float64)
            for name, shape in zip(names, shapes, strict=True)
        ]

    rnn = weights("rnn", "W_xh", "W_hh", "W_hy")
    lstm = weights("lstm", *(n for gate in "gifo" for n in (f"W_{gate}x", f"W_{gate}h", f"b_{gate}")))
    gru = [
        torch.cat(weights("gru", *(name.format(gate) for gate in "rzn")))
        for name in ("W_{}x", "W_{}h", "b_{}", "b_{}h")
    ]
    plain = h = s = gated = torch.zeros(1, dtype=torch.float64)
    found: dict[str, list[float]] = {"RNN": [], "LSTM": [], "GRU": []}
    for element in x:
        plain, _ = impl.recurrent.rnn_cell(element, plain, *rnn)
        h, s = impl.recurrent.lstm_cell(element, h, s, *lstm)
        gated = impl.recurrent.gru_cell(element, gated, *gru)
        for name, state in zip(found, (plain, s, gated), strict=True):
            found[name].append(state.item())
    return found


def masking() -> str:
    """Draws of masked language modelling on a sentence, gathered beside the law."""
    tokens = real_weights.agreed()["texts"][0]["tokens"]
    constants = {name: float(value) for name, value in law.constants().items()}
    values = {
        "tokens": tokens,
        "words": WORDS,
        "selected": constants["rho"],
        "shares": {name: float(share) for name, share in law.stated().items()},
    }
    rows = [(f"of the selected: {name}", law.percent(share)) for name, share in law.stated().items()]
    static = table(("By the law", "Share"), [("selected", law.percent(law.constants()["rho"])), *rows])
    caption = (
        "Draw, and draw again: other tokens are selected. After some hundred draws the shares are near the law. A random word is "
        f"one of {len(WORDS)} here."
    )
    return _widget("masking", values, static, caption)


def beams() -> str:
    """Beam search as a tree, by its width."""
    values = {
        "steps": DEEPEST,
        "end": VOCABULARY[END],
        "widest": WIDEST,
        "law": {" ".join(text): list(words.items()) for text, words in tree.law().items()},
    }
    result, _ = translate.records()[0]
    greedy, wider = (tree.written(tree.best(width)[0]) for width in (1, 2))
    caption = (
        f"What a Transformer after {result.settings.early} steps of training would write for “{translate.searches().source}”, "
        f"with the probability so far; each beginning is expanded by its {TOP} best words. "
        f"Thick: kept; dashed: looked at and dropped; thin: never looked at; underlined: greedy. "
        f"One beam finds “{greedy}”, two find “{wider}”. Try other widths."
    )
    return _widget("beams", values, tree.drawn(2), caption)


WIDGETS = {
    "attention": attention,
    "saturation": saturation,
    "heads": heads,
    "clocks": clocks,
    "shuffle": shuffle,
    "memory": memory,
    "masking": masking,
    "beams": beams,
}


def shown(name: str) -> str:
    """The figure of this name."""
    return WIDGETS[name]()


def _widget(name: str, values: Any, static: str, caption: str) -> str:
    data = escape(json.dumps(values, separators=(",", ":")))
    inside = f'<div class="widget" data-widget="{name}" data-values="{data}">{static}</div>'
    script = f'<script defer src="assets/widgets/{name}.js"></script>'
    return f'<figure class="drawn">{inside}<figcaption>{escape(caption)}</figcaption>{script}</figure>'
