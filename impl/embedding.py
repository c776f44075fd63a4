"""Words as vectors: a row of a table for each id.

Letters are the statement's: n ids below V, a table E of V rows of d entries.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Tensor

from impl import _refuse

__all__ = ["token"]


def token(ids: Integer[Tensor, "... n"], E: Float[Tensor, "V d"]) -> Float[Tensor, "... n d"]:
    """Row ids[i] of the table E. Gradient reaches the rows looked up and no other. Statement: ``embedding.token``.

    IndexError, with the place and the value, for an id below 0 or not below V: at once on the CPU, where reading it is free;
    on CUDA, where it would wait for the queue, torch's device-side assertion says it later. ValueError unless E is (V, d),
    TypeError for ids that are not integers. Source: Bengio et al. 2003, "A Neural Probabilistic Language Model", section 2.
    """
    if E.dim() != 2:
        raise _refuse.shapes("embedding.token", "E (V d)", E=E)
    if ids.dtype != torch.int64:
        if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
            raise _refuse.dtypes("embedding.token", "integer ids", ids=ids)
        ids = ids.long()
    try:
        return F.embedding(ids, E)
    except IndexError:
        raise _refuse.out_of_range("embedding.token", "ids", ids, E.shape[0]) from None
