"""How a decoder is called, and what it returns: the contract that ``decoding.greedy`` and ``decoding.beam`` are checked by.

    greedy(model, prompts, *, lengths, max_length, end)                      → tokens (b T), log_probability (b)
    beam(model, prompts, *, lengths, max_length, end, width, top, alpha)     → tokens (b h T), log_probability, score (b h)

``model`` is one of :mod:`verify.decoding.models`, or what the callable's own attribute ``model(vocabulary, seed)`` makes, if
it has one: anything that gives logits (r n V) for tokens (r n) when it is called. ``prompts`` (b n) holds ids, of which the first
``lengths`` (b) of each row count. The others come by keyword, and those that the callable's signature does not name are not
asked for: without ``lengths`` prompts are of equal length, without ``end`` nothing ends early, without ``top`` a beam is expanded
by all tokens, without ``alpha`` there is no penalty. A beam search returns its h ≤ width best continuations, or the
best alone as (b T); log-probabilities and scores may be left out. From its first ``end`` on a row holds ``end``; a row of
log-probability −∞ is empty. What it is given is left as it was. NotImplementedError says that a problem is not supported, and it
is passed over. How large the problems are at most is in :mod:`verify.decoding.cases`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from spec.decoding.continuations import Continuation, Found, Problem
from verify.decoding.cases import Case, models_of
from verify.decoding.guard import Guard
from verify.faults import Fault, Unsupported, Unusable, complaint, describe_error
from verify.subject.signature import signature_of

OPTIONS = {
    "decoding.greedy": ("lengths", "max_length", "end"),
    "decoding.beam": ("lengths", "max_length", "end", "width", "top", "alpha"),
}
NEEDED = {"decoding.greedy": ("max_length",), "decoding.beam": ("max_length", "width")}
WITHOUT = {
    "lengths": "checked with prompts of equal length",
    "end": "checked without an end",
    "top": "checked with t = V",
    "alpha": "checked with α = 0",
}
"""What a callable is not asked for that does not take it."""


@dataclass(frozen=True)
class Decoder:
    """A callable under the contract: what it takes, and how it is called for a case."""

    fn: Callable[..., Any]
    procedure_id: str
    takes: frozenset[str]
    guard: Guard = field(compare=False)

    @classmethod
    def of(cls, fn: Any, procedure_id: str) -> Decoder:
        """The callable, if its signature fits.

        Raises:
            Unusable: it cannot be called as the contract says.
        """
        if not callable(fn):
            raise Unusable(f"{procedure_id}: {fn!r} is not callable")
        try:
            parameters = signature_of(fn).parameters.values()
        except (TypeError, ValueError):
            raise Unusable(f"{procedure_id}: the signature of {fn!r} is not known") from None
        every = any(p.kind is p.VAR_KEYWORD for p in parameters)
        options = OPTIONS[procedure_id]
        takes = frozenset(o for o in options if every or any(p.name == o for p in parameters))
        for name in NEEDED[procedure_id]:
            if name not in takes:
                raise Unusable(f"{procedure_id}: the callable takes no {name} (see verify.decoding.contract)")
        return cls(fn, procedure_id, takes, Guard(procedure_id))

    @property
    def beams(self) -> bool:
        """Whether it is a beam search."""
        return self.procedure_id == "decoding.beam"

    @property
    def notes(self) -> list[str]:
        """Notes on what the decoder is not asked for."""
        asked = ("lengths", "end", *(("top", "alpha") if self.beams else ()))
        return [f"it takes no {name}: {WITHOUT[name]}" for name in asked if name not in self.takes]

    def solve(self, case: Case, problem: Problem) -> Found:
        """Call it for a problem of a case, and read what it returns.

        Raises:
            Fault: it raised, or what it returned is not what the contract says.
            Unsupported: it does not support this problem.
        """
        model = models_of(self.fn, case, problem.cached)
        return solve_problem(self.guard.around(self.fn), self.takes, self.beams, model, problem, case.seed)


def solve_problem(
    fn: Callable[..., Any], takes: Collection[str], beams: bool, model: Any, problem: Problem, seed: int
) -> Found:
    """Call a decoder for a problem, and read what it returns.

    Raises:
        Fault: it raised, or what it returned is not what the contract says.
        Unsupported: it does not support this problem.
    """
    prompts, lengths = pad_prompts(problem.prompts, problem.vocabulary, seed)
    given = {
        "lengths": lengths,
        "max_length": problem.max_length,
        "end": problem.end,
        "width": problem.width,
        "top": problem.top,
        "alpha": problem.alpha,
    }
    before = prompts.clone(), lengths.clone()
    try:
        returned = fn(model, prompts, **{name: value for name, value in given.items() if name in takes})
    except (Fault, Unsupported):
        raise
    except NotImplementedError as error:
        raise Unsupported(describe_error(error)) from None
    except (Exception, SystemExit) as error:
        raise Fault(f"raised {complaint(error)}") from error
    for name, now, was in zip(("prompts", "lengths"), (prompts, lengths), before, strict=True):
        if not torch.equal(now, was):
            raise Fault(f"wrote into the {name} that it was given: {was.tolist()} became {now.tolist()}")
    return read_continuations(returned, beams, problem)


def pad_prompts(prompts: tuple[tuple[int, ...], ...], vocabulary: int, seed: int) -> tuple[Tensor, Tensor]:
    """Prompts as a tensor, padded with any ids, and their lengths."""
    longest = max(map(len, prompts))
    rows = [
        [*prompt, *((seed + place) % vocabulary for place in range(longest - len(prompt)))]
        for prompt in prompts
    ]
    return torch.tensor(rows), torch.tensor([len(prompt) for prompt in prompts])


def read_continuations(returned: Any, beams: bool, problem: Problem) -> Found:
    """Read what a decoder returned as continuations of each prompt.

    Raises:
        Fault: it is not what the contract says.
    """
    parts = list(returned) if isinstance(returned, tuple | list) else [returned]
    if not parts:
        raise Fault(f"returned an empty {type(returned).__name__}")
    for part in parts[:3]:
        if not isinstance(part, Tensor):
            raise Fault(f"returned {type(part).__name__} where a tensor is expected")
    tokens, *numbers = parts[: 3 if beams else 2]
    was = tuple(tokens.shape)
    alone = beams and tokens.dim() == 2
    if alone:
        tokens, numbers = tokens.unsqueeze(1), [x.unsqueeze(1) if x.dim() == 1 else x for x in numbers]
    elif not beams:
        tokens, numbers = tokens.unsqueeze(1), [x.unsqueeze(1) for x in numbers]
    b = len(problem.prompts)
    if tokens.dim() != 3 or len(tokens) != b or tokens.is_floating_point():
        wanted = f"({b}, beams, tokens) or ({b}, tokens)" if beams else f"({b}, tokens)"
        raise Fault(f"returned tokens {was} of {tokens.dtype}; expected integers {wanted}")
    if any(x.shape != tokens.shape[:2] for x in numbers):
        shapes = ", ".join(str(tuple(x.shape)) for x in numbers)
        raise Fault(f"returned numbers {shapes} beside tokens {tuple(tokens.shape)}")
    for x in numbers:
        if not x.is_floating_point():
            raise Fault(f"returned numbers of {x.dtype} beside tokens; expected real ones")
    numbers = [x.detach() for x in numbers]
    found = [
        [
            one
            for place, row in enumerate(rows)
            if (one := _continuation(row, [float(x[at, place]) for x in numbers], problem)) is not None
        ]
        for at, rows in enumerate(tokens.tolist())
    ]
    for prompt, row in zip(problem.prompts, found, strict=True):
        if not row:
            raise Fault(f"returned no continuation of prompt {list(prompt)}")
    return Alone(found) if alone else found


class Alone(list[list[Continuation]]):
    """Continuations of a beam search that returns the best of each prompt, and no other."""


def _continuation(row: list[int], numbers: list[float], problem: Problem) -> Continuation | None:
    if numbers and numbers[0] == -math.inf:
        return None
    length = row.index(problem.end) + 1 if problem.end in row else len(row)
    for token in row[:length]:
        if not 0 <= token < problem.vocabulary:
            raise Fault(
                f"returned {row}, in which {token} is no token: they are 0 … {problem.vocabulary - 1}"
            )
    if any(math.isnan(x) for x in numbers):
        raise Fault(f"returned nan for {row[:length]}")
    log_p, score, *_ = (*numbers, None, None)
    return Continuation(tuple(row[:length]), log_p, score, tuple(row[length:]))


def logits_of(model: Callable[[Tensor], Tensor]) -> Callable[[tuple[int, ...]], list[float]]:
    """The logits after a text, read without a cache and remembered."""
    known: dict[tuple[int, ...], list[float]] = {}

    def logits(text: tuple[int, ...]) -> list[float]:
        if text not in known:
            with torch.no_grad():
                known[text] = model(torch.tensor([text]))[0, -1].double().tolist()
        return known[text]

    return logits
