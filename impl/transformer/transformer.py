"""The Transformer: from the ids of a source and of a target's words so far to the logits of the words that come next."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Generator, Tensor, nn

from impl import _refuse
from impl._linear import linear
from impl.attention import MultiHeadAttention
from impl.transformer.cache import Cache
from impl.transformer.config import TransformerConfig
from impl.transformer.embeddings import Embeddings
from impl.transformer.layers import FeedForward
from impl.transformer.prepared import Prepared
from impl.transformer.stacks import Decoder, Encoder

__all__ = ["Transformer"]


class Transformer(nn.Module):
    """Encoder and decoder of ``config``, with words as vectors before them and logits after them. Parameters are drawn from
    ``generator``, if one is given.

    A mask has the shape of the ids, and **True means "a real token"**; what stands where it is False is never read, whatever
    id it is. Source: Vaswani et al. 2017, "Attention Is All You Need".
    """

    def __init__(self, config: TransformerConfig, *, generator: Generator | None = None) -> None:
        super().__init__()
        self.config = config
        self.source = Embeddings(config.source_vocabulary, config)
        shared = self.source.E if config.tied == "all" else None
        self.target = Embeddings(config.target_vocabulary, config, shared)
        self.encoder, self.decoder = Encoder(config), Decoder(config)
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
        """A cache to decode sources with: room for ``capacity`` tokens in each row, ``config.max_length`` unless given. It may
        hold a copy of the decoder's weights, too: ``impl.transformer.prepared``.
        """
        if source_mask is not None and source_mask.shape != memory.shape[:-1]:
            raise _refuse.shapes(
                "transformer", "memory (b m d_model), mask (b m)", memory=memory, mask=source_mask
            )
        capacity = self.config.max_length if capacity is None else capacity
        if not _refuse.is_integer(capacity) or capacity < 1:
            raise ValueError(f"transformer: expected room for 1 token or more as capacity; got {capacity!r}")
        cache = self.decoder.start(memory, source_mask, self.target.positions(capacity))
        cache.prepared = Prepared.of(self.target, self.decoder, self.W_o)
        return cache

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
            if lengths.shape != (b,) or (not torch.compiler.is_compiling() and not _between(lengths, 1, n)):
                raise ValueError(
                    f"transformer: expected lengths of {b} rows in 1..{n}; got {lengths.tolist()}"
                )
            if ids.is_cpu and not torch.compiler.is_compiling() and _between(lengths, n, n):
                lengths = None  # no row is shorter than the others: nothing has to be hidden
            else:
                mask = torch.arange(n, device=ids.device) < lengths[:, None]
        if n == 1 and lengths is None and cache.prepared is not None:
            return self.decode_word(ids.squeeze(1), cache)
        x = self.target(ids, mask, F.embedding(cache.places(n), cache.positions))
        x = self.decoder.step(x, cache, lengths)
        last = x[:, -1] if lengths is None else x[torch.arange(b, device=x.device), lengths.long() - 1]
        return self._logits(last)

    def decode_word(self, ids: Integer[Tensor, " r"], cache: Cache) -> Float[Tensor, "r V"]:
        """``decode_step`` of one more word in every row."""
        _rows_of(cache, ids, 1)
        if cache.prepared is not None:
            if cache.prepared.holds():
                return cache.prepared.step(ids, cache)
            cache.prepared = None  # what it copied may be outdated
        return self.decode_step(ids.unsqueeze(1), cache)

    def _logits(self, x: Tensor) -> Tensor:
        return linear(x, self.W_o)


def _rows_of(cache: Cache, ids: Tensor, axes: int) -> None:
    """Refuse ids that are not one row, or one word, for each row of a cache."""
    if ids.dim() != axes or ids.shape[0] != cache.lengths.shape[0]:
        expected = f"ids ({'r n' if axes == 2 else 'r'}) of the cache's r = {len(cache.lengths)} rows"
        raise _refuse.shapes("transformer", expected, ids=ids)


def _between(lengths: Tensor, low: int, high: int) -> bool:
    return bool(((lengths >= low) & (lengths <= high)).all())
