"""What hides tokens in a row of a corpus: token by token (``impl.masking.mlm``), or whole words at a time
(``impl.masking.whole_words``), or so many of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int64
from torch import Generator, Tensor

from impl import masking
from impl._labels import IGNORED
from impl.masking.words import PARTS, Selection, begins, hide, word_and_part

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
            return masking.mlm(ids, special, *how, selection=self.selection)
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

    ``selection="bernoulli"`` is ``impl.masking.whole_words``. The others select words in random order, as long as no more tokens
    are selected than ``mlm`` would select; a word that is too long for what is left is passed over, so that a row may have
    fewer, and none where the first words are too long for all of it.
    """
    inside = continues[ids]
    if selection == "bernoulli":
        return masking.whole_words(ids, inside, special, mask_id, V, generator)
    _, labels = masking.mlm(ids, special, mask_id, V, generator, selection=selection)
    word = begins(inside, special).cumsum(0) - 1
    count = int(word[-1]) + 1 if len(ids) else 0
    fixed = torch.zeros(count, dtype=torch.bool).scatter_(0, word, special)
    chosen = _within(word, fixed, int((labels != IGNORED).sum()), generator)
    slot = chosen[word].nonzero().squeeze(1)
    return hide(ids, mask_id, slot, *word_and_part(len(slot), V, PARTS, ids.device, generator))


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
