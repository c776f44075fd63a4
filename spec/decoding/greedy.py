"""Greedy decoding: the likeliest token at each step."""

from __future__ import annotations

from spec.bibliography import deck
from spec.decoding.continuations import (
    ALONE,
    CACHED,
    FORM,
    RECOMPUTED,
    Continuation,
    Found,
    Problem,
    Solve,
    Text,
    each,
    log_probability,
    over,
    steps_of,
)
from spec.language.formula import pitfall
from spec.language.procedure import Procedure, Requirement


def reference(problem: Problem) -> tuple[Found, float]:
    """The continuation of each prompt, and how close the closest decision was: the gap to the token that came second."""
    found, margin = [], float("inf")
    for prompt in problem.prompts:
        tokens: Text = ()
        while not over(problem, tokens):
            (best, token), *others = steps_of(problem, prompt, tokens)
            margin = min([margin, *(best - second for second, _ in others[:1])])
            tokens = (*tokens, token)
        total = log_probability(problem, prompt, tokens)
        found.append([Continuation(tokens, total)])
    return found, margin


def _likeliest(problem: Problem, solve: Solve) -> str:
    for prompt, one in each(solve(problem), problem):
        for place, token in enumerate(one.tokens):
            steps = steps_of(problem, prompt, one.tokens[:place])
            here, (best, first) = next(x for x, t in steps if t == token), steps[0]
            if here < best and not problem.same(here, best):
                return f"prompt {list(prompt)} gets {one}: token {place} has log p {here:.12g}, {first} has {best:.12g}"
    return ""


LIKELIEST = Requirement(
    "likeliest",
    "no token is likelier than the one that was taken, given the prompt and the tokens before it",
    _likeliest,
    "y[t] = argmax[w] p(w | x, y[1…t-1])",
)

greedy = Procedure(
    "decoding.greedy",
    "Greedy decoding",
    why="A model gives a distribution over the next token, and a text has to be made of it. The simplest way takes the likeliest "
    "token, appends it, and asks again. It is fast and needs no memory but the model's; a choice is never taken back, though a "
    "likely beginning may have only unlikely ends.",
    inputs={
        "model": "gives the logits of the next token after a text",
        "prompts": "the texts to be continued, which may differ in length",
        "end": "the token after which nothing follows, if there is one",
        "max_length": "how many tokens are generated at most, `end` among them",
    },
    returns={
        "tokens": "for each prompt its continuation; from the first `end` on it holds `end`",
        "log_probability": "the sum of log p over them, up to the first `end` and with it",
    },
    steps=(
        "Begin with no token generated.",
        "Append the token whose probability, given the prompt and all tokens so far, is largest; of equal ones the first in the "
        "vocabulary.",
        "Stop at `end`, or when there are max_length tokens; else go on with step 2.",
    ),
    reference=reference,
    requirements=(FORM, RECOMPUTED, LIKELIEST, ALONE, CACHED),
    pitfalls=(
        pitfall(
            "rows that have ended are continued: their text and its probability change", mutant="goes_on"
        ),
        pitfall(
            "positions that begin anew behind the prompt, once there is a cache", mutant="positions_restart"
        ),
        pitfall("the logits of a padded row's last place, not of its last token", mutant="reads_padding"),
        pitfall("the probability of `end` itself left out of the sum", mutant="end_free"),
    ),
    sources=(deck(2, "output symbol generation, method 1"),),
    notes="The model is any; that a cache is a matter of speed alone is among the requirements.",
)
