"""Regimes: how inputs are drawn. They are data: tables of names and generators, of which every one is drawn on purpose.

What each kills: large scores (a softmax without its max-shift; masks filled with −10⁴ or −10⁹), tiny variances (where ε stands),
a large mean (the one-pass variance), constant rows and ties (divisions by a spread), wide rows (everything normalised), numbers
near the largest of float16 (squares and sums held in it), one large entry (cancellation), vanishing rows (norms held above a
constant), parameters at the values at which a model is initialised (a default instead of 0). A row is what the last axis
holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from spec.language.arrays import NO_LABEL
from verify.inputs.mask_kinds import triangle

Reals: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Random: TypeAlias = np.random.Generator
Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Regime:
    """A way to draw an array: its name, its generator, whether derivatives are judged there, and whether it is about a square."""

    name: str
    draw: Callable[[Random, Shape], Any]
    moderate: bool = True
    square: bool = False


def _rows(shape: Shape) -> Shape:
    return (*shape[:-1], 1) if shape else ()


def _signs(random: Random, shape: Shape) -> Reals:
    """Any of −1 and 1, as ``random.choice`` draws them, which takes twice the time."""
    return np.asarray(_BOTH[random.integers(0, 2, shape)])


_BOTH = np.array((-1.0, 1.0))


def _scaled(scale: float) -> Callable[[Random, Shape], Reals]:
    return lambda random, shape: scale * random.standard_normal(shape)


def _spread(low: float, high: float) -> Callable[[Random, Shape], Reals]:
    """Normal rows, each with a standard deviation of its own between 10**low and 10**high."""

    def draw(random: Random, shape: Shape) -> Reals:
        return np.asarray(random.standard_normal(shape) * 10.0 ** random.uniform(low, high, _rows(shape)))

    return draw


def _offset(low: float, high: float, sign: float = 0.0) -> Callable[[Random, Shape], Reals]:
    """Unit rows about a mean of size 10**low to 10**high."""

    def draw(random: Random, shape: Shape) -> Reals:
        mean = 10.0 ** random.uniform(low, high, _rows(shape))
        side = sign or _signs(random, _rows(shape))
        return np.asarray(random.standard_normal(shape) + side * mean)

    return draw


def _narrow(random: Random, shape: Shape) -> Reals:
    """Rows of standard deviation 1e-2 to 1e-5 about a mean near 1."""
    spread = 10.0 ** random.uniform(-5, -2, _rows(shape))
    return np.asarray(random.standard_normal(_rows(shape)) + spread * random.standard_normal(shape))


def _constant(random: Random, shape: Shape) -> Reals:
    return np.array(np.broadcast_to(np.round(random.standard_normal(_rows(shape)) * 4) / 4 + 0.5, shape))


def _ties(random: Random, shape: Shape) -> Reals:
    return random.integers(-1, 2, shape).astype(np.float64)


def _zeros(random: Random, shape: Shape) -> Reals:
    return np.zeros(shape)


def _spike(random: Random, shape: Shape) -> Reals:
    values = random.standard_normal(shape)
    if shape and values.size:
        place = random.integers(0, shape[-1], _rows(shape))
        np.put_along_axis(values, place, np.abs(10.0 ** random.uniform(2, 4, _rows(shape))), -1)
    return np.asarray(values)


def _signed(random: Random, shape: Shape) -> Reals:
    """Distinct values of size 1/2 to 2, none of them zero: gains and biases that cannot be confused or left out."""
    return np.asarray(random.uniform(0.5, 2.0, shape) * _signs(random, shape))


def _equal(random: Random, shape: Shape) -> Reals:
    """One value everywhere, neither 0 nor 1."""
    return np.full(shape, float(random.choice((-0.75, 0.5, 1.5))))


def _one_hot(random: Random, shape: Shape) -> Reals:
    """One 1 in each row, at a place of its own."""
    made = np.zeros(shape)
    if shape and made.size:
        np.put_along_axis(made, random.integers(0, shape[-1], _rows(shape)), 1.0, -1)
    return made


def _identity(random: Random, shape: Shape) -> Reals:
    """The identity in the last two axes, as far as they reach; of a row its first entry."""
    rows, columns = (shape[-2] if len(shape) > 1 else 1), (shape[-1] if shape else 1)
    return (
        np.array(np.broadcast_to(np.eye(rows, columns) if len(shape) > 1 else np.eye(1, columns)[0], shape))
        if shape
        else np.ones(())
    )


def _part_zero(random: Random, shape: Shape) -> Reals:
    """Distinct values with a run of zeros in the first axis: one gate of several that are stored as one, one layer of many."""
    made = _signed(random, shape)
    if shape and shape[0] > 1:
        parts = next((count for count in (4, 3, 2) if shape[0] % count == 0), shape[0])
        first, size = int(random.integers(parts)), shape[0] // parts
        made[first * size : (first + 1) * size] = 0.0
    return made


UNIT = Regime("unit normal", _scaled(1.0))
ZEROS = Regime("zeros", _zeros)
ONES = Regime("ones", lambda random, shape: np.ones(shape))
DISTINCT = Regime("distinct", _signed)
SLIGHT = Regime("slight", lambda random, shape: np.asarray(0.1 * _signed(random, shape)))
SPIKE = Regime("one large entry", _spike, moderate=False)
MIXED = Regime("mixed scales", _spread(-3, 3))
NEAR_ONE = Regime("near 1", lambda random, shape: np.asarray(1.0 + 0.1 * _signed(random, shape)))

DATA: tuple[Regime, ...] = (
    UNIT,
    Regime("tiny variance", _spread(-6, -3)),
    Regime("large scale", _scaled(1e2)),
    Regime("large mean", _offset(2, 4)),
    Regime("narrow about a mean", _narrow),
    Regime("huge scale", _scaled(3e4), moderate=False),
    Regime("constant rows", _constant),
    Regime("small scale", _scaled(1e-3)),
    Regime("far below zero", _offset(4, 4.5, -1.0), moderate=False),
    Regime("ties", _ties),
    MIXED,
    SPIKE,
    Regime("scale 10³", _scaled(1e3), moderate=False),
    ZEROS,
    Regime("deep below zero", _offset(9.5, 10.5, -1.0), moderate=False),
    Regime("vanishing", _spread(-14, -10)),
)
"""For data; the first few matter most."""

PARAMETER: tuple[Regime, ...] = (
    UNIT,
    Regime("one-hot rows", _one_hot),
    Regime("large scale", _scaled(1e2)),
    ONES,
    Regime("small scale", _scaled(1e-3)),
    Regime("identity", _identity, square=True),
    Regime("all equal", _equal, square=True),
    Regime("part zero", _part_zero),
)
"""For one of the weights, gains, biases and tables, beside :data:`ZEROS`, while the others are :data:`DISTINCT`."""


FAR_OUT = Regime("scale 10³", _scaled(1e3), moderate=False)
"""For a parameter, where a type of fewer digits has a smaller range, too: exponentials of float32 end at 88."""


# Masks ------------------------------------------------------------------------------------------------------------------


def _some(random: Random, shape: Shape) -> Bools:
    return random.random(shape) < 0.6


def _some_rows_masked(random: Random, shape: Shape) -> Bools:
    mask = random.random(shape) < 0.7
    rows = random.random(_rows(shape)) < 0.5
    if rows.size:
        rows.reshape(-1)[random.integers(rows.size)] = True
    if len(shape) > 1 and shape[-1] == shape[-2] and random.random() < 0.5:
        mask &= ~np.swapaxes(
            rows, -1, -2
        )  # nor does another see them, as with padding: all else is as if they were not there
    return np.asarray(mask & ~rows)


def _some_columns_masked(random: Random, shape: Shape) -> Bools:
    columns = random.random(shape[-1:]) < 0.5
    if columns.size:
        columns[random.integers(columns.size)] = False
    return np.array(np.broadcast_to(columns, shape))


def _one_key(random: Random, shape: Shape) -> Bools:
    mask = np.zeros(shape, bool)
    np.put_along_axis(mask, random.integers(0, shape[-1], _rows(shape)), True, -1)
    return mask


def _triangle(random: Random, shape: Shape) -> Bools:
    return np.asarray(triangle(shape))


MASKS: tuple[Regime, ...] = (
    Regime("no mask", lambda random, shape: None),
    Regime("random mask", _some),
    Regime("some rows masked", _some_rows_masked),
    Regime("some columns masked", _some_columns_masked),
    Regime("causal mask", _triangle),
    Regime("one key each", _one_key),
    Regime("all True", lambda random, shape: np.ones(shape, bool)),
    Regime("all False", lambda random, shape: np.zeros(shape, bool)),
)

BOOLEANS: tuple[Regime, ...] = (
    Regime("few True", lambda random, shape: random.random(shape) < 0.2),
    Regime("half True", lambda random, shape: random.random(shape) < 0.5),
    Regime("all False", lambda random, shape: np.zeros(shape, bool)),
    Regime("all True", lambda random, shape: np.ones(shape, bool)),
)
"""For boolean data that is no mask."""


# Numbers and ids --------------------------------------------------------------------------------------------------------

EPSILONS = (1e-5, 1e-6, 1e-3, 1e-12, 1.0, 1e-8)
"""For ε."""
POSITIVE_NUMBERS = (2.0, 1.0, 5.5, 0.75, 150.0, 0.003)
"""For other positive numbers: widths and the like."""
SHARES = (0.1, 0.0, 0.35, 1.0, 0.75, 1e-9)
"""For numbers from 0 to 1, one of them less than what float32 tells from 0 beside 1."""


SMALL = 3
"""Below this whole numbers are small."""


def identifiers(random: Random, shape: Shape, below: int, kind: int) -> npt.NDArray[np.int64]:
    """Ids below ``below``: any, in order up to the largest, all the same, or the ends of the range only."""
    if below <= 0:
        return np.zeros(shape, np.int64)
    if kind % 4 == 1:
        return np.array(
            np.broadcast_to(np.arange(below - shape[-1], below) % below if shape else np.int64(0), shape),
            np.int64,
        )
    if kind % 4 == 2:
        return np.full(shape, random.integers(below), np.int64)
    if kind % 4 == 3:
        return np.asarray(random.choice((0, below - 1), shape), np.int64)
    found = random.integers(0, below, shape)
    if (
        found.ndim and found.size > 1
    ):  # the largest is the first that a narrow type or a table cut short cannot hold
        found.flat[random.integers(found.size)] = below - 1
    return found


def whole_number(random: Random, below: int, kind: int) -> int:
    """A whole number below ``below``: small every other time, the largest, or any. Of a window or a cut most of these take all
    there is, and tell nothing.
    """
    if kind % 4 == 1:
        return max(below - 1, 0)
    return int(random.integers(max(below if kind % 4 == 3 else min(below, SMALL), 1)))


def some_without(random: Random, labels: npt.NDArray[np.int64], kind: int) -> npt.NDArray[np.int64]:
    """Labels of which few, half, all or none are left out, or all but the first of each row."""
    share = (0.2, 0.0, 1.0, 0.5, 0.8)[kind % 5]
    left_out = random.random(labels.shape) < share
    if kind % 5 == 4 and labels.ndim:
        left_out[..., 0] = False
    return np.where(left_out, NO_LABEL, labels)
