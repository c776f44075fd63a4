"""Inputs for the statements, drawn on purpose from regimes that hurt; formulas used only by tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from sympy import Rational

from spec.language import (
    Formula,
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
    parameter,
    sizes,
    sqrt,
    tanh,
    tensor,
)
from spec.language.differentiation.gradients import vjp
from spec.language.evaluation.binding import bind
from spec.language.evaluation.dimensions import whole
from spec.language.flatten import Flat
from spec.language.registry import find

REGIMES = ("unit", "huge scores", "tiny variance", "large mean", "ties", "size one")


def real(rng: np.random.Generator, shape: tuple[int, ...], regime: str) -> Any:
    """An array of a regime, exactly representable in float32."""
    x = rng.normal(size=shape)
    if regime == "huge scores":
        x = x * 10.0 ** rng.integers(1, 4)
    elif regime == "tiny variance":
        x = x * 10.0 ** -rng.integers(3, 7) + rng.integers(0, 2)
    elif regime == "large mean":
        x = x + 10.0 ** rng.integers(2, 5)
    elif regime == "ties":
        x = np.rint(x)
    return x.astype(np.float32).astype(np.float64)


def inputs_of(formula_id: str, regime: str, seed: int) -> dict[str, Any]:
    """Inputs of one of the project's formulas, by name."""
    rng = np.random.default_rng(seed)
    n, m, d, e = (1, 1, 1, 1) if regime == "size one" else rng.permutation([2, 3, 5, 7]).tolist()
    mask = rng.random((n, m)) > 0.4
    mask[0] &= regime != "ties"
    own = np.random.default_rng([seed, 1])
    p, h = (1, 1) if regime == "size one" else (11, 3)

    def weights(*shape: int) -> Any:
        return real(own, shape, "unit")

    table: dict[str, dict[str, Any]] = {
        "similarity.dot": {"x": (p,), "y": (p,)},
        "similarity.cosine": {"x": (p,), "y": (p,)},
        "embedding.token": {"ids": own.integers(0, p, n), "E": (p, d)},
        "scores.dot": {"q": (n, d), "k": (m, d)},
        "scores.scaled_dot": {"q": (n, d), "k": (m, d)},
        "scores.general": {"q": (n, p), "k": (m, d), "W": (p, d)},
        "scores.additive": {"q": (n, p), "k": (m, d), "W": (e, p + d), "v": (e,)},
        "scores.location": {"q": (n, d), "W": (m, d)},
        "scores.cosine": {"q": (n, d), "k": (m, d)},
        "attention.self": {
            "x": (n, p),
            "W_q": weights(p, d),
            "W_k": weights(p, d),
            "W_v": weights(p, e),
            "mask": own.random((n, n)) > 0.4,
        },
        "attention.cross": {
            "x": (n, p),
            "y": (m, p),
            "W_q": weights(p, d),
            "W_k": weights(p, d),
            "W_v": weights(p, e),
            "mask": mask,
        },
        "attention.multi_head": {
            "x": (n, p),
            "y": (m, p),
            "W_q": weights(h, p, d),
            "W_k": weights(h, p, d),
            "W_v": weights(h, p, e),
            "W_o": weights(h * e, p),
            "mask": mask,
        },
        "attention.softmax": {"s": (n, m), "mask": mask},
        "attention.scaled_dot_product": {"q": (n, d), "k": (m, d), "v": (m, e), "mask": mask},
        "attention.causal": {"q": (n, d), "k": (m, d), "v": (m, e)},
        "positional.sinusoidal": {"n": 13 * n, "d": d},
        "positional.learned": {"pos": rng.integers(0, 11, n), "W_PE": (11, d)},
        "normalization.layer_norm": {
            "x": (d,),
            "gamma": (d,),
            "beta": (d,),
            "eps": 10.0 ** -rng.integers(2, 9),
        },
        "normalization.rms_norm": {"x": (d,), "gamma": (d,), "eps": 10.0 ** -own.integers(2, 9)},
    }
    given = table[formula_id]
    return {k: real(rng, v, regime) if isinstance(v, tuple) else v for k, v in given.items()}


DETERMINISTIC = (
    "similarity.dot",
    "similarity.cosine",
    "embedding.token",
    "scores.dot",
    "scores.scaled_dot",
    "scores.general",
    "scores.additive",
    "scores.location",
    "scores.cosine",
    "attention.self",
    "attention.cross",
    "attention.multi_head",
    "attention.softmax",
    "attention.scaled_dot_product",
    "attention.causal",
    "positional.sinusoidal",
    "positional.learned",
    "normalization.layer_norm",
    "normalization.rms_norm",
)


def recurrence() -> Formula:
    """h[0] = 0, h[t] = tanh(W h[t−1] + x[t−1])."""
    steps, d = sizes("T d")
    t, c, e = indices("t c e")
    x, W, h = data("x", steps, d), parameter("W", d, d), tensor("h", steps + 1, d)
    lines = (
        define(h[0, c], 0),
        define(h[t, c], tanh(Sum(W[c, e] * h[t - 1, e], (e, 0, d - 1)) + x[t - 1, c]), (t, 1, steps)),
    )
    return Formula("test.recurrence", "A plain recurrence", (x, W), lines, (h,))


def guarded() -> list[Formula]:
    """Entries before and after a place, read where there are some: a case guards a reference that leaves its tensor elsewhere.
    And sums of sums over ranges that other indices bound.
    """
    n, m = sizes("n m")
    i, a, j, k, b, c = indices(i=n, a=m, j=n, k=n, b=m, c=m)
    x, y, total = data("x", n, m), tensor("y", n, m), tensor("total", m)
    here, before, after = x[i, a], x[i - 1, a], x[i + 1, a]
    entries = {
        "before": case(lt(0, i), before, 0),
        "after": case(lt(i, n - 1), after, 2),
        "unless": case(eq(i, 0), 0, before**2),
        "neighbours": case(lt(0, i) & lt(i, n - 1), (before + here + after) / 3, here),
        "inside": here * case(lt(0, a), x[i, a - 1], 1),
        "nested": case(lt(here, 0), 0, case(lt(0, i), before, 0)),
        "summed": Sum(case(lt(0, j), x[j - 1, a], 0), j, where=le(j, i)),
        "beneath": case(lt(0, i) & lt(here, 0), Sum(x[i - 1, b], b), here),
        "everywhere": case(lt(0, here), Sum(case(lt(0, j), x[j - 1, 0], 1) ** 2, j, where=lt(x[j, 0], 1)), 0),
        "above_a_half": case(lt(Rational(1, 2), here), here**2, here / 2),
        "sums_so_far": Sum(Sum(x[k, a], (k, 0, j)) ** 2, (j, 0, i)),
        "squares_of_sums_so_far": Sum(Sum(Sum(x[k, b], b) ** 2, (k, 0, j)) ** 2 * x[j, a], (j, 0, i)),
        "logarithms_so_far": Sum(log(Sum(exp(x[j, b] * x[0, a]), b)), (j, 0, i)),
        "weights_so_far": Sum(
            Sum(exp(x[j, b] * x[0, a]) / Sum(exp(x[j, c] * x[0, a]), c) * x[j, b], b), j, where=le(j, i)
        ),
    }
    step = define(total[a], Sum(case(lt(0, i), (here - before) ** 2, 0), i))
    return [
        *(
            Formula(f"test.guarded_{name}", name, (x,), (define(y[i, a], e),), (y,))
            for name, e in entries.items()
        ),
        Formula("test.guarded_differences", "differences", (x,), (step,), (total,)),
    ]


def layered() -> Formula:
    """Two rounds of attention and row normalization, by applying the project's formulas inside one another."""
    n, d = sizes("n d")
    i, c, r = indices("i c r")
    x = data("x", n, d)
    y, mean, spread, z = tensor("y", n, d), tensor("mean", n), tensor("spread", n), tensor("z", n, d)
    attend = find("attention.scaled_dot_product")
    lines = (
        define(y[i, c], x[i, c] + attend(x, x, x)[i, c]),
        define(mean[i], Sum(y[i, r], (r, 0, d - 1)) / d),
        define(spread[i], Sum((y[i, r] - mean[i]) ** 2, (r, 0, d - 1)) / d),
        define(z[i, c], (y[i, c] - mean[i]) / sqrt(spread[i] + exp(spread[i]))),
    )
    one = Formula("test.layer", "Attention and normalization", (x,), lines, (z,))
    out = tensor("out", n, d)
    return Formula(
        "test.layers", "Twice", (x,), (define(y[i, c], one(x)[i, c]), define(out[i, c], one(y)[i, c])), (out,)
    )


def gradient_of(formula: Formula, given: dict[str, Any], seed: int) -> tuple[Flat, dict[str, Any]]:
    """The lines of a formula's gradient, and inputs with random cotangents of all outputs."""
    gradient, lengths = vjp(formula), bind(formula.flat(), given).sizes
    rng = np.random.default_rng(seed)
    seeds = {
        out.name: rng.normal(size=tuple(whole(size, lengths) for size in out.shape))
        for out in formula.flat().outputs
        if out.domain not in ("boolean", "integer")
    }
    return gradient.flat, {**given, **gradient.fill_cotangents(seeds, lengths)}
