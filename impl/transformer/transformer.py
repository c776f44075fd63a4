"""The Transformer: from the ids of a source and of a target's words so far to the logits of the words that come next."""

import math
from typing import Unpack

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Generator, Tensor, nn

from impl import _refuse
from impl._placement import Placement
from impl._transforms import readable
from impl.attention import MultiHeadAttention
from impl.embedding import token
from impl.positional import learned, sinusoidal
from impl.transformer.cache import Cache
from impl.transformer.config import TransformerConfig
from impl.transformer.layers import FeedForward
from impl.transformer.stacks import Decoder, Encoder

__all__ = ["Conditioned", "Embeddings", "Transformer"]


class Embeddings(nn.Module):
    """√d_model · ``embedding.token`` + ``positional.sinusoidal`` or ``positional.learned``, then dropout.

    Where ``E`` is given, it is the table of words, shared with whom it was taken from. Source: Vaswani et al. 2017, sections
    3.4, 3.5 and 5.4.
    """

    def __init__(
        self,
        words: int,
        config: TransformerConfig,
        E: Float[nn.Parameter, "V d_model"] | None = None,
        **placement: Unpack[Placement],
    ) -> None:
        super().__init__()
        d = config.d_model
        self.config, self.scale = config, math.sqrt(d) if config.scaled else 1.0
        self.E = nn.Parameter(torch.empty(words, d, **placement)) if E is None else E
        learned = config.positions == "learned"
        self.W_PE = nn.Parameter(torch.empty(config.max_length, d, **placement)) if learned else None
        self.dropout = nn.Dropout(config.dropout)

    def reset_parameters(self, generator: Generator | None = None) -> None:
        """Normal of variance 1/d_model: 1 once scaled; and logits of variance 1, where the table is also the last matrix."""
        for table in (self.E,) if self.W_PE is None else (self.E, self.W_PE):
            nn.init.normal_(table, std=1 / math.sqrt(self.config.d_model), generator=generator)

    def positions(self, n: int) -> Float[Tensor, "{n} d_model"]:
        """The vectors of the first n positions. ValueError beyond max_length."""
        if n > self.config.max_length:
            raise ValueError(
                f"transformer: expected at most max_length {self.config.max_length} tokens; got {n}"
            )
        if self.W_PE is None:
            return sinusoidal(n, self.config.d_model, dtype=self.E.dtype, device=self.E.device)
        return learned(torch.arange(n, device=self.E.device), self.W_PE)

    def forward(
        self,
        ids: Integer[Tensor, "... n"],
        mask: Bool[Tensor, "... n"] | None = None,
        positions: Float[Tensor, "... n d_model"] | None = None,
    ) -> Float[Tensor, "... n d_model"]:
        """The vector of each token; ``positions`` are those of the first n places unless given. Ids where the mask is False are
        never read: any number may stand there.

        Raises what ``embedding.token`` raises; ValueError for a mask of another shape and beyond max_length, TypeError for a mask
        that is not boolean.
        """
        if mask is not None:
            if mask.dtype != torch.bool:
                raise _refuse.dtypes("transformer", "a boolean mask, True = a real token", mask=mask)
            if mask.shape != ids.shape:
                raise _refuse.shapes(
                    "transformer", "ids (... n) and a mask of the same shape", ids=ids, mask=mask
                )
            ids = ids.masked_fill(~mask, 0)
        positions = self.positions(ids.shape[-1]) if positions is None else positions
        x: Tensor = self.dropout(torch.add(positions, token(ids, self.E), alpha=self.scale))
        return x


class Transformer(nn.Module):
    """Encoder and decoder of ``config``, with words as vectors before them and logits after them. Parameters are drawn from
    ``generator``, if one is given.

    A mask has the shape of the ids, and **True means "a real token"**; what stands where it is False is never read, whatever
    id it is. Source: Vaswani et al. 2017, "Attention Is All You Need".
    """

    def __init__(
        self, config: TransformerConfig, *, generator: Generator | None = None, **placement: Unpack[Placement]
    ) -> None:
        super().__init__()
        self.config = config
        self.source = Embeddings(config.source_vocabulary, config, **placement)
        shared = self.source.E if config.tied == "all" else None
        self.target = Embeddings(config.target_vocabulary, config, shared, **placement)
        self.encoder, self.decoder = Encoder(config, **placement), Decoder(config, **placement)
        self.W_o = self.target.E if config.tied != "none" else nn.Parameter(torch.empty_like(self.target.E))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: Generator | None = None) -> None:
        """Draw all weights anew; biases become 0, gains of LayerNorm 1."""
        nn.init.xavier_uniform_(
            self.W_o, generator=generator
        )  # where it is a table of words, that is drawn next
        for module in self.modules():
            if isinstance(module, (Embeddings, MultiHeadAttention, FeedForward)):
                module.reset_parameters(generator)
            elif isinstance(module, nn.LayerNorm):
                module.reset_parameters()

    def forward(
        self,
        source: Integer[Tensor, "... m"],
        target: Integer[Tensor, "... n"],
        source_mask: Bool[Tensor, "... m"] | None = None,
        target_mask: Bool[Tensor, "... n"] | None = None,
    ) -> Float[Tensor, "... n V"]:
        """Logits: at place i those of the word after target[i], given the source and target[0] … target[i] (teacher forcing).

        IndexError for an id that is not in its vocabulary, ValueError for shapes that do not fit and for more than
        ``config.max_length`` tokens, TypeError for ids that are not integers.
        """
        return self.decode(target, self.encode(source, source_mask), target_mask, source_mask)

    def encode(
        self, source: Integer[Tensor, "... m"], source_mask: Bool[Tensor, "... m"] | None = None
    ) -> Float[Tensor, "... m d_model"]:
        """The memory: what the encoder says of each word of the source. It means nothing where the mask is False."""
        memory: Tensor = self.encoder(self.source(source, source_mask), source_mask)
        return memory

    def decode(
        self,
        target: Integer[Tensor, "... n"],
        memory: Float[Tensor, "... m d_model"],
        target_mask: Bool[Tensor, "... n"] | None = None,
        source_mask: Bool[Tensor, "... m"] | None = None,
    ) -> Float[Tensor, "... n V"]:
        """The logits of a call, given the memory."""
        x = self.target(target, target_mask)
        return self._logits(self.decoder(x, memory, target_mask, source_mask))

    @torch.no_grad()
    def alignments(
        self,
        source: Integer[Tensor, "... m"],
        target: Integer[Tensor, "... n"],
        source_mask: Bool[Tensor, "... m"] | None = None,
        target_mask: Bool[Tensor, "... n"] | None = None,
    ) -> Float[Tensor, "... L h n m"]:
        """The weights that each of the decoder's L layers, in each of its heads, gives to the source's words at each place."""
        memory = self.encode(source, source_mask)
        x = self.target(target, target_mask)
        return torch.stack(self.decoder.alignments(x, memory, target_mask, source_mask), -4)

    @torch.no_grad()
    def start(
        self,
        memory: Float[Tensor, "b m d_model"],
        source_mask: Bool[Tensor, "b m"] | None = None,
        capacity: int | None = None,
    ) -> Cache:
        """A cache to decode sources with: room for ``capacity`` tokens in each row, ``config.max_length`` unless given."""
        if source_mask is not None and source_mask.shape != memory.shape[:-1]:
            raise _refuse.shapes(
                "transformer", "memory (b m d_model), mask (b m)", memory=memory, mask=source_mask
            )
        capacity = self.config.max_length if capacity is None else capacity
        if not _refuse.is_integer(capacity) or capacity < 1:
            raise ValueError(f"transformer: expected room for 1 token or more as capacity; got {capacity!r}")
        return self.decoder.start(memory, source_mask, self.target.positions(capacity))

    @torch.no_grad()
    def decode_step(
        self, ids: Integer[Tensor, "b n"], cache: Cache, lengths: Integer[Tensor, " b"] | None = None
    ) -> Float[Tensor, "b V"]:
        """The logits of each row's next word, after the n words ``ids``, which come behind those that the cache has; they
        are in the cache afterwards. To begin with, these are prompts, the begin word included; later one word at a time.

        ``lengths`` says how many of a row's n words are real (at least one): prompts of different lengths, padded behind their
        ends. The logits are those of ``decode`` at the place of the row's last word. ValueError where the cache has no room.
        """
        _rows_of(cache, ids, 2)
        b, n = ids.shape
        mask = None
        if lengths is not None:
            if lengths.shape != (b,) or (
                not torch.compiler.is_compiling() and not _are_between(lengths, 1, n)
            ):
                raise ValueError(
                    f"transformer: expected lengths of {b} rows in 1..{n}; got {lengths.tolist()}"
                )
            if readable(ids) and _are_between(lengths, n, n):
                lengths = None  # no row is shorter than the others: nothing has to be hidden
            else:
                mask = torch.arange(n, device=ids.device) < lengths[:, None]
        x = self.target(ids, mask, F.embedding(cache.places(n), cache.positions))
        x = self.decoder.step(x, cache, lengths)
        last = x[:, -1] if lengths is None else x[torch.arange(b, device=x.device), lengths.long() - 1]
        return self._logits(last)

    def decode_word(self, ids: Integer[Tensor, " r"], cache: Cache) -> Float[Tensor, "r V"]:
        """``decode_step`` of one more word in every row."""
        _rows_of(cache, ids, 1)
        return self.decode_step(ids.unsqueeze(1), cache)

    def _logits(self, x: Tensor) -> Tensor:
        return F.linear(x, self.W_o)


class Conditioned:
    """An ``impl.decoding.StepModel``: row i continues the target of source i. ``capacity`` as for ``Transformer.start``.

    ``greedy(Conditioned(model, source, mask), prompts, max_length=30, end=END)``
    """

    def __init__(
        self,
        model: Transformer,
        source: Integer[Tensor, "b m"],
        source_mask: Bool[Tensor, "b m"] | None = None,
        capacity: int | None = None,
    ) -> None:
        if source.dim() != 2:
            raise _refuse.shapes("transformer", "source (b m)", source=source)
        self.model, self.source, self.source_mask, self.capacity = model, source, source_mask, capacity

    def start(
        self, prompts: Integer[Tensor, "b n"], lengths: Integer[Tensor, " b"]
    ) -> tuple[Float[Tensor, "b V"], Cache]:
        """Logits after each prompt, of which the first ``lengths`` words count, and the cache that goes on from there."""
        if len(prompts) != len(self.source):
            expected = "prompts (b n), one for each source (b m)"
            raise _refuse.shapes("transformer", expected, prompts=prompts, source=self.source)
        memory = self.model.encode(self.source, self.source_mask)
        cache = self.model.start(memory, self.source_mask, self.capacity)
        return self.model.decode_step(prompts, cache, lengths), cache

    def step(self, state: Cache, tokens: Integer[Tensor, " r"]) -> tuple[Float[Tensor, "r V"], Cache]:
        """Logits after one more word in every row."""
        return self.model.decode_word(tokens, state), state


def _rows_of(cache: Cache, ids: Tensor, axes: int) -> None:
    """Refuse ids that are not one row, or one word, for each row of a cache."""
    if ids.dim() != axes or ids.shape[0] != cache.lengths.shape[0]:
        expected = f"ids ({'r n' if axes == 2 else 'r'}) of the cache's r = {len(cache.lengths)} rows"
        raise _refuse.shapes("transformer", expected, ids=ids)


def _are_between(lengths: Tensor, low: int, high: int) -> bool:
    return bool(((lengths >= low) & (lengths <= high)).all())
