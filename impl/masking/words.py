"""The corruption of masked language modelling: hide some tokens, or whole words, and keep what stood there as labels.

Letters are the statements': n tokens in a row, ids from a vocabulary of V words. A selected token has a part of 640: 0..511 mask,
512..575 a random word, 576..639 no change. Source: Devlin et al. 2019, "BERT", section 3.1 and appendix A.1; the README of
google-research/bert, May 2019, for whole words, hidden with all their pieces so that none gives its neighbours away.
"""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Integer
from torch import Generator, Tensor

from impl import _refuse
from impl._labels import IGNORED
from impl.masking._drawing import check_generator, random_bytes, random_integers

__all__ = ["Replacement", "Selection", "begins", "mlm", "whole_words"]

Selection = Literal["bernoulli", "exact_count", "count_of_all"]
Replacement = Literal["each_piece", "always_mask"]
PARTS = 640


def mlm(
    ids: Integer[Tensor, "... n"],
    special: Bool[Tensor, "... n"],
    mask_id: int,
    V: int,
    generator: Generator,
    *,
    selection: Selection = "bernoulli",
) -> tuple[Integer[Tensor, "... n"], Integer[Tensor, "... n"]]:
    """Select 15 % of the ordinary tokens; of these, 80 % become ``mask_id``, 10 % a random word, 10 % stay.
    Statement: ``masking.mlm``.

    Returns (corrupted, labels): labels hold the original id where a token was selected and −100 elsewhere. ``special``
    marks the tokens that are never selected, padding among them. A random word is uniform on 0..V−1, whatever it is.

    ``selection="bernoulli"`` selects each ordinary token by itself, with probability 0.15. ``"exact_count"``
    selects of a row's c ordinary tokens max(1, round(0.15 c)) in all, uniformly without replacement (halves round to even,
    as Python's ``round``; none where c = 0). ``"count_of_all"`` is BERT's original: max(1, round(0.15 n)) of them, or all c.

    ids may have any integer dtype and are left as they were; both results keep that dtype, only labels of an unsigned
    one are int64, to hold −100. Equal seeds give equal results on one kind of device. IndexError for an id below 0 or not below
    V, special ones among them (on the CPU), ValueError for shapes, a mask_id or a generator's device that do not fit, TypeError
    for wrong dtypes.
    """
    check("masking.mlm", ids, special, mask_id, V, generator)
    if selection == "bernoulli":
        slot, word, part = bernoulli(special, V, generator)
    else:
        slot, word, part = _exact_count(special, V, generator, of_all=selection == "count_of_all")
    return hide(ids, mask_id, slot, word, part)


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


def _exact_count(
    special: Tensor, V: int, generator: Generator, of_all: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """(slot, word, part) of what is selected. A row's selected tokens are those with the k largest of its random 63-bit keys."""
    n, device = special.shape[-1], special.device
    special = special.reshape(math.prod(special.shape[:-1]), n)
    ordinary = n - special.sum(-1)
    # In float64 a half is exactly a half, so this rounds as Python does.
    counted = torch.full_like(ordinary, n) if of_all else ordinary
    k = (3 * counted.double() / 20).round().clamp(min=1).minimum(ordinary)
    k_max = min(max(1, round(3 * n / 20)), n)
    key = random_integers(special.numel(), device, generator).view(special.shape).masked_fill_(special, -1)
    ranked = key.topk(k_max).indices
    row, rank = (torch.arange(size, device=device) for size in ranked.shape)
    slot = (ranked + n * row[:, None])[rank < k[:, None]]
    return slot, *word_and_part(slot.numel(), V, PARTS, device, generator)


def bernoulli(special: Tensor, V: int, generator: Generator) -> tuple[Tensor, Tensor, Tensor]:
    """(slot, word, part): where a candidate stands, its random word, and its part, as above; 640..649 is not selected after all.

    A random byte below 39 makes a token a candidate, 640 parts in 650 select it: 39/256 · 640/650 = 0.15 exactly.
    """
    byte = random_bytes(special.numel(), special.device, generator)
    slot = (byte < 39 * (~special).flatten().view(torch.uint8)).nonzero().squeeze(1)
    return slot, *word_and_part(slot.numel(), V, 650, special.device, generator)


def word_and_part(
    count: int, V: int, parts: int, device: torch.device, generator: Generator
) -> tuple[Tensor, Tensor]:
    """Two independent draws from one integer: uniform on 0..V−1 and on 0..parts−1, to parts · V / 2^63."""
    draw = random_integers(count, device, generator)
    quotient = draw // V
    return torch.sub(draw, quotient, alpha=V), quotient % parts


def hide(ids: Tensor, mask_id: int, slot: Tensor, word: Tensor, part: Tensor) -> tuple[Tensor, Tensor]:
    """(corrupted, labels) where the tokens at ``slot`` have these random words and parts."""
    flat = ids.flatten().long()
    old = flat.index_select(0, slot)
    new = torch.where(part < 512, mask_id, torch.where(part < 576, word, old))
    label = torch.where(part < PARTS, old, IGNORED)
    corrupted = flat.scatter(0, slot, new).view(ids.shape)
    labels = torch.full_like(flat, IGNORED).scatter_(0, slot, label).view(ids.shape)
    return corrupted.to(ids.dtype), labels.to(ids.dtype if ids.dtype.is_signed else torch.int64)


def check(
    formula: str, ids: Tensor, special: Tensor, mask_id: int, V: int, generator: Generator, **others: Tensor
) -> None:
    """Refuse what does not fit; ``others`` are boolean, one for each token, as ``special`` is."""
    _refuse.check_integers(formula, "integer ids", ids=ids)
    for name, other in others.items():
        if other.dtype != torch.bool:
            raise _refuse.dtypes(formula, f"a boolean {name}", **{name: other})
    if special.dtype != torch.bool:
        raise _refuse.dtypes(formula, "a boolean special, True = never selected", special=special)
    given = {"ids": ids, **others, "special": special}
    if ids.dim() == 0 or any(x.shape != ids.shape for x in given.values()):
        raise _refuse.shapes(formula, ", ".join(f"{name} (... n)" for name in given), **given)
    if not 0 <= mask_id < V:
        raise ValueError(f"{formula}: expected V >= 1, 0 <= mask_id < V; got V {V}, mask_id {mask_id}")
    largest = torch.iinfo(ids.dtype).max
    if max(mask_id, V - 1) > largest:
        raise ValueError(
            f"{formula}: expected ids of a dtype that holds mask_id {mask_id} and V - 1 = {V - 1}; "
            f"got {str(ids.dtype).removeprefix('torch.')}, at most {largest}"
        )
    check_generator(formula, "ids", ids.device, generator)
    _refuse.check_range(formula, "ids", ids.long(), V)
