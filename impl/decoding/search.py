"""Greedy and beam search over a step model, batched: every row gets what it gets alone.

Letters: b prompts of up to n tokens, k beams, each expanded by its t best tokens, T tokens generated, vocabulary V.
Log-probabilities are summed in float64, whatever the logits' type. Of equally good tokens the first in the vocabulary is
taken, of equally good candidates the one from the better beam, so that a search has one result.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64, Integer
from torch import Tensor

from impl.decoding.penalties import Penalty, check_alpha, penalised
from impl.decoding.steps import (
    State,
    StepModel,
    check_answer,
    check_gains,
    check_model,
    check_prompts,
    lengths_to_end,
)

__all__ = ["Beams", "Decoded", "beam", "greedy"]

S = TypeVar("S", bound=State)


class Decoded(NamedTuple):
    """One continuation for each prompt.

    ``tokens`` hold ``end`` from their first ``end`` on; ``lengths`` count the tokens up to and with it; ``log_probability``
    is Σ log p of these.
    """

    tokens: Int64[Tensor, "b T"]
    log_probability: Float[Tensor, " b"]
    lengths: Int64[Tensor, " b"]


class Beams(NamedTuple):
    """The k continuations kept for each prompt, best score first; see ``Decoded``. Where there are fewer than k, what is
    left has length 0 and log-probability −∞.
    """

    tokens: Int64[Tensor, "b k T"]
    log_probability: Float[Tensor, "b k"]
    score: Float[Tensor, "b k"]
    lengths: Int64[Tensor, "b k"]


@torch.no_grad()
def greedy(
    model: StepModel[S],
    prompts: Integer[Tensor, "b n"],
    lengths: Integer[Tensor, " b"] | None = None,
    *,
    max_length: int,
    end: int | None = None,
) -> Decoded:
    """The likeliest token at each step, until every row has said ``end`` or has ``max_length`` tokens.
    Statement: ``decoding.greedy``.

    ``lengths`` says how many tokens of each prompt count (all, if not given); without ``end`` every row gets
    ``max_length`` tokens. ValueError for sizes that do not fit.
    """
    name = "decoding.greedy"
    check_model(name, model, end, max_length=max_length)
    lengths = check_prompts(name, prompts, lengths)
    return word_by_word(name, model, prompts, lengths, lambda logits: logits.max(-1).indices, max_length, end)


def word_by_word(
    name: str,
    model: StepModel[S],
    prompts: Integer[Tensor, "b n"],
    lengths: Integer[Tensor, " b"],
    choose: Callable[[Float[Tensor, "b V"]], Int64[Tensor, " b"]],
    max_length: int,
    end: int | None,
) -> Decoded:
    """One continuation for each prompt, until every row has said ``end`` or has ``max_length`` tokens.

    ``choose`` makes of logits the next token of each row.
    """
    logits, state = check_answer(name, model.start(prompts, lengths), len(prompts), end)
    found, losses, done = [], [], None
    for turn in range(max_length):
        token = choose(logits)
        if done is not None:
            token = token.masked_fill(done, end or 0)
        found.append(token)
        losses.append(F.nll_loss(_log_p(logits), token, reduction="none"))
        check_gains(name, losses[-1] if done is None else losses[-1].masked_fill(done, 0.0))
        if end is not None:
            done = token == end
            if done.all():
                break
        if turn + 1 < max_length:
            logits, state = check_answer(name, model.step(state, token), len(prompts), end)
    tokens, loss = torch.stack(found, -1), torch.stack(losses, -1).double()
    spoken = lengths_to_end(tokens, end)
    behind = torch.arange(tokens.shape[-1], device=tokens.device) >= spoken.unsqueeze(-1)
    return Decoded(tokens, 0.0 - loss.masked_fill(behind, 0.0).sum(-1), spoken)  # 0 of a certain word, not −0


@torch.no_grad()
def beam(
    model: StepModel[S],
    prompts: Integer[Tensor, "b n"],
    lengths: Integer[Tensor, " b"] | None = None,
    *,
    width: int,
    max_length: int,
    top: int | None = None,
    end: int | None = None,
    alpha: float = 0.0,
    penalty: Penalty = "gnmt",
) -> Beams:
    """The k = ``width`` continuations of best score that are found when each of k beams is expanded by its t = ``top`` best
    tokens (all, if not given), and of all candidates the k best are kept. Statement: ``decoding.beam``.

    A beam that has said ``end`` is finished: it stays as it is and competes with the others for its place. The score is that of
    ``penalised``; it decides what is kept, and the order of what is returned. The search ends when all beams are finished or
    have ``max_length`` tokens. ValueError for sizes that do not fit.
    """
    name = "decoding.beam"
    check_alpha(name, alpha)
    check_model(name, model, end, max_length=max_length, width=width, top=top)
    lengths = check_prompts(name, prompts, lengths)
    logits, state = check_answer(name, model.start(prompts, lengths), len(prompts), end, reorders=True)
    b, device = len(prompts), logits.device
    # Of one beam no more than ``width`` are kept, its best, however many it proposes.
    t = min(width, logits.shape[-1], *(() if top is None else (top,)))
    total = torch.zeros(b, 1, dtype=torch.float64, device=device)
    tokens = torch.zeros(b, 1, 0, dtype=torch.int64, device=device)
    count = torch.zeros(b, 1, dtype=torch.int64, device=device)
    done = torch.zeros(b, 1, dtype=torch.bool, device=device)
    first = torch.arange(t, device=device) == 0
    for turn in range(max_length):
        word, gain = (x.view(b, tokens.shape[1], t) for x in _best(logits, t))
        # A finished beam has one candidate, itself; the places of its others stay empty.
        stays = done.unsqueeze(-1)
        gain = torch.where(stays, torch.where(first, 0.0, -torch.inf), gain)
        check_gains(name, gain)
        grown = (total.unsqueeze(-1) + gain).flatten(1)
        longer = (count + ~done).unsqueeze(-1).expand(-1, -1, t).flatten(1)
        score = penalised(grown, longer, alpha, penalty)
        chosen = score.sort(dim=-1, descending=True, stable=True).indices[:, :width]
        parent = chosen // t
        total, count = grown.gather(1, chosen), longer.gather(1, chosen)
        said = word.masked_fill(stays, end or 0).flatten(1).gather(1, chosen)
        each = tokens.shape[1]
        before = tokens.gather(1, parent.unsqueeze(-1).expand(-1, -1, turn))
        tokens = torch.cat((before, said.unsqueeze(-1)), -1)
        done = done.gather(1, parent) | total.isneginf()
        if end is not None:
            done = done | (said == end)
            if done.all():
                break
        if turn + 1 < max_length:
            rows = torch.arange(b, device=device).unsqueeze(-1) * each + parent
            answer = model.step(state.reorder(rows.flatten()), said.flatten())
            logits, state = check_answer(name, answer, rows.numel(), end, reorders=True)
    return _blank_empty(tokens, total, penalised(total, count, alpha, penalty), count, width, end)


def _best(logits: Float[Tensor, "r V"], t: int) -> tuple[Int64[Tensor, "r t"], Float[Tensor, "r t"]]:
    """The t best tokens of each row, of equal ones the first, and their log-probabilities in float64."""
    values, index = logits.topk(min(t + 1, logits.shape[-1]))
    if (values[:, 1:] == values[:, :-1]).any():  # topk leaves open which of equal ones it takes
        index = logits.sort(dim=-1, descending=True, stable=True).indices
    index = index[:, :t]
    return index, _log_p(logits).gather(-1, index).double()


def _log_p(logits: Float[Tensor, "r V"]) -> Float[Tensor, "r V"]:
    """Log-probabilities of all tokens, in float32 at least."""
    return logits.log_softmax(-1, dtype=torch.float32 if logits.dtype.itemsize == 2 else None)


def _blank_empty(
    tokens: Tensor, total: Tensor, score: Tensor, count: Tensor, width: int, end: int | None
) -> Beams:
    """The beams as they are returned: places that no candidate took are empty."""
    empty = total.isneginf()
    tokens = tokens.masked_fill(empty.unsqueeze(-1), end or 0)
    count, score = count.masked_fill(empty, 0), score.masked_fill(empty, -torch.inf)
    missing = width - total.shape[1]
    if missing:
        tokens = torch.nn.functional.pad(tokens, (0, 0, 0, missing), value=end or 0)
        total, score = (torch.nn.functional.pad(x, (0, missing), value=-torch.inf) for x in (total, score))
        count = torch.nn.functional.pad(count, (0, missing))
    return Beams(tokens, total, score, count)
