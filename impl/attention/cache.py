"""What ``MultiHeadAttention`` keeps of a sequence that comes piece by piece."""

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from impl import _refuse

__all__ = ["KeyValueCache"]


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
