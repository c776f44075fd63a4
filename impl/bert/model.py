"""BERT's encoder as a module: from ids to what the top layer says of each token.

Source: Devlin et al. 2019, section 3; with shared layers, Lan et al. 2020, section 3.1.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Unpack, cast

import torch
from jaxtyping import Bool, Float, Integer
from torch import Generator, Tensor, nn

from impl import _refuse
from impl._placement import Placement
from impl._transforms import mapped, readable
from impl.bert.config import BertConfig
from impl.bert.layers import BertEmbeddings, BertLayer, BertPooler, draw
from impl.bert.tokenizer import Encoding
from impl.bert.unpadding import Tokens, one_kernel

__all__ = ["BertEncoder", "Encoded", "embed"]


class Encoded(NamedTuple):
    """What an encoder says. Padding is 0 throughout."""

    last: Float[Tensor, "... n d_model"]
    """Of each token, the top layer."""
    pooled: Float[Tensor, "... d_model"] | None = None
    """Of the sequence, where there is a pooler."""
    layers: Float[Tensor, "L_1 ... n d_model"] | None = None
    """The embeddings and what each layer makes of them, where asked for."""
    weights: Float[Tensor, "L ... h n n"] | None = None
    """The weights of attention, where asked for."""


class BertEncoder(nn.Module):
    """Embeddings, ``layers`` layers, and a pooler.

    ``pooler`` says whether there is one; None: as the family has it (``config.pools``). Weights are drawn from ``generator``.
    """

    def __init__(
        self,
        config: BertConfig,
        *,
        pooler: bool | None = None,
        generator: Generator | None = None,
        **placement: Unpack[Placement],
    ) -> None:
        super().__init__()
        self.config = config
        self.embeddings = BertEmbeddings(config, **placement)
        self.layers = nn.ModuleList(BertLayer(config, **placement) for _ in range(config.own_layers))
        pools = config.pools if pooler is None else pooler
        self.pooler = BertPooler(config, **placement) if pools else None
        self.reset_parameters(generator)

    def reset_parameters(self, generator: Generator | None = None) -> None:
        """Draw all weights anew."""
        draw(self, self.config.std, generator)

    def forward(
        self,
        ids: Integer[Tensor, "... n"],
        segments: Integer[Tensor, "... n"] | None = None,
        mask: Bool[Tensor, "... n"] | None = None,
        positions: Integer[Tensor, "... n"] | None = None,
        *,
        all_layers: bool = False,
        weights: bool = False,
        unpadded: bool | None = None,
    ) -> Encoded:
        """What the encoder says of each token; ``segments`` are 0 and ``positions`` count from ``config.offset`` unless given.

        Where the mask is False stands padding. It is never read: any id may stand there, and what comes out is 0. Positions
        count places in the row, and real tokens in the RoBERTa family: padding in front shifts the one and not the other.
        The pooler reads the first place, where [CLS] stands.

        ``unpadded=True`` takes padding out before the embeddings and puts it back behind the last layer: the same results, in
        the time and memory that real tokens take; on CUDA in a type of 16 bits, without dropout, attention is then one kernel. It
        has to look at the mask, which waits for a device. None: on the CPU, and where attention is then one kernel for weights of
        16 bits (under autocast it has to be asked for); unless compiled, mapped over or captured. ``all_layers`` and ``weights``
        ask for more to look at; with ``weights``, padding stays in.

        ValueError for shapes that do not fit, rows without a token, more tokens than ``config.max_length`` and segments where
        there are none, TypeError for a mask that is not boolean, IndexError for ids beyond the tables.
        """
        self._check(ids, segments, mask, positions)
        *lead, n = ids.shape
        rows = math.prod(lead), n
        words = ids.reshape(rows)
        segments, mask, positions = (
            None if x is None else x.reshape(rows) for x in (segments, mask, positions)
        )
        if unpadded is None:
            unpadded = readable(ids) or self._has_one_kernel()
        tokens = Tokens.of(rows[0], n, mask, unpadded and not weights)
        if positions is None:
            positions = self._positions(words, mask)
        x = self._embed_tokens(tokens, words, segments, positions)
        seen, looked = [x], []
        for layer in self.in_order():
            if weights:
                looked.append(tokens.weights(layer.qkv(x), layer.heads))
            x = layer(x, tokens)
            if all_layers:
                seen.append(x)

        def batch(x: Tensor) -> Tensor:
            return tokens.unpack(x).view(*lead, n, x.shape[-1])

        last = batch(x)
        return Encoded(
            last,
            None if self.pooler is None else self.pooler(last),
            torch.stack([batch(x) for x in seen]) if all_layers else None,
            torch.stack([a.view(*lead, *a.shape[1:]) for a in looked]) if weights else None,
        )

    def in_order(self) -> Iterator[BertLayer]:
        """The layers as they follow one another: where groups share one, it comes more than once."""
        own = list(cast(Iterable[BertLayer], self.layers))
        return (own[number * len(own) // self.config.layers] for number in range(self.config.layers))

    def _has_one_kernel(self) -> bool:
        """Whether torch has a kernel for sequences of different lengths here, and may look at their mask."""
        config, E = self.config, self.embeddings.E
        if torch.compiler.is_compiling() or mapped():
            return False
        if E.is_cuda and torch.cuda.is_current_stream_capturing():
            return False
        drops = self.training and config.attention_dropout > 0
        return not drops and one_kernel(E.new_empty(0, 3 * config.d_model), config.heads)

    def _embed_tokens(self, tokens: Tokens, *given: Tensor | None) -> Tensor:
        """The tokens' vectors, of ids, segments and positions. An id without a row is looked up where it stands in the batch."""
        if (mask := tokens.mask) is not None:
            given = tuple(None if x is None else x.masked_fill(~mask, 0) for x in given)
        try:
            x: Tensor = self.embeddings(*(None if x is None else tokens.pack(x) for x in given))
        except IndexError:
            rows = self.config.vocabulary, self.config.segments, self.config.position_rows
            for name, own, size in zip(("ids", "segments", "positions"), given, rows, strict=True):
                if (
                    own is not None
                    and (own := tokens.unpack(tokens.pack(own))).clamp(0, size - 1).ne(own).any()
                ):
                    raise _refuse.out_of_range("bert.encoder", name, own, size) from None
            raise
        return x

    def _positions(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """The place of each token's row in the table of positions."""
        if mask is not None and self.config.offset:
            return mask.cumsum(-1) - 1 + self.config.offset
        return torch.arange(ids.shape[-1], device=ids.device).add(self.config.offset).expand(ids.shape)

    def _check(
        self, ids: Tensor, segments: Tensor | None, mask: Tensor | None, positions: Tensor | None
    ) -> None:
        given = {"ids": ids, "segments": segments, "mask": mask, "positions": positions}
        found = {name: x for name, x in given.items() if x is not None}
        if ids.dim() < 1 or any(x.shape != ids.shape for x in found.values()):
            raise _refuse.shapes("bert.encoder", f"{', '.join(found)} of one shape (... n)", **found)
        if not ids.shape[-1]:
            raise _refuse.shapes("bert.encoder", "at least one token in a row", ids=ids)
        if mask is not None and mask.dtype != torch.bool:
            raise _refuse.dtypes("bert.encoder", "a boolean mask, True = a real token", mask=mask)
        if ids.shape[-1] > self.config.max_length:
            most = self.config.max_length
            raise ValueError(f"bert.encoder: expected at most {most} tokens; got {ids.shape[-1]}")
        if segments is not None and not self.config.segments:
            raise ValueError(f"bert.encoder: expected no segments: {self.config.family} has none")

    @classmethod
    def from_pretrained(
        cls, folder: str | Path, *, pooler: bool | None = None, dtype: torch.dtype | None = None
    ) -> "BertEncoder":
        """The encoder of a checkpoint's folder as Hugging Face writes it, whatever head stands there beside it; in evaluation.

        ``config.json`` says what it is made of; the parameters are read from ``model.safetensors``, its index of several files,
        or ``pytorch_model.bin``. ``pooler=None``: one where the checkpoint has one. ``dtype`` is the stored one unless given;
        of several, the narrowest that holds all.

        ValueError, in one line that names the file or the tensors, for files that cannot be read, and for tensors that are
        missing, not known, of another shape or not of floating numbers. TypeError for a dtype that is not floating.
        """
        from impl.bert.checkpoints import Checkpoint

        stored = Checkpoint(folder)
        has = stored.has("pooler.dense.weight") if pooler is None else pooler
        with torch.device("meta"):
            encoder = cls(stored.config, pooler=has)
        return stored.fill(encoder, dtype)

    def save_pretrained(self, folder: str | Path) -> None:
        """A checkpoint's folder that ``from_pretrained`` and transformers read. A file is replaced once it is whole."""
        from impl.bert.checkpoints import save

        save(self, folder)


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
