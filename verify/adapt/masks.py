"""Masks as modules take them: which there are, what their entries say, and which shape they have.

A few words, in any order: ``"drop heads"``, ``"additive b1nm"``, ``"lengths"``. The statements' are boolean: True may attend.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from verify.faults import Unsupported, Unusable

MEANINGS = {
    "bool": "True may attend",
    "drop": "True may not",
    "additive": "0 where it may attend, −∞ where it may not; additive=min, additive=-1e9: that number in its place",
    "float": "1 and 0",
}
FOR_ALL_HEADS = ("b1nm", "b11m", "keys", "lengths")
"""The forms that say the same to every head."""
FORMS = {
    "bnm": "(batch, queries, keys)",
    "b1nm": "(batch, 1, queries, keys), for all heads",
    "bhnm": "(batch, h, queries, keys)",
    "heads": "(batch·h, queries, keys)",
    "nm": "(queries, keys): one for all members, which are called one by one",
    "keys": "(batch, keys): what no query may see, padding",
    "b11m": "(batch, 1, 1, keys)",
    "lengths": "(batch,): how many keys there are, the first ones",
    "causal": "not passed: the module lets nothing look ahead by itself",
    "none": "not passed: it takes no mask",
}
OTHERS = {
    "always": "a mask of all True where the example has none; else it is None",
    "joined": "x and y are one sequence [x; y], in which x looks at y alone",
}
KINDS = {"keys": "keys", "b11m": "keys", "lengths": "lengths", "causal": "causal"}
"""The forms that not every mask has: the kind drawn for them."""


@dataclass(frozen=True)
class MaskForm:
    """The form in which a callable takes a mask: its shape, and what its entries mean."""

    meaning: str = "bool"
    form: str = "bnm"
    fill: float | None = None
    always: bool = False
    joined: bool = False

    @classmethod
    def of(cls, text: str) -> MaskForm:
        """The words of a description.

        Raises:
            Unusable: a word that is none of them, or two that exclude one another.
        """
        meaning, form, fill, others = "", "", None, set()
        for word in text.split():
            head, equals, number = word.partition("=")
            if head == "additive" and equals:
                try:
                    fill = math.nan if number == "min" else float(number)
                except ValueError:
                    raise Unusable(
                        f'mask="{text}": {word!r} is no number to add; expected additive=-1e9'
                    ) from None
            if head in MEANINGS and (not equals or head == "additive") and not meaning:
                meaning = head
            elif word in FORMS and not form:
                form = word
            elif word in OTHERS:
                others.add(word)
            else:
                known = ", ".join((*MEANINGS, *FORMS, *OTHERS))
                raise Unusable(f'mask="{text}": {word!r} does not fit; expected words of: {known}')
        return cls(meaning or "bool", form or "bnm", fill, "always" in others, "joined" in others)

    @property
    def kind(self) -> str:
        """The kind of masks drawn for it."""
        return KINDS.get(self.form, "every")

    @property
    def passed(self) -> bool:
        """Whether the module is given anything."""
        return self.form not in ("causal", "none")

    def make(
        self, mask: Tensor | None, lead: int, sizes: tuple[int, int, int], like: Tensor
    ) -> Tensor | None:
        """Return what the callable is passed for a mask (lead, queries, keys) in which True may attend.

        ``sizes``: queries (0 where the statement's mask is of keys alone), keys, heads; ``like`` has the type and the device.

        Raises:
            Unsupported: the mask is none that this form has.
        """
        n, m, h = sizes
        if mask is None and self.form == "causal":
            raise Unsupported("the module has no call without its causal mask")
        if mask is None:
            if not self.always and not self.joined:
                return None
            mask = torch.ones((lead, n, m) if n else (lead, m), dtype=torch.bool, device=like.device)
        if self.form == "causal":
            later = torch.ones(n, m, dtype=torch.bool, device=mask.device).tril(max(m - n, 0))
            if not torch.equal(mask, later.expand_as(mask)):
                raise Unsupported("the module's mask is causal, and this one is not")
            return None
        if self.form in ("keys", "b11m", "lengths"):
            mask = self._keys(mask)
            if self.joined:  # nobody reads what y gets
                mask = torch.cat((mask.new_zeros(len(mask), n), mask), -1)
        elif self.joined:
            one = torch.zeros(lead, n + m, n + m, dtype=torch.bool, device=like.device)
            one[:, :n, n:] = mask
            mask = one
        if self.form == "lengths":
            lengths = mask.sum(-1)
            first = torch.arange(mask.shape[-1], device=mask.device) < lengths.unsqueeze(-1)
            if not torch.equal(first, mask):
                raise Unsupported("the module takes lengths, and this mask is of none")
            return lengths
        mask = self._shape_mask(mask, h)
        return self._write_values(mask, like)

    def _keys(self, mask: Tensor) -> Tensor:
        if mask.ndim < 3:
            return mask
        keys = mask[:, 0] if mask.shape[1] else mask.new_ones(len(mask), mask.shape[-1])
        if not torch.equal(keys.unsqueeze(1).expand_as(mask), mask):
            raise Unsupported("the module's mask is the same for every query, and this one is not")
        return keys

    def _shape_mask(self, mask: Tensor, h: int) -> Tensor:
        if mask.ndim < 3 and self.form in ("b1nm", "bhnm"):
            mask = mask.unsqueeze(1)
        if self.form == "b11m":
            return mask[:, None, None]
        if self.form == "nm":
            return mask.squeeze(0)
        if mask.ndim == 3 and self.form == "b1nm":
            return mask.unsqueeze(1)
        if mask.ndim == 3 and self.form == "bhnm":
            return mask.unsqueeze(1).expand(-1, h, -1, -1)
        if mask.ndim == 3 and self.form == "heads":
            return mask.repeat_interleave(h, 0)
        return mask

    def _write_values(self, mask: Tensor, like: Tensor) -> Tensor:
        if self.meaning == "bool":
            return mask
        if self.meaning == "drop":
            return ~mask
        dtype = like.dtype if like.is_floating_point() else torch.get_default_dtype()
        if self.meaning == "float":
            return mask.to(dtype)
        fill = -math.inf if self.fill is None else self.fill
        fill = torch.finfo(dtype).min if math.isnan(fill) else fill
        return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, fill)


__all__ = ["FORMS", "MEANINGS", "OTHERS", "MaskForm"]
