"""The error model on a page says what its numbers are worth."""

from __future__ import annotations

from generate import errors

from spec.language.registry import find


def test_a_bound_larger_than_the_values_is_said_to_say_nothing() -> None:
    """Of multi-head attention in bfloat16, and of no wider type."""
    _, *said = errors.model_table(find("attention.multi_head")).split("\n\n")
    assert len(said) == 1
    assert said[0].startswith("In bfloat16 the bound is larger than the value itself in ")
    assert errors.measure(find("attention.multi_head"), "float32").empty == 0
    assert "\n\n" not in errors.model_table(find("scores.dot"))


def test_data_are_named_where_there_are_any() -> None:
    """A table of positions is made from two sizes."""
    assert errors.example_words(find("positional.sinusoidal")) == "n = 5, d = 7"
    assert errors.example_words(find("similarity.dot")) == "Unit-normal data, d = 5"
