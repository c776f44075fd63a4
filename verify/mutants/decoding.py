"""Variants of ``decoding.greedy`` and ``decoding.beam``: one plain search in which every mistake is a flag."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from impl.decoding import beam as fast_beam
from verify.mutants import right, wrong

GREEDY, BEAM = "decoding.greedy", "decoding.beam"
Found = tuple[Tensor, Tensor]
Scored = tuple[Tensor, Tensor, Tensor]


# Greedy -------------------------------------------------------------------------------------------------------------------


def stepped(
    model: Any,
    prompts: Tensor,
    lengths: Tensor,
    max_length: int,
    end: int | None,
    pick: Any = lambda logits: logits.argmax(-1),
    goes_on: bool = False,
    end_free: bool = False,
    joined: Any = lambda total, gain: total + gain,
    enough: float = 2.0,
) -> Found:
    """Greedy decoding over the model's own steps; it stops once this share of the rows has ended."""
    logits, state = model.start(prompts, lengths)
    total = torch.zeros(len(prompts), dtype=torch.float64)
    done = torch.zeros(len(prompts), dtype=torch.bool)
    rows: list[Tensor] = []
    for _ in range(max_length):
        token = pick(logits)
        gain = logits.log_softmax(-1).gather(-1, token[:, None])[:, 0]
        if end_free:
            gain = torch.where(token == (-1 if end is None else end), 0.0, gain)
        if not goes_on:
            token = torch.where(done, end or 0, token)
            gain = gain.masked_fill(done, 0.0)
        total = joined(total, gain)
        rows.append(token)
        done = done | (token == (-1 if end is None else end))
        if done.double().mean() >= enough:
            rows += [torch.full_like(token, end or 0)] * (max_length - len(rows))
            break
        logits, state = model.step(state, token)
    return torch.stack(rows, -1), total


@right(GREEDY)
def whole_length(model: Any, prompts: Tensor, *, lengths: Tensor, max_length: int, end: int | None) -> Found:
    """Right: never stops early, a row that has ended waits."""
    return stepped(model, prompts, lengths, max_length, end)


@right(GREEDY)
def one_by_one(model: Any, prompts: Tensor, *, lengths: Tensor, max_length: int, end: int | None) -> Found:
    """Right: a prompt at a time, everything read again at each step, tokens as Python lists."""
    rows, totals = [], []
    for prompt, length in zip(prompts.tolist(), lengths.tolist(), strict=True):
        text, total = prompt[:length], 0.0
        while len(text) < length + max_length and (len(text) == length or text[-1] != end):
            log_p = model(torch.tensor([text]))[0, -1].log_softmax(-1)
            total += float(log_p.max())
            text.append(int(log_p.argmax()))
        rows.append([*text[length:], *[end or 0] * (length + max_length - len(text))])
        totals.append(total)
    return torch.tensor(rows), torch.tensor(totals, dtype=torch.float64)


@wrong(GREEDY)
def goes_on(model: Any, prompts: Tensor, *, lengths: Tensor, max_length: int, end: int | None) -> Found:
    """A row that has said its end is continued."""
    return stepped(model, prompts, lengths, max_length, end, goes_on=True)


@wrong(GREEDY)
def short_texts(model: Any, prompts: Tensor, *, lengths: Tensor, max_length: int, end: int | None) -> Found:
    """Has room for 32 tokens; the rest of a text is its end, or 0."""
    rows, total = stepped(model, prompts, lengths, min(max_length, 32), end)
    rest = torch.full((len(rows), max_length - rows.shape[-1]), end or 0)
    return torch.cat([rows, rest], -1), total


@wrong(GREEDY)
def end_free(model: Any, prompts: Tensor, *, lengths: Tensor, max_length: int, end: int | None) -> Found:
    """The probability of the end itself is left out of the sum."""
    return stepped(model, prompts, lengths, max_length, end, end_free=True)


@wrong(GREEDY)
def least_likely_step(
    model: Any, prompts: Tensor, *, lengths: Tensor, max_length: int, end: int | None
) -> Found:
    """The log-probability returned is that of the least likely token, not the sum."""
    return stepped(
        model, prompts, lengths, max_length, end, joined=lambda total, gain: torch.minimum(total, gain)
    )


@wrong(GREEDY)
def probabilities_added(
    model: Any, prompts: Tensor, *, lengths: Tensor, max_length: int, end: int | None
) -> Found:
    """Probabilities are added up, not their logarithms."""
    return stepped(model, prompts, lengths, max_length, end, joined=lambda total, gain: total + gain.exp())


@wrong(GREEDY)
def nine_in_ten_are_enough(
    model: Any, prompts: Tensor, *, lengths: Tensor, max_length: int, end: int | None
) -> Found:
    """Stops once nine in ten rows have ended: the last are cut short."""
    return stepped(model, prompts, lengths, max_length, end, enough=0.9)


@wrong(GREEDY)
def second_best(model: Any, prompts: Tensor, *, lengths: Tensor, max_length: int, end: int | None) -> Found:
    """Takes the second-best token: top-k off by one."""
    return stepped(model, prompts, lengths, max_length, end, pick=lambda logits: logits.topk(2).indices[:, 1])


@wrong(GREEDY)
def ties_at_random(
    model: Any, prompts: Tensor, *, lengths: Tensor, max_length: int, end: int | None
) -> Found:
    """Of equally likely tokens one is drawn."""

    def pick(logits: Tensor) -> Tensor:
        best = logits == logits.amax(-1, keepdim=True)
        return torch.multinomial(best.double(), 1)[:, 0]

    return stepped(model, prompts, lengths, max_length, end, pick)


@wrong(GREEDY)
def reads_padding(model: Any, prompts: Tensor, *, lengths: Tensor, max_length: int, end: int | None) -> Found:
    """Continues what stands in a row's last place, padding or not."""
    return stepped(model, prompts, torch.full_like(lengths, prompts.shape[1]), max_length, end)


@wrong(GREEDY)
def one_for_all(model: Any, prompts: Tensor, *, lengths: Tensor, max_length: int, end: int | None) -> Found:
    """The logits of a batch are averaged before a token is picked: its members get each other's."""
    return stepped(
        model, prompts, lengths, max_length, end,
        pick=lambda logits: logits.mean(0, keepdim=True).argmax(-1).expand(len(logits)),
    )  # fmt: skip


@wrong(GREEDY)
def positions_restart(
    model: Any, prompts: Tensor, *, lengths: Tensor, max_length: int, end: int | None
) -> Found:
    """Behind the prompt positions begin anew, which only a cache can do: its keys stay, new ones count from 0."""

    class Restarted:
        """The model's steps as they would be if what is generated stood at the beginning."""

        @staticmethod
        def start(prompts: Tensor, lengths: Tensor) -> tuple[Tensor, Any]:
            logits, state = model.start(prompts, lengths)
            return logits, (state, torch.zeros_like(lengths))

        @staticmethod
        def step(state: Any, token: Tensor) -> tuple[Tensor, Any]:
            inner, place = state
            if not hasattr(inner, "keys"):
                logits, inner = model.step(inner, token)
                return logits, (inner, place)
            before, at = model.position, inner.lengths
            try:
                model.position = before.index_copy(0, at[:1], before[place[:1]])
                logits, inner = model.step(inner, token)
            finally:
                model.position = before
            return logits, (inner, place + 1)

    return stepped(Restarted, prompts, lengths, max_length, end)


# Beam search --------------------------------------------------------------------------------------------------------------


def searched(
    model: Any,
    prompts: Tensor,
    lengths: Tensor,
    max_length: int,
    end: int | None,
    width: int,
    top: int | None,
    alpha: float,
    *,
    reorder: bool = True,
    rank_penalised: bool = True,
    extra_length: int = 0,
    expand_finished: bool = False,
    end_free: bool = False,
    more: int = 0,
    most: int | None = None,
    divide: bool = True,
    best_of: bool = False,
) -> Scored:
    """Beam search, one prompt at a time, over the model's own steps."""
    rows, totals, scores = [], [], []
    for prompt, n in zip(prompts, lengths.tolist(), strict=True):
        logits, state = model.start(prompt[None, :n], torch.tensor([n]))
        beams: list[tuple[float, list[int], bool]] = [(0.0, [], False)]
        counted = n * extra_length

        def penalised(p: float, tokens: list[int], counted: int = counted) -> float:
            base: float = (5 + len(tokens) + counted) / 6 if divide else 1 / len(tokens)
            return float(p / base**alpha)

        for _ in range(max_length):
            log_p = logits.log_softmax(-1)
            candidates: list[tuple[float, list[int], bool, int]] = []
            for place, (p, tokens, done) in enumerate(beams):
                if done and not expand_finished:
                    candidates.append((p, tokens, True, place))
                    continue
                gains, words = log_p[place].sort(descending=True, stable=True)
                t = len(words) if top is None else min(len(words), max(1, top + more))
                t = t if most is None else min(t, most)
                for gain, word in zip(gains[:t].tolist(), words[:t].tolist(), strict=True):
                    free = end_free and word == end
                    total = min(p, gain) if best_of else p + (0.0 if free else gain)
                    candidates.append((total, [*tokens, word], word == end, place))
            candidates.sort(key=lambda c: -(penalised(c[0], c[1]) if rank_penalised else c[0]))
            kept = candidates[:width]
            beams = [(p, tokens, done) for p, tokens, done, _ in kept]
            parents = torch.tensor([parent for *_, parent in kept])
            if not reorder and len(parents) == len(logits):
                parents = torch.arange(len(parents))
            state = state.reorder(parents)
            logits, state = model.step(state, torch.tensor([tokens[-1] for _, tokens, _ in beams]))
        beams.sort(key=lambda b: -penalised(b[0], b[1]))
        missing = width - len(beams)
        fill = end or 0
        rows.append(
            [t + [fill] * (max_length - len(t)) for _, t, _ in beams] + [[fill] * max_length] * missing
        )
        totals.append([p for p, *_ in beams] + [-math.inf] * missing)
        scores.append([penalised(p, t) for p, t, _ in beams] + [-math.inf] * missing)
    return (
        torch.tensor(rows),
        torch.tensor(totals, dtype=torch.float64),
        torch.tensor(scores, dtype=torch.float64),
    )


def _variant(name: str, says: str, **flags: Any) -> Any:
    def variant(
        model: Any, prompts: Tensor, *, lengths: Tensor, max_length: int, end: int | None, width: int,
        top: int | None, alpha: float,
    ) -> Scored:  # fmt: skip
        return searched(model, prompts, lengths, max_length, end, width, top, alpha, **flags)

    variant.__name__, variant.__doc__ = name, says
    return variant


right(BEAM)(_variant("prompt_by_prompt", "Right: one prompt at a time, lists sorted in Python."))


@right(BEAM)
def best_alone(
    model: Any, prompts: Tensor, *, lengths: Tensor, max_length: int, end: int | None, width: int,
    top: int | None, alpha: float,
) -> Scored:  # fmt: skip
    """Right: returns the best continuation of each prompt, and no other."""
    found = fast_beam(
        model, prompts, lengths, width=width, max_length=max_length, top=top, end=end, alpha=alpha
    )
    return found.tokens[:, 0], found.log_probability[:, 0], found.score[:, 0]


for _name, _says, _flags in (
    ("cache_not_reordered", "The cache keeps the order of the beams before they were ranked.", {"reorder": False}),
    ("prompt_counted", "The length penalty counts the prompt.", {"extra_length": 1}),
    ("pruned_unpenalised", "Beams are pruned by log-probability, the penalty decides at the end.", {"rank_penalised": False}),
    ("finished_expanded", "A beam that has ended is expanded like the others.", {"expand_finished": True}),
    ("end_costs_nothing", "The probability of the end is left out of the sum.", {"end_free": True}),
    ("one_token_more", "Each beam is expanded by t + 1 tokens.", {"more": 1}),
    ("one_token_fewer", "Each beam is expanded by t − 1 tokens.", {"more": -1}),
    ("eight_tokens_at_most", "Each beam is expanded by eight tokens at most, whatever t.", {"most": 8}),
    ("penalty_multiplied", "The log-probability is multiplied by L^α instead of divided.", {"divide": False}),
    ("weakest_link", "The score is the least log-probability of a token, not their sum.", {"best_of": True}),
):  # fmt: skip
    wrong(BEAM)(_variant(_name, _says, **_flags))


@wrong(BEAM)
def members_mixed(
    model: Any, prompts: Tensor, *, lengths: Tensor, max_length: int, end: int | None, width: int,
    top: int | None, alpha: float,
) -> Scored:  # fmt: skip
    """Rows are picked without the offset of their prompt: members of a batch go on with the cache of the first."""

    class Mixed:
        """The model, whose states are reordered within the first prompt's rows."""

        def __init__(self, state: Any) -> None:
            self.state = state

        def reorder(self, index: Tensor) -> Mixed:
            return Mixed(self.state.reorder(index % max(1, len(index) // len(prompts))))

    class Model:
        """The model, over such states."""

        @staticmethod
        def start(prompts: Tensor, lengths: Tensor) -> tuple[Tensor, Mixed]:
            logits, state = model.start(prompts, lengths)
            return logits, Mixed(state)

        @staticmethod
        def step(state: Mixed, tokens: Tensor) -> tuple[Tensor, Mixed]:
            logits, inner = model.step(state.state, tokens)
            return logits, Mixed(inner)

    found = fast_beam(
        Model(), prompts, lengths, width=width, max_length=max_length, top=top, end=end, alpha=alpha
    )
    return found.tokens, found.log_probability, found.score
