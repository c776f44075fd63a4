"""What is kept of a sequence that comes piece by piece, and attention to it."""

import torch
from jaxtyping import Float, Int64, Integer
from torch import Tensor

from impl import _refuse
from impl.attention._checks import Backend, check_qkv
from impl.attention.grouped import grouped_query
from impl.attention.masks import causal_mask
from impl.attention.weights import causal

__all__ = ["KeyValueCache", "cached", "paged"]


class KeyValueCache:
    """Keys and values of a sequence so far: none at first, and after each call that it is given to those of that call as well."""

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def __len__(self) -> int:
        return 0 if self.keys is None else self.keys.shape[-2]

    def append(
        self, k: Float[Tensor, "... h new d_k"], v: Float[Tensor, "... h new d_v"]
    ) -> tuple[Float[Tensor, "... h m d_k"], Float[Tensor, "... h m d_v"]]:
        """All keys and values, these last. ValueError for another number of rows than those before them have."""
        if self.keys is not None and self.values is not None:
            if k.shape[:-2] != self.keys.shape[:-2]:
                expected = "keys (... h new d_k) of as many rows as those that are kept"
                raise _refuse.shapes("attention.KeyValueCache", expected, keys=k, kept=self.keys)
            k, v = torch.cat((self.keys, k), -2), torch.cat((self.values, v), -2)
        self.keys, self.values = k, v
        return k, v

    def reorder(self, index: Int64[Tensor, " s"]) -> "KeyValueCache":
        """Of keys and values (r h m d), row i becomes what was row ``index[i]``, as beams need. What comes back is this cache."""
        if self.keys is not None and self.values is not None:
            self.keys, self.values = self.keys.index_select(0, index), self.values.index_select(0, index)
        return self


def cached(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... n d_k"],
    v: Float[Tensor, "... n d_v"],
    K: Float[Tensor, "... p d_k"],
    V: Float[Tensor, "... p d_v"],
    *,
    backend: Backend = "auto",
) -> tuple[Float[Tensor, "... n d_v"], Float[Tensor, "... p+n d_k"], Float[Tensor, "... p+n d_v"]]:
    """Put new keys and values behind those that are kept, and attend from each new token to all up to its own. Statement:
    ``attention.cached``.

    Returns (z, K_all, V_all); what is kept is new memory each time. ValueError for shapes that do not fit, TypeError unless all
    share one floating dtype. Source: Pope et al. 2022, "Efficiently Scaling Transformer Inference", section 2.1.
    """
    check_qkv("attention.cached", q, k, v)
    check_qkv("attention.cached", q, K, V)
    if q.shape[-2] != k.shape[-2] or v.shape[-1] != V.shape[-1]:
        expected = "q (... n d_k), k (... n d_k), v (... n d_v), K (... p d_k), V (... p d_v)"
        raise _refuse.shapes("attention.cached", expected, q=q, k=k, v=v, K=K, V=V)
    lead = _refuse.check_lead("attention.cached", q=q, k=k, v=v, K=K, V=V)
    K_all, V_all = (
        torch.cat([x.expand(*lead, *x.shape[-2:]) for x in pair], -2) for pair in ((K, k), (V, v))
    )
    return causal(q, K_all, V_all, backend=backend), K_all, V_all


def paged(
    q: Float[Tensor, "... h n d_k"],
    K: Float[Tensor, "f s g d_k"],
    V: Float[Tensor, "f s g d_v"],
    table: Integer[Tensor, "... p"],
    last: int,
    *,
    backend: Backend = "auto",
) -> Float[Tensor, "... h n d_v"]:
    """``grouped_query`` of a text's last n tokens to keys and values that lie in the pages which its ``table`` names, up to each
    token's own slot; the last token's is ``last``, counted along the table. Statement: ``attention.paged``.

    Memory for keys and values is one for all texts of a batch. Slots after ``last`` are not read. ValueError for shapes that do
    not fit and for a slot that the table does not have, TypeError unless q, K and V share one floating dtype and the table holds
    integers, IndexError for an entry up to the last token's that is no page (on the CPU, where reading it is free). Source: Kwon
    et al. 2023, "PagedAttention", section 4.1.
    """
    _refuse.check_integers("attention.paged", "an integer table", table=table)
    if K.dim() != 4 or V.dim() != 4 or K.shape[:3] != V.shape[:3] or not table.dim() or q.dim() < 3:
        expected = "q (... h n d_k), K (f s g d_k), V (f s g d_v), table (... p)"
        raise _refuse.shapes("attention.paged", expected, q=q, K=K, V=V, table=table)
    if not 0 <= last < table.shape[-1] * K.shape[1]:
        raise ValueError(
            f"attention.paged: expected 0 <= last < p*s = {table.shape[-1] * K.shape[1]}; got {last}"
        )
    pages = table[..., : last // K.shape[1] + 1].long()  # torch takes bytes for a mask
    _refuse.check_range("attention.paged", "table", pages, len(K))
    keys, values = (x[pages].flatten(-4, -3)[..., : last + 1, :, :].transpose(-3, -2) for x in (K, V))
    n = q.shape[-2]
    mask = None if n == 1 else causal_mask(n, last + 1, device=q.device)
    return grouped_query(q, keys, values, mask, backend=backend)
