"""Examples that are kept once drawn: whoever asks again gets the same, and cannot change what others get."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from spec.language.registry import find
from verify.inputs import examples, realistic_examples
from verify.inputs.examples import Example, Recipe, Space
from verify.inputs.kept_examples import KEPT, LARGEST, Hashed, KeptExamples
from verify.inputs.realistic_examples import realistic
from verify.inputs.realistic_sizes import ladder
from verify.inputs.size_rules import EVERY_SIZE, Supported

NORM = find("normalization.layer_norm")
RECIPE = Recipe(0, 0, 0, 0, 0, 7)


@pytest.fixture(autouse=True)
def _none_kept() -> Iterator[None]:
    """Each begins with none, and leaves none."""
    KEPT.forget()
    yield
    KEPT.forget()


def made(entries: int) -> Example:
    """An example of so many entries."""
    return Example({"x": np.ones(entries)}, "float32", {})


def same(one: Example, other: Example) -> bool:
    """Whether all inputs are equal, to the last bit."""
    return all(np.array_equal(value, other.inputs[name]) for name, value in one.inputs.items())


def test_what_is_asked_for_again_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """By another space of the same formula, too, and of realistic sizes as of small ones."""
    drawn = []
    once = Space._drawn
    monkeypatch.setattr(Space, "_drawn", lambda self, *given: drawn.append(given) or once(self, *given))
    sizes = ladder(NORM, EVERY_SIZE)[0]
    for _ in range(2):
        Space(NORM).example(RECIPE, "float32")
        realistic(NORM, sizes, "float32", 3, False)
    assert len(drawn) == 2


@pytest.mark.parametrize(
    "other",
    [
        (Space(NORM), RECIPE._replace(seed=8), "float32"),
        (Space(NORM), RECIPE, "bfloat16"),
        (Space(NORM), RECIPE, "float32", (3,)),
        (Space(NORM), RECIPE, "float32", (), {NORM.tensors[0].shape[0]: 11}),
        (Space(NORM, supported=Supported(fixed=(("eps", 0.5),))), RECIPE, "float32"),
        (Space(find("similarity.dot")), RECIPE, "float32"),
    ],
)
def test_whatever_else_is_asked_for_is_drawn(other: tuple[Space, Recipe, str]) -> None:
    """Another recipe, type, batch, size, another number, another formula."""
    space, *given = other
    first = Space(NORM).example(RECIPE, "float32")
    found = space.example(*given)
    KEPT.forget()
    assert same(found, space.example(*given))
    assert found.inputs.keys() != first.inputs.keys() or not same(found, first)


def test_nobody_changes_what_others_get() -> None:
    """Arrays are closed to writing; another input in the place of one, another size, are one's own."""
    first = Space(NORM).example(RECIPE, "float32")
    kept = Space(NORM).example(RECIPE, "float32")
    with pytest.raises(ValueError, match="read-only"):
        first.inputs["x"][...] = 0
    first.inputs["x"] = first.inputs["x"] + 1
    first.sizes.clear()
    first.cotangents["y"] = np.ones(3)
    again = Space(NORM).example(RECIPE, "float32")
    assert same(again, kept)
    assert again.sizes == kept.sizes
    assert not again.cotangents


def test_no_more_is_kept_than_there_is_room_for() -> None:
    """What came first stays, since all are asked for in turn; what takes much is drawn anew each time."""
    kept, turns = KeptExamples(room=1000), []

    def one(key: int, entries: int) -> Example:
        return kept.get(key, lambda: turns.append(key) or made(entries))

    for _ in range(2):
        for key, entries in ((0, 60), (1, 50), (2, 80), (3, 10)):  # of eight bytes each
            assert not one(key, entries).inputs["x"].flags.writeable
    assert turns == [0, 1, 2, 3, 2]
    assert kept.taken == 8 * 120
    kept.forget()
    assert kept.taken == 0
    assert one(0, 60)
    assert turns[-1] == 0
    large = KeptExamples(room=4 * LARGEST)
    large.get("large", lambda: made(LARGEST // 8 + 1))
    assert not large.found


def test_a_rule_for_sizes_is_the_same_whoever_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expressions, too, are equal where their text is: the next implementation with these rules is asked the same."""
    drawn = []
    once = Space._drawn
    monkeypatch.setattr(Space, "_drawn", lambda self, *given: drawn.append(given) or once(self, *given))
    for rule in ("even", "2*any", "2|4", "3..7"):
        for _ in range(2):
            Space(NORM, supported=Supported.of(NORM, {"d": rule})).example(RECIPE, "float32")
    assert len(drawn) == 4


def test_no_sizes_are_as_good_as_none_asked_for() -> None:
    """A statement of numbers alone has none; of others they are drawn."""
    space = Space(NORM)
    assert same(space.example(RECIPE, "float32", (), {}), space.example(RECIPE, "float32"))
    assert len(KEPT.found) == 1


def test_there_is_one_zero() -> None:
    """What is fixed at −0 is fixed at 0: both are equal, and one would be taken for the other."""
    for value in (-0.0, 0.0):
        example = Space(NORM, supported=Supported.of(NORM, None, {"beta": value})).example(RECIPE, "float64")
        assert not np.signbit(example.inputs["beta"]).any()


def test_what_lies_in_the_memory_of_another_has_its_own_once_it_is_kept() -> None:
    """Else it could be written to from there."""
    whole = np.zeros((2, 5))
    found = KeptExamples().get("view", lambda: Example({"x": whole[0], "none": None}, "float32", {}))
    whole[...] = 1
    assert not found.inputs["x"].any()
    assert not found.inputs["x"].flags.writeable


def test_a_turn_to_another_formula_forgets_them() -> None:
    """With the parameters that were drawn for it; so does another seed."""
    KEPT.turn_to(NORM, 0)
    Space(NORM).example(RECIPE, "float32")
    KEPT.turn_to(NORM, 0)
    assert KEPT.found
    KEPT.turn_to(NORM, 1)
    assert not KEPT.found
    Space(NORM).example(RECIPE, "float32")
    realistic(NORM, ladder(NORM, EVERY_SIZE)[0], "float32", 3, False)
    assert len(KEPT.found) == 2
    realistic_examples.forget()
    assert not KEPT.found
    assert not KEPT.taken


def test_a_key_is_that_of_its_parts() -> None:
    """Its hash is found once; equal parts are equal keys, others are not."""
    assert Hashed((NORM, 1)) == Hashed((NORM, 1))
    assert hash(Hashed((NORM, 1))) == hash(Hashed((NORM, 1)))
    assert Hashed((NORM, 1)) != Hashed((NORM, 2))
    assert Hashed((NORM, 1)) != (NORM, 1)
    assert examples.KEPT is realistic_examples.KEPT
