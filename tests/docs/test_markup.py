"""Words on a page."""

from __future__ import annotations

import pytest
import sympy
from generate.markup import inline, letters, sentence, within

from spec.language.render import latex


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the mean is 0", "The mean is 0"),
        ("a row of ones", "A row of ones"),
        ("one-hot vectors, picked", "One-hot vectors, picked"),
        ("likewise, for the lowest", "Likewise, for the lowest"),
        ("it has none", "It has none"),
        ("d times the variance", "d times the variance"),
        ("a is at most b", "a is at most b"),
        ("a ∂ ln a = ∂a", "a ∂ ln a = ∂a"),
        ("x is a row", "x is a row"),
        ("dₖ is the width", "dₖ is the width"),
        ("b⁰ = 1", "b⁰ = 1"),
        ("σ lies between 0 and 1", "σ lies between 0 and 1"),
        ("tanh lies between −1 and 1", "tanh lies between −1 and 1"),
        ("exp(x) is positive", "exp(x) is positive"),
        ("Bahdanau's score", "Bahdanau's score"),
        ("0.15·0.8 = 0.12", "0.15·0.8 = 0.12"),
        ("", ""),
    ],
)
def test_a_sentence_begins_with_a_capital_unless_with_a_symbol(text: str, shown: str) -> None:
    """A letter that stands for something means another thing in capitals."""
    assert sentence(text) == shown


def test_letters_with_an_index_are_set_in_text_alone() -> None:
    """Not in code, in mathematics or in attributes, and no name of more letters; a letter's name in English is the letter."""
    html = (
        '<p title="W_o">W_o, √d_model and γ_1; <code>W_o</code> max_length <b>h·d_v</b> norm_first f_x(y)</p>'
    )
    shown = letters(html)
    for name in ("W_o", "d_model", "γ_1", "d_v"):
        assert inline(latex(sympy.Symbol(name))) in shown
    for kept in ('title="W_o"', "<code>W_o</code>", "max_length", "norm_first", "f_x(y)"):
        assert kept in shown
    assert shown.count("<math") == 4
    assert letters(shown) == shown
    assert "&#x003B3;" in letters("gamma_2")


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Layer normalization", "layer normalization"),
        ("BERT's layer", "BERT's layer"),
        ("Luong's step", "Luong's step"),
        ("GELU", "GELU"),
    ],
)
def test_a_title_within_a_sentence_begins_small_unless_with_a_name(title: str, shown: str) -> None:
    """BERT is written BERT."""
    assert within(title) == shown
