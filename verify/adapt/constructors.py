"""Adapters of modules, which hold their weights, and of functions of torch."""

from __future__ import annotations

import inspect
import random
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from verify.adapt import expressions
from verify.adapt.adapter import Adapter
from verify.adapt.layout import Layout
from verify.adapt.masks import MaskForm
from verify.adapt.weights import Filling
from verify.faults import Unusable, complaint

KEPT = 64
"""Built modules that are kept, one for each size."""


@contextmanager
def own_randomness() -> Iterator[None]:
    """What is drawn meanwhile, such as first weights, is drawn from a fixed seed, and the generators stay as they were."""
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


class ModuleRunner:
    """A module of each size, built once and called with a statement's parameters in the place of its own."""

    def __init__(
        self,
        build: Callable[..., nn.Module] | nn.Module,
        arguments: str | None,
        weights: Mapping[str, Any],
        train: bool,
        method: str,
        grad: bool,
    ) -> None:
        self.grad = grad
        self.build, self.arguments, self.weights, self.train, self.method = (
            build,
            arguments,
            weights,
            train,
            method,
        )
        self.built: OrderedDict[Any, tuple[nn.Module, Filling]] = OrderedDict()
        self.title = type(build).__name__ if isinstance(build, nn.Module) else _title(build)
        self.built_by: frozenset[str] = frozenset()
        if arguments is not None:
            self.built_by = frozenset(expressions.names_in(arguments))
        elif not isinstance(build, nn.Module):
            self.built_by = frozenset(_by_name(build))

    def default_call(self, data: Sequence[str], every: Sequence[str]) -> Sequence[str]:
        """Its data; parameters are its own, and with numbers it is built."""
        return data

    def prepare(
        self,
        names: Mapping[str, Any],
        letters: Mapping[str, Tensor],
        used: set[str],
        like: Tensor | None,
        first: Callable[[], Any],
    ) -> tuple[nn.Module, Filling]:
        """The module of this size and type; one whose layers take their sizes from the first call is called once."""
        dtype, device = (torch.float32, "cpu") if like is None else (like.dtype, like.device)
        numbers = {name: value for name, value in names.items() if isinstance(value, int | float)}
        shapes = tuple(tuple(letter.shape) for letter in letters.values())
        key = tuple(numbers.get(name) for name in sorted(self.built_by)), shapes, dtype, str(device)
        if key not in self.built:
            with own_randomness():
                module = self._made(numbers).to(device=device, dtype=dtype).train(self.train)
                if any(is_lazy(parameter) for parameter in module.parameters()):
                    _, given, named = first()
                    module(*given, **named)
            filling = Filling(module, self.title, self.weights, list(letters), used)
            filling(letters, names)
            self.built[key] = module, filling
            while len(self.built) > KEPT:
                self.built.popitem(last=False)
        self.built.move_to_end(key)
        return self.built[key]

    def _made(self, numbers: Mapping[str, Any]) -> nn.Module:
        if isinstance(self.build, nn.Module):
            return self.build
        try:
            if self.arguments is not None:
                given, named = expressions.arguments(self.arguments, numbers, f"arguments of {self.title}")
                module = self.build(*given, **named)
            else:
                wanted = _by_name(self.build)
                lacking = [name for name, needed in wanted.items() if needed and name not in numbers]
                if lacking:
                    raise Unusable(
                        f"{self.title} is built by {', '.join(wanted)}; {', '.join(lacking)} is no size or number here: "
                        f"there are {', '.join(numbers)} (say with arguments=… how it is built)"
                    )
                module = self.build(**{name: numbers[name] for name in wanted if name in numbers})
        except Unusable:
            raise
        except Exception as error:
            spoken = ", ".join(
                f"{name} = {numbers[name]}" for name in sorted(self.built_by) if name in numbers
            )
            raise Unusable(
                f"{self.title} cannot be built where {spoken or 'nothing is given'}: {complaint(error)}; if it "
                'can at some sizes only, say at which, such as sizes={"d_model": "h*d_k"} or --sizes d_model=h*any'
            ) from error
        if not isinstance(module, nn.Module):
            raise Unusable(f"{self.title} builds a {type(module).__name__}; expected a torch module")
        return module

    def run(
        self,
        prepared: tuple[nn.Module, Filling],
        letters: Mapping[str, Tensor],
        names: Mapping[str, Any],
        given: Sequence[Any],
        named: Mapping[str, Any],
    ) -> Any:
        """Call the module with these weights."""
        module, filling = prepared
        with torch.set_grad_enabled(self.grad and torch.is_grad_enabled()):
            weights = filling(letters, names)
            if self.method != "forward":
                module = _Method(module, self.method)
                weights = {f"inner.{name}": value for name, value in weights.items()}
            try:
                # Looking for tied weights at each call takes long; few modules have any.
                return torch.func.functional_call(
                    module, weights, tuple(given), dict(named), tie_weights=filling.tied
                )
            except TypeError:
                _takes(module, self.title, given, named)
                raise


def _takes(module: nn.Module, title: str, given: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Refuse a call that the module does not have at all."""
    try:
        signature = inspect.signature(module.forward)
        signature.bind(*given, **named)
    except TypeError as error:
        raise Unusable(f"{title} is called as {title}{signature}: {error}; say how with call=…") from None
    except ValueError:  # it tells nothing about itself
        return


class _Method(nn.Module):
    """A module whose call is another method of it."""

    def __init__(self, inner: nn.Module, method: str) -> None:
        super().__init__()
        self.inner, self.method = inner, method

    def forward(self, *given: Any, **named: Any) -> Any:
        return getattr(self.inner, self.method)(*given, **named)


class FunctionRunner:
    """A function, or anything that is called."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.title = getattr(fn, "__name__", type(fn).__name__)

    def default_call(self, data: Sequence[str], every: Sequence[str]) -> Sequence[str]:
        """All inputs in their order."""
        return every

    def prepare(
        self,
        names: Mapping[str, Any],
        letters: Mapping[str, Tensor],
        used: set[str],
        like: Tensor | None,
        first: Callable[[], Any],
    ) -> None:
        """Nothing is built."""

    def run(
        self,
        prepared: None,
        letters: Mapping[str, Tensor],
        names: Mapping[str, Any],
        given: Sequence[Any],
        named: Mapping[str, Any],
    ) -> Any:
        """Call it."""
        return self.fn(*given, **named)


def _title(build: Callable[..., nn.Module]) -> str:
    """The name of a class or a function; of a function without one, that of the module's class in it."""
    name = getattr(build, "__name__", type(build).__name__)
    code = getattr(build, "__code__", None)
    if name != "<lambda>" or code is None:
        return name
    found: Any = None
    for word in code.co_names:
        found = getattr(found, word, build.__globals__.get(word))
        if isinstance(found, type) and issubclass(found, nn.Module):
            return found.__name__
    return "the module"


def _by_name(build: Callable[..., Any]) -> dict[str, bool]:
    """The parameters that something is built by, and whether each is needed."""
    try:
        parameters = inspect.signature(build).parameters
    except (ValueError, TypeError):
        return {}
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {name: p.default is p.empty for name, p in parameters.items() if p.kind in plain}


def module(
    build: Callable[..., nn.Module] | nn.Module,
    weights: Mapping[str, Any] | None = None,
    call: str | None = None,
    *,
    arguments: str | None = None,
    mask: str | None = None,
    pick: int | str | Sequence[int] = 0,
    batch: int | None = 1,
    seq_first: bool = False,
    heads_axis: int | None = None,
    train: bool = False,
    method: str = "forward",
    grad: bool = True,
    sizes: Mapping[str, Any] | None = None,
    fixed: Mapping[str, float] | None = None,
    few_shapes: bool = False,
) -> Adapter:
    """A module as it is, held to a statement whose parameters are its weights.

    It is built once for each size, outside of what is judged; the statement's parameters take the place of its own, so that
    gradients flow to them; its buffers stay.

    Args:
        build: what makes the module, such as its class: a function whose parameters are sizes and numbers of the statement, by
            their names; or the module itself, of one size (say it as ``sizes``).
        weights: where each letter stands in the module, ``{"W_q": "in_proj_weight[:d_model].T"}``; or of what each parameter of
            the module is made, ``{"out_proj.weight": "W_o.T", "*bias": 0}`` (see :mod:`verify.adapt.weights`). Where nothing is
            said, letters are parameters of the same name.
        call: its arguments, ``"x, y, y, attn_mask=mask"``; its data in their order, and the mask, where nothing is said.
        arguments: the arguments that ``build`` is called with, where they are not sizes by name: ``"d_model, h, bias=False"``.
        mask: how a mask is passed, in words of :mod:`verify.adapt.masks`: what it says (bool, drop, additive, float), its shape
            (bnm, b1nm, heads, keys, b11m, lengths, …), ``causal`` or ``none``. Only masks that it can take are drawn.
        pick: which of the results are the outputs: the place of the first, places, or an expression in ``out``.
        batch: how many leading dimensions it takes: 1, 0 (it is called for each member), None (any).
        seq_first: whether the sequence comes before the batch.
        heads_axis: where it has an axis of heads, which the statement has not.
        train: whether it is called in training mode.
        method: another method than ``forward``.
        grad: whether it is called with gradients; without, some modules take another path.
        sizes: the sizes it supports, as :func:`verify.check` takes them.
        fixed: the numbers it has built in.
        few_shapes: whether each new shape is dear to it.

    Raises:
        Unusable: words of a mask that are none. What does not fit a formula is said when it is checked.
    """
    if isinstance(build, Adapter) or not (callable(build) or isinstance(build, nn.Module)):
        raise Unusable(f"a module is built by its class or a function; got {build!r}")
    runner = ModuleRunner(build, arguments, dict(weights or {}), train, method, grad)
    layout = Layout(batch, seq_first, heads_axis)
    return described(runner, call, mask, pick, layout, sizes, fixed, few_shapes)


def function(
    fn: Callable[..., Any],
    call: str | None = None,
    *,
    mask: str | None = None,
    pick: int | str | Sequence[int] = 0,
    batch: int | None = None,
    seq_first: bool = False,
    heads_axis: int | None = None,
    sizes: Mapping[str, Any] | None = None,
    fixed: Mapping[str, float] | None = None,
    few_shapes: bool = False,
) -> Adapter:
    """A function of torch as it is: its arguments, its masks, its results. What each argument says: see :func:`module`.

    Where no ``call`` is given it takes all inputs in the statement's order; ``batch`` is any unless it is said.
    """
    return described(
        FunctionRunner(fn), call, mask, pick, Layout(batch, seq_first, heads_axis), sizes, fixed, few_shapes
    )


def described(
    runner: Any,
    call: str | None,
    mask: str | None,
    pick: int | str | Sequence[int],
    layout: Layout,
    sizes: Mapping[str, Any] | None,
    fixed: Mapping[str, float] | None,
    few_shapes: bool,
) -> Adapter:
    """An adapter of what is described in words."""
    form = None if mask is None else MaskForm.of(mask)
    return Adapter(runner, call, layout, form, pick, dict(sizes or {}), dict(fixed or {}), few_shapes)


__all__ = ["FunctionRunner", "ModuleRunner", "described", "function", "module"]
