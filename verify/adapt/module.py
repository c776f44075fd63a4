"""Adapters of modules, which hold their weights."""

from __future__ import annotations

import inspect
import random
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from verify.adapt.adapter import (
    INSTEAD,
    Adapter,
    ByName,
    Call,
    Description,
    Names,
    Subject,
    describe,
    require_function,
)
from verify.faults import Unusable, complaint

MOST_BUILT = 64
"""Built modules that are kept, one for each size."""
HOW_SIZES = '; if it fits at some sizes only, say at which, such as sizes={"d_model": "h*d_k"} or --sizes d_model=h*any'


@contextmanager
def own_randomness() -> Iterator[None]:
    """Draw what is drawn meanwhile, such as first weights, from a fixed seed, and leave the generators as they were."""
    # It is NumPy's global state that modules draw from, whatever generator it is.
    here, there = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            # Without a device ``torch.manual_seed`` remembers the whole stack for the day that there is one.
            (torch.manual_seed if torch.cuda.is_available() else torch.default_generator.manual_seed)(0)
            yield
    finally:
        random.setstate(here)
        np.random.set_state(there)  # noqa: NPY002


class _Called(nn.Module):
    """A module around another, whose call is the call of an example."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, call: Call) -> Any:
        return call(self.inner)


class Built:
    """A module of one size, with its parameters by name."""

    def __init__(self, module: nn.Module) -> None:
        self.module, self.called = module, _Called(module)
        self.parameters = dict(module.named_parameters())
        # Looking for tied weights at each call takes long; few modules have any.
        self.tied = any(
            len(list(named())) < len(list(named(remove_duplicate=False)))
            for named in (module.named_parameters, module.named_buffers)
        )

    def fill(self, state: Mapping[str, Any], title: str) -> dict[str, Tensor]:
        """Every parameter that a state gives, by name; a key with * is for all that it matches and no other key names.

        Raises:
            Unusable: a parameter that there is not, one that nothing is said about, or a shape that does not fit.
        """
        found: dict[str, Tensor | None] = {}
        wrong = [name for name in state if name not in self.parameters and "*" not in name]
        problems = [f"it has no parameter {', '.join(wrong)}"] if wrong else []
        for name, parameter in self.parameters.items():
            key = name if name in state else next((k for k in state if fnmatchcase(name, k)), None)
            if key is None:
                if parameter.requires_grad:
                    problems.append(
                        f'nothing is said about {name}: say what it is, or "{name}": None to keep it'
                    )
                continue
            value = state[key]
            if isinstance(value, int | float):
                value = torch.full_like(parameter, float(value), requires_grad=False)
            if not isinstance(value, Tensor | None):
                problems.append(f"{key} is a {type(value).__name__}, expected a tensor, a number or None")
            elif value is not None and value.shape != parameter.shape:
                got, expected = tuple(value.shape), tuple(parameter.shape)
                problems.append(f"{name} has shape {expected}, and is given {got}")
            found[name] = value
        if problems:
            more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
            has = f"; its parameters are {_list(self.parameters)}" if wrong else ""
            has += HOW_SIZES if any("has shape" in each for each in problems[:3]) else ""
            raise Unusable(f"weights do not fit {title}: {'; '.join(problems[:3])}{more}{has}")
        return {name: value for name, value in found.items() if value is not None}


class ModuleSubject(Subject):
    """A module of each size, built once and called with a statement's parameters instead of its own."""

    def __init__(
        self,
        build: Callable[..., nn.Module] | nn.Module,
        weights: Callable[..., Mapping[str, Any]] | None,
        train: bool,
        grad: bool,
    ) -> None:
        super().__init__(build)
        self.build, self.train, self.grad = build, train, grad
        self.title = type(build).__name__ if isinstance(build, nn.Module) else _title(build)
        self.weights = None if weights is None else ByName(weights, f"weights of {self.title}")
        self.built: OrderedDict[Any, Built] = OrderedDict()
        instance = isinstance(build, nn.Module)
        self.building = None if instance else ByName(build, f"the building of {self.title}")
        self.built_by = frozenset() if self.building is None else self.building.names(())

    def default_call(self, data: Sequence[str], every: Sequence[str]) -> Sequence[str]:
        """Its data; parameters are its own, and with numbers it is built."""
        return data

    def prepare(self, names: Names, letters: Sequence[str], used: frozenset[str], call: Call) -> Built:
        """The module of this size and type; one whose layers take their sizes from the first call is called once."""
        like = next((v for v in names.values() if isinstance(v, Tensor) and v.is_floating_point()), None)
        dtype, device = (torch.float32, "cpu") if like is None else (like.dtype, like.device)
        numbers = {name: value for name, value in names.items() if isinstance(value, int | float)}
        shapes = tuple(tuple(names[letter].shape) for letter in letters)
        key = tuple(numbers.get(name) for name in sorted(self.built_by)), shapes, dtype, str(device)
        if key not in self.built:
            with own_randomness():
                module = self._build(numbers).to(device=device, dtype=dtype).train(self.train)
                if any(is_lazy(parameter) for parameter in module.parameters()):
                    call(module)
            built = Built(module)
            self._require_use(built, letters, used)
            built.fill(self._state(built, names, letters), self.title)
            self.built[key] = built
            while len(self.built) > MOST_BUILT:
                self.built.popitem(last=False)
        self.built.move_to_end(key)
        return self.built[key]

    def _build(self, numbers: Names) -> nn.Module:
        if self.building is None:
            assert isinstance(self.build, nn.Module)
            return self.build
        try:
            module = self.building(numbers, ())
        except Unusable as error:
            raise Unusable(f"{error}; build is {INSTEAD['build']}") from None
        except Exception as error:
            taken = [f"{name} = {numbers[name]}" for name in sorted(self.built_by) if name in numbers]
            where = ", ".join(taken) or "nothing is given"
            raise Unusable(
                f"{self.title} cannot be built where {where}: {complaint(error)}{HOW_SIZES}"
            ) from error
        if not isinstance(module, nn.Module):
            raise Unusable(f"{self.title} builds a {type(module).__name__}; expected a torch module")
        return module

    def _require_use(self, built: Built, letters: Sequence[str], used: frozenset[str]) -> None:
        """Refuse a letter that nothing uses: it would be ignored without a word."""
        given = built.parameters if self.weights is None else self.weights.names(letters)
        missing = [name for name in letters if name not in used and name not in given]
        if missing:
            raise Unusable(
                f"{self.title} is given no {', '.join(missing)}; weights is {INSTEAD['weights']}; its parameters are "
                f'{_list(built.parameters)}; what it lacks may be fixed, such as a bias: fixed={{"{missing[-1]}": 0}}'
            )

    def _state(self, built: Built, names: Names, letters: Sequence[str]) -> Mapping[str, Any]:
        """The state that the letters make; where no weights are given, letters are parameters of the same name."""
        if self.weights is None:
            return {name: names[name] for name in letters if name in built.parameters}
        try:
            state = self.weights(names, letters)
        except Unusable:
            raise
        except Exception as error:
            taken = self.weights.names(letters)
            shapes = ", ".join(f"{name} is {tuple(names[name].shape)}" for name in letters if name in taken)
            raise Unusable(f"weights of {self.title} fail: {complaint(error)}, where {shapes}") from error
        if not isinstance(state, Mapping):
            raise Unusable(
                f"weights of {self.title} give a {type(state).__name__}; weights is {INSTEAD['weights']}"
            )
        return state

    def run(self, prepared: Built, names: Names, letters: Sequence[str], call: Call) -> Any:
        """Call the module with these weights."""
        with torch.set_grad_enabled(self.grad and torch.is_grad_enabled()):
            filled = prepared.fill(self._state(prepared, names, letters), self.title)
            weights = {f"inner.{name}": value for name, value in filled.items()}
            try:
                return torch.func.functional_call(
                    prepared.called, weights, (call,), tie_weights=prepared.tied
                )
            except TypeError as error:
                if _is_refused_call(error.__traceback__, prepared.module):
                    if "mask" in names and not _takes_mask(prepared.module):
                        raise Unusable(f'{self.title} takes no mask: say so by mask="none"') from None
                    signature = inspect.signature(prepared.module.forward)
                    raise Unusable(
                        f"{self.title} is called as {self.title}{signature}: {error}; call is {INSTEAD['call']}"
                    ) from None
                raise


def _is_refused_call(traceback: TracebackType | None, module: nn.Module) -> bool:
    """Whether an error is that a module's own call does not take its arguments: nothing of it has run."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    frame = None if traceback is None else traceback.tb_frame
    return frame is not None and frame.f_code.co_name == "_call_impl" and frame.f_locals.get("self") is module


def _takes_mask(module: nn.Module) -> bool:
    """Whether a module may be given a mask, by the names of its parameters."""
    every = inspect.signature(module.forward).parameters.values()
    return any("mask" in each.name or each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in every)


def _title(build: Callable[..., nn.Module]) -> str:
    """The name of a class, or of the first class of modules that a function speaks of; else the function's own."""
    name = getattr(build, "__name__", type(build).__name__)
    code = getattr(build, "__code__", None)
    if code is None:
        return name
    known = inspect.getclosurevars(build)
    found: Any = None
    for word in (*code.co_freevars, *code.co_names):
        found = getattr(found, word, known.nonlocals.get(word, known.globals.get(word)))
        if isinstance(found, type) and issubclass(found, nn.Module):
            return found.__name__
    return "the module" if name == "<lambda>" else name


def _list(names: Any) -> str:
    every = list(names)
    return ", ".join(every[:12]) + (f" and {len(every) - 12} more" if len(every) > 12 else "") or "none"


def module(
    build: Callable[..., nn.Module] | nn.Module,
    weights: Callable[..., Mapping[str, Any]] | None = None,
    call: Callable[..., Any] | None = None,
    *,
    train: bool = False,
    grad: bool = True,
    **how: Unpack[Description],
) -> Adapter:
    """A module as it is, held to a statement whose parameters are its weights.

    It is built once for each size, outside of what is judged; the statement's parameters take the place of its own, so that
    gradients flow to them; its buffers stay. Functions of a description are called with what their parameters name: letters,
    sizes and numbers of the statement, and ``mask``.

    Args:
        build: makes the module: its class, or a function of sizes and numbers, ``lambda d_model, h:
            nn.MultiheadAttention(d_model, h, batch_first=True)``; or an instance, whose sizes are given as ``sizes``.
        weights: makes of letters what each parameter holds, ``lambda W, b: {"weight": W.T, "bias": b}``, by names as in
            ``named_parameters()``. In a name * stands for anything (``"*bias": 0``); a number is for all entries; None keeps what
            the module was built with. Weights of heads are packed by :func:`rows` and :func:`entries`, those of a stack by
            :func:`layers`. Where it is not given, letters are parameters of the same name.
        call: calls the module, which is its first argument: ``lambda attend, x, y, mask: attend(x, y, y, attn_mask=mask)[0]``.
            Where it is not given, the module takes the data in their order, then the mask.
        mask: how a mask is passed, in words of :mod:`verify.adapt.masks`: its meaning (bool, drop, additive, float), its shape
            (bnm, b1nm, heads, keys, b11m, lengths, …), ``causal`` or ``none``. Only masks that it can take are drawn.
        pick: which of the results are the outputs: the place of the first, places, keys, or a function of what is returned (and
            of letters), ``lambda out: (out[0], out[1][0])``.
        batch: how many leading dimensions it takes: 1, 0 (it is called for each member), None (any).
        seq_first: whether the sequence comes before the batch.
        heads_axis: where it has an axis of heads, which the statement has not.
        train: whether it is called in training mode.
        grad: whether it is called with gradients; without, some modules take another path.
        sizes: the sizes it supports, as :func:`verify.check` takes them.
        fixed: the numbers it has built in.
        few_shapes: whether each new shape is costly to it.

    Raises:
        Unusable: text instead of a function, words of a mask that are none. What does not fit a formula is said when it
            is checked.
    """
    if isinstance(build, Adapter) or not callable(build):
        raise Unusable(f"build is {INSTEAD['build']}; got {build!r}")
    require_function("weights", weights)
    options: Description = {"batch": 1, **how}
    return describe(ModuleSubject(build, weights, train, grad), call, **options)


__all__ = ["Built", "ModuleSubject", "module"]
