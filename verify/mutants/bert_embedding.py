"""Variants of ``embedding.bert``."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong

BERT = "embedding.bert"


def normed(s: Tensor, norm: tuple[Any, ...]) -> Tensor:
    """The normalization, right."""
    gamma, beta, eps = norm
    return F.layer_norm(s, s.shape[-1:], gamma, beta, eps)


def embedded(ids: Tensor, seg: Tensor, pos: Tensor, E: Tensor, S: Tensor, P: Tensor, *norm: Any) -> Tensor:
    """BERT's embedding, right."""
    return normed(E[ids] + S[seg] + P[pos], norm)


@wrong(BERT)
def positions_from_one(ids: Tensor, seg: Tensor, pos: Tensor, *rest: Any) -> Tensor:
    """Counts positions from 1, the last of the table excepted."""
    return embedded(ids, seg, (pos + 1).clamp_max(len(rest[2]) - 1), *rest)


@wrong(BERT)
def arange_instead(ids: Tensor, seg: Tensor, pos: Tensor, *rest: Any) -> Tensor:
    """The first n positions, whatever it is told: wrong where padding stands in front."""
    first = torch.arange(pos.shape[-1]).clamp_max(len(rest[2]) - 1)
    return embedded(ids, seg, first.expand_as(pos), *rest)


@wrong(BERT)
def positions_left_out(
    ids: Tensor, seg: Tensor, pos: Tensor, E: Tensor, S: Tensor, P: Tensor, *norm: Any
) -> Tensor:
    """Adds no positions."""
    return normed(E[ids] + S[seg] + 0 * P[pos], norm)


@wrong(BERT)
def segments_exchanged(ids: Tensor, seg: Tensor, *rest: Any) -> Tensor:
    """Reads the segments' rows in reverse."""
    return embedded(ids, len(rest[2]) - 1 - seg, *rest)


@wrong(BERT)
def segments_left_out(
    ids: Tensor, seg: Tensor, pos: Tensor, E: Tensor, S: Tensor, P: Tensor, *norm: Any
) -> Tensor:
    """Adds nothing for the segments, as if the first one's row were 0."""
    return normed(E[ids] + 0 * S[seg] + P[pos], norm)


@wrong(BERT)
def one_segment_for_all(ids: Tensor, seg: Tensor, *rest: Any) -> Tensor:
    """The first segment's row at every place."""
    return embedded(ids, 0 * seg, *rest)


@wrong(BERT)
def tokens_scaled(ids: Tensor, seg: Tensor, pos: Tensor, E: Tensor, *rest: Any) -> Tensor:
    """Tokens times √d, as in the Transformer."""
    return embedded(ids, seg, pos, E * E.shape[1] ** 0.5, *rest)


@wrong(BERT)
def not_normalised(
    ids: Tensor, seg: Tensor, pos: Tensor, E: Tensor, S: Tensor, P: Tensor, *norm: Any
) -> Tensor:
    """Forgets the normalization, but for gain and bias."""
    scaled: Tensor = norm[0] * (E[ids] + S[seg] + P[pos]) + norm[1]
    return scaled


@wrong(BERT)
def each_normalised(
    ids: Tensor, seg: Tensor, pos: Tensor, E: Tensor, S: Tensor, P: Tensor, *norm: Any
) -> Tensor:
    """Normalises each of the three before they are added."""
    gamma, beta, eps = norm
    plain = [F.layer_norm(part, part.shape[-1:], gamma, None, eps) for part in (E[ids], S[seg], P[pos])]
    added: Tensor = plain[0] + plain[1] + plain[2] + beta
    return added


@wrong(BERT)
def positions_after_the_norm(
    ids: Tensor, seg: Tensor, pos: Tensor, E: Tensor, S: Tensor, P: Tensor, *norm: Any
) -> Tensor:
    """Normalises tokens and segments, then adds positions."""
    return normed(E[ids] + S[seg], norm) + P[pos]


@wrong(BERT)
def large_eps(*inputs: Any) -> Tensor:
    """ε is 10⁻⁵, whatever it is told."""
    return embedded(*inputs[:-1], 1e-5)


@wrong(BERT)
def eps_outside(ids: Tensor, seg: Tensor, pos: Tensor, E: Tensor, S: Tensor, P: Tensor, *norm: Any) -> Tensor:
    """ε is added to the standard deviation, not under the root."""
    gamma, beta, eps = norm
    s = E[ids] + S[seg] + P[pos]
    centred = s - s.mean(-1, keepdim=True)
    spread = centred.square().mean(-1, keepdim=True)
    deviation = torch.where(spread > 0, spread, 1).sqrt() * (spread > 0)
    normalised: Tensor = gamma * centred / (deviation + eps) + beta
    return normalised


@wrong(BERT)
def padding_silent(ids: Tensor, seg: Tensor, pos: Tensor, E: Tensor, *rest: Any) -> Tensor:
    """Id 0 stands for padding: its row gets no gradient."""
    S, P, *norm = rest
    return normed(F.embedding(ids, E, padding_idx=0) + S[seg] + P[pos], tuple(norm))


@right(BERT)
def by_one_hot(ids: Tensor, seg: Tensor, pos: Tensor, E: Tensor, S: Tensor, P: Tensor, *norm: Any) -> Tensor:
    """Segments by products with one-hot vectors, as the original does it on TPUs."""
    return normed(E[ids] + F.one_hot(seg, len(S)).to(S.dtype) @ S + P[pos], norm)


@right(BERT)
def one_table(ids: Tensor, seg: Tensor, pos: Tensor, E: Tensor, S: Tensor, P: Tensor, *norm: Any) -> Tensor:
    """One table with all rows, of which each place adds up three."""
    places = torch.stack((ids, seg + len(E), pos + len(E) + len(S)), -1)
    return normed(torch.cat((E, S, P))[places].sum(-2), norm)
