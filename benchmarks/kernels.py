"""``python -m benchmarks.kernels``: the tables of the page *Kernels*, recorded in ``docs/evidence/kernels``.

``gates.json``: kernels of ``tests.verify.comparing.kernels``, and some more, by ``allclose`` at KernelBench's tolerances and by
``verify.compare``. ``spreads.json``: σ of the same functions by their statements and by random roundings of each operation.
``scalars.json``: σ of small examples beside what pychop finds, by rounding the plain Python of their statements.
``memory.json``: the peak of a comparison at the shape given, beyond inputs and weights, beside the reference's own.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import product as product_of
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import impl
from benchmarks.harness import peak
from spec.language.evaluation.expected import SPREAD, expected_error
from spec.language.evaluation.precision import FORMATS
from spec.language.formula import Formula
from spec.language.registry import statement
from spec.language.render.python import program
from tests.verify.comparing.kernels import (
    KERNELS,
    Kernel,
    Network,
    attention,
    heads,
    layer_norm,
    product,
    rms_norm,
    rows,
    softmax,
    split_sum,
    two_passes,
)
from verify.comparing.comparing import compare
from verify.comparing.noise import Rounding, Spread, in_parts
from verify.comparing.subjects import Problem
from verify.inputs.examples import Example, realistic
from verify.inputs.size_rules import EVERY_SIZE
from verify.inputs.sizes import make_sizing, none_small
from verify.report import versions
from verify.subject.arguments import Passing

FOLDER = Path(__file__).parents[1] / "docs" / "evidence" / "kernels"
TOLERANCES = 1e-4, 1e-2
"""KernelBench's, absolute and relative: in float32, and in 16-bit types (at first in float32 too)."""
STATED = (
    "scores.scaled_dot", "similarity.cosine", "attention.softmax", "attention.scaled_dot_product", "attention.causal",
    "attention.multi_head", "normalization.layer_norm", "normalization.rms_norm", "feedforward.relu", "feedforward.gelu",
    "recurrent.lstm_cell", "recurrent.gru_cell", "recurrent.elmo_mix", "objectives.cross_entropy", "scores.additive",
)  # fmt: skip
"""Formulas that are stated, and implemented with torch."""
NUMBERS = (
    "similarity.dot", "activation.silu", "attention.softmax", "attention.log_sum_exp",
    "normalization.layer_norm", "normalization.rms_norm", "recurrent.gru_cell", "objectives.cross_entropy",
)  # fmt: skip
"""Those whose plain Python is rounded number by number, at examples of which every size is so small."""
FEW = 5
SAMPLES, COSTS = 32, (3e6, 3e7, 3e8)
"""Random evaluations of both; about what an example may cost, the first at which there is one."""
EXAMPLES, ENTRIES, LEAST = 32, 256, FORMATS["float32"].unit * SPREAD
"""Examples at most until there are so many entries; what σ is at least, by the value: that of one rounding."""


def shifted(x: Tensor) -> Tensor:
    """A softmax that does not subtract the maximum of its row, but a constant."""
    return torch.exp(x - 20) / torch.exp(x - 20).sum(-1, keepdim=True)


def exact_variance(x: Tensor) -> Tensor:
    """A variance in float64 inside."""
    return x.double().var(-1, correction=0).float()


def one_pass(x: Tensor) -> Tensor:
    """A variance as a mean of squares less a squared mean."""
    return x.square().mean(-1) - x.mean(-1).square()


def zero(x: Tensor) -> Tensor:
    """Zeros."""
    return torch.zeros_like(x)


def rounded_rows(x: Tensor, gamma: Tensor) -> Tensor:
    """An RMS norm that forgets ε."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True)) * gamma


MORE = (
    (Kernel(softmax, zero, lambda: [torch.randn(16, 16384)], False), "float16"),
    (Kernel(softmax, shifted, lambda: [torch.randn(16, 256)], False), "float32"),
    (Kernel(rms_norm, rounded_rows, lambda: [torch.randn(16, 256), torch.ones(256)], False), "float32"),
    (Kernel(one_pass, exact_variance, lambda: [torch.randn(16, 256) + 100], True), "float32"),
    (
        Kernel(
            layer_norm,
            two_passes,
            lambda: [1e5 + torch.randn(16, 256), torch.ones(256), torch.zeros(256)],
            True,
        ),
        "float32",
    ),
    (
        Kernel(product, split_sum, lambda: [1e3 * torch.randn(16, 1024), 1e3 * torch.randn(1024, 16)], True),
        "float32",
    ),
)
"""Kernels that such gates take and are wrong, or refuse and are right."""


def passes_allclose(kernel: Kernel, dtype: str) -> list[bool]:
    """At which tolerances a candidate passes ``allclose`` at one set of inputs, beside the reference in the same type."""
    problem = Problem(
        kernel.reference, kernel.candidate, kernel.inputs, kernel.init_inputs, getattr(torch, dtype)
    )
    problem.load_candidate()
    pair, inputs = problem.build(0), problem.draw(0)
    with torch.no_grad():
        expected = pair.reference(*[x.clone() for x in inputs])
        got = pair.candidate(*[x.clone() for x in inputs])
    return [torch.allclose(got, expected, tolerance, tolerance) for tolerance in TOLERANCES]


def gate(kernel: Kernel, dtype: str) -> dict[str, Any]:
    """One row of the table."""
    began = time.process_time()
    found = compare(
        kernel.reference, kernel.candidate, inputs=kernel.inputs, init_inputs=kernel.init_inputs, dtype=dtype
    )
    return {
        "name": kernel.name,
        "reference": kernel.reference.__name__,
        "says": (kernel.candidate.__doc__ or "").splitlines()[0],
        "dtype": dtype,
        "right": kernel.right,
        "allclose": passes_allclose(kernel, dtype),
        "verdict": found.verdict,
        "sigma": found.sigma if math.isfinite(found.sigma) else "inf",
        "cause": found.cause,
        "seconds": time.process_time() - began,
    }


def spread(formula_id: str) -> dict[str, Any]:
    """σ by the statement and by dispatch, entry by entry, as quantiles of their ratio; of few entries at several examples."""
    formula, ratios = statement(formula_id), np.empty(0)
    sizes = next(found[0] for cost in COSTS if (found := none_small(make_sizing(formula, EVERY_SIZE), cost)))
    for seed in range(EXAMPLES):
        if ratios.size < ENTRIES:
            ratios = np.concatenate(
                [ratios, compare_spreads(formula, realistic(formula, sizes, "float32", seed, 0), seed)]
            )
    low, median, high = (float(x) for x in np.quantile(ratios, (0.01, 0.5, 0.99)))
    shapes = {str(size): int(value) for size, value in sizes.items()}
    return {
        "formula_id": formula_id,
        "sizes": shapes,
        "entries": int(ratios.size),
        "low": low,
        "median": median,
        "high": high,
    }


def compare_spreads(formula: Formula, example: Example, seed: int) -> Any:
    """σ by dispatch over σ by the statement, of every entry of one example."""
    stated = expected_error(formula, example.inputs, samples=SAMPLES, seed=seed)
    found = spread_by_dispatch(formula, example, seed)
    return np.concatenate(
        [(ours / sigma).ravel() for (_, ours), (_, sigma) in zip(found, stated, strict=True)]
    )


def spread_by_dispatch(formula: Formula, example: Example, seed: int) -> list[tuple[Any, Any]]:
    """The value and the σ of every output of our implementation."""
    wide = [x.double() if isinstance(x, Tensor) and x.is_floating_point() else x
            for x in Passing(formula).arguments(example.inputs, "float32")]  # fmt: skip
    call = attrgetter(formula.id)(impl)

    def run(mode: Rounding) -> dict[str, Tensor]:
        with in_parts(), mode, torch.no_grad():
            returned = call(*wide)
        return {str(i): x for i, x in enumerate(returned if isinstance(returned, tuple) else (returned,))}

    found = Spread(run, run(Rounding("float32", None, torch.device("cpu"))), "float32", seed)
    found.draw(SAMPLES)
    return [
        (x.numpy(), torch.maximum(found.off[name] / math.sqrt(SAMPLES), x.abs() * LEAST).numpy())
        for name, x in found.expected.items()
    ]


def scalars(formula_id: str) -> dict[str, Any]:
    """One row: σ by dispatch over that by pychop, entry by entry of small examples, as quantiles of their ratio."""
    formula, ratios = statement(formula_id), list[float]()
    sizes = dict.fromkeys(make_sizing(formula, EVERY_SIZE).symbols, FEW)
    for seed in range(EXAMPLES):
        example = realistic(formula, sizes, "float32", seed, 0)
        found = spread_by_dispatch(formula, example, seed)
        for (values, ours), entries in zip(found, round_numbers(formula, example, seed), strict=True):
            off = [
                float(np.sqrt(np.mean((np.asarray(entry) - value) ** 2)))
                for entry, value in zip(entries, values.ravel(), strict=True)
            ]
            ratios += [one / other for one, other in zip(ours.ravel(), off, strict=True) if other]
    low, median, high = (float(x) for x in np.quantile(ratios, (0.01, 0.5, 0.99)))
    return {"formula_id": formula_id, "entries": len(ratios), "low": low, "median": median, "high": high}


def round_numbers(formula: Formula, example: Example, seed: int) -> list[list[Any]]:
    """The entries of each output, as samples of the statement's plain Python, of which pychop rounds every operation on numbers
    to float32: up or down at random.
    """
    try:
        from pychop import Chop
    except ImportError:
        sys.exit("the table of scalars needs pychop: pip install pychop")
    chop = Chop(exp_bits=8, sig_bits=23, rmode=6, random_state=seed)

    class Rounded(np.ndarray[Any, Any]):
        """Samples of a number."""

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
            return chop(getattr(ufunc, method)(*map(np.asarray, inputs), **options)).view(Rounded)

    def sampled(value: Any) -> Any:
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            return value
        found = np.empty(value.shape, object)
        for place in np.ndindex(value.shape):
            found[place] = np.full(SAMPLES, float(value[place])).view(Rounded)
        return found

    names: dict[str, Any] = {}
    exec(program(formula), names)
    names |= {name: getattr(np, name) for name in ("exp", "log", "sqrt", "tanh") if name in names}
    names["zeros"] = lambda shape: np.empty(shape, object)
    returned = names[formula.id.split(".")[1]](*map(sampled, example.inputs.values()))
    outputs = returned if isinstance(returned, tuple) else (returned,)
    return [[x] if isinstance(x, Rounded) else list(x.ravel()) for x in outputs]


HELD = {
    "attention of 3 × 1,024 words": (attention, lambda: heads(1024, 1024, 64), []),
    "attention of 3 × 2,048 words": (attention, lambda: heads(2048, 2048, 64), []),
    "a network of 256, 1,024 and 256 units on 2,048 rows": (Network, lambda: rows(2048, 256), [256, 1024]),
}
"""References whose memory is measured, what they are called with, and built with."""


def call_reference(name: str, with_gradients: bool) -> Callable[[], object]:
    """One call of a reference, with its backward pass or without."""
    reference, draw, sizes = HELD[name]
    call = reference(*sizes) if sizes else reference
    leaves = [x.requires_grad_(with_gradients) for x in draw()]
    parameters = list(call.parameters()) if sizes else []

    def run() -> object:
        with torch.set_grad_enabled(with_gradients):
            y = call(*leaves)
        return torch.autograd.grad(y.sum(), leaves + parameters) if with_gradients else y

    return run


def call_compare(name: str, with_gradients: bool) -> Callable[[], object]:
    """A comparison of a reference with itself, with gradients or without."""
    reference, draw, sizes = HELD[name]
    kinds = ("gradient",) if with_gradients else ()
    return partial(compare, reference, reference, inputs=draw, init_inputs=sizes, kinds=kinds)


def memory(name: str, with_gradients: bool) -> dict[str, Any]:
    """One row: bytes at the peak, those of one copy of inputs and weights left out."""
    reference, draw, sizes = HELD[name]
    held = [*draw(), *(reference(*sizes).parameters() if sizes else ())]
    own = peak(partial(call_reference, name, with_gradients))
    compared = peak(partial(call_compare, name, with_gradients)) - sum(x.nbytes for x in held)
    return {"name": name, "gradients": with_gradients, "reference": own, "compare": compared}


def record(name: str, rows: list[dict[str, Any]]) -> None:
    """Write one table."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    made = {"made": datetime.now(UTC).strftime("%Y-%m-%d"), "versions": versions(), "rows": rows}
    (FOLDER / f"{name}.json").write_text(
        json.dumps(made, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )


def main() -> None:
    """Make all tables, or those that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=__doc__)
    parser.add_argument("--spreads", action="store_true", help="the table of σ alone")
    parser.add_argument("--gates", action="store_true", help="the table of kernels alone")
    parser.add_argument(
        "--scalars", action="store_true", help="the table of σ beside pychop alone (needs pychop)"
    )
    parser.add_argument("--memory", action="store_true", help="the table of memory alone")
    asked = parser.parse_args()
    every = not (asked.spreads or asked.gates or asked.scalars or asked.memory)
    tables: dict[str, tuple[bool, Callable[[], Any]]] = {
        "spreads": (every or asked.spreads, lambda: (spread(each) for each in STATED)),
        "gates": (
            every or asked.gates,
            lambda: (gate(*each) for each in (*((k, "float32") for k in KERNELS), *MORE)),
        ),
        "scalars": (every or asked.scalars, lambda: map(scalars, NUMBERS)),
        "memory": (
            every or asked.memory,
            lambda: (memory(*each) for each in product_of(HELD, (False, True))),
        ),
    }
    for name, (wanted, made_of) in tables.items():
        if wanted:
            made = []
            for row in made_of():
                print({key: value for key, value in row.items() if key not in ("says", "sizes")})
                made.append(row)
            record(name, made)


if __name__ == "__main__":
    main()
