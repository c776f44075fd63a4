"""Variants of ``decoding.greedy`` and ``decoding.beam``: one plain search in which every mistake is a flag."""

import math

import torch

from impl.decoding import beam as fast_beam
from tests.mutants import right, wrong

GREEDY, BEAM = "decoding.greedy", "decoding.beam"

# Greedy -------------------------------------------------------------------------------------------------------------------


def stepped(
    model,
    prompts,
    lengths,
    max_length,
    end,
    pick=lambda logits: logits.argmax(-1),
    goes_on=False,
    end_free=False,
    joined=lambda total, gain: total + gain,
    enough=2.0,
):
    """Greedy decoding over the model's own steps; it stops once this share of the rows has ended."""
    logits, state = model.start(prompts, lengths)
    total = torch.zeros(len(prompts), dtype=torch.float64)
    done = torch.zeros(len(prompts), dtype=torch.bool)
    rows = []
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


def greedy(**flags):
    """Greedy decoding, right but for what is given."""
    return lambda model, prompts, *, lengths, max_length, end: stepped(
        model, prompts, lengths, max_length, end, **flags
    )


right(GREEDY, "whole_length", "Right: never stops early, a row that has ended waits.")(greedy())


@right(GREEDY)
def one_by_one(model, prompts, *, lengths, max_length, end):
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


@wrong(GREEDY, cause="as long as may be|likelier than")
def short_texts(model, prompts, *, lengths, max_length, end):
    """Has room for 32 tokens; the rest of a text is its end, or 0."""
    rows, total = stepped(model, prompts, lengths, min(max_length, 32), end)
    rest = torch.full((len(rows), max_length - rows.shape[-1]), end or 0)
    return torch.cat([rows, rest], -1), total


wrong(GREEDY, "goes_on", "A row that has said its end is continued.", cause="what has ended stays")(
    greedy(goes_on=True)
)
wrong(GREEDY, "end_free", "The probability of the end itself is left out of the sum.", cause="sum of log p")(
    greedy(end_free=True)
)
wrong(
    GREEDY,
    "least_likely_step",
    "Returns the log-probability of the least likely token, not the sum.",
    cause="sum of log p",
)(greedy(joined=torch.minimum))
wrong(
    GREEDY, "probabilities_added", "Probabilities are added up, not their logarithms.", cause="sum of log p"
)(greedy(joined=lambda total, gain: total + gain.exp()))
wrong(
    GREEDY,
    "nine_in_ten_are_enough",
    "Stops once nine in ten rows have ended: the last are cut short.",
    cause="in a batch|as long as may be",
)(greedy(enough=0.9))
wrong(GREEDY, "second_best", "Takes the second-best token: top-k off by one.", cause="likelier than")(
    greedy(pick=lambda logits: logits.topk(2).indices[:, 1])
)


@wrong(GREEDY, via=lambda step: greedy(pick=step), cause=r"from call to call|\bties?\b")
def ties_at_random(logits):
    """Of equally likely tokens one is drawn."""
    return torch.multinomial((logits == logits.amax(-1, keepdim=True)).double(), 1)[:, 0]


wrong(
    GREEDY, "reads_padding", "Continues what stands in a row's last place, padding or not.", cause="a batch"
)(
    lambda model, prompts, *, lengths, max_length, end: stepped(
        model, prompts, torch.full_like(lengths, prompts.shape[1]), max_length, end
    )
)
wrong(
    GREEDY, "one_for_all", "The logits of a batch are averaged before a token is picked.", cause="in a batch"
)(greedy(pick=lambda logits: logits.mean(0, keepdim=True).argmax(-1).expand(len(logits))))


@wrong(GREEDY, cause="cache")
def positions_restart(model, prompts, *, lengths, max_length, end):
    """Behind the prompt positions begin anew, which only a cache can do: its keys stay, new ones count from 0."""

    class Restarted:
        """The model's steps as they would be if what is generated stood at the beginning."""

        @staticmethod
        def start(prompts, lengths):
            logits, state = model.start(prompts, lengths)
            return logits, (state, torch.zeros_like(lengths))

        @staticmethod
        def step(state, token):
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
    model,
    prompts,
    lengths,
    max_length,
    end,
    width,
    top,
    alpha,
    *,
    reorder=True,
    rank_penalised=True,
    extra_length=0,
    expand_finished=False,
    end_free=False,
    more=0,
    most=None,
    divide=True,
    best_of=False,
):
    """Beam search, one prompt at a time, over the model's own steps."""
    rows, totals, scores = [], [], []
    for prompt, n in zip(prompts, lengths.tolist(), strict=True):
        logits, state = model.start(prompt[None, :n], torch.tensor([n]))
        beams = [(0.0, [], False)]
        counted = n * extra_length

        def penalised(p, tokens, counted=counted):
            base = (5 + len(tokens) + counted) / 6 if divide else 1 / len(tokens)
            return float(p / base**alpha)

        for _ in range(max_length):
            log_p = logits.log_softmax(-1)
            candidates = []
            for place, (p, tokens, done) in enumerate(beams):
                if done and (not expand_finished):
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


def beam(**flags):
    """Beam search, right but for what is given."""
    return lambda model, prompts, *, lengths, max_length, end, width, top, alpha: searched(
        model, prompts, lengths, max_length, end, width, top, alpha, **flags
    )


right(BEAM, "prompt_by_prompt", "Right: one prompt at a time, lists sorted in Python.")(beam())


@right(BEAM)
def best_alone(model, prompts, *, lengths, max_length, end, width, top, alpha):
    """Right: returns the best continuation of each prompt, and no other."""
    found = fast_beam(
        model, prompts, lengths, width=width, max_length=max_length, top=top, end=end, alpha=alpha
    )
    return found.tokens[:, 0], found.log_probability[:, 0], found.score[:, 0]


wrong(
    BEAM,
    "cache_not_reordered",
    "The cache keeps the order of the beams before they were ranked.",
    cause="cache",
)(beam(reorder=False))
wrong(BEAM, "prompt_counted", "The length penalty counts the prompt.", cause="prompt is not counted")(
    beam(extra_length=1)
)
wrong(
    BEAM,
    "pruned_unpenalised",
    "Prunes by log-probability; the penalty decides at the end.",
    cause="prune|ranked without|candidates",
)(beam(rank_penalised=False))
wrong(
    BEAM,
    "finished_expanded",
    "A beam that has ended is expanded like the others.",
    cause="what has ended stays|finished beam",
)(beam(expand_finished=True))
wrong(BEAM, "end_costs_nothing", "The probability of the end is left out of the sum.", cause="sum of log p")(
    beam(end_free=True)
)
wrong(BEAM, "one_token_more", "Each beam is expanded by t + 1 tokens.", cause=r"t \+ 1|expanded by")(
    beam(more=1)
)
wrong(BEAM, "one_token_fewer", "Each beam is expanded by t − 1 tokens.", cause="t − 1|expanded by")(
    beam(more=-1)
)
wrong(
    BEAM,
    "eight_tokens_at_most",
    "Each beam is expanded by eight tokens at most.",
    cause=r"\beight\b|expanded by",
)(beam(most=8))
wrong(
    BEAM,
    "penalty_multiplied",
    "Multiplies the log-probability by L^α instead of dividing.",
    cause="divided by the penalty",
)(beam(divide=False))
wrong(
    BEAM, "weakest_link", "The score is the least log-probability of a token, not their sum.", cause="log p"
)(beam(best_of=True))


@wrong(BEAM, cause="in a batch|cache")
def members_mixed(model, prompts, *, lengths, max_length, end, width, top, alpha):
    """Rows are picked without the offset of their prompt: members of a batch go on with the cache of the first."""

    class Mixed:
        """The model, whose states are reordered within the first prompt's rows."""

        def __init__(self, state):
            self.state = state

        def reorder(self, index):
            return Mixed(self.state.reorder(index % max(1, len(index) // len(prompts))))

    class Model:
        """The model, over such states."""

        @staticmethod
        def start(prompts, lengths):
            logits, state = model.start(prompts, lengths)
            return logits, Mixed(state)

        @staticmethod
        def step(state, tokens):
            logits, inner = model.step(state.state, tokens)
            return logits, Mixed(inner)

    found = fast_beam(
        Model(), prompts, lengths, width=width, max_length=max_length, top=top, end=end, alpha=alpha
    )
    return found.tokens, found.log_probability, found.score
