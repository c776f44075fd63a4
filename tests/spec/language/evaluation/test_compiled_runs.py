"""What a run of compiled lines touches, keeps and writes to: nothing symbolic, few sizes, its own tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

from spec.language import data, define, indices, sizes, tensor
from spec.language.evaluation.balls import BallArithmetic
from spec.language.evaluation.binding import bind
from spec.language.evaluation.compiled.frame import MOST_SIZES
from spec.language.evaluation.compiled.program import compile_program
from spec.language.evaluation.evaluate import run
from spec.language.evaluation.precision import FORMATS, Precision
from spec.language.evaluation.running_error import RunningError
from spec.language.flatten import Flat
from spec.language.registry import find
from tests.spec.language.cases import gradient_of
from tests.spec.language.evaluation.interpreter import Interpreter
from verify.inputs.examples import Space


def symbolic(cls: type) -> list[type]:
    """A class of SymPy's and all that derive from it."""
    return [cls, *(inner for sub in cls.__subclasses__() for inner in symbolic(sub))]


@pytest.mark.parametrize("formula_id", ["recurrent.rnn", "attention.multi_head", "attention.local"])
def test_a_run_touches_nothing_symbolic(formula_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once compiled, at sizes seen before and at new ones: nothing is hashed, compared or taken apart."""
    formula, space = find(formula_id), Space(find(formula_id), moderate=True)
    known, new, *_ = [space.example(recipe, "float32").inputs for recipe in space.plan(2, 3)]
    lines = [
        (flat, [bind(flat, {**given, **more}) for given in (known, new)])
        for flat, more in ((formula.flat(), {}),)
    ]
    for given in (known, new):
        flat, every = gradient_of(formula, given, 1)
        lines.append((flat, [bind(flat, every)]))
    runs = [
        (compile_program(flat), RunningError(Precision.of("float32").operations), binding)
        for flat, bindings in lines
        for binding in bindings
    ]
    first = [
        {name: number.floats() for name, number in program.run(arithmetic, binding).tensors.items()}
        for program, arithmetic, binding in runs[:1]
    ]

    def touched(*_: Any) -> Any:
        raise AssertionError("a run touches something symbolic")

    with monkeypatch.context() as patched:
        for cls in symbolic(sympy.Basic):
            for name in ("__hash__", "__eq__"):
                if name in vars(cls):
                    patched.setattr(cls, name, touched)
        patched.setattr(sympy.Basic, "args", property(touched))
        with pytest.raises(AssertionError, match="symbolic"):
            hash(formula.flat().lines[0].right)
        again = [program.run(arithmetic, binding) for program, arithmetic, binding in runs]
    for name, values in first[0].items():
        assert np.array_equal(again[0].tensors[name].floats(), values, equal_nan=True)


def test_what_is_kept_for_sizes_is_bounded() -> None:
    """The oldest sizes are forgotten, and come back right."""
    flat = find("similarity.dot").flat()
    program = compile_program(flat)
    for length in [*range(1, MOST_SIZES + 9), 1]:
        given = {"x": np.ones(length), "y": np.full(length, 2.0)}
        (value,) = (run(flat, RunningError(), bind(flat, given)).tensors[t.name] for t in flat.outputs)
        assert value.floats() == 2.0 * length
    assert len(program.known) == MOST_SIZES


def test_a_recurrence_writes_each_step_where_it_belongs(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tensor is copied whole at a step, in floats or in balls: the work grows with the steps, not with their square."""

    def copied(*_: Any) -> Any:
        raise AssertionError("a whole tensor was copied")

    formula, rng = find("recurrent.rnn"), np.random.default_rng(2)
    shapes = {"x": (5, 3), "h": (2,), "W_xh": (2, 3), "W_hh": (2, 2), "W_hy": (7, 2)}
    given = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    flat, every = gradient_of(formula, given, 1)
    for arithmetic in (RunningError, BallArithmetic):
        monkeypatch.setattr(arithmetic, "write_at", copied)
        run(flat, arithmetic(), bind(flat, every))


def test_a_line_changes_no_input_and_no_other_line() -> None:
    """Two lines of a tensor, the first of them a copy of an input: the second writes beside it, not into the input."""
    (a, b) = sizes("a b")
    i, j = indices("i j")
    x, y, z = data("x", a, b), tensor("y", a, b), tensor("z", a, b)
    lines = (define(y[i, j], x[i, j]), define(y[0, j], 7), define(z[i, j], y[i, j]), define(z[i, 0], 5))
    flat = Flat("test.beside", (x,), lines, (z,), {}, frozenset(), {})
    given = np.arange(6.0).reshape(2, 3)
    found = run(flat, RunningError(FORMATS["float32"]), bind(flat, {"x": given}))
    assert found.tensors["x"].floats().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found.tensors["y"].floats().tolist() == [[7, 7, 7], [3, 4, 5]]
    assert found.tensors["z"].floats().tolist() == [[5, 7, 7], [5, 4, 5]]


def test_whoever_finishes_what_is_stored_is_told_parts_from_wholes() -> None:
    """Steps of a recurrence store parts, one after the other; other lines the whole. The interpreter says the same."""
    flat = find("recurrent.rnn").flat()
    shapes = {"x": (5, 3), "h": (2,), "W_xh": (2, 3), "W_hh": (2, 2), "W_hy": (7, 2)}
    given, told = {name: np.ones(shape) for name, shape in shapes.items()}, []

    def finish(name: str, value: Any, part: bool) -> Any:
        told.append((name, part))
        return value

    run(flat, RunningError(), bind(flat, given), None, finish)
    found, told = told, []
    evaluator = Interpreter(RunningError(), bind(flat, given), flat.softmax_groups)
    evaluator.run(flat.groups, finish)
    assert found == told
    assert found.count(("H", True)) == 6
    assert ("P", False) in found
