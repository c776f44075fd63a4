"""Sizes past 2⁷, 2⁸ and 2¹⁵, one at a time."""

from __future__ import annotations

import pytest

from spec.language.registry import find, formulas
from verify.inputs.size_rules import EVERY_SIZE, Supported, sizes_of_formula
from verify.inputs.sizes import (
    BLOCK,
    COUNTS,
    HEADS,
    INDEXED,
    LAYERS,
    MODELS,
    NUMBERS,
    SQUARES,
    STEPS,
    entries,
    large_sizes,
    make_sizing,
    many_rows,
    several_layers,
    usual_widths,
)

STATED = [k for k, f in formulas().items() if f.law is None]


def numbers(found):
    """What is large, by name."""
    return {str(size): each.sizes[size] for each in found for size in each.large}


COSTLY = {"evoformer.triangle_attention": {"n_res"}, "evoformer.block": {"n_res"}}
"""Sizes that are large in none of their examples: of residues by threes."""


@pytest.mark.parametrize("formula_id", STATED)
def test_one_size_at_a_time_is_large_and_fills_no_blocks(formula_id):
    """It is past 2⁶ and ends in a part of a block; all others are small, and the example is affordable."""
    formula = find(formula_id)
    for large in large_sizes(make_sizing(formula, EVERY_SIZE)):
        (size,) = large.large
        number = large.sizes[size]
        assert number > BLOCK or number in STEPS
        assert large.tail == number % BLOCK > 0
        assert max([v for s, v in large.sizes.items() if s != size], default=1) <= 5
        assert large.cost <= SQUARES.cost
        assert entries(formula, large.sizes) <= NUMBERS


@pytest.mark.parametrize("formula_id", [k for k in STATED if not k.startswith("transformer.")])
def test_every_size_of_a_formula_is_large_once(formula_id):
    """But of whole layers, where the widest may cost too much."""
    formula = find(formula_id)
    large = {size for each in large_sizes(make_sizing(formula, EVERY_SIZE)) for size in each.large}
    missing = {str(s) for s in sizes_of_formula(formula) if s not in large}
    assert missing <= COSTLY.get(formula_id, set())


@pytest.mark.parametrize(
    ("formula_id", "name"),
    [
        ("embedding.token", "V"),
        ("positional.learned", "N"),
        ("positional.sinusoidal", "n"),
        ("objectives.cross_entropy", "V"),
        ("objectives.linear_cross_entropy", "V"),
        ("recurrent.bilm_objective", "V"),
    ],
)
def test_what_ids_and_positions_are_below_is_past_fifteen_bits(formula_id, name):
    """Where an index is kept in 16 bits, it wraps."""
    found = numbers(large_sizes(make_sizing(find(formula_id), EVERY_SIZE)))
    assert found[name] == INDEXED[0] > 2**15


@pytest.mark.parametrize(
    "formula_id", ["attention.causal", "attention.multi_head", "transformer.decoder_layer"]
)
def test_many_rows_and_columns_stand_beside_one_another(formula_id):
    """Past two tiles of 128 in each example: as many as there are columns, and fewer where there are two kinds."""
    formula = find(formula_id)
    found = many_rows(make_sizing(formula, EVERY_SIZE))
    own = [{large.sizes[size] for size in large.large} for large in found]
    assert [len(numbers) for numbers in own] == [1, 2][: len(found)]
    assert all(str(large).count("=") == len(large.large) and large.cost <= SQUARES.cost for large in found)
    assert found[0].sizes[found[0].large[0]] > 128


def test_rows_are_as_wide_as_heads_and_models_are():
    """All inputs together where that is cheap, with as many rows where that is, too; else each, at common widths."""
    formula = find("attention.scaled_dot_product")
    sizes = {
        tuple(large.sizes[s] for s in large.large) for large in usual_widths(make_sizing(formula, EVERY_SIZE))
    }
    assert {(n, n) for n in (*HEADS, *MODELS)} <= sizes
    assert {(n, n, n, n) for n in HEADS[:3]} <= sizes
    formula = find("attention.multi_head")
    alone = {str(large) for large in usual_widths(make_sizing(formula, EVERY_SIZE)) if len(large.large) == 1}
    assert {f"{size} = {n}" for size in ("d_model", "d_k", "d_v") for n in (256, 1024)} <= alone
    multiples = Supported.of(formula, {"d_k": "8 * any"})
    assert all(
        large.sizes[size] % 8 == 0
        for large in usual_widths(make_sizing(formula, multiples))
        for size in large.sizes
        if str(size) == "d_k"
    )


def test_gradients_are_looked_at_where_they_are_affordable():
    """A smaller budget gives smaller sizes, past 2⁷ all the same."""
    lstm = find("recurrent.lstm")
    steps = [numbers(large_sizes(make_sizing(lstm, EVERY_SIZE), slopes))["T"] for slopes in (False, True)]
    assert steps == [263, 131]


def test_rules_are_kept():
    """A multiple is enlarged, a size that is fixed, one of a few or of a range is not."""
    heads = find("attention.multi_head")

    def under(**rules):
        return numbers(large_sizes(make_sizing(heads, Supported.of(heads, rules))))

    assert under(d_model="even")["d_model"] == 1030
    assert "h" not in under(h="2|4")
    assert "n" not in under(n="2..64")
    assert "d_model" not in under(d_model="6")
    for each in large_sizes(make_sizing(heads, Supported.of(heads, {"d_model": "h*d_k", "d_v": "d_k"}))):
        sizes = {str(s): v for s, v in each.sizes.items()}
        assert sizes["d_model"] == sizes["h"] * sizes["d_k"]


def test_a_stack_has_an_example_of_more_layers_than_small_sizes_have():
    """The steps of a sequence are no layers."""
    found = several_layers(make_sizing(find("transformer.encoder"), EVERY_SIZE))
    assert [str(large) for large in found] == [f"L = {number}" for number in LAYERS]
    assert several_layers(make_sizing(find("recurrent.gru"), EVERY_SIZE)) == ()


@pytest.mark.parametrize("formula_id", ["attention.multi_head", "transformer.encoder"])
def test_there_are_as_many_heads_as_models_have(formula_id):
    """Each number by itself, and layers are not taken for heads."""
    formula = find(formula_id)
    alone = {str(large) for large in usual_widths(make_sizing(formula, EVERY_SIZE)) if len(large.large) == 1}
    assert {f"h = {number}" for number in COUNTS} <= alone
    assert not any(said.startswith("L =") for said in alone)


def test_many_rows_of_a_stack_are_not_all_of_two_entries():
    """Which are the same once they are normalised."""
    found = many_rows(make_sizing(find("transformer.encoder"), EVERY_SIZE))
    assert max(large.sizes[size] for large in found for size in large.sizes if str(size) == "d_model") > 2
