"""Calling what is checked: binding its signature, passing the inputs of a formula, and surviving whatever it does.

Nothing a callable does may crash the checker: an exception, ``SystemExit``, a hang, an output of the wrong type, shape, dtype or
device is a :class:`Fault` with one clear line; a type it declares unsupported is :class:`Unsupported`. Inputs it damages and
global state it meddles with are put right and kept as offences, which become checks of their own.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from spec.language.evaluation.dimensions import Size, is_size, whole
from spec.language.expr import Tensor
from spec.language.formula import Formula
from verify.state import Deadline, GlobalState, interrupted

LIMIT, FIRST_LIMIT, HUNG_LIMIT = 20.0, 60.0, 0.5
"""Seconds one call may take, and the first one (which may compile)."""

DTYPES: dict[str, torch.dtype] = {
    "float64": torch.float64,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}
NAMES = {value: name for name, value in DTYPES.items()}
_SPOKEN = {
    "float64": "float64|double",
    "float32": "float32|float",
    "float16": "float16|half",
    "bfloat16": "bfloat16",
}


class Unusable(Exception):  # noqa: N818 said in reports as it stands
    """What was given cannot be checked at all: an unknown formula, type or convention, or a signature that does not fit."""


class Fault(Exception):  # noqa: N818 said in reports as it stands
    """The callable is at fault; the message is one line."""


class Unsupported(Exception):  # noqa: N818 said in reports as it stands
    """The callable declares that it does not support this type (or this kind of differentiation)."""


@dataclass(frozen=True)
class Offence:
    """Something a callable did besides returning a value."""

    name: str
    message: str
    inputs: dict[str, Any]
    dtype: str


@contextmanager
def unable_to_exit() -> Iterator[None]:
    """``os._exit`` in user code would end the checker without a word; here it is an error like any other."""

    def refuse(status: int) -> None:
        raise SystemExit(f"os._exit({status})")

    saved, os._exit = os._exit, refuse  # type: ignore[assignment]
    try:
        yield
    finally:
        os._exit = saved


class Caller:
    """A callable under check, together with the formula it is held to."""

    def __init__(
        self, fn: Callable[..., Any], formula: Formula, device: str = "cpu", name: str | None = None
    ) -> None:
        if not callable(fn):
            raise Unusable(f"{formula.id}: {fn!r} is not callable")
        self.fn, self.formula, self.device = fn, formula, device
        self.name = name or called(fn)
        self.returns: tuple[Tensor, ...] = formula.outputs
        if formula.law is not None:
            self.returns = formula.law.returns
        elif formula.procedure is not None:
            self.returns = formula.procedure.returns
        self.takes_mask = self._bind()
        self.offences: dict[str, Offence] = {}
        self.calls = 0
        self.hung = False
        self.supported: set[str] = set()

    # The signature -------------------------------------------------------------------------------------------------------

    def _bind(self) -> bool:
        """Whether the callable takes the optional mask; raises if it cannot be called with the inputs at all."""
        inputs = self.formula.inputs
        masked = bool(inputs) and self.formula.is_mask(inputs[-1])
        try:
            signature = inspect.signature(
                self.fn.forward if isinstance(self.fn, torch.nn.Module) else self.fn
            )
        except (ValueError, TypeError):  # builtins that tell nothing about themselves: the first call shows
            return masked
        for count in (len(inputs), len(inputs) - 1) if masked else (len(inputs),):
            try:
                signature.bind(*range(count))
            except TypeError:
                continue
            return masked and count == len(inputs)
        names = ", ".join(
            str(item) + (" (optional)" if self.formula.is_mask(item) else "") for item in inputs
        )
        raise Unusable(
            f"{self.formula.id} is called positionally with ({names}); {self.name}{signature} cannot be called so"
        )

    # Arguments -----------------------------------------------------------------------------------------------------------

    def tensor(self, item: Tensor, value: Any, dtype: str, grad: bool = False) -> torch.Tensor:
        """One input as a tensor on the device; real ones in ``dtype``."""
        if item.domain == "boolean":
            return torch.from_numpy(np.array(value, dtype=np.bool_)).to(self.device)
        if item.domain in ("integer", "permutation"):
            return torch.from_numpy(np.array(value, dtype=np.int64)).to(self.device)
        made = torch.from_numpy(np.array(value, dtype=np.float64)).to(device=self.device, dtype=DTYPES[dtype])
        return made.requires_grad_() if grad else made

    def arguments(
        self, inputs: Mapping[str, Any], dtype: str, grad: bool = False, generator_seed: int | None = None
    ) -> list[Any]:
        """The inputs of an example as they are passed, in declared order (the mask left out where it is not taken)."""
        passed: list[Any] = []
        for item in self.formula.inputs:
            value = inputs.get(str(item))
            if is_size(item):
                passed.append(int(value))  # type: ignore[arg-type]
            elif item.role == "generator":
                passed.append(torch.Generator(device=self.device).manual_seed(generator_seed or 0))
            elif item.role == "mask":
                if self.takes_mask:
                    passed.append(None if value is None else self.tensor(item, value, dtype))
            elif item.role == "number":
                passed.append(int(value) if item.domain == "integer" else float(value))  # type: ignore[arg-type]
            else:
                passed.append(
                    self.tensor(
                        item, value, dtype, grad and item.domain in ("real", "positive", "nonnegative")
                    )
                )
        return passed

    # The call ------------------------------------------------------------------------------------------------------------

    def __call__(self, *arguments: Any) -> Any:
        """Call with ready-made arguments; whatever goes wrong is a :class:`Fault` or :class:`Unsupported`."""
        return self.guarded(lambda: self.fn(*arguments), arguments)

    def guarded(self, work: Callable[[], Any], arguments: Sequence[Any]) -> Any:
        """Run user code (the call, or the backward pass) and put right what it leaves behind."""
        kept = [(a, a.detach().clone()) for a in arguments if isinstance(a, torch.Tensor)]
        shapes = describe(self.formula, arguments)
        dtype = next((NAMES[a.dtype] for a, _ in kept if a.dtype in NAMES), "float32")
        state = GlobalState(self.device)
        limit = HUNG_LIMIT if self.hung else LIMIT if self.calls else FIRST_LIMIT
        self.calls += 1
        try:
            with warnings.catch_warnings(), Deadline(limit), unable_to_exit():
                warnings.simplefilter("ignore")
                result = work()
        except Deadline.Passed:
            self.hung = True  # once is enough: the other checks do not wait as long
            raise Fault(
                f"{self.formula.id}: {self.name} did not return within {limit:g} s for {shapes}"
            ) from None
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and interrupted():
                raise
            raise self._blame(error, dtype, shapes) from error
        finally:
            self._settle(state, kept, arguments, shapes, dtype)
        self.supported.add(dtype)
        return result

    def _blame(self, error: BaseException, dtype: str, shapes: str) -> Exception:
        try:
            said = " ".join(str(error).split())
        except Exception:  # an exception whose text cannot be had is named by its type
            said = ""
        said = said if len(said) <= 240 else said[:240] + " …"
        line = f"{self.formula.id}: {self.name} raised {type(error).__name__}{': ' + said if said else ''} for {shapes}"
        if isinstance(error, Fault | Unsupported):
            return error
        known = dtype in self.supported
        if isinstance(error, NotImplementedError) and not known:
            return Unsupported(line)
        if isinstance(error, RuntimeError) and re.search(r"not implemented for '", said):
            return Unsupported(line)
        if isinstance(error, RuntimeError) and re.search(r"derivative for .* is not implemented", said):
            return Unsupported(line)
        if (
            isinstance(error, TypeError)
            and not known
            and re.search(rf"\b({_SPOKEN[dtype]})\b", said, re.IGNORECASE)
        ):
            return Unsupported(line)
        return Fault(line)

    def _settle(
        self,
        state: GlobalState,
        kept: Sequence[tuple[torch.Tensor, torch.Tensor]],
        arguments: Sequence[Any],
        shapes: str,
        dtype: str,
    ) -> None:
        meddled = state.restore()
        damaged = [place for place, (now, before) in enumerate(kept) if not identical(now, before)]
        if not meddled and not damaged:
            return
        names = [
            str(item)
            for item, value in zip(self.formula.inputs, arguments, strict=False)
            if isinstance(value, torch.Tensor)
        ]
        before = dict(zip(names, (values(old) for _, old in kept), strict=True))
        inputs: dict[str, Any] = {}
        for item, value in zip(self.formula.inputs, arguments, strict=False):
            plain = None if isinstance(value, torch.Generator) else value
            inputs[str(item)] = before.get(str(item), plain)
        if meddled:
            said = f"{self.formula.id}: {self.name} changes global state: {'; '.join(meddled)}"
            self.offences.setdefault(
                "global state", Offence("leaves global state alone", said, inputs, dtype)
            )
        if damaged:
            which = ", ".join(names[place] for place in damaged)
            said = f"{self.formula.id}: {self.name} changes its input {which} in place, for {shapes}"
            self.offences.setdefault("inputs", Offence("leaves its inputs alone", said, inputs, dtype))

    # Results -------------------------------------------------------------------------------------------------------------

    def results(
        self, arguments: Sequence[Any], sizes: Mapping[Size, int], batch: tuple[int, ...], dtype: str | None
    ) -> list[torch.Tensor]:
        """Call, and hold what is returned to the declared number, shapes, dtypes and device.

        ``dtype`` None accepts any floating type (formulas without a real input).

        Raises:
            Fault: with one line naming formula, inputs, expected and got.
            Unsupported: the type is declared unsupported.
        """
        return self.held(self(*arguments), arguments, sizes, batch, dtype)

    def held(
        self,
        result: Any,
        arguments: Sequence[Any],
        sizes: Mapping[Size, int],
        batch: tuple[int, ...],
        dtype: str | None,
    ) -> list[torch.Tensor]:
        """What was returned, as a list of tensors of the declared shapes, dtypes and device."""
        shapes = describe(self.formula, arguments)
        if inspect.iscoroutine(result):
            result.close()
        count = len(self.returns)
        if count == 1 and not isinstance(result, tuple | list):
            result = (result,)
        plural = "a tensor" if count == 1 else f"{count} tensors ({', '.join(t.name for t in self.returns)})"
        if (
            not isinstance(result, tuple | list)
            or len(result) != count
            or not all(isinstance(x, torch.Tensor) for x in result)
        ):
            raise Fault(
                f"{self.formula.id}: {self.name} must return {plural}; got {kind(result, count)} for {shapes}"
            )
        for declared, value in zip(self.returns, result, strict=True):
            self._fits(declared, value, sizes, batch, dtype, shapes)
        return list(result)

    def _fits(
        self,
        declared: Tensor,
        value: torch.Tensor,
        sizes: Mapping[Size, int],
        batch: tuple[int, ...],
        dtype: str | None,
        shapes: str,
    ) -> None:
        begin = f"{self.formula.id}: {self.name}: output {declared.name}"
        expected = (*batch, *(whole(size, sizes) for size in declared.shape))
        if tuple(value.shape) != expected:
            raise Fault(f"{begin} has shape {tuple(value.shape)}; expected {expected} for {shapes}")
        if declared.domain == "integer":
            if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
                raise Fault(f"{begin} has dtype {value.dtype}; expected integers for {shapes}")
        elif declared.domain == "boolean":
            if value.dtype != torch.bool:
                raise Fault(f"{begin} has dtype {value.dtype}; expected torch.bool for {shapes}")
        elif dtype is None:
            if value.dtype not in NAMES:
                raise Fault(f"{begin} has dtype {value.dtype}; expected a floating type for {shapes}")
        elif value.dtype != DTYPES[dtype]:
            raise Fault(f"{begin} has dtype {value.dtype}; expected {DTYPES[dtype]} for {shapes}")
        if value.device.type != torch.device(self.device).type:
            raise Fault(f"{begin} is on {value.device}; expected {self.device} for {shapes}")
        if value.layout != torch.strided:
            raise Fault(f"{begin} has layout {value.layout}; expected a dense tensor for {shapes}")


def values(result: torch.Tensor) -> np.ndarray[Any, Any]:
    """A returned tensor as a NumPy array, exactly (real ones as float64)."""
    result = result.detach()
    return (result.double() if result.is_floating_point() else result).cpu().numpy()


def bits(x: torch.Tensor) -> torch.Tensor:
    """The bit patterns of a tensor, so that NaN equals itself and 0 differs from −0."""
    if not x.is_floating_point():
        return x
    return (
        x.detach()
        .contiguous()
        .view({8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.int8}[x.element_size()])
    )


def identical(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors agree in shape, dtype and every bit."""
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(bits(a), bits(b))


def describe(formula: Formula, arguments: Sequence[Any]) -> str:
    """The inputs of a call in a few words: shapes of tensors, values of numbers."""
    parts = []
    for item, value in zip(formula.inputs, arguments, strict=False):
        if isinstance(value, torch.Tensor):
            kindred = str(value.dtype).removeprefix("torch.")
            parts.append(f"{item} {tuple(value.shape)} {kindred}")
        elif isinstance(value, torch.Generator):
            parts.append(f"{item} on {value.device}")
        else:
            parts.append(f"{item} {value!r}")
    return ", ".join(parts)


def kind(result: Any, count: int = 1) -> str:
    """What was returned, in a few words."""
    if isinstance(result, tuple | list):
        if count == 1 and len(result) == 1:
            return type(result[0]).__name__
        return f"{type(result).__name__} of {', '.join(type(x).__name__ for x in result) or 'nothing'}"
    return type(result).__name__


def called(fn: Any) -> str:
    """A name for a callable."""
    if isinstance(fn, functools.partial):
        return called(fn.func)
    name = getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None) or type(fn).__name__
    module = getattr(fn, "__module__", "") or ""
    return name if module in ("", "builtins", "__main__") or "<" in name else f"{module}.{name}"
