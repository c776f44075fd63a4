"""The weights of a module, made of the parameters of a statement, so that gradients flow to these.

A key that is a letter of the statement says where it stands in the module: ``{"W_q": "in_proj_weight[:d_model].T"}``. Any other
key is a parameter of the module and says what it is made of: ``{"in_proj_weight": "cat(rows(W_q), rows(W_k))", "*bias": 0}``; in
a key ``*`` stands for anything and ``{t}`` for a number, which the expression may use. None leaves what it was built with.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from verify.adapt import expressions
from verify.faults import Unusable

Weights = Mapping[str, Any]


def pattern(key: str) -> re.Pattern[str]:
    """A key as an expression that parameters' names match."""
    parts = re.split(r"(\*|\{\w+\})", key)
    made = [
        ".*" if part == "*" else rf"(?P<{part[1:-1]}>\d+)" if part[:1] == "{" else re.escape(part)
        for part in parts
    ]
    return re.compile("".join(made))


class Filling:
    """How the parameters of one built module are made of a statement's letters, worked out once."""

    def __init__(
        self, module: nn.Module, title: str, weights: Weights, letters: Sequence[str], used: set[str]
    ) -> None:
        self.module, self.title, self.letters = module, title, tuple(letters)
        self.parameters = dict(module.named_parameters())
        self.tied = _tied(module)
        self.places = {key: text for key, text in weights.items() if key in letters}
        self.made = {key: text for key, text in weights.items() if key not in letters}
        if not weights:  # the same names on both sides
            self.places = {name: name for name in letters if name in self.parameters}
        self._unused(used)

    def _unused(self, used: set[str]) -> None:
        """A letter that nothing uses would be ignored without a word."""
        spoken = set(used) | set(self.places)
        for text in self.made.values():
            spoken |= expressions.names_in(text) if isinstance(text, str) else _parameters(text)
        missing = [name for name in self.letters if name not in spoken]
        if missing:
            raise Unusable(
                f"{self.title} is given no {', '.join(missing)}; say with weights={{…}} where each stands: "
                f"its parameters are {_list(self.parameters)}"
            )

    def __call__(self, given: Mapping[str, Tensor], names: Mapping[str, Any]) -> dict[str, Tensor]:
        """Every parameter of the module by name; ``given`` are the letters, ``names`` all that may be spoken of."""
        found = self._placed(given, names)
        like = next(iter(given.values()), None)
        for name, (key, bound) in self._matched.items():
            what, where = self.made[key], f'weights["{key}"]'
            if what is None:
                continue
            parameter = self.parameters[name]
            if callable(what):
                value = what(**{p: names[p] for p in _parameters(what) if p in names})
            elif isinstance(what, str):
                value = expressions.value(what, {**names, **bound}, where)
            else:
                value = what
            if isinstance(value, int | float):
                dtype = parameter.dtype if like is None else like.dtype
                value = torch.full(parameter.shape, float(value), dtype=dtype, device=parameter.device)
            if not isinstance(value, Tensor):
                raise Unusable(f"{where} gives a {type(value).__name__}; expected a tensor or a number")
            if value.shape != parameter.shape:
                raise Unusable(
                    f'{where} = "{what}" has shape {tuple(value.shape)}; {name} of {self.title} has '
                    f"{tuple(parameter.shape)}, where {_spoken(what, names)}{HOW_SIZES}"
                )
            found[name] = value
        return found

    # Other keys: parameters of the module ------------------------------------------------------------------------------

    @cached_property
    def _matched(self) -> dict[str, tuple[str, dict[str, int]]]:
        """For each parameter the key that speaks of it (a name before a pattern, earlier ones first), and its numbers."""
        found: dict[str, tuple[str, dict[str, int]]] = {}
        for key in sorted(self.made, key=lambda key: "*" in key or "{" in key):
            compiled = pattern(key)
            matches = {name: compiled.fullmatch(name) for name in self.parameters}
            if not any(matches.values()) and not ("*" in key or "{" in key):
                raise Unusable(f'{self.title} has no parameter "{key}"; it has {_list(self.parameters)}')
            for name, match in matches.items():
                if match and name not in found:
                    found[name] = key, {k: int(v) for k, v in match.groupdict().items()}
        return found

    # Keys that are letters: places in the module ------------------------------------------------------------------------

    def _placed(self, given: Mapping[str, Tensor], names: Mapping[str, Any]) -> dict[str, Tensor]:
        """Entries of the letters gathered in the order of the parameters: exact, and gradients flow back the same way."""
        shapes = {name: tuple(given[name].shape) for name in self.places}
        if not hasattr(self, "_order"):
            self._order = self._ordered(shapes, names)
            self._complete()
        if not self._order:
            return {}
        entries = torch.cat([given[name].flatten() for name in self.places])
        found = {}
        for name, (order, shape) in self._order.items():
            found[name] = entries[order.to(entries.device)].reshape(shape)
        return found

    def _ordered(
        self, shapes: Mapping[str, tuple[int, ...]], names: Mapping[str, Any]
    ) -> dict[str, tuple[Tensor, torch.Size]]:
        """For each parameter that letters fill: which of their entries stand in its own."""
        if not self.places:
            return {}
        sizes = {name: value for name, value in names.items() if not isinstance(value, Tensor)}
        begins, total, numbers = {}, 0, {}
        for name, parameter in self.parameters.items():
            begins[name] = total
            numbers[name] = torch.arange(total, total + parameter.numel()).reshape(parameter.shape)
            total += parameter.numel()
        source, count, first, at = torch.full((total,), -1), torch.zeros(total, dtype=torch.long), 0, {}
        for letter, text in self.places.items():
            where = f'weights["{letter}"]'
            if not isinstance(text, str):
                raise Unusable(
                    f"{where} says where {letter} stands in {self.title}: it is text; got {text!r}"
                )
            place = expressions.value(*_named(text, numbers, sizes), where)
            other = {name: 3 * each + 7 for name, each in numbers.items()}
            moved = expressions.value(*_named(text, other, sizes), where)
            entries = shapes[letter]
            if not isinstance(place, Tensor) or tuple(place.shape) != entries:
                has = tuple(place.shape) if isinstance(place, Tensor) else f"is a {type(place).__name__}"
                raise Unusable(
                    f'{where} = "{text}" has shape {has}; {letter} has {entries}, where '
                    f"{expressions.spoken_of(*_named(text, self.parameters, sizes))}{HOW_SIZES}"
                )
            if not torch.equal(moved, 3 * place + 7):  # a part of other numbers is the same part of them
                raise Unusable(f'{where} = "{text}" computes; a place is made of parts of parameters alone')
            flat = place.flatten()
            source[flat] = torch.arange(first, first + flat.numel())
            count.index_add_(0, flat, torch.ones_like(flat))
            at[letter], first = flat, first + flat.numel()
        for letter, flat in at.items():
            if (count[flat] > 1).any():
                raise Unusable(f'weights["{letter}"] = "{self.places[letter]}" overlaps with another place')
        found = {}
        for name, parameter in self.parameters.items():
            part = source[begins[name] : begins[name] + parameter.numel()]
            if (part >= 0).all() and len(part):
                found[name] = part, parameter.shape
            elif (part >= 0).any():
                raise Unusable(
                    f"weights fill {int((part >= 0).sum())} of the {len(part)} entries of {name} of {self.title} "
                    f"{tuple(parameter.shape)}: say where every entry is from"
                )
        return found

    def _complete(self) -> None:
        """A parameter that nothing is said about would keep what it was drawn with."""
        left = [
            name
            for name, parameter in self.parameters.items()
            if parameter.requires_grad and name not in self._order and name not in self._matched
        ]
        both = [name for name in self._order if name in self._matched and self._exact(name)]
        if both:
            raise Unusable(f"weights say twice what {_list(both)} of {self.title} is")
        if left:
            raise Unusable(
                f"weights say nothing about {_list(left)} of {self.title}; say what each is: a letter, a number "
                f'such as {{"{left[0]}": 0}}, or None for what it was built with'
            )
        for name in [name for name in self._order if name in self._matched]:
            del self._matched[name]

    def _exact(self, name: str) -> bool:
        return self._matched[name][0] == name


def _tied(module: nn.Module) -> bool:
    """Whether some parameter or buffer has several names."""
    return any(
        len(list(named())) < len(list(named(remove_duplicate=False)))
        for named in (module.named_parameters, module.named_buffers)
    )


HOW_SIZES = '; if it fits at some sizes only, say at which, such as sizes={"d_model": "h*d_k"}'


def _named(text: str, parameters: Mapping[str, Any], sizes: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A place whose parameters' dotted names are replaced by plain ones, and what these stand for."""
    found = dict(sizes)
    for number, name in enumerate(sorted(parameters, key=len, reverse=True)):
        plain = name if name.isidentifier() else f"_{number}_"
        text, times = re.subn(rf"(?<![\w.]){re.escape(name)}(?!\w)", plain, text)
        if times:
            found[plain] = parameters[name]
    for name, parameter in parameters.items():
        if name.isidentifier():
            found.setdefault(name, parameter)
    return text, found


def _parameters(of: Any) -> set[str]:
    return set(inspect.signature(of).parameters) if callable(of) else set()


def _spoken(what: Any, names: Mapping[str, Any]) -> str:
    return expressions.spoken_of(what, names) if isinstance(what, str) else "the letters are as given"


def _list(names: Any) -> str:
    every = list(names)
    return ", ".join(every[:12]) + (f" and {len(every) - 12} more" if len(every) > 12 else "") or "none"


Build = Callable[..., nn.Module]

__all__ = ["Build", "Filling", "Weights", "pattern"]
