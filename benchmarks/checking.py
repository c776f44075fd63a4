"""How fast the checker itself is: examples that ``verify.check`` judges in a second, drawing and oracle included."""

from collections.abc import Callable, Iterator
from functools import partial

import verify
from benchmarks.harness import Rate
from impl import attention, normalization


def entries(quick: bool) -> Iterator[Rate]:
    """Two formulas with their gradients, at the default number of examples."""
    count = 20 if quick else 100
    for formula, target in (
        ("attention.scaled_dot_product", attention.scaled_dot_product),
        ("normalization.layer_norm", normalization.layer_norm),
    ):
        yield Rate(
            f"verify.check {formula}",
            f"{count} examples",
            partial(_judged, target, formula, count),
            "examples",
        )


def _judged(target: Callable, formula: str, count: int) -> int:
    report = verify.check(target, formula, max_examples=count)
    return sum(check.examples for check in report.checks if check.worst_ratio is not None)
