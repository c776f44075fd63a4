"""Many texts at once, for their vectors alone: no gradient, no padding, in pieces of memory of one size."""

from collections.abc import Iterable, Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from impl.bert.model import BertEncoder
from impl.bert.tokenizer import Encoding

__all__ = ["embed"]


@torch.no_grad()
def embed(
    encoder: BertEncoder, encodings: Sequence[Encoding], *, tokens: int = 4096
) -> list[Float[Tensor, "n d_model"]]:
    """What the top layer says of each token of each text, in the order of the texts.

    Texts of about one length are encoded together, about ``tokens`` tokens at a time. The encoder is used as it is: in
    evaluation, unless dropout is wanted.
    """
    found: dict[int, Tensor] = {}
    for group in _groups([len(each.ids) for each in encodings], tokens):
        longest = max(len(encodings[number].ids) for number in group)
        rows = torch.zeros(3, len(group), longest, dtype=torch.int64)
        for row, number in enumerate(group):
            count = len(encodings[number].ids)
            rows[:, row, :count] = torch.tensor(
                [encodings[number].ids, encodings[number].segments, [1] * count]
            )
        ids, segments, real = rows.to(encoder.embeddings.E.device)
        segmented = segments if encoder.config.segments > 1 else None
        last = encoder(ids, segmented, real.bool()).last
        found.update({number: last[row, : len(encodings[number].ids)] for row, number in enumerate(group)})
    return [found[number] for number in range(len(encodings))]


def _groups(lengths: Iterable[int], tokens: int) -> Iterator[list[int]]:
    """Numbers of texts, the shortest first, in groups of about so many tokens once they are filled up."""
    group = list[int]()
    for length, number in sorted((length, number) for number, length in enumerate(lengths)):
        if group and length * (len(group) + 1) > tokens:
            yield group
            group = []
        group.append(number)
    if group:
        yield group
