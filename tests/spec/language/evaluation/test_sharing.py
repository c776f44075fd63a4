"""What several places of a program ask for is worked out once; what only looks alike is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from spec.language import Sum, data, define, exp, indices, sin, sizes, tanh, tensor
from spec.language.evaluation.batching import EXAMPLES, repeat_lines
from spec.language.evaluation.binding import bind
from spec.language.evaluation.evaluate import run
from spec.language.evaluation.expected import Noise
from spec.language.evaluation.numbers import Num
from spec.language.evaluation.precision import FORMATS, Precision
from spec.language.evaluation.running_error import RunningError
from spec.language.expr import lift
from spec.language.flatten import Flat
from spec.language.registry import find
from tests.spec.language.cases import gradient_of
from tests.spec.language.evaluation.agreeing import agree
from tests.spec.language.evaluation.interpreter import Interpreter

GIVEN = {
    name: np.random.default_rng(5).normal(size=shape)
    for name, shape in {"q": (2, 3), "k": (5, 3), "v": (5, 7), "mask": (2, 5)}.items()
}
GIVEN["mask"] = GIVEN["mask"] < 1


def counted(monkeypatch: pytest.MonkeyPatch, cls: type, *names: str) -> Counter[str]:
    """How often these operations of an arithmetic are asked for."""
    found: Counter[str] = Counter()
    for name in names:
        monkeypatch.setattr(cls, name, _counting(found, name, getattr(cls, name)))
    return found


def _counting(found: Counter[str], name: str, own: Callable[..., Any]) -> Callable[..., Any]:
    def operation(*args: Any) -> Any:
        found[name] += 1
        return own(*args)

    return operation


def test_a_share_of_a_softmax_of_numbers_has_the_bound_of_its_own_sizes() -> None:
    """Its exponents are the same at all sizes, the largest of them, which implementations subtract, is not."""
    n, m = sizes("n m")
    i, k = indices(i=n, k=m)
    x, v, y = data("x", n), data("v", m), tensor("y", n)
    share = exp(80 * sin(lift(0))) / Sum(exp(80 * sin(k)), k)

    def bounded(flat: Flat, many: int) -> Any:
        given = {"x": np.ones(2), "v": np.ones(many)}
        return run(flat, RunningError(FORMATS["float32"]), bind(flat, given)).tensors["y"].bounds()

    def stated() -> Flat:
        return Flat("test.share", (x, v), (define(y[i], x[i] * share + 0 * v[0]),), (y,), {}, frozenset(), {})

    kept = stated()
    for many in (8, 1, 3, 2, 1):
        assert np.array_equal(bounded(kept, many), bounded(stated(), many))


def test_exponentials_of_a_softmax_are_worked_out_once_in_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """With their largest, for the value and its gradient; the interpreter, which works out each anew, finds the same."""
    flat, every = gradient_of(find("attention.scaled_dot_product"), GIVEN, 1)
    arithmetic = RunningError(FORMATS["float32"])
    evaluator = Interpreter(arithmetic, bind(flat, every), flat.softmax_groups)
    asked = counted(monkeypatch, RunningError, "exponential", "maximum")
    with np.errstate(all="ignore"):
        evaluator.run(flat.groups)
    assert asked["exponential"] > 1
    asked.clear()
    done = run(flat, arithmetic, bind(flat, every))
    assert asked == {"exponential": 1, "maximum": 1}
    own = run(
        flat, RunningError(FORMATS["float64"]), bind(flat, every)
    ).tensors  # what float64 itself may have spoiled
    for output in flat.outputs:
        assert agree(done.tensors[output.name], evaluator.tensors[output.name], own[output.name])


def test_an_arithmetic_that_draws_its_roundings_is_asked_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two exponentials of one number round each in its own way."""
    asked = counted(monkeypatch, Noise, "exponential")
    flat = find("attention.scaled_dot_product").flat()
    bindings, random = bind(flat, GIVEN), np.random.default_rng(0)
    bindings.sizes[EXAMPLES] = 1
    run(repeat_lines(flat), Noise(Precision.of("float32"), random, 1), bindings)
    assert asked["exponential"] == 2


def test_a_value_is_shown_along_the_indices_of_each_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other letters, and other places among other indices, are the same value; an entry read across is another one."""
    (n, m) = sizes("n m")
    i, j, k = indices(i=n, j=n, k=m)
    x, y = data("x", n, n), data("y", n)
    u, v, w, z = tensor("u", n, n), tensor("v", n, n), tensor("w", m, n), tensor("z", m, n)
    lines = (
        define(u[i, j], tanh(x[i, j])),
        define(v[j, i], tanh(x[i, j])),
        define(w[k, i], tanh(y[i]) + k),
        define(z[k, j], tanh(y[j])),
    )
    flat = Flat("test.shown", (x, y, m), lines, (u, v, w, z), {}, frozenset(), {})
    square, row = np.arange(9.0).reshape(3, 3), np.array([0.5, -2.0, 3.0])
    asked = counted(monkeypatch, RunningError, "function")
    found = run(flat, RunningError(), bind(flat, {"x": square, "y": row, "m": 2})).tensors
    assert np.array_equal(found["u"].floats(), np.tanh(square))
    assert np.array_equal(found["v"].floats(), np.tanh(square).T)
    assert np.array_equal(found["w"].floats(), np.add.outer([0, 1], np.tanh(row)))
    assert np.array_equal(found["z"].floats(), np.tanh([row, row]))
    assert asked["function"] == 3


def test_a_number_of_sizes_alone_is_kept_from_run_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The root of a size: worked out anew for another size and for another precision, whose rounding it carries."""
    flat = replace(find("attention.scaled_dot_product").flat())  # never evaluated before
    asked, errors = counted(monkeypatch, RunningError, "_sqrt"), []
    for dtype, width in (("float32", 3), ("float32", 3), ("float32", 2), ("float64", 3), ("float64", 3)):
        given = {**GIVEN, "q": GIVEN["q"][:, :width], "k": GIVEN["k"][:, :width]}
        number: Num = run(flat, RunningError(FORMATS[dtype]), bind(flat, given)).tensors[flat.outputs[0].name]
        errors.append(number.bounds().max())
    assert asked["_sqrt"] == 3
    assert errors[0] == errors[1] > 1e6 * errors[3] == 1e6 * errors[4]
