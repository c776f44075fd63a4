"""Variants of ``embedding.bert``."""

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

BERT = "embedding.bert"


def normed(s, norm):
    """The normalization, right."""
    gamma, beta, eps = norm
    return F.layer_norm(s, s.shape[-1:], gamma, beta, eps)


def bert(add=lambda tokens, segments, positions: tokens + segments + positions, norm=normed):
    """BERT's embedding, right but for how the three rows are added, and for the normalization."""
    return lambda ids, seg, pos, E, S, P, *rest: norm(add(E[ids], S[seg], P[pos]), rest)


embedded = bert()
"""BERT's embedding, right."""


wrong(
    BERT, "positions_from_one", "Counts positions from 1, the last of the table excepted.", cause=r"to pos\b"
)(lambda ids, seg, pos, *rest: embedded(ids, seg, (pos + 1).clamp_max(len(rest[2]) - 1), *rest))


@wrong(BERT, cause="pos is ignored")
def arange_instead(ids, seg, pos, *rest):
    """The first n positions, whatever it is told: wrong where padding stands in front."""
    first = torch.arange(pos.shape[-1]).clamp_max(len(rest[2]) - 1)
    return embedded(ids, seg, first.expand_as(pos), *rest)


wrong(BERT, "positions_left_out", "Adds no positions.", cause=r"\b(P|pos) is ignored|PE\S* is not added")(
    bert(lambda E, S, P: E + S + 0 * P)
)
wrong(BERT, "segments_exchanged", "Reads the segments' rows in reverse.", cause=r"\b(S|seg) is read from")(
    lambda ids, seg, *rest: embedded(ids, len(rest[2]) - 1 - seg, *rest)
)
wrong(
    BERT,
    "segments_left_out",
    "Adds nothing for the segments, as if the first one's row were 0.",
    cause=r"\b(S|seg) is ignored",
)(bert(lambda E, S, P: E + 0 * S + P))
wrong(BERT, "one_segment_for_all", "The first segment's row at every place.", cause=r"\bseg is ignored")(
    lambda ids, seg, *rest: embedded(ids, 0 * seg, *rest)
)
wrong(BERT, "tokens_scaled", "Tokens times √d, as in the Transformer.", cause=r"multiplied by √\(?d\b")(
    bert(lambda E, S, P: E * E.shape[-1] ** 0.5 + S + P)
)
wrong(
    BERT,
    "not_normalised",
    "Forgets the normalization, but for gain and bias.",
    cause=r"not divided by √\(σ|μ\S* is not subtracted",
)(bert(norm=lambda s, norm: norm[0] * s + norm[1]))


@wrong(BERT, cause="each .*is normalised|normalised (each|before)")
def each_normalised(ids, seg, pos, E, S, P, *norm):
    """Normalises each of the three before they are added."""
    gamma, beta, eps = norm
    return sum(normed(part, (gamma, None, eps)) for part in (E[ids], S[seg], P[pos])) + beta


wrong(
    BERT,
    "positions_after_the_norm",
    "Normalises tokens and segments, then adds positions.",
    cause=r"PE\S* is (not )?added",
)(lambda ids, seg, pos, E, S, P, *norm: normed(E[ids] + S[seg], norm) + P[pos])
wrong(BERT, "large_eps", "ε is 10⁻⁵, whatever it is told.", cause="eps is ignored|fixed at 1e-05")(
    lambda *inputs: embedded(*inputs[:-1], 1e-5)
)


@wrong(BERT, via=lambda step: bert(norm=step), cause="ε is added outside")
def eps_outside(s, norm):
    """ε is added to the standard deviation, not under the root."""
    gamma, beta, eps = norm
    centred = s - s.mean(-1, keepdim=True)
    spread = centred.square().mean(-1, keepdim=True)
    deviation = torch.where(spread > 0, spread, 1).sqrt() * (spread > 0)
    return gamma * centred / (deviation + eps) + beta


wrong(BERT, "padding_silent", "Id 0 stands for padding: its row gets no gradient.", cause="row 0|as padding")(
    lambda ids, seg, pos, E, *rest: normed(
        F.embedding(ids, E, padding_idx=0) + rest[0][seg] + rest[1][pos], rest[2:]
    )
)
right(BERT, "by_one_hot", "Segments by products with one-hot vectors, as the original does it on TPUs.")(
    lambda ids, seg, pos, E, S, P, *norm: normed(
        E[ids] + F.one_hot(seg, len(S)).to(S.dtype) @ S + P[pos], norm
    )
)
right(BERT, "one_table", "One table with all rows, of which each place adds up three.")(
    lambda ids, seg, pos, E, S, P, *norm: normed(
        torch.cat((E, S, P))[torch.stack((ids, seg + len(E), pos + len(E) + len(S)), -1)].sum(-2), norm
    )
)
