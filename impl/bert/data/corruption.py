"""What hides tokens in a row: token by token (``impl.masking.mlm``), or whole words at a time.

Source of whole-word masking: the README of google-research/bert, May 2019. A word is hidden with all of its pieces or not at
all, so that no piece gives its neighbours away.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int64
from torch import Generator, Tensor

from impl._labels import IGNORED
from impl.masking.words import Selection, mlm

__all__ = ["Corruption", "whole_words"]


@dataclass(frozen=True)
class Corruption:
    """The corruption of a row. ``continues`` (V) is True for ids that continue a word, such as "##ing": words are then hidden
    whole. ``selection`` is that of ``impl.masking.mlm``.
    """

    mask_id: int
    V: int
    selection: Selection = "bernoulli"
    continues: Tensor | None = None

    def __call__(
        self, ids: Int64[Tensor, "n"], special: Bool[Tensor, "n"], generator: Generator
    ) -> tuple[Int64[Tensor, "n"], Int64[Tensor, "n"]]:
        """(corrupted, labels), as ``impl.masking.mlm`` gives them."""
        how = self.mask_id, self.V, generator
        if self.continues is None:
            return mlm(ids, special, *how, selection=self.selection)
        return whole_words(ids, special, self.continues, *how, selection=self.selection)


def whole_words(
    ids: Int64[Tensor, "n"],
    special: Bool[Tensor, "n"],
    continues: Bool[Tensor, "V"],
    mask_id: int,
    V: int,
    generator: Generator,
    *,
    selection: Selection = "bernoulli",
) -> tuple[Int64[Tensor, "n"], Int64[Tensor, "n"]]:
    """As ``impl.masking.mlm``, but words are selected, with all their pieces. Each piece of a selected word becomes
    ``mask_id`` in 80 %, a random id in 10 %, and stays in 10 %, by itself.

    ``selection="bernoulli"`` selects each word with the probability that ``mlm`` selects a token with. The others select words
    in random order, as long as no more tokens are selected than ``mlm`` would select; a word that is too long for what is left
    is passed over, so that a row may have fewer, and none where the first words are too long for all of it.
    """
    inside = continues[ids] & ~special
    inside[1:] &= ~special[:-1]
    inside[:1] = False
    word = (~inside).cumsum(0) - 1
    count = int(word[-1]) + 1 if len(ids) else 0
    fixed = torch.zeros(count, dtype=torch.bool).scatter_(0, word, special)
    if selection == "bernoulli":
        _, labels = mlm(torch.arange(count), fixed, 0, max(count, 1), generator)
        chosen = labels != IGNORED
    else:
        _, labels = mlm(ids, special, mask_id, V, generator, selection=selection)
        chosen = _within(word, fixed, int((labels != IGNORED).sum()), generator)
    selected = chosen[word] & ~special
    part = torch.randint(10, ids.shape, generator=generator)
    random = torch.randint(V, ids.shape, generator=generator)
    new = torch.where(part < 8, mask_id, torch.where(part == 8, random, ids))
    return torch.where(selected, new, ids), torch.where(selected, ids, IGNORED)


def _within(word: Tensor, fixed: Tensor, room: int, generator: Generator) -> Tensor:
    """Words in random order, none of which exceeds what is left of ``room`` tokens."""
    lengths, chosen = torch.bincount(word, minlength=len(fixed)).tolist(), torch.zeros_like(fixed)
    for number in torch.randperm(len(fixed), generator=generator).tolist():
        if not room:
            break
        if not fixed[number] and lengths[number] <= room:
            chosen[number] = True
            room -= lengths[number]
    return chosen
