"""Sizes such as those of real models, at which accuracy is graded."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from spec.language.evaluation.dimensions import Size
from spec.language.registry import find
from verify.inputs.size_rules import EVERY_SIZE, Supported
from verify.inputs.sizes import (
    GRADED,
    Sizing,
    beside_one,
    large_data,
    long_steps,
    make_sizing,
    many_layers,
    many_steps,
    none_small,
    one_large,
    one_long_sum,
    one_query,
    usual_proportions,
    vast_sums,
    whole_blocks,
    wide_sums,
)


def space(formula_id: str) -> Sizing:
    """All sizes of a formula."""
    return make_sizing(find(formula_id), EVERY_SIZE)


def named(sizes: Mapping[Size, int]) -> dict[str, int]:
    """Sizes by name."""
    return {str(size): value for size, value in sizes.items()}


@pytest.mark.parametrize(
    ("formula_id", "sums", "few"),
    [
        ("attention.scaled_dot_product", {"d_k", "m"}, {"n", "d_v"}),
        ("normalization.layer_norm", {"d"}, set()),
        ("recurrent.lstm", {"p", "d"}, {"T"}),
        ("scores.additive", {"a"}, {"n", "m"}),
    ],
)
def test_sizes_that_sums_run_over_are_those_of_real_models(
    formula_id: str, sums: set[str], few: set[str]
) -> None:
    """Every sum has 257 terms or more at the widest, within the budget; the rest is small."""
    formula = find(formula_id)
    rungs = wide_sums(make_sizing(formula, EVERY_SIZE))
    widest = {str(size): value for size, value in rungs[-1].items()}
    assert all(widest[name] >= 257 for name in sums)
    assert all(widest[name] <= 5 for name in few)
    costs = [make_sizing(formula, EVERY_SIZE).cost(sizes) for sizes in rungs]
    assert costs == sorted(costs)
    assert costs[-1] <= GRADED + make_sizing(formula, EVERY_SIZE).budget


def test_only_supported_sizes_are_wide() -> None:
    """A rule of the callable holds at realistic sizes, too."""
    formula = find("attention.multi_head")
    supported = Supported.of(formula, {"d_model": "h*d_k", "d_v": "d_k", "h": "2|4"})
    for sizes in wide_sums(make_sizing(formula, supported)):
        assert supported.fits(sizes)


@pytest.mark.parametrize(
    ("formula_id", "steps"),
    [("attention.multi_head", {}), ("recurrent.gru", {"T": 320}), ("recurrent.stacked", {"T": 320, "L": 1})],
)
def test_sizes_are_large_all_at_once_where_that_is_affordable(formula_id: str, steps: dict[str, int]) -> None:
    """None is small: a sequence has many steps, and of layers, of which no model has so many, there is one."""
    formula = find(formula_id)
    (found,) = none_small(make_sizing(formula, EVERY_SIZE), 3.2e7)
    sizes = named(found)
    assert {name: sizes.pop(name) for name in steps} == steps
    assert min(sizes.values()) >= 37
    assert len(set(sizes.values())) == len(sizes)
    assert {str(size) for size in long_steps(formula, found)} == set(steps) - {"L"}


def test_of_what_no_size_is_small_there_is_none_that_is_too_dear() -> None:
    """A budget below the least offers nothing; a rule of the callable holds here, too."""
    assert none_small(space("recurrent.lstm_stacked"), 1e6) == ()
    formula = find("attention.multi_head")
    supported = Supported.of(formula, {"d_model": "h*d_k", "d_v": "d_k", "h": "2|4"})
    (found,) = none_small(make_sizing(formula, supported), 3.2e7)
    assert supported.fits(found)


def test_aligned_sizes_are_equal_powers_of_two() -> None:
    """Those of sums, and of others as many as are affordable; rows alone are the longest."""
    every = [named(s) for s in whole_blocks(space("attention.scaled_dot_product"), 2e7)]
    assert [set(sizes.values()) for sizes in every[:2]] == [{64}, {128}]
    rows = [named(s) for s in whole_blocks(space("normalization.layer_norm"), 2e7)]
    assert rows[-1]["d"] >= 1024
    for sizes in whole_blocks(space("recurrent.stacked"), 2e7):
        assert named(sizes)["T"] == 3


def test_one_query_has_many_keys() -> None:
    """What no sum runs over is one; where nothing is left to be one there is no such example."""
    sizes = named(*one_query(space("attention.scaled_dot_product"), 4e6))
    assert sizes["n"] == 1
    assert min(sizes["m"], sizes["d_k"]) >= 257
    assert one_query(space("normalization.layer_norm"), 4e6) == ()


@pytest.mark.parametrize("formula", ["transformer.encoder_layer", "transformer.decoder", "bert.layer"])
def test_usual_models_share_their_width_between_heads(formula: str) -> None:
    """And their networks are four times as wide; there is a small one, and one as wide as the first Transformer."""
    small, large = map(named, usual_proportions(space(formula), 1e8))
    for sizes in (small, large):
        assert sizes["d_model"] == sizes["h"] * sizes["d_k"] == sizes["h"] * sizes["d_v"]
        assert sizes["d_ff"] == 4 * sizes["d_model"]
        assert sizes.get("L", 1) == 1
    assert (large["h"], large["d_model"]) == (8, 512)


def test_usual_networks_are_four_times_as_wide() -> None:
    """Also where there are no heads; where no weight has a size of its own there is no such example."""
    assert [named(s) for s in usual_proportions(space("feedforward.relu"), 1e8)] == [
        {"d": 128, "f": 512},
        {"d": 512, "f": 2048},
    ]
    for formula in ("attention.scaled_dot_product", "normalization.layer_norm"):
        assert usual_proportions(space(formula), 1e8) == ()


def test_each_size_is_large_alone() -> None:
    """Once, in whole blocks, and the others small; steps are none of them, and of a whole model there are two layers. It is less
    where that has too many entries.
    """
    found = [named(s) for s in one_large(space("attention.multi_head"), 4e6, 1.5e6)]
    assert [[name for name, value in sizes.items() if value >= 256] for sizes in found] == [
        [n] for n in found[0]
    ]
    assert all(max(sizes.values()) % 64 == 0 for sizes in found)
    assert all(named(sizes)["T"] == 1 for sizes in one_large(space("recurrent.gru"), 4e6, 1.5e6))
    wide = [named(s)["d"] for s in one_large(space("recurrent.lstm_stacked"), 4e6, 1.5e6)]
    assert max(wide) == 256
    model = [named(s) for s in one_large(space("transformer.model"), 4e6, 1.5e6)]
    assert all(sizes.pop("L") == 2 for sizes in model)
    assert {name for sizes in model for name, value in sizes.items() if value >= 256} >= {
        "n",
        "m",
        "d_model",
        "d_ff",
    }


@pytest.mark.parametrize(
    "formula_id", ["transformer.encoder", "transformer.decoder", "transformer.model", "bert.encoder"]
)
def test_rows_beside_many_positions_are_not_narrow(formula_id: str) -> None:
    """Where many positions are so costly that all else is small, rows of the model, which cost little, have 7 or more."""
    formula = find(formula_id)
    for sizes in (named(s) for s in one_large(make_sizing(formula, EVERY_SIZE), 4e6, 1.5e6)):
        assert sizes["d_model"] >= (7 if max(sizes.get("n", 0), sizes.get("m", 0)) >= 256 else 4)
    cost = make_sizing(formula, EVERY_SIZE).cost
    assert max(cost(sizes) for sizes in one_large(make_sizing(formula, EVERY_SIZE), 4e6, 1.5e6)) <= 2.3e8


def test_one_sum_is_over_thousands() -> None:
    """Where that is cheap; what no sum runs over is small."""
    assert [named(s) for s in vast_sums(space("attention.softmax"))] == [{"n": 2, "m": 8219}]
    assert vast_sums(space("objectives.cross_entropy"))
    assert vast_sums(space("positional.sinusoidal")) == ()


def test_data_are_large_along_each_axis_together() -> None:
    """Many positions of wide rows, in two layers or with what else is affordable, where heads are few and narrow; nothing where
    another example is so already.
    """
    found = named(*large_data(space("transformer.encoder_layer"), 1e8, 1.3e8))
    assert min(found.pop("n"), found.pop("d_model")) >= 257
    assert found.pop("d_ff") >= 257
    assert max(found.values()) <= 5
    stack = named(*large_data(space("transformer.encoder"), 1e8, 1.3e8))
    assert (stack["L"], stack["n"], stack["d_model"]) == (2, 257, 263)
    assert large_data(space("attention.scaled_dot_product"), 1e8, 1.3e8) == ()
    assert large_data(space("normalization.layer_norm"), 1e8, 1.3e8) == ()


def test_one_position_stands_beside_many() -> None:
    """As where a text is made token by token; nothing where all positions are of one input, or no sum runs over them."""
    decoder = [named(s) for s in beside_one(space("transformer.decoder"), 1e8)]
    assert {(sizes["m"], sizes["n"]) for sizes in decoder} == {(1, 384), (384, 1)}
    assert all(sizes["d_model"] >= 7 for sizes in decoder)
    (heads,) = [named(s) for s in beside_one(space("attention.multi_head"), 1e8)]
    assert (heads["n"], heads["m"]) == (1, 384)
    for formula in ("transformer.encoder", "scores.dot", "recurrent.gru"):
        assert beside_one(space(formula), 1e8) == ()


def test_every_sum_of_a_stack_is_long_somewhere() -> None:
    """Of layers one upon another each sum that is short wherever others are long has 256 terms by itself; no row has two entries,
    which are always the same once they are normalised.
    """
    found = [named(s) for s in one_long_sum(space("transformer.decoder"), 1e8)]
    long_ = [[name for name, value in sizes.items() if value >= 256] for sizes in found]
    assert {name for names in long_ for name in names} == {"d_ff", "d_k", "d_v", "d_model", "m", "n"}
    assert max(sizes["h"] * sizes["d_v"] for sizes in found) >= 256
    assert all(sizes["L"] > 1 and sizes["d_model"] > 2 for sizes in found)
    joined = [named(s) for s in one_long_sum(space("attention.bahdanau_step"), 1e8)]
    assert {name for sizes in joined for name, value in sizes.items() if value >= 256} == set("adepm")
    assert one_long_sum(space("attention.softmax"), 1e8) == ()


def test_steps_are_many_and_so_are_layers() -> None:
    """A sequence is longer than 256 where layers are none, a stack deeper than four layers; each is small otherwise."""
    for formula in ("rnn", "gru", "lstm", "bidirectional", "lstm_bidirectional", "stacked"):
        back = named(*many_steps(space(f"recurrent.{formula}"), True))
        assert back.pop("T") == 320
        assert max(back.values()) <= 5
        assert named(*many_steps(space(f"recurrent.{formula}"), False))["T"] == 640
    stacked = named(*many_steps(space("recurrent.lstm_stacked"), True))
    assert (stacked["T"], stacked["L"]) == (64, 1)
    stacked = named(*many_steps(space("recurrent.lstm_stacked"), False))
    assert (stacked["T"], stacked["L"]) == (320, 2)
    assert named(*many_layers(space("transformer.encoder")))["L"] == 13
    assert many_steps(space("attention.softmax"), False) == ()
    assert many_layers(space("recurrent.gru")) == ()
