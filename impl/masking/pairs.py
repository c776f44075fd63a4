"""The pairs of next sentence prediction: half of them a sentence and the one that follows, half a sentence and any other.

Letters are the statement's: a corpus of N sentences, ``starts`` where a document begins; n pairs. Source: Devlin et al. 2019,
"BERT", section 3.1, task 2, and appendix A.2.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Integer
from torch import Generator, Tensor

from impl import _refuse
from impl._labels import IGNORED
from impl.masking._drawing import check_generator, random_integers

__all__ = ["nsp"]

Negatives = Literal["not_next", "other_document", "any"]
NO_SENTENCE = -1


def nsp(
    starts: Bool[Tensor, "... N"],
    first: Integer[Tensor, "... n"],
    generator: Generator,
    *,
    negatives: Negatives = "not_next",
) -> tuple[Integer[Tensor, "... n"], Integer[Tensor, "... n"]]:
    """For the sentence that each pair begins with, draw the one that it ends with. Statement: ``masking.nsp``.

    Returns (second, label). With probability 1/2 second is the sentence that follows in the same document, and label 0; else
    it is a random one, uniform on those that may be drawn, and label 1. Where nothing follows it is always a random one, where
    nothing may be drawn always the one that follows, and where there is neither, second is −1 and label −100.

    ``negatives="not_next"`` draws any sentence but the one that follows, ``"other_document"`` any of another document, as the
    original BERT does, and ``"any"`` any at all, so that now and then what follows is called random.

    Both results have the dtype of ``first``, or int64 where that is unsigned. Leading dimensions broadcast. Equal seeds give
    equal results on one kind of device. IndexError for a sentence that the corpus does not have (on the CPU), ValueError for
    shapes and a generator's device that do not fit, TypeError for wrong dtypes.
    """
    lead = _check(starts, first, generator)
    N, n = starts.shape[-1], first.shape[-1]
    starts, at = starts.expand(*lead, N), first.long().expand(*lead, n)
    following = at + 1
    follows = (following < N) & ~starts.gather(-1, following.clamp(max=N - 1))
    low, high = _exclude_neighbours(starts, at, follows, negatives)  # low .. high − 1 are not drawn
    count = N - (high - low)

    coin, place = random_integers(2 * at.numel(), at.device, generator).view(2, *at.shape)
    drawn = place % count.clamp(min=1)
    drawn = drawn + (drawn >= low) * (high - low)
    true = follows & ((coin & 1).bool() | (count == 0))
    second = torch.where(true, following, torch.where(count > 0, drawn, NO_SENTENCE))
    label = torch.where(true, 0, torch.where(count > 0, 1, IGNORED))
    dtype = first.dtype if first.dtype.is_signed else torch.int64
    return second.to(dtype), label.to(dtype)


def _exclude_neighbours(
    starts: Tensor, at: Tensor, follows: Tensor, negatives: Negatives
) -> tuple[Tensor, Tensor]:
    """Which neighbouring sentences are never drawn, from the first of them to just behind the last."""
    if negatives == "any":
        return at, at
    if negatives == "not_next":
        return at + 1, at + 1 + follows.long()
    N = starts.shape[-1]
    place = torch.arange(N, device=starts.device)
    begin = torch.where(starts, place, 0).cummax(-1).values
    # What begins next, seen from each sentence: the least start behind it.
    later = torch.where(starts, place, N).flip(-1).cummin(-1).values.flip(-1)
    end = torch.nn.functional.pad(later[..., 1:], (0, 1), value=N)
    return begin.gather(-1, at), end.gather(-1, at)


def _check(starts: Tensor, first: Tensor, generator: Generator) -> torch.Size:
    if starts.dtype != torch.bool:
        raise _refuse.dtypes("masking.nsp", "a boolean starts, True = a document begins", starts=starts)
    _refuse.check_integers("masking.nsp", "integer sentences", first=first)
    if min(starts.dim(), first.dim()) == 0 or starts.shape[-1] == 0:
        raise _refuse.shapes("masking.nsp", "starts (... N), first (... n)", starts=starts, first=first)
    check_generator("masking.nsp", "sentences", first.device, generator)
    _refuse.check_range("masking.nsp", "first", first, starts.shape[-1])
    return _refuse.check_lead("masking.nsp", {"starts": starts, "first": first})
