"""How far a candidate's results are from the expectation: in σ, entry by entry.

The expectation is the reference in float64. What it says counts only where it is sure of it: an entry is left out where the
reference is not finite, in float64 or in the working type, an integer where some rounding makes it another; and a case in which
the reference itself is further off than is allowed says nothing.
"""

from __future__ import annotations

import copy
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import keystr, tree_flatten_with_path, tree_leaves, tree_map

from spec.language.evaluation.precision import FORMATS
from verify.accuracy.grade import RARE, WORST
from verify.comparing.noise import Rounding, Spread, in_parts
from verify.comparing.report import Comparison
from verify.faults import Unusable, complaint
from verify.inputs.dtypes import NAMES
from verify.subject.returned import identical

FEW, MANY = 2, 16
"""Samples of the spread: at first, and where an error is not far below the limit."""
SURE = 0.25
"""Errors up to this share of the limit need no more samples."""
COARSER = ("float16", "bfloat16")
"""Types in which what is imprecise may have been held, the finer first."""
ROOM = 8
"""How many times as large as the ratio of their units the spread in a coarser type may be: beyond that it is not looked at."""
GRADIENT = "gradient by "


class NotJudged(Exception):  # noqa: N818 said in reports as it stands
    """Nothing can be said of a case; the message tells why."""


class Misfit(Exception):  # noqa: N818 said in reports as it stands
    """What was returned is not of the kind expected; the message tells how."""


Results = dict[str, torch.Tensor]
Call = Callable[..., Any]
Inputs = Sequence[Any]
Names = Sequence[str] | None


def name_results(returned: Any) -> Results:
    """The tensors and numbers that were returned, by where they are; None is nothing.

    Raises:
        Misfit: something else is among them.
    """
    found: Results = {}
    for path, leaf in tree_flatten_with_path(returned)[0]:
        name = f"output{keystr(path)}"
        if leaf is None:
            continue
        if isinstance(leaf, bool | int | float):
            leaf = torch.tensor(leaf, dtype=torch.float64 if isinstance(leaf, float) else None)
        if type(leaf) not in (torch.Tensor, torch.nn.Parameter):
            raise Misfit(f"{name} is of the type {type(leaf).__name__}; expected a plain tensor")
        if leaf.is_nested or leaf.layout != torch.strided or leaf.is_meta:
            kind = "nested" if leaf.is_nested else "on meta" if leaf.is_meta else leaf.layout
            raise Misfit(f"{name} is {kind}; expected a dense tensor that holds values")
        if leaf.is_complex() or (leaf.is_floating_point() and leaf.dtype.itemsize < 2):
            said = str(leaf.dtype).removeprefix("torch.")
            raise Misfit(f"{name} has dtype {said}; expected integers, or real numbers of 16 bits or more")
        found[name] = leaf.detach()
    return found


def copied(values: Any) -> Any:
    """The same with copies of all tensors, which nobody else writes to."""
    return tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, values)


def is_same(a: Results, b: Results) -> bool:
    """Whether two results are the same to the last bit."""
    return a.keys() == b.keys() and all(identical(a[name], b[name]) for name in a)


def differentiate(call: Call, inputs: Inputs, names: Sequence[str], seed: int) -> Results:
    """The gradients of what is called by its parameters and its real inputs, which nobody else uses, for cotangents drawn under
    the seed.

    Raises:
        NotJudged: no output carries a gradient.
    """
    leaves = tree_flatten_with_path(list(inputs))[0]
    by = {
        names[path[0].idx] + keystr(path[1:]): x.requires_grad_()  # type: ignore[attr-defined]
        for path, x in leaves
        if _is_float(x)
    }
    by |= dict(call.named_parameters()) if isinstance(call, torch.nn.Module) else {}
    by = {name: x for name, x in by.items() if x.requires_grad}
    outputs, cotangents = [], []
    with torch.enable_grad():
        for path, leaf in tree_flatten_with_path(call(*inputs))[0]:
            if _is_float(leaf) and leaf.requires_grad:
                random = torch.Generator().manual_seed(seed + zlib.crc32(keystr(path).encode()))
                # In float32's digits in every type, and the same for all: it is an input like others.
                drawn = torch.randn(leaf.shape, generator=random).bfloat16().to(leaf.device, leaf.dtype)
                outputs.append(leaf)
                cotangents.append(drawn)
        if not outputs:
            raise NotJudged("what is returned carries no gradient")
        found = torch.autograd.grad(outputs, list(by.values()), cotangents, allow_unused=True)
    return {
        GRADIENT + name: torch.zeros_like(x) if got is None else got
        for (name, x), got in zip(by.items(), found, strict=True)
    }


def _is_float(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.is_floating_point()


@dataclass
class Expectation:
    """What is expected in one case.

    Attributes:
        values: in float64; integers and booleans as they are.
        own: the reference's results in the working type.
        spread: how far careful arithmetic is from the values.
        rare: the share of entries that may be further off.
    """

    values: Results
    own: Results
    spread: Spread
    rare: float

    def where(self, name: str) -> torch.Tensor:
        """Which entries of a result are judged."""
        value, own = self.values[name], self.own[name]
        if value.is_floating_point():
            return torch.isfinite(value) & torch.isfinite(own)
        moved = self.spread.moved.get(name)
        return torch.ones_like(value, dtype=torch.bool) if moved is None else ~moved


@dataclass
class Grade:
    """The largest error of one case.

    Attributes:
        sigma: in σ; infinite for what is not finite, or no number.
        what, said: of which result, and in a line where it is, what is there and what was expected.
        passed: whether the limit is passed by more entries than may be.
        wrong: for each result where the limit is passed.
    """

    sigma: float = 0.0
    what: str = ""
    said: str = ""
    passed: bool = False
    wrong: dict[str, torch.Tensor] = field(default_factory=dict)


class Expecting:
    """Makes expectations of one reference, which is copied and widened to float64.

    Args:
        reference: the reference in the working type.
        report: working type, device, seed, and how many σ are allowed.

    Raises:
        Unusable: the reference cannot be copied.
    """

    def __init__(self, reference: Call, report: Comparison) -> None:
        self.reference = self.wide = reference
        if isinstance(reference, torch.nn.Module):
            try:
                self.wide = copy.deepcopy(reference).double()
            except Exception as error:
                said = f"expected a reference that can be copied; got {complaint(error)}"
                raise Unusable(f"{report.reference}: {said}") from None
        self.dtype, self.seed, self.device = report.dtype, report.seed, torch.device(report.device)
        self.limit = report.sigmas or WORST[self.dtype]
        self.tf32 = self.dtype == "float32" and self.device.type == "cuda"
        self.tf32 = self.tf32 and torch.get_float32_matmul_precision() != "highest"
        self.unmodelled: set[str] = set()

    def own_at(self, inputs: Inputs, names: Names = None) -> Results:
        """What the reference returns in the working type.

        Raises:
            NotJudged: it raises.
        """
        return self._call(self.reference, inputs, names, None)

    def value_at(self, inputs: Inputs, names: Names = None, mode: Rounding | None = None) -> Results:
        """What the reference returns in float64.

        Raises:
            NotJudged: it raises.
        """
        found = self._call(self.wide, inputs, names, mode or Rounding(self.dtype, None, self.device))
        return {name: x.double() if x.is_floating_point() else x for name, x in found.items()}

    def expect(self, inputs: Inputs, names: Names = None) -> Expectation:
        """What is expected for these inputs; of gradients where the inputs' names are given.

        Raises:
            NotJudged: nothing, and why.
        """
        own = self.own_at(inputs, names)
        exact = Rounding(self.dtype, None, self.device)
        values = self.value_at(inputs, names, exact)
        if {name: x.shape for name, x in values.items()} != {name: x.shape for name, x in own.items()}:
            raise NotJudged("the reference returns results of other shapes in float64")
        spread = Spread(
            lambda mode: self.value_at(inputs, names, mode), values, self.dtype, self.seed, self.tf32
        )
        # Passed on the other side, by a rounding, a kink decides a whole row of a gradient, and a jump a value.
        excused = exact.jumps if names is None else exact.bends
        expected = Expectation(values, own, spread, RARE["gradient"] if excused else 0.0)
        if not any(bool(expected.where(name).any()) for name in values):
            raise NotJudged("no entry of the reference's results is finite, or there is none")
        itself = self.grade(own, expected)
        if itself.passed:
            raise NotJudged(f"the reference itself is {itself.sigma:.2g} σ off")
        return expected

    def _call(self, call: Call, inputs: Inputs, names: Names, mode: Rounding | None) -> Results:
        """One call, with copies of the inputs; what it leaves in its buffers is put right."""
        given = copied(list(inputs))
        buffers = dict(call.named_buffers()) if isinstance(call, torch.nn.Module) else {}
        before = copied(buffers)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if mode is None:
                    return self._results(call, given, names)
                given = tree_map(lambda x: x.double() if _is_float(x) else x, given)
                with in_parts(), mode:
                    found = self._results(call, given, names)
                self.unmodelled |= mode.unmodelled
                return found
        except (NotJudged, Unusable):
            raise
        except Exception as error:
            where = "" if mode is None else " in float64"
            raise NotJudged(f"the reference raises {complaint(error)}{where}") from None
        finally:
            with torch.no_grad():
                for name, x in buffers.items():
                    x.copy_(before[name])

    def _results(self, call: Call, inputs: list[Any], names: Names) -> Results:
        if names is not None:
            return differentiate(call, inputs, names, self.seed)
        with torch.no_grad():
            return name_results(call(*inputs))

    def apart(self, a: Results, b: Results, expected: Expectation) -> dict[str, torch.Tensor]:
        """Where two results, both in reach of rounding of an expectation, are others by more than that explains."""
        found = {}
        for name in a.keys() & b.keys() & expected.values.keys():
            if (one := a[name]).is_floating_point():
                room = self.limit * (
                    expected.spread.sigma(name) + FORMATS[self.dtype].unit * b[name].double().abs()
                )
                found[name] = ~((one.double() - b[name]).abs() <= room) & expected.where(name)
            else:
                found[name] = (one != b[name]) & expected.where(name)
        return found

    def grade(self, got: Results, expected: Expectation) -> Grade:
        """The largest error. Samples are added where it is not far below the limit.

        Raises:
            Misfit: a result is missing, or is of another shape or type.
        """
        check_kinds(got, expected.own)
        expected.spread.draw(FEW)
        found = self._grade(got, expected, expected.spread, self.limit)
        if found.sigma > SURE * self.limit and expected.spread.samples < MANY:
            expected.spread.draw(MANY)
            found = self._grade(got, expected, expected.spread, self.limit)
        return found

    def fit(self, got: Results, expected: Expectation, sigma: float) -> str:
        """The finest type whose arithmetic makes errors of so many σ; empty where none does."""
        for name in COARSER:
            times = FORMATS[name].unit / FORMATS[self.dtype].unit
            if times > 1 and sigma < ROOM * times * self.limit:
                coarse = Spread(expected.spread.run, expected.values, name, self.seed)
                coarse.draw(FEW)
                if not self._grade(got, expected, coarse, WORST[name]).passed:
                    return name
        return ""

    def _grade(self, got: Results, expected: Expectation, spread: Spread, limit: float) -> Grade:
        worst = Grade()
        for name in (name for name in expected.values if name in got):  # a weight may be named otherwise
            value, where, one = expected.values[name], expected.where(name), got[name]
            if value.is_floating_point():
                sigma = spread.sigma(name).expand(value.shape)
                ratio = (one.double() - value).abs_().div_(sigma).nan_to_num_(nan=torch.inf, posinf=torch.inf)
                ratio = torch.where(where, ratio, 0.0)
            else:
                sigma, ratio = torch.zeros(value.shape), torch.where(where & (one != value), torch.inf, 0.0)
            worst.wrong[name] = ratio > limit
            worst.passed |= int(worst.wrong[name].sum()) > expected.rare * ratio.numel()
            flat = int(ratio.argmax()) if ratio.numel() else 0
            most = float(ratio.reshape(-1)[flat]) if ratio.numel() else -1.0
            if most > worst.sigma or (not worst.what and most == 0):
                index = torch.unravel_index(torch.tensor(flat), ratio.shape)
                at = f"[{', '.join(str(int(i)) for i in index)}]" if index else ""
                there, wanted, spread_there = (float(x.reshape(-1)[flat]) for x in (one, value, sigma))
                worst.sigma, worst.what = most, name
                worst.said = f"{name}{at} is {there:.9g}; expected {wanted:.9g}"
                if most < float("inf"):
                    worst.said += f" ± {spread_there:.2g} (σ): {most:.2g} σ"
        return worst


def check_kinds(got: Results, own: Mapping[str, torch.Tensor]) -> None:
    """Whether results are of the kinds of the reference's.

    Raises:
        Misfit: they are not.
    """
    outputs, mine = ({name for name in each if not name.startswith(GRADIENT)} for each in (own, got))
    missing, more = sorted(outputs - mine), sorted(mine - outputs)
    if missing and more:
        raise Misfit(f"returns {more[0]}, not {missing[0]} as the reference does")
    if missing:
        raise Misfit(f"returns no {missing[0]}; the reference does")
    if more:
        raise Misfit(f"returns {more[0]}, which the reference does not")
    for name in sorted(own.keys() & got.keys()):
        for what in ("shape", "dtype", "device"):
            a, b = getattr(got[name], what), getattr(own[name], what)
            if a != b and not (what == "device" and a.type == b.type):
                told = [str(tuple(x) if what == "shape" else x).removeprefix("torch.") for x in (a, b)]
                raise Misfit(f"{name} has {what} {told[0]}; the reference's has {told[1]}")


def working_dtype(inputs: Inputs, reference: Call) -> str:
    """The type in which is computed: of the first real input, or parameter; float32 where all are integers.

    Raises:
        Unusable: it is complex, or float64, beside which there is nothing wider.
    """
    weights = reference.parameters() if isinstance(reference, torch.nn.Module) else ()
    leaves = (x for x in (*tree_leaves(list(inputs)), *weights) if isinstance(x, torch.Tensor))
    found = next((x.dtype for x in leaves if x.is_floating_point() or x.is_complex()), torch.float32)
    name = NAMES.get(found, str(found).removeprefix("torch."))
    if name not in ("float32", *COARSER):
        raise Unusable(
            f"expected inputs or weights in float32, float16 or bfloat16; got {name} (dtype= converts them)"
        )
    return name


__all__ = [
    "GRADIENT", "Call", "Expectation", "Expecting", "Grade", "Inputs", "Misfit", "NotJudged", "Results", "copied",
    "differentiate", "is_same", "name_results", "working_dtype",
]  # fmt: skip
