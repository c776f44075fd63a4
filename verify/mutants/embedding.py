"""Variants of ``embedding.token``."""

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong

TOKEN = "embedding.token"


@wrong(TOKEN)
def off_by_one(ids: Tensor, E: Tensor) -> Tensor:
    """Counts ids from 1: every token gets its neighbour's row."""
    return E[(ids - 1).clamp_min(0)]


@wrong(TOKEN)
def padding_silenced(ids: Tensor, E: Tensor) -> Tensor:
    """Takes id 0 for padding: its row gets no gradient."""
    return F.embedding(ids, E, padding_idx=0)


@wrong(TOKEN)
def padding_zeroed(ids: Tensor, E: Tensor) -> Tensor:
    """Takes id 0 for padding and returns zeros for it."""
    return F.embedding(ids, E) * (ids != 0)[..., None]


@wrong(TOKEN)
def scaled_by_width(ids: Tensor, E: Tensor) -> Tensor:
    """Multiplies by √d, as the transformer does after its look-up."""
    scale: float = E.shape[1] ** 0.5
    return F.embedding(ids, E) * scale


@wrong(TOKEN)
def by_frequency(ids: Tensor, E: Tensor) -> Tensor:
    """Divides each row's gradient by how often its token occurs."""
    return F.embedding(ids, E, scale_grad_by_freq=True)


@wrong(TOKEN)
def renormalised(ids: Tensor, E: Tensor) -> Tensor:
    """Cuts rows to length 1 in the caller's table."""
    with torch.no_grad():
        E.div_(E.norm(dim=1, keepdim=True).clamp_min(1.0))
    return F.embedding(ids, E)


@wrong(TOKEN)
def detached(ids: Tensor, E: Tensor) -> Tensor:
    """Looks up frozen rows, with a term that keeps the graph: no row learns."""
    return F.embedding(ids, E.detach()) + 0 * E.sum()


@wrong(TOKEN)
def every_row_learns(ids: Tensor, E: Tensor) -> Tensor:
    """Subtracts the table's mean and adds it again as a constant: rows that were not looked up get a gradient."""
    mean = E.mean(0)
    return F.embedding(ids, E) - mean + mean.detach()


@wrong(TOKEN)
def halved(ids: Tensor, E: Tensor) -> Tensor:
    """Keeps the table in float16."""
    return F.embedding(ids, E.half()).to(E.dtype)


@wrong(TOKEN)
def unique_rows(ids: Tensor, E: Tensor) -> Tensor:
    """Looks each token up once and forgets to put the rows back in order."""
    rows = E[ids.reshape(-1).sort().values]
    return rows.reshape((*ids.shape, E.shape[1]))


@wrong(TOKEN)
def first_of_the_batch(ids: Tensor, E: Tensor) -> Tensor:
    """Gives every sequence of the batch the first one's vectors."""
    first = ids.reshape(-1, ids.shape[-1])[:1].reshape((1,) * (ids.dim() - 1) + ids.shape[-1:])
    return F.embedding(first.expand(ids.shape), E)


@wrong(TOKEN)
def hashed(ids: Tensor, E: Tensor) -> Tensor:
    """Wraps ids around at 8 rows, a leftover of a hashed table."""
    return F.embedding(ids % min(8, E.shape[0]), E)


@wrong(TOKEN)
def narrow_ids(ids: Tensor, E: Tensor) -> Tensor:
    """Holds ids in 8 bits."""
    return F.embedding(ids.to(torch.uint8).long(), E)


@right(TOKEN)
def one_hot_product(ids: Tensor, E: Tensor) -> Tensor:
    """The one-hot matrix times the table."""
    return F.one_hot(ids, E.shape[0]).to(E.dtype) @ E


@right(TOKEN)
def by_index(ids: Tensor, E: Tensor) -> Tensor:
    """Plain indexing."""
    return E[ids]


@right(TOKEN)
def by_gather(ids: Tensor, E: Tensor) -> Tensor:
    """A gather of whole rows."""
    rows = E.gather(0, ids.reshape(-1, 1).expand(-1, E.shape[1]))
    return rows.reshape((*ids.shape, E.shape[1]))


@right(TOKEN, padding="id_0")
def zeros_for_padding(ids: Tensor, E: Tensor) -> Tensor:
    """Zeros where id 0 stands, where that is the convention."""
    return padding_zeroed(ids, E)  # type: ignore[no-any-return]


@right(TOKEN, scale="sqrt_d", padding="id_1")
def scaled_and_padded(ids: Tensor, E: Tensor) -> Tensor:
    """Times √d, and zeros for id 1, as fairseq, where these are the conventions."""
    scale: float = E.shape[1] ** 0.5
    return torch.where((ids == 1)[..., None], 0.0, scale * F.embedding(ids, E))


@wrong(TOKEN, padding="id_0")
def padding_read(ids: Tensor, E: Tensor) -> Tensor:
    """Cuts the gradient of row 0 and reads it all the same, whatever stands there."""
    return F.embedding(ids, E, padding_idx=0)


@wrong(TOKEN, scale="sqrt_d")
def times_the_width(ids: Tensor, E: Tensor) -> Tensor:
    """Times d instead of √d."""
    return E.shape[1] * F.embedding(ids, E)
