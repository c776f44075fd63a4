"""The corruption of masked language modelling: hide some tokens, and keep what stood there as labels.

Letters are the statement's: n tokens in a row, ids from a vocabulary of V words. Source: Devlin et al. 2019, "BERT", section 3.1
and appendix A.1.
"""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Integer
from torch import Generator, Tensor

from impl import _refuse

__all__ = ["mlm"]

Selection = Literal["bernoulli", "exact_count"]

IGNORED = -100  # the label of a token that was not selected; what F.cross_entropy ignores by default


def mlm(
    ids: Integer[Tensor, "... n"],
    special: Bool[Tensor, "... n"],
    mask_id: int,
    vocab_size: int,
    generator: Generator,
    *,
    selection: Selection = "bernoulli",
) -> tuple[Integer[Tensor, "... n"], Integer[Tensor, "... n"]]:
    """Select 15 % of the ordinary tokens; of these, 80 % become ``mask_id``, 10 % a random word, 10 % stay.
    Statement: ``masking.mlm``.

    Returns (corrupted, labels): labels hold the original id where a token was selected and −100 elsewhere. ``special``
    marks the tokens that are never selected, padding among them. A random word is uniform on 0..V−1, whatever it is.

    ``selection="bernoulli"`` selects each ordinary token by itself, with probability 0.15. ``"exact_count"`` is BERT's
    original: of a row's c ordinary tokens, max(1, round(0.15 c)) in all, uniformly without replacement (halves round to
    even, as Python's ``round``; none where c = 0).

    ids may have any integer dtype and are left as they were; both results keep that dtype, only labels of an unsigned
    one are int64, to hold −100. Equal seeds give equal results on one kind of device. ValueError for shapes, ids or a
    generator's device that do not fit, TypeError for wrong dtypes.
    """
    _check(ids, special, mask_id, vocab_size, generator, selection)
    law = _bernoulli if selection == "bernoulli" else _exact_count
    slot, word, part = law(special, vocab_size, generator)
    flat = ids.flatten().long()
    old = flat.index_select(0, slot)
    new = torch.where(part < 80, mask_id, torch.where(part < 90, word, old))
    label = torch.where(part < 100, old, IGNORED)
    corrupted = flat.scatter(0, slot, new).view(ids.shape)
    labels = torch.full_like(flat, IGNORED).scatter_(0, slot, label).view(ids.shape)
    return corrupted.to(ids.dtype), labels.to(ids.dtype if ids.dtype.is_signed else torch.int64)


def _bernoulli(special: Tensor, vocab_size: int, generator: Generator) -> tuple[Tensor, Tensor, Tensor]:
    """(slot, word, part): where a candidate stands, its random word, and its part in 0..99, or 100 if not selected.

    A byte for each token selects it if below 38, and makes it a candidate if 38. Then a 63-bit integer for each
    candidate, read as word + V·part: word and part (mod 100) are independent and uniform, to 100 V / 2^63. The last
    digit of part selects 4 in 10 of the ties, so that (38 + 0.4)/256 = 0.15 exactly; its first digit is left to
    choose between mask, random word and no change.
    """
    N = special.numel()
    byte = _random_bits(-(-N // 8), special.device, generator).view(torch.uint8)[:N]
    slot = (byte < 39 * (~special).flatten().view(torch.uint8)).nonzero().squeeze(1)
    word, part = _word_and_part(slot.numel(), vocab_size, special.device, generator)
    selected = (byte.index_select(0, slot) < 38) | (part % 10 < 4)
    return slot, word, torch.where(selected, part, 100)


def _exact_count(special: Tensor, vocab_size: int, generator: Generator) -> tuple[Tensor, Tensor, Tensor]:
    """(slot, word, part) as above. A row's selected tokens are those with the k largest of its random 63-bit keys."""
    n = special.shape[-1]
    special = special.reshape(math.prod(special.shape[:-1]), n)
    ordinary = n - special.sum(-1)
    k = (3 * ordinary.double() / 20).round().clamp(min=1).minimum(ordinary)  # in float64 a half is exactly a half
    k_max = min(max(1, round(3 * n / 20)), n)
    key = _random_bits(special.numel(), special.device, generator).view(special.shape) & (2**63 - 1)
    ranked = key.masked_fill_(special, -1).topk(k_max).indices
    row, rank = (torch.arange(size, device=special.device)[:, None] for size in ranked.shape)
    chosen = (rank.mT < k[:, None]).flatten().nonzero().squeeze(1)
    slot = (ranked + n * row).flatten().index_select(0, chosen)
    return slot, *_word_and_part(slot.numel(), vocab_size, special.device, generator)


def _word_and_part(
    count: int, vocab_size: int, device: torch.device, generator: Generator
) -> tuple[Tensor, Tensor]:
    """Independent draws, uniform on 0..V−1 and on 0..99: the remainder and the quotient's last digits of one integer."""
    draw = torch.empty(count, dtype=torch.int64, device=device).random_(generator=generator)  # 0..2^63 − 1
    return draw % vocab_size, draw // vocab_size % 100


def _random_bits(count: int, device: torch.device, generator: Generator) -> Tensor:
    """Integers of 64 random bits each."""
    return torch.empty(count, dtype=torch.int64, device=device).random_(-(2**63), None, generator=generator)


def _check(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator, selection: str
) -> None:
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise _refuse.dtypes("masking.mlm", "integer ids", ids=ids)
    if special.dtype != torch.bool:
        raise _refuse.dtypes("masking.mlm", "a boolean special, True = never selected", special=special)
    if ids.dim() == 0 or special.shape != ids.shape:
        raise _refuse.shapes("masking.mlm", "ids (... n), special (... n)", ids=ids, special=special)
    if vocab_size < 1 or mask_id < 0:
        raise ValueError(
            f"masking.mlm: expected vocab_size >= 1, mask_id >= 0; got vocab_size {vocab_size}, mask_id {mask_id}"
        )
    largest = torch.iinfo(ids.dtype).max
    if mask_id > largest or vocab_size - 1 > largest:
        raise ValueError(
            f"masking.mlm: expected ids of a dtype that holds mask_id {mask_id} and vocab_size - 1 = {vocab_size - 1}; "
            f"got {str(ids.dtype).removeprefix('torch.')}, at most {largest}"
        )
    if not isinstance(generator, Generator):
        raise TypeError(f"masking.mlm: expected a torch.Generator; got {generator!r}")
    if generator.device.type != ids.device.type:
        raise ValueError(
            f"masking.mlm: expected a generator on the ids' device {ids.device}; got one on {generator.device}"
        )
    if selection not in ("bernoulli", "exact_count"):
        raise ValueError(f"masking.mlm: selection is 'bernoulli' or 'exact_count'; got {selection!r}")
