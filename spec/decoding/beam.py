"""Beam search: the k best beginnings are kept, each is expanded by its t best tokens."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from spec.bibliography import deck, paper
from spec.decoding import greedy
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
    penalised,
    steps_of,
)
from spec.language.convention import Convention
from spec.language.formula import pitfall
from spec.language.procedure import Procedure, Requirement

Beam = tuple[float, Text]
"""log p and the tokens so far."""

PENALTY = Convention(
    "penalty",
    {
        "gnmt": "the score is log p / ((5 + L)/6)^α, L the number of tokens generated, `end` among them: 1 at L = 1, and slower "
        "than L beyond",
        "power": "the score is log p / L^α, L the number of tokens generated, `end` among them",
    },
    default="gnmt",
)
FINISHED = Convention(
    "finished",
    {
        "stay": "a finished beam keeps its place among the k as long as its score is one of the k best",
        "aside": "what ends among the k best candidates is laid aside, where the k best of a score stay, and k unfinished beams "
        "go on",
    },
    default="stay",
)


def score(problem: Problem, beam: Beam) -> float:
    """The score of a beam; none that has no probability."""
    return penalised(problem, beam[0], len(beam[1])) if beam[0] > -math.inf else -math.inf


def keep_best(problem: Problem, candidates: list[Beam], k: int) -> tuple[list[Beam], float]:
    """The k best candidates, of equal ones the first, and by how much the last of them is better than the best that is not."""
    ranked = sorted((c for c in candidates if c[0] > -math.inf), key=lambda c: -score(problem, c))
    gaps = [score(problem, one) - score(problem, other) for one, other in itertools.pairwise(ranked[: k + 1])]
    return ranked[:k], min(gaps, default=math.inf)


def reference(problem: Problem) -> tuple[Found, float]:
    """The continuations of each prompt, and how close the closest decision was: the smallest gap between scores in a row."""
    search = _aside if problem.conventions.get("finished") == "aside" else _stay
    found, margin = [], math.inf
    for prompt in problem.prompts:
        beams, gap = search(problem, prompt)
        margin = min(margin, gap)
        found.append([Continuation(tokens, p, score(problem, (p, tokens))) for p, tokens in beams])
    return found, margin


def _grow_beam(problem: Problem, prompt: Text, beam: Beam) -> tuple[list[Beam], float]:
    """A beam expanded by its t best tokens, and how much better the last of them is than the next."""
    p, tokens = beam
    steps = steps_of(problem, prompt, tokens)
    t = len(steps) if problem.top is None else problem.top
    gap = steps[t - 1][0] - steps[t][0] if t < len(steps) else math.inf
    return [(p + x, (*tokens, token)) for x, token in steps[:t]], gap


def _stay(problem: Problem, prompt: Text) -> tuple[list[Beam], float]:
    beams: list[Beam] = [(0.0, ())]
    margin = math.inf
    while not all(over(problem, tokens) for _, tokens in beams):
        candidates: list[Beam] = []
        for beam in beams:
            grown, gap = ([beam], math.inf) if over(problem, beam[1]) else _grow_beam(problem, prompt, beam)
            candidates += grown
            margin = min(margin, gap)
        beams, gap = keep_best(problem, candidates, problem.width)
        margin = min(margin, gap)
    return beams, margin


def _aside(problem: Problem, prompt: Text) -> tuple[list[Beam], float]:
    beams: list[Beam] = [(0.0, ())]
    aside: list[Beam] = []
    margin = math.inf
    for _ in range(problem.max_length):
        candidates: list[Beam] = []
        for beam in beams:
            grown, gap = _grow_beam(problem, prompt, beam)
            candidates += grown
            margin = min(margin, gap)
        # Twice as many as are kept, so that k go on even if k of them end; all have one length, so log p ranks as the score does.
        best, gap = keep_best(problem, candidates, 2 * problem.width)
        aside, other = keep_best(
            problem, aside + [b for b in best[: problem.width] if over(problem, b[1])], problem.width
        )
        beams = [b for b in best if not over(problem, b[1])][: problem.width]
        margin = min(margin, gap, other)
    return aside, margin


def optimum(problem: Problem, prompt: Text) -> Continuation:
    """The best score of all complete continuations there are, by looking at every one."""
    best: tuple[float, float, Text] = (-math.inf, -math.inf, ())
    for length in range(1, problem.max_length + 1):
        for tokens in itertools.product(range(problem.vocabulary), repeat=length):
            if problem.end in tokens[:-1] or not over(problem, tokens):
                continue
            p = log_probability(problem, prompt, tokens)
            best = max(best, (score(problem, (p, tokens)), p, tokens), key=lambda found: found[0])
    return Continuation(best[2], best[1], best[0])


# Requirements -------------------------------------------------------------------------------------------------------------


def _penalised(problem: Problem, solve: Solve) -> str:
    for prompt, one in each(solve(problem), problem):
        if one.score is None:
            continue
        wanted = score(problem, (log_probability(problem, prompt, one.tokens), one.tokens))
        if not problem.same(one.score, wanted):
            return f"prompt {list(prompt)} gets {one}; with L = {len(one.tokens)} the score is {wanted:.12g}"
    return ""


def _ordered(problem: Problem, solve: Solve) -> str:
    for prompt, row in zip(problem.prompts, solve(problem), strict=True):
        if len(row) > problem.width or not row:
            return f"prompt {list(prompt)} gets {len(row)} continuations at width {problem.width}"
        if len({one.tokens for one in row}) < len(row):
            return f"prompt {list(prompt)} gets one continuation twice: {'; '.join(map(str, row))}"
        scores = [score(problem, (log_probability(problem, prompt, one.tokens), one.tokens)) for one in row]
        for place in range(1, len(scores)):
            if scores[place] > scores[place - 1] and not problem.same(*scores[place - 1 : place + 1]):
                return f"prompt {list(prompt)}: number {place}, {row[place]}, is better than {row[place - 1]} before it"
    return ""


def _one_is_greedy(problem: Problem, solve: Solve) -> str:
    # With the length counted, a beam that has ended has no rival at k = 1: α plays no part.
    problem = replace(problem, width=1, top=1)
    wanted, margin = greedy.reference(problem)
    if margin <= problem.tolerance:
        return ""
    for prompt, row, (right,) in zip(problem.prompts, solve(problem), wanted, strict=True):
        if row[0].tokens != right.tokens:
            return f"prompt {list(prompt)} gets {row[0]} at k = t = 1; greedily {right}"
    return ""


def _exact(problem: Problem, solve: Solve) -> str:
    problem = replace(problem, width=problem.vocabulary**problem.max_length, top=None)
    for prompt, row in zip(problem.prompts, solve(problem), strict=True):
        right = optimum(problem, prompt)
        p = log_probability(problem, prompt, row[0].tokens)
        found = score(problem, (p, row[0].tokens))
        assert right.score is not None
        if found < right.score and not problem.same(found, right.score):
            return f"prompt {list(prompt)} gets {row[0]} at k = {problem.width}; the best of all is {right}"
    return ""


PENALISED = Requirement(
    "penalised",
    "the score returned is the log-probability divided by the penalty of its length, in which the prompt is not counted",
    _penalised,
    "score(y) = log p(y | x) / ((5 + L)/6)^α",
)
ORDERED = Requirement(
    "ordered", "at most k different continuations are returned, the best score first", _ordered
)
ONE_IS_GREEDY = Requirement("one_is_greedy", "with k = t = 1 it is greedy decoding", _one_is_greedy)
EXACT = Requirement(
    "wide_is_exact",
    "with k at least the number of all texts of the greatest length, and t the whole vocabulary, the best of all is found",
    _exact,
    "k ≥ V^max_length, t = V: score(y) = max[z] score(z)",
)

beam = Procedure(
    "decoding.beam",
    "Beam search",
    why="The likeliest text need not begin with the likeliest word, and looking at all texts is out of the question: there are "
    "V^max_length of them, V the size of the vocabulary. Beam search goes between: it keeps k beginnings at a time, lets each "
    "offer its t best next words, and keeps the k best of what is offered. Since every further word lowers the probability, the "
    "score of a text is divided by a penalty that grows with its length, or short ones would be favoured.",
    inputs={
        **greedy.greedy.inputs,
        "width": "k: how many beams are kept",
        "top": "t: by how many of its best tokens each beam is expanded; by all, where nothing is said",
        "alpha": "α: how strongly length is rewarded; 0 not at all",
    },
    returns={
        "tokens": "for each prompt its continuations, the best score first; from its first `end` on each holds `end`",
        "log_probability": "the sum of log p over each, up to its first `end` and with it",
        "score": "the log-probability divided by the penalty",
    },
    steps=(
        "Begin with one beam, of no tokens and log-probability 0.",
        "Expand each beam that is not finished by its t likeliest tokens; a candidate's log-probability is its beam's plus its "
        "last token's. A finished beam is a candidate as it stands.",
        "Keep the k candidates of the best scores; of equal ones those of the better beam, then the token that is first in the "
        "vocabulary.",
        "A beam is finished when it says `end` or has max_length tokens. Stop when all are; else go on with step 2.",
    ),
    reference=reference,
    requirements=(FORM, RECOMPUTED, PENALISED, ORDERED, ONE_IS_GREEDY, EXACT, ALONE, CACHED),
    conventions=(PENALTY, FINISHED),
    pitfalls=(
        pitfall(
            "the cache keeps the order of the beams before they were ranked", mutant="cache_not_reordered"
        ),
        pitfall("the prompt counted in the length penalty", mutant="prompt_counted"),
        pitfall(
            "beams of different lengths ranked without the penalty, which comes at the end",
            mutant="pruned_unpenalised",
        ),
        pitfall("finished beams expanded further", mutant="finished_expanded"),
        pitfall("a finished beam kept among the k, or laid aside: both are in use", convention="finished"),
    ),
    sources=(
        deck(2, "output symbol generation, method 2: beam size k, top beams t"),
        paper("wu2016", "section 7, equation 14: length normalisation"),
    ),
    notes="Steps 2 and 3 are those of the convention finished = stay.",
)
