"""A missed law as lines that draw again: the inputs, the calls, the statement's probabilities, and the test that tells.

What they give is judged by itself, at the same false-alarm probability: of the samples that were drawn, the first that shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from spec.language.arrays import Tensor
from spec.language.evaluation.dimensions import is_size
from spec.language.expr import (
    Both,
    Case,
    Compare,
    Delta,
    Either,
    Literal,
    Minus,
    Negative,
    Not,
    Plus,
    Ref,
    Times,
)  # fmt: skip
from spec.language.formula import Formula
from verify.laws.layouts import law_of
from verify.laws.results import ALPHA, misused
from verify.laws.statistics import Tally
from verify.scripting.literals import literal, number, packed, unpacked
from verify.scripting.naming import Unwritten
from verify.scripting.sources import Sources

RESERVED = (
    "call", "calls", "checked", "chosen", "drawn", "fine", "found", "function", "generator", "given", "held", "level", "p",
    "P", "joined", "levels", "rate", "sample", "said", "share", "tally", "value", "values", "words", "wrong",
)  # fmt: skip
"""What the lines call their own."""
SIGNS: dict[type, str] = {Plus: "+", Minus: "-", Times: "*", Both: "&", Either: "|"}


class Replay:
    """The lines of one check: ``inputs`` once, in a call ``copies`` of them along ``axes``; its results have ``shapes``."""

    def __init__(
        self,
        formula: Formula,
        inputs: Mapping[str, Any],
        copies: int,
        axes: Mapping[str, int],
        shapes: Sequence[tuple[int, ...]],
        seed: int,
        dtype: str = "float32",
        masks: bool = True,
    ) -> None:
        self.formula, self.inputs, self.copies, self.axes = formula, inputs, copies, axes
        self.shapes, self.dtype, self.seed, self.masks = shapes, dtype, seed, masks
        names = [str(item) for item in (*formula.inputs, *law_of(formula).returns)]
        self.sources = Sources(reserved=(*RESERVED, *names))
        self.sources.imports |= {"import sys": "sys", "import numpy as np": "np", "import torch": "torch"}
        self.sources.taken |= {"np": ("numpy", None), "sys": "sys", "torch": "torch"}

    @property
    def returns(self) -> str:
        """The names of what is returned, as what several values are assigned to."""
        names = [tensor.name for tensor in law_of(self.formula).returns]
        return ", ".join(names) + "," * (len(names) == 1)

    def text(self, lines: Sequence[str]) -> tuple[str, str]:
        """What the lines speak of, and all lines, those of the inputs and the calls before them."""
        body = [*self._inputs(), "", "", *self._drawn(), "", "", *lines]
        return "\n".join(self.sources.lines()), "\n".join(body)

    def _inputs(self) -> list[str]:
        lines = []
        for item in self.formula.inputs:
            value = self.inputs.get(str(item))
            if isinstance(value, np.ndarray):
                kind = value.dtype.kind
                dtype = {"b": "bool", "i": "int64"}.get(kind, self.dtype)
                said = f"torch.from_numpy({self.array(value)}.copy()).to(torch.{dtype})"
                lines.append(f"{item} = {literal(value, dtype) if value.size <= 64 else said}")
            elif getattr(item, "role", "") != "generator":
                lines.append(f"{item} = {literal(value, self.dtype)}")
        return lines

    def _drawn(self) -> list[str]:
        """A call, and its results as arrays."""
        given = []
        for item in self.formula.inputs:
            name = str(item)
            value = self.inputs.get(name)
            if getattr(item, "role", "") == "mask" and not self.masks:
                continue
            if isinstance(value, np.ndarray):
                repeats = [self.copies if axis == self.axes.get(name) else 1 for axis in range(value.ndim)]
                given.append(f"{name}.repeat({', '.join(map(str, repeats))})")
            else:
                given.append("generator" if getattr(item, "role", "") == "generator" else name)
        real = f"torch.{self.dtype}"
        kinds = {"boolean": "torch.bool", "integer": "'integers'"}
        wanted = ", ".join(
            f"({shape}, {kinds.get(t.domain, real)})"
            for shape, t in zip(self.shapes, law_of(self.formula).returns, strict=True)
        )
        return [
            "def given(generator):",
            f"    return [{', '.join(given)}]",
            "",
            "",
            "def drawn(given):",
            "    before = [x.clone() if isinstance(x, torch.Tensor) else None for x in given]",
            "    try:",
            "        found = checked(*given)",
            "    except BaseException as error:",
            '        print(f"fails again: {type(error).__name__}: {error}")',
            "        sys.exit(1)",
            "    found = list(found) if isinstance(found, (tuple, list)) else [found]",
            f"    wanted = [{wanted}]",
            "    integers = torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64",
            "    fits = len(found) == len(wanted) and all(",
            "        isinstance(x, torch.Tensor) and x.shape == shape",
            "        and (x.dtype == kind or kind == 'integers' and x.dtype in integers)",
            "        for x, (shape, kind) in zip(found, wanted)",
            "    )",
            "    if not fits:",
            "        got = [(*x.shape, x.dtype) if isinstance(x, torch.Tensor) else type(x).__name__ for x in found]",
            '        print(f"fails again: got {got}, expected {wanted}")',
            "        sys.exit(1)",
            "    if any(old is not None and not torch.equal(old, x) for old, x in zip(before, given)):",
            '        print("fails again: an input was modified")',
            "        sys.exit(1)",
            "    found = [x.detach() for x in found]",
            "    return [(x.double() if x.is_floating_point() else x).numpy() for x in found]",
        ]

    def array(self, value: Any) -> str:
        """An array as text."""
        self.sources.of(unpacked)
        return packed(value)

    def spelled(self, node: Any, symbol: Any) -> str:
        """A value or a condition of every position, as arrays have it.

        Raises:
            Unwritten: it looks elsewhere than at its own position, or is made of other things.
        """

        def said(part: Any) -> str:
            return self.spelled(part, symbol)

        if isinstance(node, Tensor):
            return node.name
        if isinstance(node, Ref) and node.index in ((symbol,), ()):
            name = node.tensor.name
            tensor = isinstance(self.inputs.get(name), np.ndarray)
            return f"{name}.numpy()" if tensor else name
        if isinstance(node, Literal):
            return said(node.value)
        if getattr(node, "is_Integer", False):
            return str(node) if node >= 0 else f"({node})"
        if is_size(node) and str(node) in self.inputs:
            return str(node)
        if type(node) in SIGNS:
            left, right = map(said, node.args)
            return f"({left} {SIGNS[type(node)]} {right})"
        if isinstance(node, Negative):
            return f"-{said(node.args[0])}"
        if isinstance(node, Not):
            return f"~{said(node.args[0])}"
        if isinstance(node, Delta):
            left, right = map(said, node.args)
            return f"({left} == {right})"
        if isinstance(node, Compare):
            sign, left, right = node.args
            return f"({said(left)} {sign} {said(right)})"
        if isinstance(node, Case):
            where, one, other = map(said, node.args)
            return f"np.where({where}, {one}, {other})"
        raise Unwritten

    # What is looked at ----------------------------------------------------------------------------------------------------

    def sampled(
        self, calls: int, collected: Mapping[str, str], shape: tuple[int, ...] | None = None
    ) -> list[str]:
        """Draws, of which arrays are collected call by call; results are in this shape."""
        results = "drawn(given(generator))"
        return [
            f"generator = torch.Generator().manual_seed({self.seed})",
            *(f"{name} = []" for name in collected),
            f"for call in range({calls}):",
            f"    {self.returns} = {results if shape is None else f'(x.reshape({shape}) for x in {results})'}",
            *(f"    {name}.append({text})" for name, text in collected.items()),
        ]

    def tested(self, test: Callable[..., Any], *more: str) -> list[str]:
        """A test of a sample."""
        return [
            f"tally = {self.sources.of(Tally)}({number(ALPHA)}, 4)",
            f"{self.sources.of(test)}({', '.join(['sample', *more, 'tally'])})",
            "fine, p, level, said = tally.verdict()",
            "print(f\"{'does not fail' if fine else 'fails again'}: {said}; p = {p:.2g}, level {level:.1g}\")",
            "sys.exit(0 if fine else 1)",
        ]

    def excluded(self, test: Callable[..., Any]) -> list[str]:
        """A test that no sample may fail: it says what is wrong, or where."""
        return [
            f"wrong = {self.sources.of(test)}(sample)",
            'print(f"fails again: {wrong}" if wrong else "does not fail")',
            "sys.exit(1 if wrong else 0)",
        ]

    def every(self, calls: int, condition: Any, symbol: Any, shape: tuple[int, ...]) -> list[str]:
        """An axiom, at every position of every call."""
        held = f"np.broadcast_to({self.spelled(condition, symbol)}, {shape})"
        return [
            f"generator = torch.Generator().manual_seed({self.seed})",
            f"for call in range({calls}):",
            f"    {self.returns} = (x.reshape({shape}) for x in drawn(given(generator)))",
            f"    held = {held}",
            "    if not held.all():",
            '        print(f"fails again: call {call}, {np.argwhere(~held)[0]}")',
            "        sys.exit(1)",
            'print("does not fail")',
            "sys.exit(0)",
        ]

    def of_generator(self) -> list[str]:
        """How the generator is used."""
        names = [str(item) for item in self.formula.inputs]
        return [
            f'wrong = {self.sources.of(misused)}(given, drawn, {names!r}, "cpu")',
            'print(f"fails again: {wrong}" if wrong else "does not fail")',
            "sys.exit(1 if wrong else 0)",
        ]

    def of_results(self, calls: int) -> list[str]:
        """What is returned."""
        return [
            f"generator = torch.Generator().manual_seed({self.seed})",
            f"for call in range({calls}):",
            "    drawn(given(generator))",
            'print("does not fail")',
            "sys.exit(0)",
        ]


__all__ = ["Replay"]
