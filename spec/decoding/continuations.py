"""What greedy and beam search have in common: a problem, a continuation, its log-probability, and what any result satisfies.

Everything is plain Python over a function from a text to the logits of its next token, which remembers nothing: what is
stated here knows no cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from spec.language.procedure import Requirement

Text = tuple[int, ...]
Logits = Callable[[Text], Sequence[float]]

ROUNDING = 2.0**-40
"""How far, relative to 1 and to its size, rounding in float64 may move a sum of a few log-probabilities: far more than it does,
far less than two different continuations of a random model lie apart."""


@dataclass(frozen=True)
class Problem:
    """A model, the prompts of a batch, and what is asked for. ``cached`` is for solvers that can do without a cache."""

    logits: Logits
    vocabulary: int
    prompts: tuple[Text, ...]
    max_length: int
    end: int | None = None
    width: int = 1
    top: int | None = None
    alpha: float = 0.0
    conventions: Mapping[str, str] = field(default_factory=dict)
    tolerance: float = ROUNDING
    cached: bool = True

    def same(self, a: float, b: float) -> bool:
        """Whether two log-probabilities, or scores, are equal but for rounding."""
        return a == b or abs(a - b) <= self.tolerance * (1 + abs(b))


@dataclass(frozen=True)
class Continuation:
    """Tokens up to the first ``end`` and with it, and what a result holds ``behind`` them; None for what it does not say."""

    tokens: Text
    log_probability: float | None = None
    score: float | None = None
    behind: Text = ()

    def __str__(self) -> str:
        said = (f"{name} {value:.12g}" for name, value in self._stated_numbers.items() if value is not None)
        return f"{[*self.tokens, *self.behind]}" + "".join(f", {part}" for part in said)

    @property
    def _stated_numbers(self) -> dict[str, float | None]:
        return {"log-probability": self.log_probability, "score": self.score}


Found = list[list[Continuation]]
"""For each prompt its continuations, the best first."""
Solve = Callable[[Problem], Found]


def log_probabilities(logits: Sequence[float]) -> list[float]:
    """log softmax."""
    most = max(logits)
    if most == -math.inf:
        return [-math.inf] * len(logits)
    whole = most + math.log(math.fsum(math.exp(x - most) for x in logits))
    return [x - whole for x in logits]


def log_probability(problem: Problem, prompt: Text, tokens: Text) -> float:
    """Σ log p(token | the prompt and the tokens before it)."""
    return math.fsum(
        log_probabilities(problem.logits(prompt + tokens[:place]))[token]
        for place, token in enumerate(tokens)
    )


def penalised(problem: Problem, log_p: float, length: int) -> float:
    """log p / ((5 + L)/6)^α, or log p / L^α; ``length`` counts generated tokens, ``end`` among them, and not the prompt."""
    base = (5 + length) / 6 if problem.conventions.get("penalty", "gnmt") == "gnmt" else length
    return log_p / base**problem.alpha


def over(problem: Problem, tokens: Text) -> bool:
    """Whether a continuation is complete: it ends, or is as long as may be."""
    return len(tokens) == problem.max_length or (bool(tokens) and tokens[-1] == problem.end)


def each(found: Found, problem: Problem) -> list[tuple[Text, Continuation]]:
    """Every continuation beside its prompt."""
    return [(prompt, one) for prompt, row in zip(problem.prompts, found, strict=True) for one in row]


def unlike(problem: Problem, found: Sequence[Continuation], wanted: Sequence[Continuation]) -> str:
    """How continuations differ from those that are wanted, in a line; "" if they do not. What one does not say is not compared,
    nor what stands behind an end: a row of a batch is as wide as its longest.
    """
    if len(found) != len(wanted):
        return f"{len(found)} continuations; expected {len(wanted)}"
    for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
        if one.tokens != other.tokens:
            return f"number {place} is {one}; expected {other}"
        for name in ("log_probability", "score"):
            got, expected = getattr(one, name), getattr(other, name)
            if got is not None and expected is not None and not problem.same(got, expected):
                return f"number {place} is {one}; expected {other}"
    return ""


# Requirements -------------------------------------------------------------------------------------------------------------


def _form(problem: Problem, solve: Solve) -> str:
    for prompt, one in each(solve(problem), problem):
        said = f"prompt {list(prompt)} gets {one}"
        if any(not 0 <= token < problem.vocabulary for token in one.tokens):
            return f"{said}: tokens are 0 … {problem.vocabulary - 1}"
        if not over(problem, one.tokens):
            return f"{said}: it neither says {problem.end} nor has {problem.max_length} tokens"
        if any(token != problem.end for token in one.behind):
            return f"{said}: it goes on behind its end, {problem.end}"
    return ""


def _recomputed(problem: Problem, solve: Solve) -> str:
    for prompt, one in each(solve(problem), problem):
        wanted = log_probability(problem, prompt, one.tokens)
        if one.log_probability is not None and not problem.same(one.log_probability, wanted):
            return f"prompt {list(prompt)} gets {one}; the sum of log p is {wanted:.12g}"
    return ""


def _alone(problem: Problem, solve: Solve) -> str:
    together = solve(problem)
    for prompt, row in zip(problem.prompts, together, strict=True):
        (single,) = solve(replace(problem, prompts=(prompt,)))
        if said := unlike(problem, row, single):
            return f"prompt {list(prompt)} in the batch: {said} (what it gets alone)"
    return ""


def _cached(problem: Problem, solve: Solve) -> str:
    with_it, without = solve(problem), solve(replace(problem, cached=False))
    for prompt, row, plain in zip(problem.prompts, with_it, without, strict=True):
        if said := unlike(problem, row, plain):
            return f"prompt {list(prompt)} with a cache: {said} (without)"
    return ""


FORM = Requirement(
    "finished",
    "a continuation says `end` once, at its end, or never and is as long as may be; what has ended stays as it is",
    _form,
)
RECOMPUTED = Requirement(
    "sum_of_log_p",
    "the log-probability returned is the sum of log p over the tokens generated, `end` among them, read without a cache",
    _recomputed,
    "log p(y | x) = Σ[t=1…L] log p(y[t] | x, y[1…t-1])",
)
ALONE = Requirement(
    "batch", "a prompt in a batch gets what it gets alone, whatever the others' lengths", _alone
)
CACHED = Requirement(
    "cache",
    "with a cache and without one the results are the same, token for token and score for score",
    _cached,
)


# References' tools --------------------------------------------------------------------------------------------------------


def steps_of(problem: Problem, prompt: Text, tokens: Text) -> list[tuple[float, int]]:
    """(log p, token) of every next token, the likeliest first, of equal ones the first in the vocabulary."""
    found = log_probabilities(problem.logits(prompt + tokens))
    return sorted(((x, token) for token, x in enumerate(found)), key=lambda pair: (-pair[0], pair[1]))
