"""Variants of ``embedding.token``."""

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

TOKEN = "embedding.token"
wrong(TOKEN, "off_by_one", "Counts ids from 1: every token gets its neighbour's row.", cause="from ids")(
    lambda ids, E: E[(ids - 1).clamp_min(0)]
)
wrong(
    TOKEN,
    "padding_silenced",
    "Takes id 0 for padding: its row gets no gradient.",
    cause=r"gradient of E\b|gradient.*\b(id|row) 0",
)(lambda ids, E: F.embedding(ids, E, padding_idx=0))
wrong(
    TOKEN, "padding_zeroed", "Takes id 0 for padding and returns zeros for it.", cause=r"padding=id_0|\bid 0"
)(lambda ids, E: F.embedding(ids, E) * (ids != 0)[..., None])
wrong(
    TOKEN,
    "scaled_by_width",
    "Multiplies by √d, as the transformer does after its look-up.",
    cause=r"scale=sqrt_d|√\(?d\)? times",
)(lambda ids, E: F.embedding(ids, E) * E.shape[1] ** 0.5)
wrong(
    TOKEN, "by_frequency", "Divides each row's gradient by how often its token occurs.", cause="gradient of E"
)(lambda ids, E: F.embedding(ids, E, scale_grad_by_freq=True))


def first_sequence(ids):
    """The first sequence of a batch, for all."""
    return (
        ids.reshape(-1, ids.shape[-1])[:1].reshape((1,) * (ids.dim() - 1) + ids.shape[-1:]).expand(ids.shape)
    )


@wrong(TOKEN, cause=r"writes to its input E\b|divided by its length")
def renormalised(ids, E):
    """Cuts rows to length 1 in the caller's table."""
    with torch.no_grad():
        E.div_(E.norm(dim=1, keepdim=True).clamp_min(1.0))
    return F.embedding(ids, E)


wrong(
    TOKEN,
    "detached",
    "Looks up frozen rows, with a term that keeps the graph: no row learns.",
    cause=r"no gradient reaches E\b",
)(lambda ids, E: F.embedding(ids, E.detach()) + 0 * E.sum())


wrong(
    TOKEN,
    "every_row_learns",
    "Subtracts the table's mean, and adds it again without its gradient.",
    cause=r"gradient of E\b",
)(lambda ids, E: F.embedding(ids, E) - E.mean(0) + E.mean(0).detach())


wrong(TOKEN, "halved", "Keeps the table in float16.", cause=r"\bfloat16")(
    lambda ids, E: F.embedding(ids, E.half()).to(E.dtype)
)
wrong(
    TOKEN,
    "unique_rows",
    "Looks each token up once and forgets to put the rows back in order.",
    cause="sorted|out of order",
)(lambda ids, E: E[ids.reshape(-1).sort().values].reshape((*ids.shape, E.shape[1])))
wrong(
    TOKEN,
    "first_of_the_batch",
    "Gives every sequence of the batch the first one's vectors.",
    cause="wrong in batches",
)(lambda ids, E: F.embedding(first_sequence(ids), E))
wrong(
    TOKEN,
    "hashed",
    "Wraps ids around at 8 rows, a leftover of a hashed table.",
    cause=r"remainder|modulo|V > 8\b|V ≥ 9\b",
)(lambda ids, E: F.embedding(ids % min(8, E.shape[0]), E))
wrong(TOKEN, "narrow_ids", "Holds ids in 8 bits.", cause=r"8 bits|\b25[67]\b")(
    lambda ids, E: F.embedding(ids.to(torch.uint8).long(), E)
)
right(TOKEN, "one_hot_product", "The one-hot matrix times the table.")(
    lambda ids, E: F.one_hot(ids, E.shape[0]).to(E.dtype) @ E
)
right(TOKEN, "by_index", "Plain indexing.")(lambda ids, E: E[ids])
right(TOKEN, "by_gather", "A gather of whole rows.")(
    lambda ids, E: E.gather(0, ids.reshape(-1, 1).expand(-1, E.shape[1])).reshape((*ids.shape, E.shape[1]))
)
right(TOKEN, "zeros_for_padding", "Zeros where id 0 stands, where that is the convention.", padding="id_0")(
    lambda ids, E: F.embedding(ids, E) * (ids != 0)[..., None]
)


right(TOKEN, "scaled_and_padded", "Times √d, zeros for id 1, as fairseq.", scale="sqrt_d", padding="id_1")(
    lambda ids, E: torch.where((ids == 1)[..., None], 0.0, E.shape[1] ** 0.5 * F.embedding(ids, E))
)


wrong(
    TOKEN,
    "padding_read",
    "Cuts the gradient of row 0, and reads it all the same.",
    cause=r"condition .*ids\S*.* is not applied|padding=none",
    padding="id_0",
)(lambda ids, E: F.embedding(ids, E, padding_idx=0))


wrong(
    TOKEN,
    "times_the_width",
    "Times d instead of √d.",
    cause=r"scale is doubled|has no sqrt|√\(?d\)? times",
    scale="sqrt_d",
)(lambda ids, E: E.shape[1] * F.embedding(ids, E))
