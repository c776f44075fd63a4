"""What is compared: a reference and a candidate, built alike, and where their inputs come from.

Files follow KernelBench's contract: the reference's file has ``get_inputs`` and, for a class, ``get_init_inputs``; both
models are built with these under one seed, and the candidate's weights are those of the same names in the reference, and of the
same order where the others differ in names alone. Sizes are the whole numbers of the reference's module that these two functions
read, or the parameters of a ``get_inputs`` that has some.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_leaves, tree_map

from verify.faults import Unusable
from verify.subject.loading import Unloadable, attribute_at
from verify.subject.sandbox import use_seed

DEFAULTS = {"reference": "Model", "candidate": "ModelNew"}
"""What a file is asked for where no name is given."""


class Pair(NamedTuple):
    """Both, built alike and ready to be called; ``by_seed``: parameters of the candidate that have no namesake in the reference,
    so that their values rest on the seed.
    """

    reference: Callable[..., Any]
    candidate: Callable[..., Any]
    by_seed: Sequence[str] = ()


class Problem:
    """Where both come from, as :func:`verify.compare` is told.

    Raises:
        Unusable: something cannot be loaded, or there are no inputs.
    """

    def __init__(
        self,
        reference: Any,
        candidate: Any,
        inputs: Any = None,
        init_inputs: Any = None,
        dtype: torch.dtype | None = None,
        device: str = "cpu",
    ) -> None:
        self.dtype, self.device = dtype, device
        defaults = DEFAULTS.values()
        self.names = [name_callable(*each) for each in zip((reference, candidate), defaults, strict=True)]
        self.reference, self.module = _load(reference, DEFAULTS["reference"])
        self._candidate = candidate
        self.inputs = inputs if inputs is not None else getattr(self.module, "get_inputs", None)
        self.init_inputs = getattr(self.module, "get_init_inputs", ()) if init_inputs is None else init_inputs
        if self.inputs is None:
            raise Unusable(f"{self.names[0]}: expected get_inputs() beside it, or inputs=; got neither")

    def load_candidate(self) -> None:
        """Load the candidate: what it does meanwhile can be watched.

        Raises:
            Unusable: it cannot be loaded.
        """
        self.candidate, module = _load(self._candidate, DEFAULTS["candidate"])
        found = module or sys.modules.get(getattr(self.candidate, "__module__", "") or "")
        file = getattr(getattr(self.candidate, "__code__", None), "co_filename", None)
        self.candidate_file = str(file or getattr(found, "__file__", None) or "")

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes that may be changed, by name."""
        if not callable(self.inputs):
            return {}
        found = {
            name: each.default
            for name, each in inspect.signature(self.inputs).parameters.items()
            if type(each.default) is int
        }
        if found or self.module is None or not hasattr(self.inputs, "__code__"):
            return found
        codes = self.inputs.__code__, getattr(self.init_inputs, "__code__", self.inputs.__code__)
        values = {name: vars(self.module).get(name) for code in codes for name in code.co_names}
        return {name: value for name, value in values.items() if type(value) is int and value > 0}

    @contextmanager
    def _at(self, sizes: Mapping[str, int]) -> Iterator[None]:
        """Let the reference's module have other sizes."""
        module = vars(self.module) if self.module is not None else {}
        before = {name: module[name] for name in sizes if name in module}
        module.update({name: sizes[name] for name in before})
        try:
            yield
        finally:
            module.update(before)

    def draw(self, seed: int, sizes: Mapping[str, int] | None = None) -> list[Any]:
        """Inputs, drawn under a seed, on the device and in the type asked for."""
        with self._at(sizes or {}), use_seed(seed, self.device):
            if not callable(self.inputs):
                drawn = copy.deepcopy(self.inputs)
            else:
                own = inspect.signature(self.inputs).parameters
                drawn = self.inputs(**{name: size for name, size in (sizes or {}).items() if name in own})
        if not isinstance(drawn, Sequence) or isinstance(drawn, str):
            raise Unusable(f"{self.names[0]}: expected get_inputs to give a list; got {type(drawn).__name__}")
        if any(isinstance(x, torch.Tensor) and x.layout != torch.strided for x in tree_leaves(drawn)):
            raise Unusable(f"{self.names[0]}: expected dense tensors as inputs; got a sparse one")

        def move(x: Any) -> Any:
            if not isinstance(x, torch.Tensor):
                return x
            return x.detach().to(self.device, self.dtype if x.is_floating_point() else None)

        return tree_map(move, list(drawn))  # type: ignore[no-any-return]

    def build(self, seed: int, sizes: Mapping[str, int] | None = None) -> Pair:
        """Both, built under one seed; the candidate has the reference's weights."""
        reference, candidate = (self.make(each, seed, sizes) for each in (self.reference, self.candidate))
        if not (isinstance(reference, torch.nn.Module) and isinstance(candidate, torch.nn.Module)):
            return Pair(reference, candidate)
        own, state = candidate.state_dict(), reference.state_dict()
        same = {name: x for name, x in state.items() if name in own and own[name].shape == x.shape}
        left = [name for name in own if name not in same], [name for name in state if name not in same]
        if [own[name].shape for name in left[0]] == [state[name].shape for name in left[1]]:
            same |= {name: state[other] for name, other in zip(*left, strict=True)}
        candidate.load_state_dict(same, strict=False)
        return Pair(
            reference, candidate, [name for name, _ in candidate.named_parameters() if name not in same]
        )

    def make(self, of: Any, seed: int, sizes: Mapping[str, int] | None = None) -> Callable[..., Any]:
        """One of both, built under a seed."""
        with self._at(sizes or {}), use_seed(seed, self.device):
            if isinstance(of, type):
                given = self.init_inputs() if callable(self.init_inputs) else self.init_inputs
                made = of(**given) if isinstance(given, Mapping) else of(*given)
            else:
                made = copy.deepcopy(of) if isinstance(of, torch.nn.Module) else of
        return made.to(self.device, self.dtype) if isinstance(made, torch.nn.Module) else made


def _load(where: Any, default: str) -> tuple[Any, ModuleType | None]:
    """What is named, with its module; what is no name as it is."""
    if not isinstance(where, str):
        if not callable(where):
            raise Unusable(f"expected a callable, a class, or FILE.py:NAME; got {where!r}")
        return where, None
    named = where if ":" in where else f"{where}:{default}"
    try:
        module, found = attribute_at(named)
    except Unloadable as error:
        raise Unusable(str(error)) from None
    if not callable(found):
        raise Unusable(f"{named}: expected a class, a module or a function; got {type(found).__name__}")
    return found, module


def name_callable(of: Any, default: str) -> str:
    """What a callable, or one that is named, is called in reports: without the folders of its file."""
    if isinstance(of, str):
        file, colon, attribute = of.rpartition(":")
        return f"{Path(file if colon else of).name}:{attribute if colon else default}"
    named = of if hasattr(of, "__qualname__") else type(of)
    return str(named.__qualname__).rpartition(">.")[2]


def name_inputs(call: Callable[..., Any], inputs: Sequence[Any]) -> list[str]:
    """What the inputs are called: as the parameters, as far as these are known."""
    names = [f"input {place}" for place in range(len(inputs))]
    with suppress(TypeError, ValueError):
        known = inspect.signature(getattr(call, "forward", call)).parameters.values()
        plain = [x.name for x in known if x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD)]
        names[: len(plain)] = plain[: len(names)]
    return names


__all__ = ["DEFAULTS", "Pair", "Problem", "name_callable", "name_inputs"]
