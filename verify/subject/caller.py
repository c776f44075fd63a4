"""Calling what is checked: binding its signature, passing the inputs of a formula, and surviving whatever it does.

Nothing a callable does may crash the checker: an exception, ``SystemExit``, a hang, an output of the wrong type, shape, dtype or
device is a :class:`Fault` with one clear line; a type it declares unsupported is :class:`Unsupported`. Inputs it damages and
global state it meddles with are put right and kept as offences, which become checks of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch

from spec.language.arrays import Tensor
from spec.language.evaluation.dimensions import Size, is_size
from spec.language.formula import Formula
from verify.faults import Fault, Unsupported, Unusable, classify_error
from verify.inputs.dtypes import NAMES
from verify.inputs.size_rules import EVERY_SIZE, Supported
from verify.subject.arguments import Passing
from verify.subject.callables import callable_for
from verify.subject.containment import Containment, Overdue, Raised
from verify.subject.preserved import TensorSnapshot
from verify.subject.returned import check_results, find_shared_storage, one_more, values
from verify.subject.sandbox import GENERATORS, use_seed
from verify.subject.signature import in_place, read_signature
from verify.subject.wording import describe, name_callable


@dataclass(frozen=True)
class Offence:
    """Something a callable did besides returning a value; ``items``: to which state, ``written``: to which inputs."""

    name: str
    message: str
    inputs: dict[str, Any]
    dtype: str
    items: tuple[str, ...] = ()
    written: tuple[str, ...] = ()


class Caller(Passing):
    """A callable under check, together with the formula it is held to."""

    def __init__(
        self,
        fn: Callable[..., Any],
        formula: Formula,
        device: str = "cpu",
        name: str | None = None,
        sizes: Supported = EVERY_SIZE,
        unread: Collection[str] = (),
    ) -> None:
        super().__init__(formula, device, dict(sizes.fixed))
        self.fn = callable_for(formula, fn)
        self.name, self.sizes = name or name_callable(self.fn), sizes
        law = formula.law
        self.returns: tuple[Tensor, ...] = formula.outputs if law is None else law.returns
        self.unread = unread
        self.taken = read_signature(self.fn, formula, dict(sizes.fixed), self.name, unread)
        self.takes_mask, self.left_out = self.taken.mask, self.taken.left_out
        self.fixed = {*self.fixed, *self.left_out}
        if self.taken.by_name:
            self.fn = in_place(self.fn, len(formula.inputs) - len(self.left_out), self.taken.by_name)
        self.offences: dict[str, Offence] = {}
        self.aliases: dict[str, str] = {}
        self.calls = 0
        self.default_device: torch.device | None = None
        self.containment = Containment(device)
        self.declined: dict[str, str] = {}
        self.leading: tuple[int, ...] = ()
        self.supported: set[str] = set()

    @property
    def answered(self) -> bool:
        """Whether some call has returned."""
        return self.containment.answered

    @property
    def hung(self) -> bool:
        """Whether some call did not return in time."""
        return self.containment.hung

    # The call ------------------------------------------------------------------------------------------------------------

    def __call__(self, *arguments: Any) -> Any:
        """Call with ready-made arguments; whatever goes wrong is a :class:`Fault` or :class:`Unsupported`."""
        return self.run_guarded(self._work(arguments), arguments)

    def _work(self, arguments: Sequence[Any]) -> Callable[[], Any]:
        """The call itself. What an adapter builds for it is built before: it is no part of what is judged.

        Where it takes no generator, the global ones are seeded from that which is left out.
        """
        left = {}
        if self.left_out:
            passed = dict(zip(map(str, self.formula.inputs), arguments, strict=False))
            left = {name: passed.pop(name) for name in self.left_out if name in passed}
            arguments = list(passed.values())
        call = partial(self.fn, *arguments)
        prepare = getattr(self.fn, "prepare", None)
        if prepare is not None and hasattr(self.fn, "adapted"):
            with torch.inference_mode(False):  # what it keeps serves other calls, too
                call = prepare(arguments)
        generator = next((each for each in left.values() if isinstance(each, torch.Generator)), None)
        return call if generator is None else seeding(call, generator, self.device)

    def run_guarded(self, work: Callable[[], Any], arguments: Sequence[Any], shapes: str = "") -> Any:
        """Run user code (the call, or the backward pass) and put right what it leaves behind.

        ``shapes`` describes the arguments, if whoever calls has described them already.
        """
        kept = [TensorSnapshot(a) for a in arguments if isinstance(a, torch.Tensor)]
        shapes = shapes or describe(self.formula, arguments)
        dtype = next((NAMES[a.dtype] for a in kept if a.dtype in NAMES), "float32")
        begin = f"{self.formula.id}: {self.name}"
        self.calls += 1
        try:
            result = self.containment.run(f"{begin}, called with {shapes}", work, self.default_device)
        except Overdue as late:
            raise Fault(f"{begin} {late} for {shapes}", overdue=str(late)) from None
        except Raised as raised:
            error = raised.error
            if isinstance(error, Unusable):  # an adapter that does not fit the formula
                raise error from None
            if dtype in self.declined:
                raise Unsupported(self.declined[dtype]) from error
            raise classify_error(error, begin, dtype, dtype in self.supported, shapes) from error
        finally:
            self._settle(kept, arguments, shapes, dtype)
        self.supported.add(dtype)
        return result

    def _settle(
        self, kept: Sequence[TensorSnapshot], arguments: Sequence[Any], shapes: str, dtype: str
    ) -> None:
        meddled = self.containment.meddled
        damaged = [place for place, each in enumerate(kept) if each.changed]
        if not meddled and not damaged:
            return
        names = [
            item.name
            for item, value in zip(self.formula.inputs, arguments, strict=False)
            if isinstance(value, torch.Tensor)
        ]
        before = dict(zip(names, (values(each.before()) for each in kept), strict=True))
        inputs: dict[str, Any] = {}
        for item, value in zip(self.formula.inputs, arguments, strict=False):
            plain = None if isinstance(value, torch.Generator) else value
            inputs[str(item)] = before.get(str(item), plain)
        drawn = [name for name in meddled if name in GENERATORS]
        for key, changed in (("generator", drawn), ("global state", [n for n in meddled if n not in drawn])):
            if changed:
                said = f"{self.formula.id}: {self.name} changes global state: {'; '.join(changed)}"
                self.offences.setdefault(
                    key, Offence("leaves global state alone", said, inputs, dtype, tuple(changed))
                )
        if damaged:
            which = tuple(names[place] for place in damaged)
            said = (
                f"{self.formula.id}: {self.name} changes its input {', '.join(which)} in place, for {shapes}"
            )
            self.offences.setdefault(
                "inputs", Offence("leaves its inputs alone", said, inputs, dtype, written=which)
            )

    @cached_property
    def expected_device(self) -> str:
        """The device that results are held to be on: that of the inputs; any where these are sizes alone."""
        return "" if all(map(is_size, self.formula.inputs)) else self.device

    def plain_call(self, inputs: Mapping[str, Any]) -> str:
        """The call of a plain ``function`` at these inputs, as text; empty where more is done for a call than to pass them on."""
        fn = getattr(self.fn, "inner", self.fn)
        lead = {
            np.ndim(inputs[item.name]) - len(item.shape)
            for item in self.formula.tensors
            if item.role == "data" and item.name in inputs
        }
        if (
            self.formula.law is not None
            or hasattr(fn, "adapted")
            or (self.leading and not lead <= set(self.leading))
        ):
            return ""
        passed = self.passed
        if self.takes_mask and self.taken.by_name:
            passed[-1] = f"{self.taken.by_name}={passed[-1]}"
        return f"function({', '.join(passed)})"

    @property
    def passed(self) -> list[str]:
        """The inputs that it is called with, in order."""
        every = [item for item in self.formula.inputs if self.takes_mask or not self.formula.is_mask(item)]
        return [str(item) for item in every if str(item) not in self.left_out]

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
        shapes = describe(self.formula, arguments)
        result = self.run_guarded(self._work(arguments), arguments, shapes)
        if dtype in self.declined:  # it returns, but in another type
            raise Unsupported(self.declined[dtype])
        begin = f"{self.formula.id}: {self.name}"
        found = check_results(result, self.returns, sizes, batch, dtype, self.expected_device, begin, shapes)
        names = [t.name for t in self.returns]
        passed = [(item.name, value) for item, value in zip(self.formula.inputs, arguments, strict=False)]
        for output, home in find_shared_storage(list(zip(names, found, strict=True)), passed):
            self.aliases.setdefault(output, home)
        return found

    @contextmanager
    def overwrite_results(self, outputs: Sequence[torch.Tensor]) -> Iterator[bool]:
        """Write to the results of a call, as arithmetic in place does, for as long as the block lasts: what else lies there is
        needed later. Whether there was any that can be written to.
        """
        before: list[tuple[torch.Tensor, torch.Tensor]] = []
        for output in outputs:
            was = output.detach().clone()
            try:
                one_more(output)
            except RuntimeError:  # several of its entries lie in one place
                continue
            before.append((output, was))
        try:
            yield bool(before)
        finally:
            for output, was in reversed(before):
                output.detach().copy_(was)

    def gradients(
        self,
        outputs: Sequence[torch.Tensor],
        seeds: Sequence[torch.Tensor],
        leaves: Mapping[str, torch.Tensor],
        arguments: Sequence[Any],
        again: bool = False,
    ) -> dict[str, Any]:
        """The backward pass from outputs to arguments, by name; None where there is no path. ``again``: others will follow.

        Raises:
            Fault: it fails.
        """
        carried = [(out, seed) for out, seed in zip(outputs, seeds, strict=True) if out.requires_grad]
        found: dict[str, Any] = dict.fromkeys(leaves)
        if carried:
            given = [out for out, _ in carried], [seed for _, seed in carried], list(leaves.values()), again
            slopes = self.run_guarded(partial(pull_back, *given), arguments)
            found = dict(zip(leaves, slopes, strict=True))
        return found


def seeding(call: Callable[[], Any], generator: torch.Generator, device: str) -> Callable[[], Any]:
    """A call before which the global generators are seeded, from a generator that goes on; they are put back behind it."""

    def seeded_call() -> Any:
        number = torch.randint(2**32, (), generator=generator, device=generator.device)
        with use_seed(int(number), device):
            return call()

    return seeded_call


def pull_back(
    outputs: Sequence[torch.Tensor],
    seeds: Sequence[torch.Tensor],
    leaves: Sequence[torch.Tensor],
    again: bool = False,
) -> list[torch.Tensor | None]:
    """The gradients of leaves, as ``torch.autograd.grad`` gives them; by ``backward`` where there is no other way."""
    try:
        return list(torch.autograd.grad(outputs, leaves, seeds, retain_graph=again, allow_unused=True))
    except RuntimeError as error:
        if "checkpoint" not in str(error) or ".grad()" not in str(error):  # reentrant checkpoints say so
            raise
    kept = [leaf.grad for leaf in leaves]
    try:
        for leaf in leaves:
            leaf.grad = None
        torch.autograd.backward(outputs, seeds, retain_graph=again)
        return [leaf.grad for leaf in leaves]
    finally:
        for leaf, before in zip(leaves, kept, strict=True):
            leaf.grad = before


__all__ = ["Caller", "Offence"]
