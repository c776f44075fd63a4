"""``python -m benchmarks.kernels``: the tables of the page *Kernels*, recorded in ``docs/evidence/kernels``.

``gates.json``: kernels of ``tests.verify.comparing.kernels``, and some more, by ``allclose`` at KernelBench's tolerances and by
``verify.compare``. ``spreads.json``: σ of the same functions by their statements and by random roundings of each operation.
``scalars.json``: σ of small functions beside what pychop finds, by rounding every operation on numbers up or down at random.
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
from tests.verify.comparing.kernels import (
    KERNELS,
    Kernel,
    layer_norm,
    product,
    rms_norm,
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
    wide = [x.double() if isinstance(x, Tensor) and x.is_floating_point() else x
            for x in Passing(formula).arguments(example.inputs, "float32")]  # fmt: skip
    call = attrgetter(formula.id)(impl)

    def run(mode: Rounding) -> dict[str, Tensor]:
        with in_parts(), mode, torch.no_grad():
            returned = call(*wide)
        return {str(i): x for i, x in enumerate(returned if isinstance(returned, tuple) else (returned,))}

    found = Spread(run, run(Rounding("float32", None, torch.device("cpu"))), "float32", seed)
    found.draw(SAMPLES)
    every = [
        (torch.maximum(found.off[name] / math.sqrt(SAMPLES), value.abs() * LEAST).numpy() / sigma).ravel()
        for (name, value), (_, sigma) in zip(found.expected.items(), stated, strict=True)
    ]
    return np.concatenate(every)


def total(numbers: list[Any], c: Any) -> Any:
    """A sum, one number after the other."""
    found = numbers[0]
    for each in numbers[1:]:
        found = c(found + each)
    return found


def exponentials(x: list[Any], c: Any) -> list[Any]:
    """Of what is less than the largest."""
    return [c(np.exp(c(each - np.max(x, 0)))) for each in x]


def spelled_variance(x: list[Any], c: Any) -> Any:
    """By two passes."""
    mean = c(total(x, c) / len(x))
    return c(total([c(c(each - mean) ** 2) for each in x], c) / len(x))


def spelled_norm(x: list[Any], c: Any) -> Any:
    """The first entry of a row over the root of its mean square."""
    return c(x[0] * c(1 / c(np.sqrt(c(c(total([c(each**2) for each in x], c) / len(x)) + 1e-6)))))


SCALARS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[list[Any], Any], Any]]] = {
    "sum": (lambda x: x.sum(), total),
    "inner product with itself": (lambda x: x @ x, lambda x, c: total([c(each**2) for each in x], c)),
    "variance": (lambda x: x.var(correction=0), spelled_variance),
    "softmax": (
        lambda x: x.softmax(-1)[0],
        lambda x, c: c(exponentials(x, c)[0] / total(exponentials(x, c), c)),
    ),
    "log-sum-exp": (
        lambda x: x.logsumexp(-1),
        lambda x, c: c(np.max(x, 0) + c(np.log(total(exponentials(x, c), c)))),
    ),
    "SiLU": (lambda x: torch.nn.functional.silu(x[0]), lambda x, c: c(x[0] / c(1 + c(np.exp(-x[0]))))),
    "root mean square norm": (lambda x: torch.nn.functional.rms_norm(x, x.shape, eps=1e-6)[0], spelled_norm),
}
"""Functions of a few numbers: as torch computes them, and number by number."""
NUMBERS, SCALAR_SAMPLES = 7, 400


def compare_scalar(name: str) -> dict[str, Any]:
    """One row: quantiles of σ by dispatch over σ by pychop's random rounding (mode 6: up or down, alike) in float32."""
    try:
        from pychop import Chop
    except ImportError:
        sys.exit("the table of scalars needs pychop: pip install pychop")
    call, spelled = SCALARS[name]
    ratios = []
    for seed in range(EXAMPLES):
        x = (
            torch.randn(NUMBERS, generator=torch.Generator().manual_seed(seed)) / 3
        )  # by which no digit is 0 throughout

        def run(mode: Rounding, x: Tensor = x) -> dict[str, Tensor]:
            with in_parts(), mode, torch.no_grad():
                return {"y": call(x.double())}

        found = Spread(run, run(Rounding("float32", None, torch.device("cpu"))), "float32", seed)
        found.draw(SCALAR_SAMPLES)
        ours = float(found.off["y"]) / math.sqrt(SCALAR_SAMPLES)
        chop = Chop(exp_bits=8, sig_bits=23, rmode=6, random_state=seed)
        numbers = [np.full(SCALAR_SAMPLES, each) for each in x.tolist()]
        with np.errstate(all="ignore"):
            theirs = spelled(numbers, chop)
        ratios.append(ours / float(np.sqrt(np.mean((theirs - float(found.expected["y"])) ** 2))))
    low, median, high = (float(each) for each in np.quantile(ratios, (0, 0.5, 1)))
    return {"name": name, "low": low, "median": median, "high": high}


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention in plain operations."""
    return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v


def network(x: Tensor, W_1: Tensor, W_2: Tensor) -> Tensor:
    """Two layers with a GELU between them."""
    return torch.nn.functional.gelu(x @ W_1) @ W_2


HELD = {
    "attention of 8 × 512 words of 64 entries": (attention, ((8, 512, 64),) * 3),
    "attention of 8 × 1,024 words of 64 entries": (attention, ((8, 1024, 64),) * 3),
    "a network of 256, 1,024 and 256 units on 2,048 rows": (network, ((2048, 256), (256, 1024), (1024, 256))),
}
"""References whose memory is measured, and the shapes of what they are called with."""


def draw(name: str, with_gradients: bool) -> list[Tensor]:
    """What a reference is called with."""
    torch.manual_seed(0)
    return [torch.randn(shape).requires_grad_(with_gradients) for shape in HELD[name][1]]


def call_reference(name: str, with_gradients: bool) -> Callable[[], object]:
    """One call of a reference, with its backward pass or without."""
    inputs = draw(name, with_gradients)

    def run() -> object:
        y = HELD[name][0](*inputs)
        return torch.autograd.grad(y.sum(), inputs) if with_gradients else y

    return run


def call_compare(name: str, with_gradients: bool) -> Callable[[], object]:
    """A comparison of a reference with itself, with gradients or without."""
    reference, kinds = HELD[name][0], ("gradient",) if with_gradients else ()
    return lambda: compare(reference, reference, inputs=lambda: draw(name, False), kinds=kinds)


def memory(name: str, with_gradients: bool) -> dict[str, Any]:
    """One row: bytes at the peak, those of one copy of the inputs left out."""
    inputs = sum(x.nbytes for x in draw(name, False))
    own = peak(partial(call_reference, name, with_gradients))
    compared = peak(partial(call_compare, name, with_gradients)) - inputs
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
        "scalars": (every or asked.scalars, lambda: map(compare_scalar, SCALARS)),
        "memory": (
            every or asked.memory,
            lambda: (memory(*each) for each in product_of(HELD, (False, True))),
        ),
    }
    for name, (wanted, rows) in tables.items():
        if wanted:
            made = []
            for row in rows():
                print({key: value for key, value in row.items() if key not in ("says", "sizes")})
                made.append(row)
            record(name, made)


if __name__ == "__main__":
    main()
