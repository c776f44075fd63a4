"""The arguments of the formulas applied in a claim, for many examples of equal sizes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from spec.language.arrays import WHOLE, Comprehension, Tensor
from spec.language.calls import ABSENT, Call, Pullback
from spec.language.evaluation.batching import EXAMPLE
from spec.language.evaluation.dimensions import Size, is_size
from spec.language.evaluation.interpreter import Evaluator
from spec.language.expr import Literal
from spec.language.known import known
from spec.language.proving.evaluating.applying import Applications
from spec.language.trees import free_symbols
from verify.inputs.examples import Example, rounded


class OfExamples(Applications):
    """Gathers arguments for each of some examples; ``given`` holds what each gives for a tensor, by name."""

    around = frozenset({EXAMPLE})

    def __init__(self, examples: Sequence[Example], given: Mapping[str, Sequence[Any]]) -> None:
        super().__init__()
        self.examples, self.given = examples, given

    def everywhere(
        self, evaluator: Evaluator, node: Call | Pullback, arguments: list[Any], outer: list[Any]
    ) -> list[dict[str, Any]]:
        """The arguments for each example and, for each, at every value of the other indices, as arrays with axes for these.

        Only where a shape depends on an index around the call, one value after another is taken.
        """
        callee, indices = known(node.formula_id), outer[1:]
        items = [*zip(callee.inputs, arguments, strict=False)]
        names = [str(item) for item in callee.inputs]
        if isinstance(node, Pullback):
            items[len(names) :] = [(callee.line(node.output), arguments[-1])]
            names.append("seed")
        ranges = [evaluator.ranges[s] for s in indices]
        sized = set().union(*(_sized(item, value) for item, value in items))
        if sized.isdisjoint(indices) and all(len(r) and r[-1] - r[0] + 1 == len(r) for r in ranges):
            spans = [(s, int(r[0]), int(r[-1])) for s, r in zip(indices, ranges, strict=True)]
            columns = [self.column(evaluator.outside({}), item, value, spans) for item, value in items]
            return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        places = []
        for at in product(*ranges):
            inner = evaluator.outside(dict(zip(indices, map(int, at), strict=True)))
            columns = [self.column(inner, item, value, []) for item, value in items]
            places.append([dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)])
        return [place[k] for k in range(len(self.examples)) for place in places]

    def column(
        self, inner: Evaluator, item: Tensor | Size, value: Any, spans: list[tuple[Any, Any, Any]]
    ) -> list[Any]:
        """One argument: for each example, and at each value of the indices."""
        examples, places = len(self.examples), prod(last - first + 1 for _, first, last in spans)
        if is_size(item):
            size = int(inner.index(value.value if isinstance(value, Literal) else value).item())
            return [size] * (examples * places)
        if value == ABSENT or item.role == "generator":
            return [None] * (examples * places)
        if isinstance(value, Tensor):
            every = self.given[value.name]
            if item.domain not in WHOLE and item.domain != "boolean":
                every = [rounded(own, each.dtype) for own, each in zip(every, self.examples, strict=True)]
            return [own for own in every for _ in range(places)]
        body, own_spans = value, []
        if isinstance(value, Comprehension):
            own_spans = [(var, 0, size - 1) for var, size in zip(value.vars, value.shape, strict=True)]
            body = value.body
        if free_symbols(value).isdisjoint(s for s, _, _ in spans):
            found = self.array(inner, item, body, own_spans)
            return [own for own in found for _ in range(places)]
        array = self.array(inner, item, body, [*spans, *own_spans])
        return list(array.reshape((examples * places, *array.shape[1 + len(spans) :])))

    def array(self, inner: Evaluator, item: Tensor, value: Any, spans: list[tuple[Any, Any, Any]]) -> Any:
        """The same, the first axis for the examples."""
        return super().array(inner, item, value, [(EXAMPLE, 0, len(self.examples) - 1), *spans])

    def real(self, inner: Evaluator, number: Any) -> Any:
        """In each example in the type under check."""
        found, dtypes = np.array(number.floats()), [example.dtype for example in self.examples]
        for dtype in {*dtypes}:
            here = np.array([own == dtype for own in dtypes])
            found[here] = rounded(found[here], dtype)
        return found


def _sized(item: Tensor | Size, value: Any) -> set[Any]:
    """The indices and sizes on which a size, or the shape of an array, depends."""
    if is_size(item):
        return free_symbols(value)
    shape = value.shape if isinstance(value, Comprehension) else ()
    return set().union(*(free_symbols(size) for size in shape))


__all__ = ["OfExamples"]
