"""An adapted call as plain lines, which need torch and what is called alone: what is built, its weights, its arguments.

They are of one call: sizes, numbers, masks and shapes stand in them as they were. What they give is held to what the adapter
gives, bit for bit; where it differs, or something cannot be written, there are no lines.
"""

from __future__ import annotations

import ast
import inspect
import sys
import warnings
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor

from spec.language.arrays import WHOLE
from verify.adapt import expressions, vocabulary
from verify.adapt.adapter import Bound
from verify.adapt.arrays import JaxRunner, NumPyRunner
from verify.adapt.bridges import of_arrays, of_jax
from verify.adapt.constructors import FunctionRunner, ModuleRunner
from verify.adapt.plain_parts import apart, arranged, laid_out, listing, looped
from verify.adapt.spelling import PYTHON_MODULES, spelled
from verify.adapt.weights import Filling
from verify.scripting.literals import literal
from verify.scripting.naming import CHECKED, Unwritten
from verify.scripting.sources import Sources


def plain(bound: Bound, arguments: Sequence[Any]) -> str:
    """Lines that define ``function``, which takes the formula's inputs in their order; none where they cannot be written."""
    try:
        text = written(bound, arguments)
    except (Unwritten, expressions.Refused):
        return ""
    return text if _alike(text, bound, arguments) else ""


def written(bound: Bound, arguments: Sequence[Any]) -> str:
    """The lines of one call; where each member is called by itself, those of the first, and a loop.

    Raises:
        Unwritten: it cannot be written.
    """
    given = bound._given(arguments)
    lead = bound._lead(given)
    if not (lead and apart(bound)):
        return _Writer(bound, arguments).text()
    carried = [name for name in bound.batched if isinstance(given.get(name), Tensor)]
    mask = given.get(bound.masked)
    # A mask stands in the lines as it is: where each member has its own, each has lines of its own.
    each = isinstance(mask, Tensor) and mask.ndim > len(bound.formula.inputs[-1].shape)
    split = {*carried, *([bound.masked] if each else [])}

    def member(place: int) -> str:
        parts = [
            value.reshape(-1, *value.shape[len(lead) :])[place] if name in split else value
            for name, value in zip(_taken(bound), arguments, strict=False)
        ]
        return _Writer(bound, parts).text()

    texts = [member(place) for place in range(prod(lead) if each else 1)]
    return looped(texts, bound, [*split], lead)


def _taken(bound: Bound) -> list[str]:
    """The names of the arguments that it is given."""
    fixed = bound.adapter.fixed
    every = [n for n in bound.inputs if n != bound.masked and (n not in fixed or n in bound.spoken)]
    return [*every, *([bound.masked] if bound.masked else [])]


def _alike(text: str, bound: Bound, arguments: Sequence[Any]) -> bool:
    """Whether the lines give what the adapter gives."""
    names: dict[str, Any] = {"torch": torch}
    inputs = [bound._given(arguments).get(name) for name in bound.inputs]
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")
            exec(_loaded(text), names)
            made, given = names["function"](*inputs), bound(*arguments)
    except Exception:  # whatever goes wrong in what others wrote
        return False
    pairs = zip(_several(made), _several(given), strict=False)
    return len(_several(made)) == len(_several(given)) and all(
        isinstance(a, Tensor)
        and isinstance(b, Tensor)
        and a.shape == b.shape
        and torch.equal(a.nan_to_num(), b.nan_to_num())
        for a, b in pairs
    )


def _loaded(text: str) -> str:
    """The lines with modules that a command has loaded under the names they have here."""
    for name in [name for name in sys.modules if name.startswith(CHECKED)]:
        text = text.replace(f"from {name.removeprefix(CHECKED)} import", f"from {name} import")
    return text


def _several(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


USED = ("function", "given", "mask", "module", "result", "weights")
"""What lines call their own."""


class _Writer:
    """The lines of one call."""

    def __init__(self, bound: Bound, arguments: Sequence[Any]) -> None:
        self.bound, self.given = bound, bound._given(arguments)
        self.names, self.lead = bound._names(self.given), bound._lead(self.given)
        self.letters = bound._letters(self.given)
        self.helpers: set[str] = set()
        self.used: set[str] = set()
        self.sources = Sources(reserved=(*bound.inputs, *self.names, *USED))
        if self.lead and apart(bound):
            raise Unwritten
        like = next((v for v in self.given.values() if isinstance(v, Tensor) and v.is_floating_point()), None)
        self.dtype = str(torch.float32 if like is None else like.dtype)
        self.prepared = bound.runner.prepare(
            self.names,
            self.letters,
            bound.spoken,
            like,
            lambda: bound._arguments(self.given, self.names, self.lead),
        )
        call = bound._arguments(self.given, self.names, self.lead)
        self.inner = self._inner()
        self.result = bound.runner.run(self.prepared, self.letters, self.inner, *call[1:])

    def _inner(self) -> dict[str, Any]:
        """What expressions may speak of, as the call has it."""
        return self.bound._arguments(self.given, self.names, self.lead)[0]

    def text(self) -> str:
        """All lines."""
        runner = self.bound.runner
        if type(runner) is ModuleRunner:
            before, call, after = self._module(runner)
        elif type(runner) is FunctionRunner:
            before, call, after = [], self.sources.of(runner.fn, "inner"), ""
        elif isinstance(runner, NumPyRunner):
            before, call, after = [], self._bridged(runner), ""
        else:
            raise Unwritten
        positional, named = expressions.listed(self.bound.call, "")
        written = [self._said(part) for part in positional]
        by_name = [(name, self._said(part)) for name, part in named]
        if after:  # through torch.func.functional_call
            options = ", ".join(f'"{name}": {part}' for name, part in by_name)
            row = ", ".join(written) + ("," if len(written) == 1 else "")
            made = f"{call}, ({row}){f', {{{options}}}' if options else ''})"
        else:
            made = f"{call}({', '.join([*written, *(f'{name}={part}' for name, part in by_name)])})"
        body = [
            *self._numbers(),
            *self._data(),
            *([after] if after.startswith("weights") else []),
            f"result = {made}",
        ]
        for name in sorted(self.helpers - PYTHON_MODULES):
            self.sources.of(getattr(vocabulary, name))
        head = [f"import {name}" for name in sorted(self.helpers & PYTHON_MODULES)]
        names = [*self.bound.inputs]
        if self.bound.masked:
            names[-1] += "=None"
        lines = [f"def function({', '.join(names)}):", *(f"    {line}" for line in (*body, *self._outputs()))]
        grad = isinstance(runner, ModuleRunner) and not runner.grad
        return "\n".join(
            [*head, *self.sources.lines(), "", *before, *(["@torch.no_grad()"] if grad else []), *lines, ""]
        )

    def _bridged(self, runner: NumPyRunner) -> str:
        """A function of other arrays than tensors, as one of tensors."""
        bridge = of_jax if isinstance(runner, JaxRunner) else of_arrays
        functions = [runner.fn] + ([runner.vjp] if runner.vjp is not None else [])
        said = [self.sources.of(fn, name) for fn, name in zip(functions, ("inner", "pullback"), strict=False)]
        return f"{self.sources.of(bridge)}({', '.join(said)})"

    # What is called ------------------------------------------------------------------------------------------------------

    def _module(self, runner: ModuleRunner) -> tuple[list[str], str, str]:
        _, filling = self.prepared
        numbers = {name: value for name, value in self.names.items() if isinstance(value, int | float)}
        if runner.arguments is not None:
            given, named = expressions.arguments(runner.arguments, numbers, "")
        else:
            wanted = inspect.signature(runner.build).parameters
            given, named = [], {name: numbers[name] for name in wanted if name in numbers}
        said = ", ".join([*map(_value, given), *(f"{name}={_value(value)}" for name, value in named.items())])
        mode = "train()" if runner.train else "eval()"
        lines = [
            "torch.manual_seed(0)",
            f"module = {self.sources.of(runner.build, 'build')}({said}).to({self.dtype}).{mode}",
        ]
        if runner.method != "forward":
            lines.append(f"module.forward = module.{runner.method}")
        weights = [f'"{name}": {value}' for name, value in self._weights(filling).items()]
        inside = ("\n        " + ",\n        ".join(weights) + ",\n    ") if weights else ""
        return [*lines, "", ""], "torch.func.functional_call(module, weights", f"weights = {{{inside}}}"

    def _weights(self, filling: Filling) -> dict[str, str]:
        """What each parameter is made of."""
        found = {}
        for name, (order, shape) in filling._order.items():
            found[name] = self._placed(filling, order, tuple(shape))
        for name, (key, bound) in filling._matched.items():
            what, parameter = filling.made[key], filling.parameters[name]
            if what is None:
                continue
            if callable(what):  # of the letters and sizes, by their names
                names = [name for name in inspect.signature(what).parameters if name in self.names]
                self.used |= {*names}
                said = self.sources.of(what, "weight")
                found[name] = f"{said}({', '.join(f'{each}={each}' for each in names)})"
                continue
            text = self._said(what, bound) if isinstance(what, str) else repr(what)
            value = expressions.value(what, {**self.inner, **bound}, "") if isinstance(what, str) else what
            full = f"torch.full({tuple(parameter.shape)}, {text}, dtype={self.dtype})"
            found[name] = full if isinstance(value, int | float) else text
        return found

    def _placed(self, filling: Filling, order: Tensor, shape: tuple[int, ...]) -> str:
        """A parameter whose entries are those of letters: a letter, its transpose, several below one another, or by number."""
        first, parts, at = 0, [], 0
        own = [(name, self.letters[name]) for name in filling.places]
        begins = {}
        for name, letter in own:
            begins[name] = first
            first += letter.numel()
        while at < len(order):
            name, letter = next(
                (name, letter)
                for name, letter in own
                if begins[name] <= int(order[at]) < begins[name] + letter.numel()
            )
            entries = order[at : at + letter.numel()] - begins[name]
            for said, numbers in arranged(letter):
                if torch.equal(numbers.flatten(), entries) and (
                    numbers.shape == shape or (numbers.shape[1:] == shape[1:] and len(shape) == numbers.ndim)
                ):
                    parts.append(f"{name}{said}")
                    break
            else:
                every = ", ".join(f"{name}.flatten()" for name, _ in own)
                return f"torch.cat([{every}])[{order.tolist()}].reshape({listing(shape)})"
            at += letter.numel()
        return parts[0] if len(parts) == 1 else f"torch.cat([{', '.join(parts)}])"

    # Its arguments and results ---------------------------------------------------------------------------------------------

    def _numbers(self) -> list[str]:
        """Sizes and numbers that something speaks of, as they were."""
        return [
            f"{name} = {_value(value)}"
            for name, value in self.inner.items()
            if name in self._spoken | self.used and isinstance(value, int | float)
        ]

    @property
    def _spoken(self) -> set[str]:
        runner = self.bound.runner
        texts = [self.bound.call, self.bound.adapter.pick if isinstance(self.bound.adapter.pick, str) else ""]
        texts += [text for text in getattr(runner, "weights", {}).values() if isinstance(text, str)]
        return set().union(*(expressions.names_in(text) for text in texts))

    def _data(self) -> list[str]:
        """Data and the mask, laid out as they are passed."""
        lines, layout = [], self.bound.layout
        for name in self.bound.batched:
            value = self.given.get(name)
            if not isinstance(value, Tensor) or name not in self._spoken:
                continue
            item = self.bound.tensors[name]
            rank, whole = len(item.shape), item.domain in WHOLE
            laid = self.inner[name]
            said = laid_out(name, value, laid, lambda x, r=rank, w=whole: layout.inward(x, self.lead, r, w))
            if said != name:
                lines.append(f"{name} = {said}")
        if "mask" in self._spoken and "mask" in self.inner:
            mask = self.inner["mask"]
            kind = self.dtype.removeprefix("torch.")
            said = literal(mask.detach().cpu().numpy(), kind) if isinstance(mask, Tensor) else repr(mask)
            lines.append(f"mask = {said}")
        return lines

    def _outputs(self) -> list[str]:
        """The outputs among what is returned, as the statement has them."""
        bound, layout = self.bound, self.bound.layout
        pick, count = bound.adapter.pick, len(bound.returned)
        if isinstance(pick, str):
            tree = ast.parse(pick, mode="eval").body
            parts = tree.elts if isinstance(tree, ast.Tuple) else [tree]
            texts = [
                self._said(ast.unparse(part), {"out": self.result}).replace("out", "result") for part in parts
            ]
        elif isinstance(self.result, Tensor) or not hasattr(self.result, "__getitem__"):
            texts = ["result"]
        else:
            texts = [
                f"result[{place!r}]"
                for place in ([pick + k for k in range(count)] if isinstance(pick, int) else pick)
            ]
        picked = bound._picked(self.result, self.inner)
        said = []
        for text, value, item in zip(texts, picked, bound.returned, strict=False):
            if not isinstance(value, Tensor):
                raise Unwritten
            rank, whole = len(item.shape), item.domain in WHOLE
            outward = layout.outward(value, self.lead, rank, whole)
            said.append(
                laid_out(text, value, outward, lambda x, r=rank, w=whole: layout.outward(x, self.lead, r, w))
            )
        return [f"return {', '.join(said)}"]

    def _said(self, text: str, more: Mapping[str, Any] | None = None) -> str:
        """An expression as Python: what it calls by name in words of torch, a transpose of its last two axes."""
        names = {**self.inner, **(more or {})}
        constants = {name: value for name, value in (more or {}).items() if isinstance(value, int)}
        return spelled(text, names, constants, self.helpers)


def _value(value: Any) -> str:
    if not isinstance(value, int | float | str | bool | type(None)):
        raise Unwritten
    return literal(value, "float64") if not isinstance(value, str) else repr(value)


__all__ = ["plain"]
