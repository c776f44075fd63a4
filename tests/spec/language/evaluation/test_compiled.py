"""Compiled lines say what the interpreter says, in every arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flint
import numpy as np
import pytest
import sympy

from spec.language import (
    Formula,
    Max,
    Some,
    Sum,
    case,
    data,
    define,
    eq,
    exp,
    indices,
    le,
    log,
    lt,
    sizes,
    sqrt,
    tanh,
    tensor,
)
from spec.language.arrays import Tensor
from spec.language.evaluation.balls import BallArithmetic, midpoints
from spec.language.evaluation.binding import bind
from spec.language.evaluation.evaluate import run
from spec.language.evaluation.numbers import Num
from spec.language.evaluation.precision import FORMATS, Format, Precision
from spec.language.evaluation.running_error import RunningError
from spec.language.expr import Ref
from spec.language.flatten import Flat
from spec.language.known import forget
from spec.language.lines import Definition
from spec.language.registry import find, formulas
from tests.spec.language.cases import gradient_of, guarded
from tests.spec.language.evaluation.agreeing import agree
from tests.spec.language.evaluation.interpreter import Interpreter
from tests.spec.language.evaluation.random_statements import inputs, statement
from tests.spec.language.recurrent_cases import backwards, grid, mutual, remembering, running
from verify.inputs.examples import Space
from verify.inputs.leads import REAL


def rounding_to(dtype: str) -> tuple[Callable[[], Any], Format | None]:
    """The running bound of an implementation in a type."""
    precision = Precision.of(dtype)
    return lambda: RunningError(precision.operations), precision.storage


ARITHMETICS: dict[str, tuple[Callable[[], Any], Format | None]] = {
    "float64": (RunningError, None),
    "float32": rounding_to("float32"),
    "bfloat16": rounding_to("bfloat16"),
    "balls": (BallArithmetic, None),
}


def interpreted(flat: Flat, arithmetic: Any, given: Any, storage: Format | None) -> Interpreter:
    """All lines of a statement by the interpreter."""
    evaluator = Interpreter(arithmetic, bind(flat, given), flat.softmax_groups)
    stored = flat.stored | {t.name for t in flat.outputs}
    with np.errstate(all="ignore"):
        evaluator.run(
            flat.groups,
            lambda name, value, place: (
                arithmetic.round_to_storage(value, storage)
                if storage is not None and name in stored
                else value
            ),
        )
    return evaluator


def same_bits(a: Any, b: Any) -> bool:
    """Whether two evaluations came to the very same numbers and bounds."""
    if isinstance(a, Num):
        parts = [(a.floats(), b.floats())] + ([] if a.error is None else [(a.bounds(), b.bounds())])
        return all(np.array_equal(x, y, equal_nan=True) for x, y in parts)
    return a.shape == b.shape and [str(x) for x in a.flat] == [str(x) for x in b.flat]


def ran(evaluate: Callable[[], Any]) -> Any:
    """What is evaluated, or what is said against it."""
    try:
        return evaluate()
    except (IndexError, KeyError, ValueError, ArithmeticError) as error:
        return f"{type(error).__name__}: {error}"


def compare(flat: Flat, given: Any, name: str) -> None:
    """Hold a run of the program to one of the interpreter, tensor by tensor."""
    make, storage = ARITHMETICS[name]
    expected = ran(lambda: interpreted(flat, make(), given, storage))
    found = ran(lambda: run(flat, make(), bind(flat, given), storage))
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
        return
    exact = (
        ran(lambda: interpreted(flat, RunningError(FORMATS["float64"]), given, None))
        if name != "balls"
        else None
    )
    assert found.tensors.keys() == expected.tensors.keys()
    for one, numbers in expected.tensors.items():
        rounding = exact.tensors[one] if isinstance(exact, Interpreter) else None
        assert agree(found.tensors[one], numbers, rounding), (one, found.tensors[one], numbers)
    alone, made = (
        run(flat, make(), bind(flat, given), storage, every=False),
        {line.name for line in flat.lines},
    )
    outputs = {t.name for t in flat.outputs}
    assert (
        alone.tensors.keys() & made == outputs & found.tensors.keys()
    )  # each of the others goes once nothing reads it
    for one in outputs & found.tensors.keys():
        assert same_bits(alone.tensors[one], found.tensors[one]), one
    assert found.undecided.keys() == expected.undecided.keys()
    assert found.left_open == expected.left_open
    for kind in ("integers", "booleans", "undecided"):
        for one, array in getattr(expected, kind).items():
            assert np.array_equal(getattr(found, kind)[one], array), one


@pytest.fixture(autouse=True)
def enough_bits() -> Any:
    """Balls of 128 bits."""
    saved, flint.ctx.prec = flint.ctx.prec, 128
    yield
    flint.ctx.prec = saved


@pytest.mark.parametrize("seed", range(60))
def test_a_random_statement_is_worth_what_the_interpreter_says(seed: int) -> None:
    """Value, bound and enclosure, of every line, at several sizes with the same program."""
    flat = statement(seed)
    for turn, name in enumerate(ARITHMETICS):
        compare(flat, inputs(5 * seed + turn), name)
        compare(flat, inputs(5 * seed), name)


@pytest.mark.parametrize("formula_id", [name for name, formula in formulas().items() if formula.law is None])
def test_a_formula_and_its_gradient_are_worth_what_the_interpreter_says(formula_id: str) -> None:
    """Examples as a check plans them: every kind of size, data that hurt, masks."""
    formula, space = find(formula_id), Space(find(formula_id), moderate=True)
    differentiable = any(t.role in ("data", "parameter") and t.domain in REAL for t in formula.tensors)
    for turn, recipe in enumerate(space.plan(6, 11)):
        given = space.example(recipe, "float32").inputs
        few = sum(np.size(value) for value in given.values()) < 100
        for name in (list(ARITHMETICS)[turn % 3], *(["balls"] if few else [])):
            compare(formula.flat(), given, name)
            if differentiable:
                compare(*gradient_of(formula, given, turn), name)


@pytest.mark.parametrize("build", [grid, backwards, remembering, mutual, running])
@pytest.mark.parametrize("name", ARITHMETICS)
def test_every_kind_of_recurrence_runs_back_as_the_interpreter_runs_it(
    build: Callable[[], Formula], name: str
) -> None:
    """Two indices, a descending one, the whole past, two tensors at once: values and gradients, more than once."""
    formula = build()
    rng = np.random.default_rng(8)
    try:
        for steps in (5, 1, 7):
            shapes = {"x": (steps, 2), "W": (2, 2), "start": (4, 2)}
            given = {t.name: rng.normal(size=shapes[t.name]) for t in formula.tensors}
            compare(formula.flat(), given, name)
            compare(*gradient_of(formula, given, steps), name)
    finally:
        forget(formula.id)


@pytest.mark.parametrize("name", ARITHMETICS)
def test_what_a_case_guards_counts_where_the_case_holds(name: str) -> None:
    """Neighbours that are there in places alone, and sums of them that are the same for some of the indices around."""
    for formula in guarded():
        given = {"x": np.random.default_rng(6).normal(size=(5, 3))}
        compare(formula.flat(), given, name)
        compare(*gradient_of(formula, given, 1), name)


@pytest.mark.parametrize("name", ARITHMETICS)
def test_exponentials_under_a_sum_of_some_places_are_worth_what_balls_say(name: str) -> None:
    """The range of the sum outside is another for each place; the largest exponent may be looked for there, too."""
    n, m = sizes("n m")
    i, j, k = indices(i=n, j=m, k=n)
    x, v, y = data("x", n), data("v", m), tensor("y", n)
    parts = {
        "largest": Max(exp(v[j] - x[k]), j),
        "largest_logarithm": Max(log(1 + exp(x[k] * v[j])), j),
        "inverse": Sum(1 / exp(v[j] - x[k]), j),
        "roots": Max(sqrt(exp(x[k] * v[j])), j),
    }
    given = {"x": np.array([0.3, 1.0, -0.7]), "v": np.array([0.5, 2.0])}
    for part, inside in parts.items():
        for outside in (Sum(inside, (k, 0, i)), Sum(inside, k, where=le(k, i))):
            flat = Flat(f"test.{part}", (x, v), (define(y[i], outside),), (y,), {}, frozenset(), {})
            compare(flat, given, name)
            found = run(flat, ARITHMETICS[name][0](), bind(flat, given)).tensors["y"]
            exact = midpoints(run(flat, BallArithmetic(), bind(flat, given)).tensors["y"])
            if name in ("float32", "bfloat16"):
                assert (np.abs(found.floats() - exact) <= found.bounds()).all()
                assert (found.bounds() < 1).all()


def cube() -> Flat:
    """Three indices to step through, the range of the second as wide as the third leaves it."""
    rows, columns = sizes("rows columns")
    a, b, c = indices("a b c")
    edge, inside = data("edge", columns, columns), tensor("inside", rows + 1, columns, columns)
    before = inside[a - 1, b, c] + inside[a, b - 1, c] / 2 + inside[a, b, c - 1] / 3
    ranges = ((a, sympy.S.One, rows), (c, sympy.S.One, columns - 1), (b, c, columns - 1))
    lines = (define(inside[0, b, c], edge[b, c]), Definition(Ref(inside, a, b, c), tanh(before), ranges))
    return Flat("test.cube", (rows, edge), lines, (inside,), {}, frozenset({"inside"}), {})


@pytest.mark.parametrize("name", ARITHMETICS)
def test_a_range_inside_three_steps_is_as_wide_as_at_the_first_of_them(name: str) -> None:
    """However often the inner steps were gone through before."""
    compare(cube(), {"rows": 3, "edge": np.random.default_rng(4).normal(size=(5, 5))}, name)


def test_a_step_that_overflows_is_lost_and_those_before_it_are_not() -> None:
    """In place, as in a copy: 10²⁰, then 10⁴⁰, which float32 does not hold; a step that begins anew is bounded again."""
    (steps,) = sizes("steps")
    (t,) = indices("t")
    x, h = data("x", steps), tensor("h", steps + 1)
    again = case(eq(t, 4), 1, h[t - 1] * x[t - 1])
    flat = Flat(
        "test.grows", (x,), (define(h[0], 1), define(h[t], again, (t, 1, steps))), (h,), {}, frozenset(), {}
    )
    given = {"x": np.full(5, 1e20)}
    found = run(flat, RunningError(FORMATS["float32"]), bind(flat, given)).tensors["h"]
    assert np.isinf(found.bounds()).tolist() == [False, False, True, True, False, False]
    compare(flat, given, "float32")


@pytest.mark.parametrize("name", ARITHMETICS)
def test_the_second_half_of_a_condition_is_asked_for_only_where_the_first_leaves_it_open(name: str) -> None:
    """A neighbour beyond the edge is nobody's, in sums, cases and quantifiers; without the first half it is an error."""
    (m,) = sizes("m")
    i, j = indices("i j")
    w, keep = data("w", m), Tensor("keep", (m,), "boolean", "data")
    out, held = tensor("out", m), Tensor("held", (m,), "boolean", "internal")
    given = {"w": np.arange(5.0), "keep": np.array([True, False, True, True, False])}
    lines = (
        define(held[i], Some(le(1, j) & keep[j - 1] & eq(i, j), (j, 0, m - 1))),
        define(
            out[i],
            Sum(w[j], (j, 0, m - 1), where=lt(j, 1) | keep[j - 1])
            + case(le(1, i) & keep[i - 1], w[i - 1], w[i])
            + case(held[i], 1, 0),
        ),
    )
    flat = Flat("test.neighbours", (w, keep), lines, (out,), {}, frozenset(), {})
    compare(flat, given, name)
    make, _ = ARITHMETICS[name]
    assert run(flat, make(), bind(flat, given)).booleans["held"].tolist() == [False, True, False, True, True]
    careless = Flat(
        "test.edge", (w, keep), (define(out[i], case(keep[i - 1], 1, 0)),), (out,), {}, frozenset(), {}
    )
    with pytest.raises(IndexError, match="index -1 on axis 0 is outside 0 … 4"):
        run(careless, make(), bind(careless, given))


def test_an_entry_that_is_none_is_named_as_the_interpreter_names_it() -> None:
    """Where it counts; where a condition excludes it nobody asks."""
    flat, table = find("embedding.token").flat(), np.ones((5, 2))
    for ids in ([0, 7], [3, -1]):
        with pytest.raises(IndexError) as found:
            run(flat, RunningError(), bind(flat, {"ids": np.array(ids), "E": table}))
        with pytest.raises(IndexError) as expected:
            interpreted(flat, RunningError(), {"ids": np.array(ids), "E": table}, None)
        assert str(found.value) == str(expected.value)
