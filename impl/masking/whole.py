"""Whole-word masking: words are hidden with all their pieces, so that no piece gives its neighbours away.

Source: the README of google-research/bert, May 2019.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Integer
from torch import Generator, Tensor

from impl.masking._hiding import PARTS, bernoulli, check, hide, word_and_part

__all__ = ["Replacement", "begins", "whole_words"]

Replacement = Literal["each_piece", "always_mask"]


def whole_words(
    ids: Integer[Tensor, "... n"],
    continues: Bool[Tensor, "... n"],
    special: Bool[Tensor, "... n"],
    mask_id: int,
    V: int,
    generator: Generator,
    *,
    replacement: Replacement = "each_piece",
) -> tuple[Integer[Tensor, "... n"], Integer[Tensor, "... n"]]:
    """As ``impl.masking.mlm``, but each word is selected with probability 0.15, with all its pieces.
    Statement: ``masking.whole_words``.

    ``continues`` is True where a token continues the word of the one before it, such as "##ing". The first token of a row and
    one after a special token begin a word all the same.

    ``replacement="each_piece"`` has each piece of a selected word become ``mask_id`` in 80 %, a random word in 10 %, and stay
    in 10 %, by itself; ``"always_mask"`` has all of them become ``mask_id``.

    Results, dtypes and errors are those of ``mlm``.
    """
    check("masking.whole_words", ids, special, mask_id, V, generator, continues=continues)
    if replacement not in ("each_piece", "always_mask"):
        known = "'each_piece' or 'always_mask'"
        raise ValueError(f"masking.whole_words: replacement is {known}; got {replacement!r}")
    begin = begins(continues, special)
    candidate, _, drawn = bernoulli(special | ~begin, 1, generator)
    chosen = torch.zeros(ids.numel(), dtype=torch.bool, device=ids.device)
    chosen[candidate] = drawn < PARTS
    # A word never reaches into the next row, so each token's word begins at the last beginning up to it in the whole batch.
    place = torch.arange(ids.numel(), device=ids.device)
    first = torch.where(begin.flatten(), place, 0).cummax(0).values
    slot = chosen[first].nonzero().squeeze(1)
    if replacement == "always_mask":
        return hide(ids, mask_id, slot, slot, torch.zeros_like(slot))
    return hide(ids, mask_id, slot, *word_and_part(slot.numel(), V, PARTS, ids.device, generator))


def begins(continues: Bool[Tensor, "... n"], special: Bool[Tensor, "... n"]) -> Bool[Tensor, "... n"]:
    """Where a word begins; a special token is one by itself."""
    begin = special | ~continues
    begin[..., 1:] |= special[..., :-1]
    begin[..., :1] = True
    return begin
